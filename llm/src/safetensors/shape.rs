//! `config.json` of a Hugging Face model.

use crate::config::{Activation, Arch, Config, RopeStyle};
use crate::error::{Error, Result};
use crate::rope;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

#[derive(Deserialize)]
struct File {
    model_type: String,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    vocab_size: usize,
    max_position_embeddings: usize,
    rms_norm_eps: f32,
    #[serde(alias = "hidden_activation")]
    hidden_act: Option<String>,
    rope_theta: Option<f32>,
    rope_local_base_freq: Option<f32>,
    rope_scaling: Option<Value>,
    /// Where newer files keep all of RoPE.
    rope_parameters: Option<Value>,
    #[serde(default)]
    use_sliding_window: bool,
    sliding_window: Option<usize>,
    layer_types: Option<Vec<String>>,
    query_pre_attn_scalar: Option<f32>,
    tie_word_embeddings: Option<bool>,
}

/// What is particular to each layer.
pub(super) struct Shape {
    pub(super) layers: Vec<LayerShape>,
}

#[derive(Clone)]
pub(super) struct LayerShape {
    pub(super) rope: Arc<[f32]>,
    pub(super) window: Option<usize>,
}

pub(super) fn config(path: &Path, json: &Value) -> Result<(Config, Shape)> {
    let file = File::deserialize(json).map_err(|e| Error::malformed(path, "config", e.to_string()))?;
    let arch = match &*file.model_type {
        "llama" => Arch::Llama,
        "qwen2" => Arch::Qwen2,
        "qwen3" => Arch::Qwen3,
        "gemma3_text" => Arch::Gemma3,
        other => return Err(Error::unsupported(path, "model_type", format!("the architecture {other:?}"))),
    };
    let activation = match file.hidden_act.as_deref().unwrap_or("silu") {
        "silu" => Activation::Silu,
        "gelu_pytorch_tanh" => Activation::GeluTanh,
        other => return Err(Error::unsupported(path, "hidden_act", format!("the activation {other:?}"))),
    };
    let head_size = match file.head_dim {
        Some(size) => size,
        None => file.hidden_size.checked_div(file.num_attention_heads).unwrap_or(0),
    };
    let gemma = arch == Arch::Gemma3;
    let scalar = file.query_pre_attn_scalar.filter(|_| gemma).unwrap_or(head_size as f32);
    let config = Config {
        arch,
        n_layers: file.num_hidden_layers,
        hidden: file.hidden_size,
        ffn: file.intermediate_size,
        n_heads: file.num_attention_heads,
        n_kv_heads: file.num_key_value_heads.unwrap_or(file.num_attention_heads),
        head_size,
        vocab: file.vocab_size,
        context: file.max_position_embeddings,
        rms_eps: file.rms_norm_eps,
        rope_style: RopeStyle::HalfSplit,
        activation,
        embed_scale: if gemma { (file.hidden_size as f32).sqrt() } else { 1.0 },
        attn_scale: 1.0 / scalar.sqrt(),
        tied: file.tie_word_embeddings.unwrap_or(gemma),
    };
    config.check(path)?;
    let shape = shape(path, &file, &config)?;
    Ok((config, shape))
}

fn shape(path: &Path, file: &File, c: &Config) -> Result<Shape> {
    // Newer files give parameters for each kind of layer.
    let of =
        |kind: &str| file.rope_parameters.as_ref().map(|p| p.get(kind).unwrap_or(p)).or(file.rope_scaling.as_ref());
    let theta = file.rope_theta.unwrap_or(10_000.0);
    let global: Arc<[f32]> = frequencies(path, c.head_size, theta, of("full_attention"))?.into();
    if c.arch != Arch::Gemma3 {
        if file.use_sliding_window {
            return Err(Error::unsupported(path, "use_sliding_window", "a sliding window"));
        }
        return Ok(Shape { layers: vec![LayerShape { rope: global, window: None }; c.n_layers] });
    }
    let local_theta = file.rope_local_base_freq.unwrap_or(10_000.0);
    let local_scaling = file.rope_parameters.as_ref().and_then(|p| p.get("sliding_attention"));
    let local: Arc<[f32]> = frequencies(path, c.head_size, local_theta, local_scaling)?.into();
    let window = file.sliding_window.filter(|&n| n > 0);
    let layer = |l: usize| {
        let slides = match file.layer_types.as_ref().and_then(|types| types.get(l)) {
            Some(kind) => kind == "sliding_attention",
            None => !(l + 1).is_multiple_of(6), // Gemma 3: five local, one global
        };
        match window {
            Some(window) if slides => LayerShape { rope: local.clone(), window: Some(window) },
            _ => LayerShape { rope: global.clone(), window: None },
        }
    };
    Ok(Shape { layers: (0..c.n_layers).map(layer).collect() })
}

fn frequencies(path: &Path, head_size: usize, theta: f32, parameters: Option<&Value>) -> Result<Vec<f32>> {
    let number = |key: &str| parameters.and_then(|p| p.get(key)).and_then(Value::as_f64).map(|x| x as f32);
    let theta = number("rope_theta").unwrap_or(theta);
    if !(theta >= 1.0 && theta.is_finite()) {
        return Err(Error::malformed(path, "rope_theta", format!("{theta} is below 1")));
    }
    if number("partial_rotary_factor").is_some_and(|factor| factor != 1.0) {
        return Err(Error::unsupported(path, "partial_rotary_factor", "RoPE over a part of each head"));
    }
    let mut frequencies = rope::frequencies(theta, head_size);
    let kind = parameters.and_then(|p| p.get("rope_type").or_else(|| p.get("type"))).and_then(Value::as_str);
    let needed = |key: &'static str| {
        let value = number(key).filter(|x| x.is_finite() && *x > 0.0);
        value.ok_or_else(|| Error::malformed(path, key, "is missing or not above 0"))
    };
    match kind {
        None | Some("default") => {}
        Some("linear") => {
            let factor = needed("factor")?;
            frequencies.iter_mut().for_each(|f| *f /= factor);
        }
        Some("llama3") => rope::llama3(
            &mut frequencies,
            &rope::Llama3 {
                factor: needed("factor")?,
                low: needed("low_freq_factor")?,
                high: needed("high_freq_factor")?,
                original_context: needed("original_max_position_embeddings")?,
            },
        ),
        Some(other) => return Err(Error::unsupported(path, "rope_scaling", format!("RoPE scaling {other:?}"))),
    }
    Ok(frequencies)
}
