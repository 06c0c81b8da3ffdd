//! The encoder: two convolutions, then transformer layers over the whole clip.

use std::sync::atomic::{AtomicBool, Ordering};

use kernels::{Activations, elementwise};

use super::Machine;
use super::attention::{HEAD, KeyValues, attend};
use super::linear::{Linear, Norm, Then};
use super::silence::Silence;
use crate::checkpoint::Checkpoint;
use crate::{Error, Result};

/// Taps of both convolutions.
const TAPS: usize = 3;

/// Weights and buffers of the encoder.
pub(super) struct Encoder {
    n_mels: usize,
    n_state: usize,
    conv1: Linear,
    conv2: Linear,
    positions: Vec<f32>, // [n_audio_ctx, n_state]
    layers: Vec<Layer>,
    norm: Norm,
    state: State,
}

struct Layer {
    attention_norm: Norm,
    query_key_value: Linear,
    attention_out: Linear,
    mlp_norm: Norm,
    mlp_in: Linear,
    mlp_out: Linear,
}

/// Activations, kept from call to call.
#[derive(Default)]
struct State {
    unrolled: Vec<f32>, // input of a convolution, [n, TAPS x channels]
    mels: Vec<f32>,     // after the first convolution, [2 n, n_state]
    x: Vec<f32>,        // residual stream, [n, n_state]
    normed: Vec<f32>,   // [n, n_state]
    wide: Vec<f32>,     // [n, 3 n_state] or [n, 4 n_state]
    attended: Vec<f32>, // [n, n_state]
    product: Vec<f32>,  // [n, n_state]
    key_values: KeyValues,
    codes: Activations,
}

impl Encoder {
    pub(super) fn load(checkpoint: &Checkpoint) -> Result<Encoder> {
        let hyper = checkpoint.hyper;
        let n = hyper.n_state;
        let layers = (0..hyper.n_audio_layer).map(|i| {
            let name = format!("encoder/layer_{i}");
            Ok(Layer {
                attention_norm: Norm::load(checkpoint, &format!("{name}/self_attention/layer_norm"), n)?,
                query_key_value: Linear::load(checkpoint, &format!("{name}/self_attention/linear_0"), 3 * n, n)?,
                attention_out: Linear::load(checkpoint, &format!("{name}/self_attention/linear_1"), n, n)?,
                mlp_norm: Norm::load(checkpoint, &format!("{name}/ffn/layer_norm"), n)?,
                mlp_in: Linear::load(checkpoint, &format!("{name}/ffn/linear_0"), 4 * n, n)?,
                mlp_out: Linear::load(checkpoint, &format!("{name}/ffn/linear_1"), n, 4 * n)?,
            })
        });
        Ok(Encoder {
            n_mels: hyper.n_mels,
            n_state: n,
            conv1: convolution(checkpoint, "encoder/conv1", n, hyper.n_mels)?,
            conv2: convolution(checkpoint, "encoder/conv2", n, n)?,
            positions: checkpoint.f32s("encoder/position_encodings/encodings", &[hyper.n_audio_ctx, n])?,
            layers: layers.collect::<Result<_>>()?,
            norm: Norm::load(checkpoint, "encoder/layer_norm", n)?,
            state: State::default(),
        })
    }

    /// Frames of the model's full context.
    pub(super) fn n_audio_ctx(&self) -> usize {
        self.positions.len() / self.n_state
    }

    /// `mel` `[2 n_ctx, n_mels]` to features `[n_ctx, n_state]`. Each frame also attends to `silence` beyond the clip.
    pub(super) fn forward(
        &mut self,
        mel: &[f32],
        n_ctx: usize,
        silence: Option<&Silence>,
        machine: &Machine,
        cancel: &AtomicBool,
    ) -> Result<&[f32]> {
        self.run(mel, n_ctx, silence, &mut |_| (), machine, cancel)?;
        Ok(&self.state.normed)
    }

    /// What the full context of a constant log-mel `level` looks like.
    pub(super) fn silence(&mut self, level: f32, machine: &Machine) -> Result<Silence> {
        let (n_ctx, n) = (self.n_audio_ctx(), self.n_state);
        let mel = vec![level; 2 * n_ctx * self.n_mels];
        let mut silence = Silence::new(n_ctx);
        let mut keep = |query_key_value: &[f32]| silence.add_encoder_layer(query_key_value, 3 * n, n);
        self.run(&mel, n_ctx, None, &mut keep, machine, &AtomicBool::new(false))?;
        silence.set_features(&self.state.normed, n);
        Ok(silence)
    }

    /// Leaves the features in `state.normed`; `seen` gets query, key and value `[n_ctx, 3 n_state]` of each layer.
    fn run(
        &mut self,
        mel: &[f32],
        n_ctx: usize,
        silence: Option<&Silence>,
        seen: &mut dyn FnMut(&[f32]),
        machine: &Machine,
        cancel: &AtomicBool,
    ) -> Result<()> {
        let State { unrolled, mels, x, normed, wide, attended, product, key_values, codes } = &mut self.state;
        let n = self.n_state;

        unroll(mel, self.n_mels, 1, unrolled);
        self.conv1.apply(unrolled, mels, Then::Gelu, codes, machine)?;
        unroll(mels, n, 2, unrolled);
        self.conv2.apply(unrolled, x, Then::Gelu, codes, machine)?;
        elementwise::add_assign(machine.isa, x, &self.positions[..n_ctx * n]);

        for (i, layer) in self.layers.iter().enumerate() {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            layer.attention_norm.apply(x, normed, machine)?;
            layer.query_key_value.apply(normed, wide, Then::Nothing, codes, machine)?;
            seen(wide);
            key_values.clear(n / HEAD, n_ctx + silence.map_or(0, |silence| silence.len_behind(n_ctx)));
            key_values.extend(wide, 3 * n, n, machine);
            if let Some(silence) = silence {
                silence.extend(key_values, silence.encoder_layer(i), machine);
            }
            attend(wide, 3 * n, key_values, None, attended, machine);
            layer.attention_out.add_to(x, attended, product, codes, machine)?;

            layer.mlp_norm.apply(x, normed, machine)?;
            layer.mlp_in.apply(normed, wide, Then::Gelu, codes, machine)?;
            layer.mlp_out.add_to(x, wide, product, codes, machine)?;
        }
        self.norm.apply(x, normed, machine)
    }
}

/// A convolution as a linear layer over its unrolled input: `[out, in, taps]` becomes `[out, taps x in]`.
fn convolution(checkpoint: &Checkpoint, name: &str, n_out: usize, n_in: usize) -> Result<Linear> {
    let weight = checkpoint.f32s(&format!("{name}/weight"), &[n_out, n_in, TAPS])?;
    let bias = checkpoint.f32s(&format!("{name}/bias"), &[n_out])?;
    let mut turned = vec![0.0; weight.len()];
    for (from, to) in weight.chunks_exact(n_in * TAPS).zip(turned.chunks_exact_mut(n_in * TAPS)) {
        for (channel, taps) in from.chunks_exact(TAPS).enumerate() {
            for (tap, &value) in taps.iter().enumerate() {
                to[tap * n_in + channel] = value;
            }
        }
    }
    Linear::new(&turned, bias, n_in * TAPS)
}

/// Rows `stride t - 1 .. stride t + 2` of `x` `[n, channels]` side by side, zeros beyond its ends.
fn unroll(x: &[f32], channels: usize, stride: usize, out: &mut Vec<f32>) {
    let n = x.len() / channels;
    let width = TAPS * channels;
    out.resize(n / stride * width, 0.0);
    for (t, row) in out.chunks_exact_mut(width).enumerate() {
        for (tap, part) in row.chunks_exact_mut(channels).enumerate() {
            match (stride * t + tap).checked_sub(1).filter(|&at| at < n) {
                Some(at) => part.copy_from_slice(&x[at * channels..][..channels]),
                None => part.fill(0.0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unrolling_pads_both_ends() {
        let mut out = Vec::new();
        unroll(&[1., 2., 3., 4.], 1, 1, &mut out);
        assert_eq!(out, [0., 1., 2., 1., 2., 3., 2., 3., 4., 3., 4., 0.]);
        unroll(&[1., 2., 3., 4.], 1, 2, &mut out);
        assert_eq!(out, [0., 1., 2., 2., 3., 4.]);
    }
}
