//! Which metadata key and which tensor is which part of a model.

use super::{File, Value};
use crate::config::{Activation, Arch, Config, RopeStyle};
use crate::error::{Error, Result};
use crate::rope;
use crate::weights::{Layer, Linear, Weights};
use std::collections::HashSet;
use std::sync::Arc;

pub(super) fn model(file: &File) -> Result<(Config, Weights)> {
    let config = config(file)?;
    config.check(&file.path)?;
    let weights = weights(file, &config)?;
    Ok((config, weights))
}

fn arch(file: &File) -> Result<Arch> {
    let key = "general.architecture";
    match file.metadata.string(key)?.ok_or_else(|| file.metadata.missing(key))? {
        "llama" => Ok(Arch::Llama),
        "qwen2" => Ok(Arch::Qwen2),
        "qwen3" => Ok(Arch::Qwen3),
        "gemma3" => Ok(Arch::Gemma3),
        other => Err(Error::unsupported(&file.path, key, format!("the architecture {other:?}"))),
    }
}

/// Look-ups of `<architecture>.<name>`.
struct Keys<'a> {
    file: &'a File,
    arch: &'static str,
}

impl Keys<'_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.arch)
    }

    fn size(&self, name: &str) -> Result<Option<usize>> {
        let key = self.key(name);
        if let Some(Value::Numbers(per_layer)) = self.file.metadata.get(&key) {
            // One number a layer is fine where all are the same.
            let first = per_layer.first().copied().unwrap_or(-1.0);
            if per_layer.iter().any(|&n| n != first) || first < 0.0 || first.fract() != 0.0 {
                return Err(Error::unsupported(&self.file.path, key, "a different number in each layer"));
            }
            return Ok(Some(first as usize));
        }
        let size = self.file.metadata.uint(&key)?;
        let fits = size.map(usize::try_from).transpose();
        fits.map_err(|_| Error::malformed(&self.file.path, key, "is too large"))
    }

    fn needed(&self, name: &str) -> Result<usize> {
        self.size(name)?.ok_or_else(|| self.file.metadata.missing(&self.key(name)))
    }

    fn float(&self, name: &str) -> Result<Option<f32>> {
        Ok(self.file.metadata.float(&self.key(name))?.map(|x| x as f32))
    }

    fn reject(&self, name: &str, what: &str) -> Result<()> {
        match self.size(name)? {
            None | Some(0) => Ok(()),
            Some(n) => Err(Error::unsupported(&self.file.path, self.key(name), format!("{what} ({n})"))),
        }
    }
}

fn config(file: &File) -> Result<Config> {
    let arch = arch(file)?;
    let keys = Keys { file, arch: arch.name() };
    keys.reject("expert_count", "a mixture of experts")?;
    let hidden = keys.needed("embedding_length")?;
    let n_heads = keys.needed("attention.head_count")?;
    let head_size = match keys.size("attention.key_length")? {
        Some(size) => size,
        None => hidden.checked_div(n_heads).unwrap_or(0),
    };
    if keys.size("attention.value_length")?.is_some_and(|value| value != head_size) {
        let what = keys.key("attention.value_length");
        return Err(Error::unsupported(&file.path, what, "a value size that differs from the key size"));
    }
    if keys.size("rope.dimension_count")?.is_some_and(|dims| dims != head_size) {
        let what = keys.key("rope.dimension_count");
        return Err(Error::unsupported(&file.path, what, "RoPE over a part of each head"));
    }
    let embed = file.tensor("token_embd.weight")?;
    let attn_scale = keys.float("attention.scale")?.filter(|&scale| scale != 0.0);
    Ok(Config {
        arch,
        n_layers: keys.needed("block_count")?,
        hidden,
        ffn: keys.needed("feed_forward_length")?,
        n_heads,
        n_kv_heads: keys.size("attention.head_count_kv")?.unwrap_or(n_heads),
        head_size,
        vocab: embed.shape.get(1).copied().unwrap_or(0),
        context: keys.needed("context_length")?,
        rms_eps: keys
            .float("attention.layer_norm_rms_epsilon")?
            .ok_or_else(|| file.metadata.missing(&keys.key("attention.layer_norm_rms_epsilon")))?,
        // The converter permutes the rows of llama's q and k so that neighbours pair up.
        rope_style: if arch == Arch::Llama { RopeStyle::Interleaved } else { RopeStyle::HalfSplit },
        activation: if arch == Arch::Gemma3 { Activation::GeluTanh } else { Activation::Silu },
        embed_scale: if arch == Arch::Gemma3 { (hidden as f32).sqrt() } else { 1.0 },
        attn_scale: attn_scale.unwrap_or(1.0 / (head_size as f32).sqrt()),
        tied: !file.has("output.weight"),
    })
}

/// The frequencies of global layers and, where they differ, of sliding-window layers.
struct Ropes {
    global: Arc<[f32]>,
    local: Arc<[f32]>,
    window: Option<usize>,
    /// Every this many layers one is global; the rest slide.
    pattern: usize,
}

impl Ropes {
    fn layer(&self, l: usize) -> (Arc<[f32]>, Option<usize>) {
        if self.window.is_none() || (l + 1).is_multiple_of(self.pattern) {
            (self.global.clone(), None)
        } else {
            (self.local.clone(), self.window)
        }
    }
}

fn ropes(file: &File, c: &Config) -> Result<Ropes> {
    let keys = Keys { file, arch: c.arch.name() };
    let base = keys.float("rope.freq_base")?.unwrap_or(10_000.0);
    let check = |base: f32, name: &str| {
        if base >= 1.0 {
            Ok(())
        } else {
            Err(Error::malformed(&file.path, keys.key(name), format!("{base} is below 1")))
        }
    };
    check(base, "rope.freq_base")?;
    let mut global = rope::frequencies(base, c.head_size);
    let local_base = match c.arch {
        Arch::Gemma3 => keys.float("rope.freq_base_swa")?.unwrap_or(10_000.0),
        _ => base,
    };
    check(local_base, "rope.freq_base_swa")?;
    let local = rope::frequencies(local_base, c.head_size);
    let scaling = keys.key("rope.scaling.type");
    let factor = keys.float("rope.scaling.factor")?.unwrap_or(1.0);
    match file.metadata.string(&scaling)? {
        None | Some("none") => {}
        Some("linear") if factor >= 1.0 => global.iter_mut().for_each(|f| *f /= factor),
        Some(other) => {
            return Err(Error::unsupported(&file.path, scaling, format!("RoPE scaling {other:?} by {factor}")));
        }
    }
    if file.has("rope_freqs.weight") {
        // Llama 3's scaling comes as a divisor for every frequency.
        let divisors = file.vector("rope_freqs.weight", c.head_size / 2)?;
        global.iter_mut().zip(divisors).for_each(|(f, divisor)| *f /= divisor);
    }
    if let Some(bad) = global.iter().find(|f| !f.is_finite()) {
        return Err(Error::malformed(&file.path, "rope_freqs.weight", format!("makes the frequency {bad}")));
    }
    let window = if c.arch == Arch::Gemma3 { keys.size("attention.sliding_window")?.filter(|&n| n > 0) } else { None };
    if c.arch != Arch::Gemma3 {
        keys.reject("attention.sliding_window", "a sliding window")?;
    }
    Ok(Ropes { global: global.into(), local: local.into(), window, pattern: 6 }) // Gemma 3: five local, one global
}

fn weights(file: &File, c: &Config) -> Result<Weights> {
    let ropes = ropes(file, c)?;
    let embed = file.matrix("token_embd.weight", c.vocab, c.hidden)?;
    let output = if c.tied { None } else { Some(file.matrix("output.weight", c.vocab, c.hidden)?) };
    let output_norm = file.vector("output_norm.weight", c.hidden)?;
    let mut used: HashSet<String> =
        ["token_embd.weight", "output.weight", "output_norm.weight", "rope_freqs.weight"].map(str::to_owned).into();
    let mut layers = Vec::new();
    for l in 0..c.n_layers {
        layers.push(layer(file, c, l, &ropes, &mut used)?);
    }
    // A tensor that nobody reads means a model that is not what it says.
    if let Some(name) = file.tensors.keys().filter(|name| !used.contains(*name)).min() {
        let reason = format!("a {} model with this tensor", c.arch.name());
        return Err(Error::unsupported(&file.path, format!("tensor {name}"), reason));
    }
    Ok(Weights { embed, layers, output_norm, output })
}

fn layer(file: &File, c: &Config, l: usize, ropes: &Ropes, used: &mut HashSet<String>) -> Result<Layer> {
    let mut name = |part: &str| {
        let name = format!("blk.{l}.{part}");
        used.insert(name.clone());
        name
    };
    let mut linear = |part: &str, rows: usize, cols: usize| -> Result<Linear> {
        let weight = file.matrix(&name(&format!("{part}.weight")), rows, cols)?;
        let bias = file.vector_if_there(&name(&format!("{part}.bias")), rows)?;
        Ok(Linear { weight, bias })
    };
    let q = linear("attn_q", c.q_size(), c.hidden)?;
    let k = linear("attn_k", c.kv_size(), c.hidden)?;
    let v = linear("attn_v", c.kv_size(), c.hidden)?;
    let o = linear("attn_output", c.hidden, c.q_size())?;
    let gate = linear("ffn_gate", c.ffn, c.hidden)?;
    let up = linear("ffn_up", c.ffn, c.hidden)?;
    let down = linear("ffn_down", c.hidden, c.ffn)?;
    let mut norm = |part: &str, len: usize| file.vector(&name(part), len);
    let attn_norm = norm("attn_norm.weight", c.hidden)?;
    let ffn_norm = norm("ffn_norm.weight", c.hidden)?;
    let head_norms = matches!(c.arch, Arch::Qwen3 | Arch::Gemma3);
    let around = c.arch == Arch::Gemma3;
    let mut norm_if = |there: bool, part: &str, len: usize| there.then(|| norm(part, len)).transpose();
    let (rope, window) = ropes.layer(l);
    Ok(Layer {
        attn_norm,
        q,
        k,
        v,
        q_norm: norm_if(head_norms, "attn_q_norm.weight", c.head_size)?,
        k_norm: norm_if(head_norms, "attn_k_norm.weight", c.head_size)?,
        o,
        post_attn_norm: norm_if(around, "post_attention_norm.weight", c.hidden)?,
        ffn_norm,
        gate,
        up,
        down,
        post_ffn_norm: norm_if(around, "post_ffw_norm.weight", c.hidden)?,
        rope,
        window,
    })
}
