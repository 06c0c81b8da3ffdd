#!/usr/bin/env python3
"""Write smollm2-golden.json: what llama.cpp makes of SmolLM2, for tests/smollm2.rs.

usage: llama_cpp_golden.py SmolLM2-135M-Instruct.Q4_1.gguf OUT.json     (needs: llama-cpp-python, gguf, numpy)

Two runs of the same prompts:
  q4_1: the file as it is. llama.cpp rounds activations to 8 bits for it, so its logits are a little off the exact ones.
  f32:  the same weights dequantized to F32, where llama.cpp computes in floats: the exact ones.
Each generated token comes with the TOP best logits of its step. KV cache in F32, flash attention off.
"""
import json
import pathlib
import sys
import tempfile

import gguf
import jinja2
import llama_cpp
import numpy as np

TOP, STEPS, THREADS = 4, 64, 2
PROMPTS = [
    "What is the capital of France?",
    "Name three colours of the rainbow.",
    "Write a haiku about the sea.",
    "How many minutes are there in an hour?",
    "Explain gravity to a child in two sentences.",
    "Give me a recipe for pancakes.",
    "Who wrote Romeo and Juliet?",
    "Translate 'good morning' into Spanish.",
    "What should I pack for a rainy hike?",
    "List the planets of the solar system.",
    "Why is the sky blue?",
    "Tell me a short story about a fox and a crow.",
    "What is 17 plus 25?",
    "Suggest a name for a small grey cat.",
    "How do I boil an egg?",
    "What does a blacksmith do?",
    "Write a Python function that adds two numbers.",
    "Is it safe to drink sea water?",
    "Say hello in five languages.",
    "Summarise the water cycle.",
]
TEXTS = [
    "", " ", "Hello, world!", "  two  spaces", "tab\tand\nnewline\r\n\r\n  end ", "I'll we've DON'T it's 'tis", "1234567890 3.14",
    "naïve café Ünïcödé", "e\u0301 combining", "你好，世界。", "Привет, мир", "日本語テキスト", "😀👩‍👩‍👧 emoji", "<|im_start|>user\nhi<|im_end|>",
    "def f(x):\n    return x**2  # square\n", "a" * 200, "zero\u200bwidth \u00a0 nbsp", "¼ ② Ⅳ ٣", "x\u0000y", "---===>>> ... !!!",
]


def open_model(path):
    return llama_cpp.Llama(
        path, n_ctx=2048, n_batch=2048, n_ubatch=512, logits_all=True, n_threads=THREADS, n_threads_batch=THREADS, seed=0,
        type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32, flash_attn=False, verbose=False,
    )


def top(logits):
    best = np.argsort(-logits, kind="stable")[:TOP]
    return [[int(i), round(float(logits[i]), 4)] for i in best]


def greedy(model, ids):
    model.reset()
    model.eval(ids)
    steps, tokens = [], []
    for _ in range(STEPS):
        best = top(model.scores[model.n_tokens - 1])
        steps.append(best)
        tokens.append(best[0][0])
        if tokens[-1] == model.token_eos():
            break
        model.eval([tokens[-1]])
    return {"tokens": tokens, "top": steps}


def perplexity(model, ids):
    """Mean negative log-likelihood of every token but the first."""
    model.reset()
    model.eval(ids)
    logits = np.asarray(model.scores[: len(ids) - 1], dtype=np.float64)
    peak = logits.max(axis=1, keepdims=True)
    norm = np.log(np.exp(logits - peak).sum(axis=1)) + peak[:, 0]
    return float((norm - logits[np.arange(len(ids) - 1), ids[1:]]).mean())


def dequantized(source, out):
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(out, "llama")
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        kind = field.types[0]
        writer.add_key_value(key, field.contents(), kind, sub_type=field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(source, out):
    passage = pathlib.Path(__file__).with_name("passage.txt").read_text(encoding="utf-8")
    model = open_model(source)
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(model.metadata["tokenizer.chat_template"])

    def chat(prompt):
        text = template.render(messages=[{"role": "user", "content": prompt}], add_generation_prompt=True)
        return model.tokenize(text.encode(), add_bos=False, special=True)

    golden = {
        "what": "SmolLM2-135M-Instruct Q4_1 by llama.cpp, greedy",
        "writer": f"llama-cpp-python {llama_cpp.__version__}",
        "prompts": [{"text": p, "ids": chat(p)} for p in PROMPTS],
        "texts": [{"text": t, "ids": model.tokenize(t.encode(), add_bos=False, special=True)} for t in TEXTS],
        "passage_ids": model.tokenize(passage.encode(), add_bos=False, special=False),
    }
    with tempfile.TemporaryDirectory() as scratch:
        exact = f"{scratch}/f32.gguf"
        dequantized(source, exact)
        for name, path in [("q4_1", source), ("f32", exact)]:
            model = open_model(path)
            runs = [greedy(model, p["ids"]) for p in golden["prompts"]]
            golden[name] = {"runs": runs, "passage_nll": round(perplexity(model, golden["passage_ids"]), 6)}
    with open(out, "w", encoding="utf-8") as f:
        json.dump(golden, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


main(*sys.argv[1:3])
