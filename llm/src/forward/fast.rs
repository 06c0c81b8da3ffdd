//! The forward pass to use: weights repacked into the layout of the kernels, activations in 8 bits where they
//! meet a matrix, keys and values in half precision.
//!
//! Prompts run in chunks of [`CHUNK`] positions; a single position takes the same path, for which the kernels
//! have forms of their own. Everything is allocated with the state.

mod packed;

use super::{Forward, State, StateOptions};
use crate::config::{Activation, Config, RopeStyle, TokenId};
use crate::error::{Error, Result};
use crate::weights::Weights;
use kernels::elementwise::{add_assign, gelu_tanh_mul, rms_norm_in_place, silu_mul};
use kernels::{Compute, Heads, Input, KvCache, MAX_THREADS, Output};
use packed::{GateUp, Packed, PackedLayer};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Positions computed together: enough that unpacking a panel of weights costs little beside using it, few
/// enough that their activations stay in a core's second-level cache and their buffers small.
const CHUNK: usize = 128;

/// Weights in the layout of the kernels.
pub struct Fast {
    config: Arc<Config>,
    packed: Arc<Packed>,
}

impl Fast {
    /// Repacks the model; the file's pages are given back as it goes.
    ///
    /// # Errors
    /// [`Error::Malformed`] naming the matrix of the model at `path` that cannot be packed.
    pub fn new(path: &Path, config: Config, weights: Weights) -> Result<Self> {
        let packed = Packed::new(path, &config, weights)?;
        Ok(Self { config: Arc::new(config), packed: Arc::new(packed) })
    }
}

impl Forward for Fast {
    fn bytes_per_token(&self) -> usize {
        self.packed.bytes_per_token()
    }

    fn state(&self, options: StateOptions) -> Result<Box<dyn State>> {
        let c = &*self.config;
        let setting = |setting, e: kernels::Error| Error::Setting { setting, reason: e.to_string() };
        let cache =
            KvCache::new(c.n_layers, c.n_kv_heads, c.head_size, options.context).map_err(|e| setting("context", e))?;
        let compute = Compute::new(options.threads.clamp(1, MAX_THREADS)).map_err(|e| setting("threads", e))?;
        let rows = CHUNK.min(options.context);
        let half = c.head_size / 2;
        Ok(Box::new(FastState {
            compute,
            cache,
            x: vec![0.0; rows * c.hidden],
            y: vec![0.0; rows * c.hidden],
            qkv: vec![0.0; rows * (c.q_size() + 2 * c.kv_size())],
            ffn: vec![0.0; rows * self.packed.ffn_width(c)],
            angles: self.packed.ropes.iter().map(|_| (vec![0.0; rows * half], vec![0.0; rows * half])).collect(),
            tapped: Vec::new(),
            taps: Vec::new(),
            config: self.config.clone(),
            packed: self.packed.clone(),
        }))
    }
}

struct FastState {
    config: Arc<Config>,
    packed: Arc<Packed>,
    compute: Compute,
    cache: KvCache,
    x: Vec<f32>,   // [rows, hidden], the residual stream
    y: Vec<f32>,   // [rows, hidden], what a block adds, where a norm comes in between
    qkv: Vec<f32>, // [rows, (n_heads + 2 n_kv_heads) head_size]
    ffn: Vec<f32>, // [rows, ffn], twice as wide where gates are not fused
    // Cosines and sines of each distinct set of frequencies. [rows, head_size / 2]
    angles: Vec<(Vec<f32>, Vec<f32>)>,
    tapped: Vec<usize>,
    taps: Vec<Vec<f32>>, // one [tokens, hidden] for each of `tapped`
}

impl State for FastState {
    fn forward(&mut self, tokens: &[TokenId], start: usize, logits: &mut [f32], cancel: &AtomicBool) -> Result<()> {
        self.taps.iter_mut().for_each(Vec::clear);
        let vocab = self.config.vocab;
        // Row of `tokens` whose logits come first.
        let first = tokens.len() - logits.len() / vocab;
        for (i, chunk) in tokens.chunks(CHUNK).enumerate() {
            let begin = i * CHUNK;
            self.layers(chunk, start + begin, cancel)?;
            let rows = first.clamp(begin, begin + chunk.len()) - begin..chunk.len();
            if !rows.is_empty() {
                let at = (begin + rows.start - first) * vocab;
                let count = rows.len();
                self.head(rows, &mut logits[at..at + count * vocab])?;
            }
        }
        Ok(())
    }

    fn set_threads(&mut self, threads: usize) {
        if let Err(error) = self.compute.set_threads(threads.clamp(1, MAX_THREADS)) {
            tracing::warn!("keeping {} threads: {error}", self.compute.pool().threads());
        }
    }

    fn set_taps(&mut self, layers: &[usize]) {
        self.tapped = layers.to_vec();
        self.taps = vec![Vec::new(); layers.len()];
    }

    fn tap(&self, tap: usize) -> &[f32] {
        &self.taps[tap]
    }

    fn save(&self, len: usize, out: &mut Vec<u8>) {
        self.cache.save(len, out);
    }

    fn load(&mut self, len: usize, saved: &[u8]) -> Result<()> {
        self.cache.load(len, saved).map_err(|e| Error::State(e.to_string()))
    }
}

impl FastState {
    /// Runs all layers on `tokens` at positions `start..`; leaves the residual stream in `self.x`.
    fn layers(&mut self, tokens: &[TokenId], start: usize, cancel: &AtomicBool) -> Result<()> {
        let (config, packed) = (self.config.clone(), self.packed.clone());
        let (c, n) = (&*config, tokens.len());
        self.embed(tokens)?;
        self.turn(start, n);
        for (l, layer) in packed.layers.iter().enumerate() {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            self.attention(layer, l, start, n).map_err(internal)?;
            self.feed_forward(layer, n, packed.after(l)).map_err(internal)?;
            for (tap, _) in self.taps.iter_mut().zip(&self.tapped).filter(|(_, at)| **at == l) {
                tap.extend_from_slice(&self.x[..n * c.hidden]);
            }
        }
        Ok(())
    }

    /// Embedding rows to the residual stream.
    fn embed(&mut self, tokens: &[TokenId]) -> Result<()> {
        let scale = self.config.embed_scale;
        for (x, &token) in self.x.chunks_exact_mut(self.config.hidden).zip(tokens) {
            self.packed.embed(token as usize, x).map_err(internal)?;
            if scale != 1.0 {
                x.iter_mut().for_each(|x| *x *= scale);
            }
        }
        Ok(())
    }

    /// Tables of RoPE's angles for positions `start..start + n`.
    fn turn(&mut self, start: usize, n: usize) {
        for (frequencies, (cos, sin)) in self.packed.ropes.iter().zip(&mut self.angles) {
            let half = frequencies.len();
            let rows = cos.chunks_exact_mut(half).zip(sin.chunks_exact_mut(half));
            for (i, (cos, sin)) in rows.take(n).enumerate() {
                for (f, (cos, sin)) in frequencies.iter().zip(cos.iter_mut().zip(sin)) {
                    (*sin, *cos) = ((start + i) as f32 * f).sin_cos();
                }
            }
        }
    }

    fn attention(&mut self, layer: &PackedLayer, l: usize, start: usize, n: usize) -> kernels::Result<()> {
        let c = &*self.config;
        let half = c.head_size / 2;
        let (cos, sin) = &self.angles[layer.rope];
        let heads = Heads {
            n_heads: c.n_heads,
            n_kv_heads: c.n_kv_heads,
            head_size: c.head_size,
            scale: c.attn_scale,
            window: layer.window,
            rope: match c.rope_style {
                RopeStyle::Interleaved => kernels::elementwise::RopeStyle::Interleaved,
                RopeStyle::HalfSplit => kernels::elementwise::RopeStyle::HalfSplit,
            },
            cos: &cos[..n * half],
            sin: &sin[..n * half],
            q_norm: layer.q_norm.as_deref(),
            k_norm: layer.k_norm.as_deref(),
            eps: c.rms_eps,
            bias: layer.qkv_bias.as_deref(),
        };
        let x = &mut self.x[..n * c.hidden];
        let qkv = &mut self.qkv[..n * (c.q_size() + 2 * c.kv_size())];
        let normed = Input::Normed { x, gamma: &layer.attn_norm, eps: c.rms_eps };
        self.compute.product(normed, n, &layer.qkv, Output::Store(qkv), layer.o.matrix.first())?;
        self.compute.attention(&heads, qkv, n, start, &mut self.cache, l)?;
        let block = Block {
            bias: layer.o.bias.as_deref(),
            norm: layer.post_attn_norm.as_deref(),
            eps: c.rms_eps,
            hidden: c.hidden,
        };
        let y = &mut self.y[..n * c.hidden];
        block.add(&mut self.compute, Input::Attended(&heads), n, &layer.o.matrix, x, y, layer.gate_up.first())
    }

    fn feed_forward(&mut self, layer: &PackedLayer, n: usize, next: Option<&kernels::Matrix>) -> kernels::Result<()> {
        let c = &*self.config;
        let compute = &mut self.compute;
        let x = &mut self.x[..n * c.hidden];
        let normed = Input::Normed { x, gamma: &layer.ffn_norm, eps: c.rms_eps };
        let down = layer.down.matrix.first();
        let ffn = match &layer.gate_up {
            GateUp::Pairs(pairs) => {
                let ffn = &mut self.ffn[..n * c.ffn];
                let out = match c.activation {
                    Activation::Silu => Output::GatedSilu(ffn),
                    Activation::GeluTanh => Output::GatedGelu(ffn),
                };
                compute.product(normed, n, pairs, out, down)?;
                &self.ffn[..n * c.ffn]
            }
            GateUp::Separate { matrices, bias } => {
                let both = &mut self.ffn[..n * 2 * c.ffn];
                compute.product(normed, n, matrices, Output::Store(both), down)?;
                let isa = compute.isa();
                for row in 0..n {
                    let (gate, up) = both[row * 2 * c.ffn..][..2 * c.ffn].split_at_mut(c.ffn);
                    if let Some(bias) = bias {
                        add_assign(isa, gate, &bias[..c.ffn]);
                        add_assign(isa, up, &bias[c.ffn..]);
                    }
                    match c.activation {
                        Activation::Silu => silu_mul(isa, gate, up),
                        Activation::GeluTanh => gelu_tanh_mul(isa, gate, up),
                    }
                    // Rows close ranks: the product that follows reads them without gaps.
                    both.copy_within(row * 2 * c.ffn..(row * 2 + 1) * c.ffn, row * c.ffn);
                }
                &self.ffn[..n * c.ffn]
            }
        };
        let block = Block {
            bias: layer.down.bias.as_deref(),
            norm: layer.post_ffn_norm.as_deref(),
            eps: c.rms_eps,
            hidden: c.hidden,
        };
        let y = &mut self.y[..n * c.hidden];
        block.add(compute, Input::Rows(ffn), n, &layer.down.matrix, x, y, next)
    }

    /// Logits of rows `rows` of the residual stream.
    fn head(&mut self, rows: std::ops::Range<usize>, logits: &mut [f32]) -> Result<()> {
        let c = &*self.config;
        let (n, x) = (rows.len(), &self.x[rows.start * c.hidden..rows.end * c.hidden]);
        if !x.iter().sum::<f32>().is_finite() {
            return Err(Error::NotFinite { at: "the last layer".to_owned() });
        }
        let input = Input::Normed { x, gamma: &self.packed.output_norm, eps: c.rms_eps };
        let next = self.packed.layers.first().and_then(|layer| layer.qkv.first());
        self.compute.product(input, n, &self.packed.head, Output::Store(logits), next).map_err(internal)
    }
}

/// How a block's output joins the residual stream.
struct Block<'a> {
    bias: Option<&'a [f32]>,
    norm: Option<&'a [f32]>,
    eps: f32,
    hidden: usize,
}

impl Block<'_> {
    /// `x += norm(input W^T + bias)`; `y` is scratch, `x` and `y`: `[n, hidden]`.
    #[allow(clippy::too_many_arguments, reason = "one call has them all")]
    fn add(
        &self,
        compute: &mut Compute,
        input: Input<'_>,
        n: usize,
        matrix: &[kernels::Matrix],
        x: &mut [f32],
        y: &mut [f32],
        next: Option<&kernels::Matrix>,
    ) -> kernels::Result<()> {
        if self.norm.is_none() && self.bias.is_none() {
            return compute.product(input, n, matrix, Output::Add(x), next);
        }
        compute.product(input, n, matrix, Output::Store(y), next)?;
        let isa = compute.isa();
        for (x, y) in x.chunks_exact_mut(self.hidden).zip(y.chunks_exact_mut(self.hidden)) {
            if let Some(bias) = self.bias {
                add_assign(isa, y, bias);
            }
            if let Some(gamma) = self.norm {
                rms_norm_in_place(isa, y, gamma, self.eps);
            }
            add_assign(isa, x, y);
        }
        Ok(())
    }
}

/// Lengths were checked when the state was made; if one does not fit, the engine is at fault.
fn internal(error: kernels::Error) -> Error {
    Error::State(format!("the engine contradicts itself, please report this: {error}"))
}
