//! A Whisper model small enough to write in a test: the right tensors of the right shapes, with made-up weights.

use std::path::Path;

/// Width of its residual stream: one head.
const N: usize = 64;
/// Frames and tokens it can hold.
const N_AUDIO_CTX: usize = 1500;
const N_TEXT_CTX: usize = 448;
const N_MELS: usize = 80;

/// Writes `model.bin` and `vocabulary.txt` into `dir`.
pub(crate) fn write_model(dir: &Path) {
    let vocabulary = vocabulary();
    std::fs::write(dir.join("vocabulary.txt"), vocabulary.join("\n")).unwrap();
    std::fs::write(dir.join("model.bin"), model(vocabulary.len())).unwrap();
}

/// All bytes as tokens, a few words, and the special tokens.
fn vocabulary() -> Vec<String> {
    let mut tokens: Vec<String> = (0u32..256)
        .scan(0, |shifted, byte| {
            let printable = matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
            let code = if printable { byte } else { 256 + std::mem::replace(shifted, *shifted + 1) };
            char::from_u32(code).map(String::from)
        })
        .collect();
    tokens.extend(["Ġgo", "Ġforward", "Ġten", "Ġmeters"].map(String::from));
    for special in [
        "endoftext",
        "startoftranscript",
        "en",
        "zh",
        "transcribe",
        "startofprev",
        "nocaptions",
        "notimestamps",
        "0.00",
    ] {
        tokens.push(format!("<|{special}|>"));
    }
    tokens
}

/// A writer of the CTranslate2 format.
struct Model {
    bytes: Vec<u8>,
    count: u32,
    seed: u32,
}

impl Model {
    fn name(&mut self, name: &str) {
        self.bytes.extend((name.len() as u16 + 1).to_le_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
    }

    fn tensor(&mut self, name: &str, shape: &[usize], code: u8, data: &[u8]) {
        self.name(name);
        self.bytes.push(shape.len() as u8);
        for &dim in shape {
            self.bytes.extend((dim as u32).to_le_bytes());
        }
        self.bytes.push(code);
        self.bytes.extend((data.len() as u32).to_le_bytes());
        self.bytes.extend(data);
        self.count += 1;
    }

    /// Half precision, small and varied.
    fn weights(&mut self, name: &str, shape: &[usize]) {
        let mut data = Vec::new();
        for _ in 0..shape.iter().product::<usize>() {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = (self.seed >> 8) as f32 / (1 << 24) as f32 - 0.5;
            data.extend(half::f16::from_f32(value * 0.2).to_le_bytes());
        }
        self.tensor(name, shape, 4, &data);
    }

    fn linear(&mut self, name: &str, rows: usize, cols: usize) {
        self.weights(&format!("{name}/weight"), &[rows, cols]);
        self.weights(&format!("{name}/bias"), &[rows]);
    }

    fn norm(&mut self, name: &str) {
        self.weights(&format!("{name}/gamma"), &[N]);
        self.weights(&format!("{name}/beta"), &[N]);
    }

    fn layer(&mut self, side: &str) {
        self.norm(&format!("{side}/layer_0/self_attention/layer_norm"));
        self.linear(&format!("{side}/layer_0/self_attention/linear_0"), 3 * N, N);
        self.linear(&format!("{side}/layer_0/self_attention/linear_1"), N, N);
        self.norm(&format!("{side}/layer_0/ffn/layer_norm"));
        self.linear(&format!("{side}/layer_0/ffn/linear_0"), 4 * N, N);
        self.linear(&format!("{side}/layer_0/ffn/linear_1"), N, 4 * N);
    }
}

fn model(n_vocab: usize) -> Vec<u8> {
    let mut model = Model { bytes: Vec::new(), count: 0, seed: 1 };
    model.weights("decoder/embeddings/weight", &[n_vocab, N]);
    model.weights("decoder/position_encodings/encodings", &[N_TEXT_CTX, N]);
    model.tensor("decoder/activation", &[], 1, &[3]);
    model.norm("decoder/layer_norm");
    model.layer("decoder");
    model.norm("decoder/layer_0/attention/layer_norm");
    model.linear("decoder/layer_0/attention/linear_0", N, N);
    model.linear("decoder/layer_0/attention/linear_1", 2 * N, N);
    model.linear("decoder/layer_0/attention/linear_2", N, N);
    model.weights("encoder/conv1/weight", &[N, N_MELS, 3]);
    model.weights("encoder/conv1/bias", &[N]);
    model.weights("encoder/conv2/weight", &[N, N, 3]);
    model.weights("encoder/conv2/bias", &[N]);
    model.weights("encoder/position_encodings/encodings", &[N_AUDIO_CTX, N]);
    model.norm("encoder/layer_norm");
    model.layer("encoder");
    for side in ["encoder", "decoder"] {
        model.tensor(&format!("{side}/num_heads"), &[], 2, &1i16.to_le_bytes());
    }
    let mut file = 6u32.to_le_bytes().to_vec();
    file.extend(12u16.to_le_bytes());
    file.extend(b"WhisperSpec\0");
    file.extend(3u32.to_le_bytes());
    file.extend(model.count.to_le_bytes());
    file.append(&mut model.bytes);
    file.extend(1u32.to_le_bytes());
    let mut aliases = Model { bytes: file, count: 0, seed: 1 };
    aliases.name("decoder/projection/weight");
    aliases.name("decoder/embeddings/weight");
    aliases.bytes
}
