#!/usr/bin/env python3
"""Write fixtures/architectures: tiny random llama, qwen2 and gemma3 models, and blocks of every quantized type.

usage: tiny_models.py OUT_DIR     (needs: llama-cpp-python, gguf, numpy)

Each model is F32 and comes with llama.cpp's logits at every position, its greedy tokens and its tokens of some texts.
blocks.json holds random blocks of each GGML type as hexadecimal, with the values that the gguf package gives them.
Everything is drawn from a fixed seed.
"""
import json
import pathlib
import sys

import gguf
import llama_cpp
import numpy as np

rng = np.random.default_rng(7)
HIDDEN, FFN, HEADS, KV_HEADS, HEAD = 32, 48, 4, 2, 8
TEXTS = ["", "the other", " hello  world ", "tab\tand\nnewline", "naïve 你好 😀", "1234 567", "<|end|>the"]


def bytes_to_letters():
    """GPT-2's alphabet."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {b: chr(b) for b in printable}
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + len(letters) - len(printable))
    return [letters[b] for b in range(256)]


def byte_level(w, pre):
    tokens = bytes_to_letters() + ["Ġt", "he", "Ġthe", "er", "Ġo"]
    kinds = [1] * len(tokens)
    tokens += ["<|end|>", "<|start|>"]
    kinds += [3, 3]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    w.add_token_types(kinds)
    w.add_token_merges(["Ġ t", "h e", "Ġt he", "e r", "Ġ o"])
    w.add_bos_token_id(262)
    w.add_eos_token_id(261)
    w.add_add_bos_token(pre == "llama-bpe")
    return len(tokens)


def sentencepiece(w):
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
    kinds = [3, 3, 3, 2] + [6] * 256
    scores = [0.0] * len(tokens)
    pieces = ["▁", "t", "h", "e", "o", "r", "l", "n", "i", "a", "d", "w", "he", "th", "the", "▁the", "er", "▁o", "ther", "▁other", "ll", "llo", "▁▁", "你", "你好"]
    for rank, piece in enumerate(pieces):
        tokens.append(piece)
        kinds.append(1)
        scores.append(-float(rank if len(piece) > 1 else 1000 + rank))
    tokens.append("<|end|>")
    kinds.append(3)
    scores.append(0.0)
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list(tokens)
    w.add_token_scores(scores)
    w.add_token_types(kinds)
    w.add_bos_token_id(2)
    w.add_eos_token_id(1)
    w.add_add_bos_token(True)
    w.add_add_space_prefix(False)
    return len(tokens)


def write(path, arch, layers):
    w = gguf.GGUFWriter(path, arch)
    w.add_name(f"{arch}-tiny")
    w.add_license("cc0-1.0")
    w.add_context_length(256)
    w.add_embedding_length(HIDDEN)
    w.add_block_count(layers)
    w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(KV_HEADS)
    w.add_key_length(HEAD)
    w.add_value_length(HEAD)
    w.add_rope_freq_base(1e4 if arch != "gemma3" else 1e6)
    w.add_layer_norm_rms_eps(1e-5)
    gemma = arch == "gemma3"
    if gemma:
        w.add_sliding_window(4)
    vocab = sentencepiece(w) if gemma else byte_level(w, "llama-bpe" if arch == "llama" else "qwen2")

    def matrix(name, rows, cols, scale=0.15):
        w.add_tensor(name, rng.standard_normal((rows, cols), dtype=np.float32) * np.float32(scale))

    def vector(name, n, centre=1.0, spread=0.3):
        w.add_tensor(name, (centre + spread * rng.standard_normal(n)).astype(np.float32))

    matrix("token_embd.weight", vocab, HIDDEN, 0.5)
    vector("output_norm.weight", HIDDEN)
    if arch == "llama":
        matrix("output.weight", vocab, HIDDEN, 0.5)
        w.add_tensor("rope_freqs.weight", np.linspace(1.0, 4.0, HEAD // 2, dtype=np.float32))
    for i in range(layers):
        blk = f"blk.{i}."
        vector(blk + "attn_norm.weight", HIDDEN)
        vector(blk + "ffn_norm.weight", HIDDEN)
        for name, rows in [("attn_q", HEADS * HEAD), ("attn_k", KV_HEADS * HEAD), ("attn_v", KV_HEADS * HEAD)]:
            matrix(blk + name + ".weight", rows, HIDDEN)
            if arch == "qwen2":
                vector(blk + name + ".bias", rows, 0.0, 0.5)
        matrix(blk + "attn_output.weight", HIDDEN, HEADS * HEAD)
        matrix(blk + "ffn_gate.weight", FFN, HIDDEN)
        matrix(blk + "ffn_up.weight", FFN, HIDDEN)
        matrix(blk + "ffn_down.weight", HIDDEN, FFN)
        if gemma:
            for name, n in [("attn_q_norm", HEAD), ("attn_k_norm", HEAD), ("post_attention_norm", HIDDEN), ("post_ffw_norm", HIDDEN)]:
                vector(blk + name + ".weight", n)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return vocab


def expected(path, vocab):
    model = llama_cpp.Llama(
        path, n_ctx=256, n_batch=256, logits_all=True, n_threads=1, verbose=False,
        type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32, flash_attn=False,
    )
    prompt = [int(t) for t in rng.integers(4, vocab, 14)]
    model.eval(prompt)
    logits = np.array(model.scores[: len(prompt)], dtype=np.float64)
    greedy, leads = [], []
    for _ in range(8):
        last = model.scores[model.n_tokens - 1]
        best = np.argsort(-last)[:2]
        greedy.append(int(best[0]))
        leads.append(round(float(last[best[0]] - last[best[1]]), 4))
        model.eval([greedy[-1]])
    texts = [{"text": t, "ids": model.tokenize(t.encode(), add_bos=True, special=True)} for t in TEXTS]
    return {"prompt": prompt, "logits": [[round(float(x), 5) for x in row] for row in logits], "greedy": greedy, "leads": leads, "texts": texts}


def blocks():
    out = {}
    for name in ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]:
        kind = gguf.GGMLQuantizationType[name]
        block, size = gguf.GGML_QUANT_SIZES[kind]
        count = 3 if block > 1 else 64
        data = rng.integers(0, 256, (count, size), dtype=np.uint8)
        # Scales are halves: keep them moderate and finite.
        halves = {"Q4_0": [0], "Q5_0": [0], "Q8_0": [0], "Q4_1": [0, 2], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
        for at in halves.get(name, []):
            scale = rng.uniform(-1, 1, count).astype(np.float16)
            data[:, at : at + 2] = scale.view(np.uint8).reshape(count, 2)
        if name in ("F16", "BF16"):
            data[:, 1] &= 0xBF  # no infinities
        values = gguf.quants.dequantize(data.reshape(-1), kind)
        out[name] = {"hex": data.tobytes().hex(), "values": [float(x) for x in np.asarray(values, dtype=np.float32).ravel()]}
    return out


out = pathlib.Path(sys.argv[1])
golden = {"writer": f"llama-cpp-python {llama_cpp.__version__}", "models": {}}
for arch, layers in [("llama", 2), ("qwen2", 2), ("gemma3", 7)]:
    path = str(out / f"{arch}-tiny.gguf")
    golden["models"][arch] = expected(path, write(path, arch, layers))
(out / "expected.json").write_text(json.dumps(golden, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
(out / "blocks.json").write_text(json.dumps(blocks(), separators=(",", ":")) + "\n")
