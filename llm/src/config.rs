//! The shape of a model: what a forward pass must know besides the weights, whatever file it came from.

use crate::error::{Error, Result};
use std::path::Path;

/// A token's number.
pub type TokenId = u32;

/// The architectures that the forward pass knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arch {
    /// Llama and its many relatives, SmolLM2 among them.
    Llama,
    /// Qwen2 and Qwen2.5: biases on q, k and v.
    Qwen2,
    /// Qwen3 and the Pocket LLM: RMSNorm over every head of q and k.
    Qwen3,
    /// Gemma 3: norms around attention and feed-forward, GELU, sliding windows.
    Gemma3,
}

impl Arch {
    /// The name used in GGUF files and `config.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
            Self::Gemma3 => "gemma3",
        }
    }
}

/// Which pairs of a head RoPE turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RopeStyle {
    /// Elements `2i` and `2i + 1`: llama GGUF files, whose q and k rows were permuted for it.
    Interleaved,
    /// Elements `i` and `i + head_size / 2` ("NeoX", rotate-half): everything else.
    HalfSplit,
}

/// The gate's non-linearity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `x * sigmoid(x)`.
    Silu,
    /// GELU in its tanh form.
    GeluTanh,
}

/// Hyperparameters of a decoder-only transformer.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Architecture.
    pub arch: Arch,
    /// Number of transformer blocks.
    pub n_layers: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the feed-forward layer.
    pub ffn: usize,
    /// Query heads.
    pub n_heads: usize,
    /// Key/value heads; divides `n_heads`.
    pub n_kv_heads: usize,
    /// Elements of one head; even.
    pub head_size: usize,
    /// Rows of the embedding matrix; a tokenizer may know fewer.
    pub vocab: usize,
    /// Longest context the model was trained for, in tokens.
    pub context: usize,
    /// Epsilon of every RMSNorm.
    pub rms_eps: f32,
    /// Pairing of RoPE. Its frequencies lie with each layer: see `Layer::rope`.
    pub rope_style: RopeStyle,
    /// Non-linearity of the gate.
    pub activation: Activation,
    /// Factor on the embedding row, 1 except for Gemma.
    pub embed_scale: f32,
    /// Factor on q·k, usually `1 / sqrt(head_size)`.
    pub attn_scale: f32,
    /// The output matrix is the embedding matrix.
    pub tied: bool,
}

/// No published model of these architectures comes near; what lies beyond is a damaged header.
const MAX_DIMENSION: usize = 1 << 20;
const MAX_LAYERS: usize = 1024;

impl Config {
    /// Elements of all query heads together.
    pub fn q_size(&self) -> usize {
        self.n_heads * self.head_size
    }

    /// Elements of all key (or value) heads together.
    pub fn kv_size(&self) -> usize {
        self.n_kv_heads * self.head_size
    }

    /// Checks every relation that the forward pass relies on.
    ///
    /// # Errors
    /// [`Error::Malformed`] naming the dimension at fault.
    pub(crate) fn check(&self, path: &Path) -> Result<()> {
        let dims = [
            ("layers", self.n_layers, MAX_LAYERS),
            ("hidden size", self.hidden, MAX_DIMENSION),
            ("feed-forward size", self.ffn, MAX_DIMENSION),
            ("attention heads", self.n_heads, MAX_DIMENSION),
            ("key/value heads", self.n_kv_heads, MAX_DIMENSION),
            ("head size", self.head_size, 1024),
            ("vocabulary", self.vocab, 1 << 24),
            ("context length", self.context, 1 << 24),
        ];
        for (name, value, max) in dims {
            if value == 0 || value > max {
                return Err(Error::malformed(path, name, format!("{value} is not within 1..={max}")));
            }
        }
        if !self.n_heads.is_multiple_of(self.n_kv_heads) {
            let reason = format!("{} heads do not divide over {} key/value heads", self.n_heads, self.n_kv_heads);
            return Err(Error::malformed(path, "key/value heads", reason));
        }
        if !self.head_size.is_multiple_of(2) {
            return Err(Error::malformed(path, "head size", format!("{} is odd", self.head_size)));
        }
        if self.q_size() > MAX_DIMENSION {
            return Err(Error::malformed(path, "attention heads", "too many for their size"));
        }
        for (name, value) in [
            ("RMSNorm epsilon", self.rms_eps),
            ("embedding scale", self.embed_scale),
            ("attention scale", self.attn_scale),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::malformed(path, name, format!("{value} is not a positive number")));
            }
        }
        Ok(())
    }
}
