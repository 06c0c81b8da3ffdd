//! The scalar forward pass in f32, kept simple and never optimised: the oracle for every other.
//!
//! Weights are dequantized row by row where they are used, activations are never rounded.
//! Buffers are row-major with one row a token.

use super::{Forward, State, StateOptions};
use crate::config::{Activation, Config, RopeStyle, TokenId};
use crate::error::{Error, Result};
use crate::weights::{Layer, Linear, Matrix, Weights};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Weights as the file has them.
pub struct Reference {
    config: Arc<Config>,
    weights: Arc<Weights>,
}

impl Reference {
    /// Takes the model as its loader built it.
    pub fn new(config: Config, weights: Weights) -> Self {
        Self { config: Arc::new(config), weights: Arc::new(weights) }
    }
}

impl Forward for Reference {
    fn bytes_per_token(&self) -> usize {
        // Of an embedding of its own, a token reads one row.
        let own = if self.weights.output.is_some() { self.weights.embed.bytes() } else { 0 };
        self.weights.bytes() - own
    }

    fn state(&self, options: StateOptions) -> Result<Box<dyn State>> {
        let c = &self.config;
        let size = c.n_layers.checked_mul(options.context).and_then(|n| n.checked_mul(c.kv_size()));
        let size = size.ok_or_else(|| Error::Setting {
            setting: "context",
            reason: format!("{} positions overflow memory", options.context),
        })?;
        Ok(Box::new(ReferenceState {
            config: self.config.clone(),
            weights: self.weights.clone(),
            context: options.context,
            keys: vec![0.0; size],
            values: vec![0.0; size],
            tapped: Vec::new(),
            taps: Vec::new(),
        }))
    }
}

struct ReferenceState {
    config: Arc<Config>,
    weights: Arc<Weights>,
    context: usize,
    keys: Vec<f32>,   // [n_layers, context, n_kv_heads, head_size], RoPE applied
    values: Vec<f32>, // [n_layers, context, n_kv_heads, head_size]
    tapped: Vec<usize>,
    taps: Vec<Vec<f32>>, // one [tokens, hidden] for each of `tapped`
}

impl State for ReferenceState {
    fn forward(&mut self, tokens: &[TokenId], start: usize, logits: &mut [f32], cancel: &AtomicBool) -> Result<()> {
        let (config, weights) = (self.config.clone(), self.weights.clone());
        let c = &*config;
        let n = tokens.len();

        let mut x = vec![0.0; n * c.hidden]; // [n, hidden], the residual stream
        for (x, &token) in x.chunks_exact_mut(c.hidden).zip(tokens) {
            weights.embed.row(token as usize, x);
            x.iter_mut().for_each(|x| *x *= c.embed_scale);
        }
        self.taps = vec![Vec::new(); self.tapped.len()];

        for (l, layer) in weights.layers.iter().enumerate() {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let h = rms_norm(&x, &layer.attn_norm, c.rms_eps);
            let mut q = linear(&layer.q, &h); // [n, n_heads, head_size]
            let mut k = linear(&layer.k, &h); // [n, n_kv_heads, head_size]
            let v = linear(&layer.v, &h); // [n, n_kv_heads, head_size]
            if let Some(gamma) = &layer.q_norm {
                q = rms_norm(&q, gamma, c.rms_eps);
            }
            if let Some(gamma) = &layer.k_norm {
                k = rms_norm(&k, gamma, c.rms_eps);
            }
            rope(&mut q, c.q_size(), start, layer, c);
            rope(&mut k, c.kv_size(), start, layer, c);

            let at = (l * self.context + start) * c.kv_size();
            self.keys[at..at + k.len()].copy_from_slice(&k);
            self.values[at..at + v.len()].copy_from_slice(&v);
            let attended = self.attention(l, layer, &q, start); // [n, n_heads, head_size]

            let mut y = linear(&layer.o, &attended);
            if let Some(gamma) = &layer.post_attn_norm {
                y = rms_norm(&y, gamma, c.rms_eps);
            }
            add(&mut x, &y);

            let h = rms_norm(&x, &layer.ffn_norm, c.rms_eps);
            let mut gate = linear(&layer.gate, &h); // [n, ffn]
            let up = linear(&layer.up, &h); // [n, ffn]
            for (gate, up) in gate.iter_mut().zip(&up) {
                *gate = activate(c.activation, *gate) * up;
            }
            let mut y = linear(&layer.down, &gate);
            if let Some(gamma) = &layer.post_ffn_norm {
                y = rms_norm(&y, gamma, c.rms_eps);
            }
            add(&mut x, &y);

            for (tap, _) in self.taps.iter_mut().zip(&self.tapped).filter(|(_, at)| **at == l) {
                tap.clone_from(&x);
            }
        }

        let outputs = logits.len() / c.vocab;
        let h = rms_norm(&x[(n - outputs) * c.hidden..], &weights.output_norm, c.rms_eps);
        matmul(weights.head(), &h, logits);
        Ok(())
    }

    fn set_threads(&mut self, _threads: usize) {}

    fn set_taps(&mut self, layers: &[usize]) {
        self.tapped = layers.to_vec();
        self.taps = vec![Vec::new(); layers.len()];
    }

    fn tap(&self, tap: usize) -> &[f32] {
        &self.taps[tap]
    }

    fn save(&self, len: usize, out: &mut Vec<u8>) {
        for cache in [&self.keys, &self.values] {
            for layer in cache.chunks_exact(self.context * self.config.kv_size()) {
                let rows = &layer[..len * self.config.kv_size()];
                out.extend(rows.iter().flat_map(|x| x.to_le_bytes()));
            }
        }
    }

    fn load(&mut self, len: usize, saved: &[u8]) -> Result<()> {
        let kv_size = self.config.kv_size();
        let needed = 2 * self.config.n_layers * len * kv_size * 4;
        if saved.len() != needed || len > self.context {
            return Err(Error::State(format!("{len} positions need {needed} bytes, not {}", saved.len())));
        }
        let mut numbers = saved.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        for cache in [&mut self.keys, &mut self.values] {
            for layer in cache.chunks_exact_mut(self.context * kv_size) {
                for (x, saved) in layer[..len * kv_size].iter_mut().zip(&mut numbers) {
                    *x = saved;
                }
            }
        }
        Ok(())
    }
}

impl ReferenceState {
    /// Causal attention of the queries at `start..` over everything cached. `[n, n_heads, head_size]`
    fn attention(&self, l: usize, layer: &Layer, q: &[f32], start: usize) -> Vec<f32> {
        let c = &*self.config;
        let mut out = vec![0.0; q.len()];
        let heads_per_kv = c.n_heads / c.n_kv_heads;
        for (i, (q, out)) in q.chunks_exact(c.head_size).zip(out.chunks_exact_mut(c.head_size)).enumerate() {
            let (position, head) = (start + i / c.n_heads, i % c.n_heads);
            let first = layer.window.map_or(0, |window| (position + 1).saturating_sub(window));
            let at = |p: usize| ((l * self.context + p) * c.n_kv_heads + head / heads_per_kv) * c.head_size;
            let mut scores: Vec<f32> =
                (first..=position).map(|p| dot(q, &self.keys[at(p)..][..c.head_size]) * c.attn_scale).collect();
            softmax(&mut scores);
            for (p, score) in (first..=position).zip(&scores) {
                for (out, v) in out.iter_mut().zip(&self.values[at(p)..][..c.head_size]) {
                    *out += score * v;
                }
            }
        }
        out
    }
}

/// `x / sqrt(mean(x^2) + eps) * gamma` over every row of `gamma.len()` elements.
fn rms_norm(x: &[f32], gamma: &[f32], eps: f32) -> Vec<f32> {
    let mut out = Vec::with_capacity(x.len());
    for row in x.chunks_exact(gamma.len()) {
        let scale = 1.0 / (dot(row, row) / row.len() as f32 + eps).sqrt();
        out.extend(row.iter().zip(gamma).map(|(x, gamma)| x * scale * gamma));
    }
    out
}

fn linear(linear: &Linear, x: &[f32]) -> Vec<f32> {
    let n = x.len() / linear.weight.cols();
    let mut out = vec![0.0; n * linear.weight.rows()];
    matmul(&linear.weight, x, &mut out);
    if let Some(bias) = &linear.bias {
        out.chunks_exact_mut(bias.len()).for_each(|row| add(row, bias));
    }
    out
}

/// `out[n, rows] = x[n, cols] * w[rows, cols]^T`
fn matmul(w: &Matrix, x: &[f32], out: &mut [f32]) {
    let mut row = vec![0.0; w.cols()];
    for r in 0..w.rows() {
        w.row(r, &mut row);
        for (x, out) in x.chunks_exact(w.cols()).zip(out.chunks_exact_mut(w.rows())) {
            out[r] = dot(x, &row);
        }
    }
}

/// Eight partial sums: closer to the true sum than one, and the compiler may use vectors.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

fn softmax(x: &mut [f32]) {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    x.iter_mut().for_each(|x| *x = (*x - max).exp());
    let sum: f32 = x.iter().sum();
    x.iter_mut().for_each(|x| *x /= sum);
}

fn activate(activation: Activation, x: f32) -> f32 {
    match activation {
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::GeluTanh => {
            let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }
    }
}

/// Turns every head of every row; row `i` is at position `start + i`.
fn rope(x: &mut [f32], row: usize, start: usize, layer: &Layer, c: &Config) {
    for (i, row) in x.chunks_exact_mut(row).enumerate() {
        for head in row.chunks_exact_mut(c.head_size) {
            for (pair, frequency) in layer.rope.iter().enumerate() {
                let (a, b) = match c.rope_style {
                    RopeStyle::Interleaved => (2 * pair, 2 * pair + 1),
                    RopeStyle::HalfSplit => (pair, pair + c.head_size / 2),
                };
                let (sin, cos) = ((start + i) as f32 * frequency).sin_cos();
                (head[a], head[b]) = (head[a] * cos - head[b] * sin, head[a] * sin + head[b] * cos);
            }
        }
    }
}
