#!/usr/bin/env python3
"""Prints our report and the peers' figures side by side: table.py OURS.json PEERS.json"""
import json
import sys

ours, peers = (json.load(open(path)) for path in sys.argv[1:3])
prefill = {row["tokens"]: row["tokens_per_s"] for row in ours["prefill"]}
decode = ours["decode"]["tokens_per_s"]
print(f"{ours['model']}, {ours['threads']} threads, {ours['isa']}, reads {ours['read_bandwidth_gbs']:.1f} GB/s")
print(f"{'':<34}{'prefill 512':>12}{'ours is':>9}{'decode 128':>12}{'ours is':>9}")
print(f"{'Pocket Voice':<34}{prefill[512]:>12.0f}{'':>9}{decode:>12.1f}{'':>9}")
for peer in peers:
    p, d = peer["prefill"][0]["tokens_per_s"], peer["decode"]["tokens_per_s"]
    name = f"{peer['name']} ({peer['version']})"
    print(f"{name:<34}{p:>12.0f}{prefill[512] / p:>8.1f}x{d:>12.1f}{decode / d:>8.1f}x")
verify = ours["verify"]
print(f"decode reaches {100 * ours['decode']['of_bandwidth']:.0f}% of the read bandwidth;", end=" ")
print(f"32 tokens onto 500: {ours['append']['tokens_per_s']:.0f} token/s;", end=" ")
print(f"{verify['tokens']} positions at once take {verify['decode_steps']:.2f} decode steps")
print(f"first token {ours['first_token_ms']:.0f} ms after opening; peak {ours['peak_above_baseline_mb']:.0f} MB above the empty process")
