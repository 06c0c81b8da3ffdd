"""Makes silero.json: what ONNX Runtime's own Python binding gives for Silero VAD.

    python3 make_silero.py MODEL.onnx [FOLDER_OF_CLIPS] > silero.json

Needs numpy and onnxruntime. Each entry holds one probability for each whole frame of 512 samples. Synthetic signals are
described by integers, so that the test builds the same samples; clips are named, and tested where they are to be had.
The call sequence follows the model's public contract: 64 samples of context in front of each frame, state carried on.
"""

import glob
import json
import os
import sys
import wave

import numpy as np
import onnxruntime

FRAME, CONTEXT = 512, 64


def noise(seed, count):
    """16-bit noise from a linear congruential generator: the same integers in any language."""
    values, state = [], seed
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append((state >> 16) - 32768)
    return np.array(values, dtype=np.float64)


def voice(pitch, syllable, count):
    """A buzz of falling harmonics, in syllables of `syllable` samples with as long gaps: close enough to a voice."""
    t = np.arange(count, dtype=np.float64)
    buzz = sum(np.sin(2 * np.pi * pitch * k * t / 16000) / k for k in range(1, 12))
    return buzz * ((np.arange(count) // syllable) % 2)


def synthetic():
    second = 16000
    yield "silence", np.zeros(second)
    yield "noise", noise(1, second) / 32768 * 0.05
    yield "voice", voice(120, 3200, 3 * second) * 0.2
    yield "voice in noise", voice(210, 2400, 3 * second) * 0.1 + noise(2, 3 * second) / 32768 * 0.02
    yield "clipped voice", np.clip(voice(160, 4000, 2 * second) * 4, -1, 1)


def clips(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.wav"))):
        with wave.open(path) as wav:
            pcm = np.frombuffer(wav.readframes(wav.getnframes()), dtype="<i2")
        yield os.path.basename(path), pcm / 32768


def probabilities(session, samples):
    samples = samples.astype(np.float32)
    state = np.zeros((2, 1, 128), dtype=np.float32)
    context = np.zeros(CONTEXT, dtype=np.float32)
    result = []
    for start in range(0, len(samples) - FRAME + 1, FRAME):
        frame = samples[start : start + FRAME]
        feed = {"input": np.concatenate([context, frame])[None], "state": state, "sr": np.array(16000, dtype=np.int64)}
        output, state = session.run(None, feed)
        context = frame[-CONTEXT:]
        result.append(round(float(output[0, 0]), 6))
    return result


def main():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(sys.argv[1], sess_options=options)
    golden = {
        "model": os.path.basename(sys.argv[1]),
        "onnxruntime": onnxruntime.__version__,
        "synthetic": {name: probabilities(session, s) for name, s in synthetic()},
        "clips": {name: probabilities(session, s) for name, s in (clips(sys.argv[2]) if len(sys.argv) > 2 else [])},
    }
    text = json.dumps(golden, ensure_ascii=False)
    # One entry a line keeps differences readable.
    print(text.replace('], "', '],\n"').replace('{"', '{\n"'))


main()
