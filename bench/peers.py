#!/usr/bin/env python3
"""Times other engines on the same model and prints a JSON list for the report of `bench llm`.

usage: peers.py MODEL.gguf [--mnn DIRECTORY] [--threads 2] [--runs 5]

llama.cpp runs through llama-cpp-python (build it natively: run.sh does), MNN through its wheel; MNN needs a
directory that its own exporter made. One warm-up, then medians; prefill and decode apart, decode after a prompt
of 16. MNN runs with dynamic_option 0.
"""
import argparse
import ctypes
import json
import statistics
import time

PREFILL, PROMPT, DECODE = 512, 16, 128


def median(run, runs):
    run()
    return statistics.median(run() for _ in range(runs))


def llama_cpp(path, threads, runs):
    import llama_cpp

    quiet = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    if not model:
        raise SystemExit(f"llama.cpp cannot load {path}")
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = 1024, PREFILL, PREFILL
    params.n_threads = params.n_threads_batch = threads
    context = llama_cpp.llama_init_from_model(model, params)
    vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))

    def decode(tokens):
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(tokens))) != 0:
            raise SystemExit("llama.cpp cannot decode")

    def clear():
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)

    def prefill_run():
        clear()
        start = time.perf_counter()
        decode([(i * 7919 + 17) % vocab for i in range(PREFILL)])
        llama_cpp.llama_synchronize(context)
        return time.perf_counter() - start

    def decode_run():
        clear()
        decode([(i * 7919 + 17) % vocab for i in range(PROMPT)])
        start = time.perf_counter()
        for i in range(DECODE):
            decode([(i * 31 + 5) % vocab])
        llama_cpp.llama_synchronize(context)
        return time.perf_counter() - start

    return {
        "name": "llama.cpp",
        "version": f"llama-cpp-python {llama_cpp.__version__}",
        "prefill": [{"tokens": PREFILL, "tokens_per_s": PREFILL / median(prefill_run, runs)}],
        "decode": {"tokens": DECODE, "tokens_per_s": DECODE / median(decode_run, runs)},
    }


def mnn(directory, threads, runs):
    import MNN
    import MNN.llm

    model = MNN.llm.create(directory + "/config.json")
    model.set_config(
        {
            "thread_num": threads,
            "precision": "low",
            "memory": "low",
            "dynamic_option": 0,
            "sampler_type": "greedy",
            "reuse_kv": False,
            "async": False,
            "attention_mode": 8,
        }
    )
    model.load()

    def run(prompt, tokens):
        model.generate_init()
        model._c_obj.generate([16] * prompt, tokens)  # the wrapper's own generate passes no number of tokens
        context = model.context
        generated = context.gen_seq_len - (1 if model.stoped() else 0)
        return context.prefill_us / 1e6, context.decode_us / 1e6 / max(generated, 1)

    prefill = median(lambda: run(PREFILL, 1)[0], runs)
    decode = median(lambda: run(PROMPT, DECODE)[1], runs)
    return {
        "name": "MNN",
        "version": MNN.version(),
        "dynamic_option": 0,
        "prefill": [{"tokens": PREFILL, "tokens_per_s": PREFILL / prefill}],
        "decode": {"tokens": DECODE, "tokens_per_s": 1 / decode},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--mnn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    peers = [llama_cpp(args.model, args.threads, args.runs)]
    if args.mnn:
        peers.append(mnn(args.mnn, args.threads, args.runs))
    print(json.dumps(peers))


if __name__ == "__main__":
    main()
