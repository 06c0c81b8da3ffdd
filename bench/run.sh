#!/bin/sh
# Measures the LLM engine beside its peers on this machine and prints one table.
# usage: bench/run.sh MODEL.gguf [--mnn DIRECTORY] [--threads N]
# The peers go into a Python environment of their own, target/peers; llama.cpp is built for this CPU.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
model=${1:?usage: bench/run.sh MODEL.gguf [--mnn DIRECTORY] [--threads N]}
shift
threads=2 mnn=
while [ $# -gt 0 ]; do
    case $1 in
    --mnn) mnn=$2 ;;
    --threads) threads=$2 ;;
    *) echo "unknown argument: $1" >&2; exit 2 ;;
    esac
    shift 2
done
python=${PEERS_PYTHON:-$root/target/peers/bin/python}
if [ ! -x "$python" ]; then
    python3 -m venv "$root/target/peers"
    CMAKE_ARGS=-DGGML_NATIVE=ON "$python" -m pip install --quiet --no-binary llama-cpp-python llama-cpp-python
    "$python" -m pip install --quiet MNN
fi
cargo build --quiet --release --manifest-path "$root/Cargo.toml" -p pocket-voice-llm --example bench_llm
ours=$(mktemp) peers=$(mktemp)
trap 'rm -f "$ours" "$peers"' EXIT
"$root/target/release/examples/bench_llm" "$model" "$threads" >"$ours"
"$python" "$root/bench/peers.py" "$model" --threads "$threads" ${mnn:+--mnn "$mnn"} >"$peers"
"$python" "$root/bench/table.py" "$ours" "$peers"
