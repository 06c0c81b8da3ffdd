//! The silence behind a clip, seen once and remembered.
//!
//! Whisper was trained on 30 s: speech, then silence. With a context cut to the clip the decoder finds nothing to end
//! on and repeats itself; a margin of real silence long enough to prevent that costs more than the clip. But silence
//! is always the same. So its keys and values are computed once, at load, for the whole context, and every frame of a
//! clip attends to those behind it as if they had been encoded with it. They change slowly along the positions, so one
//! in [`STRIDE`] stands for its neighbours, its score raised by the log of their number.
//!
//! What is left out: the silent frames themselves do not attend to the clip. On the shared clips the word error rate
//! is that of the full context, see `examples/wer.rs`.

use super::Machine;
use super::attention::KeyValues;

/// Positions that one remembered position stands for.
const STRIDE: usize = 16;

/// Keys and values of silence for encoder and decoder.
pub(super) struct Silence {
    n_audio_ctx: usize,
    n_state: usize,
    features: Vec<f32>,     // encoder output, [kept, n_state]
    encoder: Vec<Vec<f32>>, // by layer: key and value, [kept, 2 n_state]
    decoder: Vec<Vec<f32>>, // the same for cross-attention
}

impl Silence {
    pub(super) fn new(n_audio_ctx: usize) -> Silence {
        Silence { n_audio_ctx, n_state: 0, features: Vec::new(), encoder: Vec::new(), decoder: Vec::new() }
    }

    /// Takes every `STRIDE`-th of the keys and values at column `key_column` of `rows` `[n_audio_ctx, stride]`.
    pub(super) fn add_encoder_layer(&mut self, rows: &[f32], stride: usize, key_column: usize) {
        self.encoder.push(kept(rows, stride).flat_map(|row| &row[key_column..]).copied().collect());
    }

    /// Takes every `STRIDE`-th row of the encoder's output.
    pub(super) fn set_features(&mut self, features: &[f32], n_state: usize) {
        self.n_state = n_state;
        self.features = kept(features, n_state).flatten().copied().collect();
    }

    /// Encoder output `[kept, n_state]`, for the decoder's layers to make their keys and values of.
    pub(super) fn features(&self) -> &[f32] {
        &self.features
    }

    /// Adds a cross-attention layer's keys and values `[kept, 2 n_state]`.
    pub(super) fn add_decoder_layer(&mut self, rows: &[f32]) {
        self.decoder.push(rows.to_vec());
    }

    pub(super) fn encoder_layer(&self, i: usize) -> &[f32] {
        &self.encoder[i]
    }

    pub(super) fn decoder_layer(&self, i: usize) -> &[f32] {
        &self.decoder[i]
    }

    /// Remembered positions behind a clip of `n_ctx` frames.
    pub(super) fn len_behind(&self, n_ctx: usize) -> usize {
        (self.n_audio_ctx / STRIDE).saturating_sub(first_behind(n_ctx))
    }

    /// Appends a layer's silence to the keys and values of a clip.
    pub(super) fn extend(&self, key_values: &mut KeyValues, layer: &[f32], machine: &Machine) {
        let n_ctx = key_values.len();
        let len = self.len_behind(n_ctx);
        if len > 0 {
            let width = 2 * self.n_state;
            key_values.begin_tail((self.n_audio_ctx - n_ctx) as f32 / len as f32);
            key_values.extend(&layer[first_behind(n_ctx) * width..][..len * width], width, 0, machine);
        }
    }
}

/// The remembered rows: the middle one of each `STRIDE`.
fn kept(rows: &[f32], width: usize) -> impl Iterator<Item = &[f32]> {
    rows.chunks_exact(width).skip(STRIDE / 2).step_by(STRIDE)
}

/// Index of the first remembered position that is not inside the clip.
fn first_behind(n_ctx: usize) -> usize {
    (n_ctx + STRIDE / 2) / STRIDE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_positions_lie_behind_the_clip() {
        let mut silence = Silence::new(1500);
        let positions: Vec<f32> = (0..1500).map(|i| i as f32).collect();
        silence.set_features(&positions, 1);
        for n_ctx in [0, 1, 8, 9, 500, 1487, 1488, 1500] {
            let behind = &silence.features()[first_behind(n_ctx).min(silence.features().len())..];
            assert!(behind.iter().all(|&at| at as usize >= n_ctx), "{n_ctx}: {behind:?}");
            assert!(behind.len() >= silence.len_behind(n_ctx), "{n_ctx}");
            assert!(silence.len_behind(n_ctx) * STRIDE + 2 * STRIDE > 1500 - n_ctx, "{n_ctx}");
        }
    }
}
