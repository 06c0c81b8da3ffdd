//! The decoder: tokens in, logits out, with a past that can be taken back.

use std::sync::atomic::{AtomicBool, Ordering};

use kernels::{Activations, Matrix, elementwise};

use super::attention::{HEAD, KeyValues, attend};
use super::linear::{Linear, Norm, Then, product};
use super::silence::Silence;
use super::{Machine, kernel_error};
use crate::checkpoint::Checkpoint;
use crate::{Error, Result, TokenId};

/// Weights and buffers of the decoder.
pub(super) struct Decoder {
    n_state: usize,
    n_text_ctx: usize,
    embeddings: Matrix,  // [n_vocab, n_state], tied with the output projection
    positions: Vec<f32>, // [n_text_ctx, n_state]
    layers: Vec<Layer>,
    norm: Norm,
    state: State,
}

struct Layer {
    self_norm: Norm,
    self_query_key_value: Linear,
    self_out: Linear,
    cross_norm: Norm,
    cross_query: Linear,
    cross_key_value: Linear,
    cross_out: Linear,
    mlp_norm: Norm,
    mlp_in: Linear,
    mlp_out: Linear,
    /// What was said so far.
    past: KeyValues,
    /// What was heard.
    heard: KeyValues,
}

/// Activations, kept from call to call.
#[derive(Default)]
struct State {
    x: Vec<f32>,        // residual stream, [n, n_state]
    normed: Vec<f32>,   // [n, n_state]
    wide: Vec<f32>,     // [n, 2, 3 or 4 n_state]
    attended: Vec<f32>, // [n, n_state]
    product: Vec<f32>,  // [n, n_state]
    logits: Vec<f32>,   // [rows asked for, n_vocab]
    codes: Activations,
}

impl Decoder {
    pub(super) fn load(checkpoint: &Checkpoint) -> Result<Decoder> {
        let hyper = checkpoint.hyper;
        let n = hyper.n_state;
        if n / hyper.n_head != HEAD {
            return Err(checkpoint.wrong(format!("heads are {} wide, expected {HEAD}", n / hyper.n_head)));
        }
        let layers = (0..hyper.n_text_layer).map(|i| {
            let name = format!("decoder/layer_{i}");
            Ok(Layer {
                self_norm: Norm::load(checkpoint, &format!("{name}/self_attention/layer_norm"), n)?,
                self_query_key_value: Linear::load(checkpoint, &format!("{name}/self_attention/linear_0"), 3 * n, n)?,
                self_out: Linear::load(checkpoint, &format!("{name}/self_attention/linear_1"), n, n)?,
                cross_norm: Norm::load(checkpoint, &format!("{name}/attention/layer_norm"), n)?,
                cross_query: Linear::load(checkpoint, &format!("{name}/attention/linear_0"), n, n)?,
                cross_key_value: Linear::load(checkpoint, &format!("{name}/attention/linear_1"), 2 * n, n)?,
                cross_out: Linear::load(checkpoint, &format!("{name}/attention/linear_2"), n, n)?,
                mlp_norm: Norm::load(checkpoint, &format!("{name}/ffn/layer_norm"), n)?,
                mlp_in: Linear::load(checkpoint, &format!("{name}/ffn/linear_0"), 4 * n, n)?,
                mlp_out: Linear::load(checkpoint, &format!("{name}/ffn/linear_1"), n, 4 * n)?,
                past: KeyValues::default(),
                heard: KeyValues::default(),
            })
        });
        let embeddings = checkpoint.f32s("decoder/embeddings/weight", &[hyper.n_vocab, n])?;
        Ok(Decoder {
            n_state: n,
            n_text_ctx: hyper.n_text_ctx,
            embeddings: Matrix::from_f32_int8(hyper.n_vocab, n, &embeddings).map_err(kernel_error)?,
            positions: checkpoint.f32s("decoder/position_encodings/encodings", &[hyper.n_text_ctx, n])?,
            layers: layers.collect::<Result<_>>()?,
            norm: Norm::load(checkpoint, "decoder/layer_norm", n)?,
            state: State::default(),
        })
    }

    pub(super) fn n_vocab(&self) -> usize {
        self.embeddings.rows()
    }

    /// Tokens the decoder can hold.
    pub(super) fn n_text_ctx(&self) -> usize {
        self.n_text_ctx
    }

    /// Takes in a clip's features `[n_ctx, n_state]` and the silence behind them, and forgets all tokens.
    pub(super) fn listen(
        &mut self,
        features: &[f32],
        n_ctx: usize,
        silence: Option<&Silence>,
        machine: &Machine,
        cancel: &AtomicBool,
    ) -> Result<()> {
        let n = self.n_state;
        let State { wide, codes, .. } = &mut self.state;
        for (i, layer) in self.layers.iter_mut().enumerate() {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            layer.cross_key_value.apply(features, wide, Then::Nothing, codes, machine)?;
            layer.heard.clear(n / HEAD, n_ctx + silence.map_or(0, |silence| silence.len_behind(n_ctx)));
            layer.heard.extend(wide, 2 * n, 0, machine);
            if let Some(silence) = silence {
                silence.extend(&mut layer.heard, silence.decoder_layer(i), machine);
            }
            layer.past.clear(n / HEAD, self.n_text_ctx);
        }
        Ok(())
    }

    /// Adds what the cross-attention layers make of silence.
    pub(super) fn complete_silence(&mut self, silence: &mut Silence, machine: &Machine) -> Result<()> {
        let State { wide, codes, .. } = &mut self.state;
        for layer in &self.layers {
            layer.cross_key_value.apply(silence.features(), wide, Then::Nothing, codes, machine)?;
            silence.add_decoder_layer(wide);
        }
        Ok(())
    }

    /// Tokens taken in since `listen`.
    pub(super) fn len(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.past.len())
    }

    /// Takes tokens back, down to `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        for layer in &mut self.layers {
            layer.past.truncate(len);
        }
    }

    /// Takes in tokens and returns the logits `[n, n_vocab]` after the last `n` of them. The caller may change them.
    ///
    /// All of them must fit: `len() + tokens.len() <= n_text_ctx()`.
    pub(super) fn forward(&mut self, tokens: &[TokenId], n: usize, machine: &Machine) -> Result<&mut [f32]> {
        let start = self.len();
        let n_state = self.n_state;
        if start + tokens.len() > self.n_text_ctx || n > tokens.len() {
            return Err(Error::Engine(format!("{} tokens after {start} do not fit the decoder", tokens.len())));
        }
        let State { x, normed, wide, attended, product: out, logits, codes } = &mut self.state;
        x.resize(tokens.len() * n_state, 0.0);
        let positions = self.positions[start * n_state..].chunks_exact(n_state);
        for ((row, &token), position) in x.chunks_exact_mut(n_state).zip(tokens).zip(positions) {
            self.embeddings.dequantize_row(token as usize, row).map_err(kernel_error)?;
            elementwise::add_assign(machine.isa, row, position);
        }
        for layer in &mut self.layers {
            layer.self_norm.apply(x, normed, machine)?;
            layer.self_query_key_value.apply(normed, wide, Then::Nothing, codes, machine)?;
            layer.past.extend(wide, 3 * n_state, n_state, machine);
            attend(wide, 3 * n_state, &layer.past, Some(start), attended, machine);
            layer.self_out.add_to(x, attended, out, codes, machine)?;

            layer.cross_norm.apply(x, normed, machine)?;
            layer.cross_query.apply(normed, wide, Then::Nothing, codes, machine)?;
            attend(wide, n_state, &layer.heard, None, attended, machine);
            layer.cross_out.add_to(x, attended, out, codes, machine)?;

            layer.mlp_norm.apply(x, normed, machine)?;
            layer.mlp_in.apply(normed, wide, Then::Gelu, codes, machine)?;
            layer.mlp_out.add_to(x, wide, out, codes, machine)?;
        }
        self.norm.apply(&x[(tokens.len() - n) * n_state..], normed, machine)?;
        product(&self.embeddings, normed, logits, codes, machine)?;
        Ok(logits)
    }
}
