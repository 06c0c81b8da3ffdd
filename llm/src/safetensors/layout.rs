//! Which tensor is which part of a model, by Hugging Face's names.

use super::Tensors;
use super::shape::Shape;
use crate::config::{Arch, Config};
use crate::error::Result;
use crate::weights::{Layer, Linear, Weights};

pub(super) fn model(tensors: &Tensors, config: Config, shape: &Shape) -> Result<(Config, Weights)> {
    let c = &config;
    // Gemma stores each gamma less 1.
    let unit = if c.arch == Arch::Gemma3 { 1.0 } else { 0.0 };
    let embed = tensors.matrix("model.embed_tokens.weight", c.vocab, c.hidden)?;
    let output_norm = tensors.vector("model.norm.weight", c.hidden, unit)?;
    let output = if c.tied { None } else { Some(tensors.matrix("lm_head.weight", c.vocab, c.hidden)?) };
    let mut layers = Vec::new();
    for (l, layer_shape) in shape.layers.iter().enumerate() {
        let name = |part: &str| format!("model.layers.{l}.{part}");
        let linear = |part: &str, rows: usize, cols: usize| -> Result<Linear> {
            let weight = tensors.matrix(&name(&format!("{part}.weight")), rows, cols)?;
            let bias = name(&format!("{part}.bias"));
            let bias = tensors.has(&bias).then(|| tensors.vector(&bias, rows, 0.0)).transpose()?;
            Ok(Linear { weight, bias })
        };
        let norm = |part: &str, len: usize| tensors.vector(&name(&format!("{part}.weight")), len, unit);
        let norm_if = |there: bool, part: &str, len: usize| there.then(|| norm(part, len)).transpose();
        let head_norms = matches!(c.arch, Arch::Qwen3 | Arch::Gemma3);
        let gemma = c.arch == Arch::Gemma3;
        let ffn_norm = if gemma { "pre_feedforward_layernorm" } else { "post_attention_layernorm" };
        layers.push(Layer {
            attn_norm: norm("input_layernorm", c.hidden)?,
            q: linear("self_attn.q_proj", c.q_size(), c.hidden)?,
            k: linear("self_attn.k_proj", c.kv_size(), c.hidden)?,
            v: linear("self_attn.v_proj", c.kv_size(), c.hidden)?,
            q_norm: norm_if(head_norms, "self_attn.q_norm", c.head_size)?,
            k_norm: norm_if(head_norms, "self_attn.k_norm", c.head_size)?,
            o: linear("self_attn.o_proj", c.hidden, c.q_size())?,
            post_attn_norm: norm_if(gemma, "post_attention_layernorm", c.hidden)?,
            ffn_norm: norm(ffn_norm, c.hidden)?,
            gate: linear("mlp.gate_proj", c.ffn, c.hidden)?,
            up: linear("mlp.up_proj", c.ffn, c.hidden)?,
            down: linear("mlp.down_proj", c.hidden, c.ffn)?,
            post_ffn_norm: norm_if(gemma, "post_feedforward_layernorm", c.hidden)?,
            rope: layer_shape.rope.clone(),
            window: layer_shape.window,
        });
    }
    Ok((config, Weights { embed, layers, output_norm, output }))
}
