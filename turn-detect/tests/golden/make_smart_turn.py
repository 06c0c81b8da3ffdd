"""Makes smart_turn.json: reference features and probabilities of smart-turn v3.

    python3 make_smart_turn.py MODEL.onnx [FOLDER_OF_CLIPS] > smart_turn.json

Needs numpy and onnxruntime. The front end is Whisper's log-mel as the model's public contract gives it, written in the
plainest way: the last 8 s with zeros in front, zero mean and unit variance, centred frames of 400 samples every 160 under
a periodic Hann window with mirrored ends, power, 80 Slaney filters, log10, 8 decades, (x + 4) / 4.
The model runs on floating-point activations, as the crate runs it: the quantise-dequantise pairs are removed.
Each entry holds the probability and every STEP-th cell of the features [80, 800] in row-major order.
"""

import glob
import json
import os
import sys
import wave

import numpy as np
import onnxruntime

WINDOW, FFT, HOP, MELS, FRAMES, STEP = 128000, 400, 160, 80, 800, 211


def mel(hertz):
    return np.where(hertz < 1000, hertz * 3 / 200, 15 + 27 * np.log(np.maximum(hertz, 1) / 1000) / np.log(6.4))


def hertz(mel):
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def filters():
    """[80, 201]: triangles of equal area between neighbours on Slaney's scale."""
    edges = hertz(np.linspace(0, mel(np.array(8000.0)), MELS + 2))
    bins = np.linspace(0, 8000, FFT // 2 + 1)
    rows = []
    for low, centre, high in zip(edges, edges[1:], edges[2:]):
        rows.append(np.maximum(0, np.minimum((bins - low) / (centre - low), (high - bins) / (high - centre))) * 2 / (high - low))
    return np.array(rows)


FILTERS = filters()
HANN = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FFT) / FFT)


def features(samples):
    samples = samples.astype(np.float32)[-WINDOW:]
    samples = np.concatenate([np.zeros(WINDOW - len(samples), dtype=np.float32), samples])
    samples = (samples - samples.mean()) / np.sqrt(samples.var() + 1e-7)
    padded = np.pad(samples.astype(np.float64), FFT // 2, mode="reflect")
    frames = np.array([padded[HOP * t : HOP * t + FFT] * HANN for t in range(FRAMES)])
    power = np.abs(np.fft.rfft(frames)) ** 2
    log = np.log10(np.maximum(FILTERS @ power.T, 1e-10))
    return ((np.maximum(log, log.max() - 8) + 4) / 4).astype(np.float32)


def noise(seed, count):
    """16-bit noise from a linear congruential generator: the same integers in any language."""
    values, state = [], seed
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append((state >> 16) - 32768)
    return np.array(values, dtype=np.float64) / 32768


def voice(pitch, fall, syllable, count):
    """A buzz of falling harmonics whose pitch falls by `fall` of itself, in syllables with gaps of as many samples."""
    t = np.arange(count, dtype=np.float64)
    phase = 2 * np.pi * pitch * (t - fall * t * t / (2 * count)) / 16000
    buzz = sum(np.sin(phase * k) / k for k in range(1, 12))
    return buzz * ((np.arange(count) // syllable) % 2)


def synthetic():
    second = 16000
    yield "empty", np.zeros(0)
    yield "short voice", voice(120, 0.3, 3200, 2 * second) * 0.2
    yield "voice and silence", np.concatenate([voice(180, 0.4, 2400, 3 * second) * 0.1, noise(1, 4 * second // 5) * 0.001])
    yield "longer than the window", voice(140, 0.1, 4000, 9 * second) * 0.3 + noise(2, 9 * second) * 0.01 + 0.02
    yield "noise", noise(3, 5 * second) * 0.05


def clips(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.wav"))):
        with wave.open(path) as wav:
            pcm = np.frombuffer(wav.readframes(wav.getnframes()), dtype="<i2")
        yield os.path.basename(path), pcm / 32768


def entry(session, samples):
    mels = features(samples)
    (probability,) = session.run(None, {"input_features": mels[None]})
    cells = [round(float(cell), 5) for cell in mels.reshape(-1)[::STEP]]
    return {"probability": round(float(probability[0, 0]), 6), "cells": cells}


def main():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.add_session_config_entry("session.enable_quant_qdq_cleanup", "1")
    session = onnxruntime.InferenceSession(sys.argv[1], sess_options=options)
    golden = {
        "model": os.path.basename(sys.argv[1]),
        "onnxruntime": onnxruntime.__version__,
        "step": STEP,
        "synthetic": {name: entry(session, s) for name, s in synthetic()},
        "clips": {name: entry(session, s) for name, s in (clips(sys.argv[2]) if len(sys.argv) > 2 else [])},
    }
    # One entry a line keeps differences readable.
    print(json.dumps(golden, ensure_ascii=False).replace(']}, "', ']},\n"'))


if __name__ == "__main__":
    main()
