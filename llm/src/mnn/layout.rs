//! Which linear, norm and constant of the graph is which part of a model.

use super::graph::{Graph, Linear as Conv, Norm};
use super::weights::{Codes, File, matrix};
use super::{Bytes, Settings};
use crate::config::{Activation, Arch, Config, RopeStyle};
use crate::error::{Error, Result};
use crate::quant::GgmlType;
use crate::rope;
use crate::weights::{Layer, Linear, Matrix, Weights};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Linears of one layer, in the order of the op list.
const PARTS: [&str; 7] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
/// Where the files do not say: what the models of this family were trained for.
const DEFAULT_CONTEXT: usize = 32_768;

pub(super) fn model(settings: &Settings, path: &Path, graph: &Graph, file: &File) -> Result<(Config, Weights)> {
    let n_layers = settings.size("layer_nums").unwrap_or(0);
    let convs = linears(path, graph, n_layers)?;
    let (layer_convs, head) = convs.split_at(convs.len() - 1);
    let head = head[0];
    let (config, frequencies) = config(settings, path, graph, (n_layers, layer_convs, head))?;
    config.check(path)?;
    let c = &config;

    let linear = |what: &str, conv: &Conv, rows: usize, cols: usize| -> Result<Linear> {
        if (conv.rows, conv.cols) != (rows, cols) {
            let reason = format!("shape [{}, {}], expected [{rows}, {cols}]", conv.rows, conv.cols);
            return Err(Error::malformed(path, what, reason));
        }
        let (weight, bias) = file.linear(what, conv)?;
        Ok(Linear { weight, bias })
    };
    let rope: Arc<[f32]> = frequencies.into();
    let mut norms = norms(path, graph, c)?.into_iter();
    let mut norm = |what: String, len: usize| -> Result<Vec<f32>> {
        let norm = norms.next().ok_or_else(|| Error::malformed(path, what.clone(), "is missing"))?;
        file.gamma(&what, norm, len)
    };
    let mut layers = Vec::new();
    for (l, convs) in layer_convs.chunks_exact(PARTS.len()).enumerate() {
        let part =
            |i: usize, rows: usize, cols: usize| linear(&format!("layer {l} {}", PARTS[i]), convs[i], rows, cols);
        let attn_norm = norm(format!("layer {l} input_layernorm"), c.hidden)?;
        let head_norms = if c.arch == Arch::Qwen3 {
            Some((norm(format!("layer {l} q_norm"), c.head_size)?, norm(format!("layer {l} k_norm"), c.head_size)?))
        } else {
            None
        };
        let (q_norm, k_norm) = head_norms.unzip();
        layers.push(Layer {
            attn_norm,
            q: part(0, c.q_size(), c.hidden)?,
            k: part(1, c.kv_size(), c.hidden)?,
            v: part(2, c.kv_size(), c.hidden)?,
            q_norm,
            k_norm,
            o: part(3, c.hidden, c.q_size())?,
            post_attn_norm: None,
            ffn_norm: norm(format!("layer {l} post_attention_layernorm"), c.hidden)?,
            gate: part(4, c.ffn, c.hidden)?,
            up: part(5, c.ffn, c.hidden)?,
            down: part(6, c.hidden, c.ffn)?,
            post_ffn_norm: None,
            rope: rope.clone(),
            window: None,
        });
    }
    let output_norm = norm("final norm".to_owned(), c.hidden)?;
    let output = linear("lm_head", head, c.vocab, c.hidden)?;
    if output.bias.is_some() {
        return Err(Error::unsupported(path, "lm_head", "a bias on the output"));
    }
    let embed = embedding(settings, path, c, head, file)?;
    let tied = embed.is_none();
    let (embed, output) = match embed {
        None => (output.weight, None),
        Some(embed) => (embed, Some(output.weight)),
    };
    Ok((Config { tied, ..config }, Weights { embed, layers, output_norm, output }))
}

/// The linears by layer and part, the output matrix last. By name where every one has its exporter's name, else by order.
fn linears<'a>(path: &Path, graph: &'a Graph, n_layers: usize) -> Result<Vec<&'a Conv>> {
    let expected = n_layers.checked_mul(PARTS.len()).and_then(|n| n.checked_add(1));
    if n_layers == 0 || expected != Some(graph.linears.len()) {
        let reason = format!("{} linears for {n_layers} layers of {}, and an output", graph.linears.len(), PARTS.len());
        return Err(Error::unsupported(path, "graph", reason));
    }
    let places: Vec<_> = graph.linears.iter().map(|conv| place(&conv.name, n_layers)).collect();
    if places.iter().any(Option::is_none) {
        return Ok(graph.linears.iter().collect());
    }
    let mut placed = vec![None; graph.linears.len()];
    for (conv, place) in graph.linears.iter().zip(places.into_iter().flatten()) {
        if placed[place].replace(conv).is_some() {
            return Err(Error::malformed(path, conv.name.clone(), "appears twice"));
        }
    }
    Ok(placed.into_iter().flatten().collect())
}

/// Place of a linear with an exporter's name: `/layers.3/self_attn/q_proj/Linear`, `blk.3.attn_q`, `/lm/lm_head/Linear`.
fn place(name: &str, n_layers: usize) -> Option<usize> {
    const REBUILT: [&str; 7] = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"];
    if name.contains("lm_head") || name == "output" {
        return Some(n_layers * PARTS.len());
    }
    let rest = name.split_once("layers.").or_else(|| name.split_once("blk."))?.1;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let layer: usize = rest[..digits].parse().ok()?;
    let part = rest[digits..]
        .split(['/', '.'])
        .find_map(|word| PARTS.iter().zip(REBUILT).position(|(a, b)| word == *a || word == b))?;
    (layer < n_layers).then(|| layer * PARTS.len() + part)
}

fn config(
    settings: &Settings,
    path: &Path,
    graph: &Graph,
    (n_layers, convs, head): (usize, &[&Conv], &Conv),
) -> Result<(Config, Vec<f32>)> {
    let kind = settings.get("attention_type").and_then(Value::as_str).unwrap_or("full");
    if kind != "full" {
        return Err(Error::unsupported(path, "attention_type", format!("{kind:?} attention")));
    }
    for key in ["is_mrope", "is_visual", "is_audio"] {
        if settings.get(key) == Some(&Value::Bool(true)) {
            return Err(Error::unsupported(path, key, "a model of more than text"));
        }
    }
    let (q, k, gate) = (convs[0], convs[1], convs[4]);
    let rope = graph.ropes.first();
    let shape = settings.get("key_value_shape").and_then(|shape| shape.get(4)?.as_u64());
    let head_size = match (rope, shape) {
        (Some(rope), _) => rope.head_size,
        (None, Some(size)) => usize::try_from(size).unwrap_or(0),
        (None, None) => 2 * inverse_frequencies(graph).map_or(0, |f| f.len()),
    };
    let divided = |rows: usize| rows.checked_div(head_size).unwrap_or(0);
    let (n_heads, n_kv_heads) = (divided(q.rows), divided(k.rows));
    if graph.ropes.iter().any(|r| {
        let stated = (r.head_size, r.n_heads, r.n_kv_heads) == (head_size, n_heads, n_kv_heads);
        !stated || ![0, head_size].contains(&r.rotary) || r.norms.is_some() != graph.ropes[0].norms.is_some()
    }) {
        let reason = format!("RoPE of another shape than {n_heads} and {n_kv_heads} heads of {head_size}");
        return Err(Error::unsupported(path, "graph", reason));
    }
    let head_norms = graph.norms.len() == 4 * n_layers + 1 || rope.is_some_and(|rope| rope.norms.is_some());
    let arch = match settings.get("model_type").and_then(Value::as_str) {
        Some("qwen3") => Arch::Qwen3,
        Some("qwen2") => Arch::Qwen2,
        Some("llama") => Arch::Llama,
        Some(other) => return Err(Error::unsupported(path, "model_type", format!("the architecture {other:?}"))),
        None if head_norms => Arch::Qwen3,
        None => Arch::Llama,
    };
    let epsilon = graph.norms.first().map_or(0.0, |norm| norm.epsilon);
    if graph.norms.iter().any(|norm| norm.epsilon != epsilon || !norm.rms) {
        return Err(Error::unsupported(path, "graph", "norms of different kinds"));
    }
    let own_scale = |scale: &f32| if *scale == 0.0 { None } else { Some(*scale) };
    let scale = graph.attn_scales.first().and_then(own_scale);
    let scale = scale.or(settings.get("attn_scale").and_then(Value::as_f64).map(|x| x as f32).filter(|x| *x != 0.0));
    if graph.attn_scales.iter().any(|s| own_scale(s) != graph.attn_scales.first().and_then(own_scale)) {
        return Err(Error::unsupported(path, "graph", "attention scales that differ"));
    }
    let frequencies = frequencies(graph, head_size)
        .ok_or_else(|| Error::unsupported(path, "graph", "a graph without RoPE's frequencies"))?;
    let config = Config {
        arch,
        n_layers,
        hidden: q.cols,
        ffn: gate.rows,
        n_heads,
        n_kv_heads,
        head_size,
        vocab: head.rows,
        context: settings.size("max_position_embeddings").filter(|&n| n > 0).unwrap_or(DEFAULT_CONTEXT),
        rms_eps: epsilon,
        rope_style: RopeStyle::HalfSplit,
        activation: Activation::Silu,
        embed_scale: 1.0,
        attn_scale: scale.unwrap_or(1.0 / (head_size as f32).sqrt()),
        tied: false,
    };
    Ok((config, frequencies))
}

/// Norms in the order input, q, k, post-attention of each layer, then the final one; those of q and k may lie with RoPE.
fn norms<'a>(path: &Path, graph: &'a Graph, c: &Config) -> Result<Vec<&'a Norm>> {
    let per_layer = if c.arch == Arch::Qwen3 { 4 } else { 2 };
    let needed = per_layer * c.n_layers + 1;
    let mismatch = || {
        let reason = format!("{} norms for a {} model of {} layers", graph.norms.len(), c.arch.name(), c.n_layers);
        Error::unsupported(path, "graph", reason)
    };
    if graph.norms.len() == needed {
        return Ok(graph.norms.iter().collect());
    }
    // RoPE ops carry the norms of q and k.
    if c.arch != Arch::Qwen3 || graph.norms.len() != 2 * c.n_layers + 1 || graph.ropes.len() != c.n_layers {
        return Err(mismatch());
    }
    let mut out = Vec::with_capacity(needed);
    for (pair, rope) in graph.norms.chunks_exact(2).zip(&graph.ropes) {
        let (q, k) = rope.norms.as_ref().ok_or_else(mismatch)?;
        out.extend([&pair[0], q, k, &pair[1]]);
    }
    out.extend(graph.norms.last());
    Ok(out)
}

/// The constant of inverse frequencies: starts at 1 and falls.
fn inverse_frequencies(graph: &Graph) -> Option<&[f32]> {
    let falls = |v: &[f32]| v.len() >= 4 && v[0] == 1.0 && v.windows(2).all(|w| w[0] > w[1] && w[1] >= 0.0);
    graph.constants.iter().map(|c| &*c.values).find(|v| falls(v))
}

/// RoPE's inverse frequencies, from their constant or, in newer files, from the second rows of the sine and cosine tables.
fn frequencies(graph: &Graph, head_size: usize) -> Option<Vec<f32>> {
    let half = head_size / 2;
    if half == 0 {
        return None;
    }
    let stored = match inverse_frequencies(graph) {
        Some(stored) if stored.len() == half => stored.to_vec(),
        _ => {
            // The first of each kind is indexed by position modulo 2048, the second by position over 2048.
            let table = |first: f32| {
                graph.constants.iter().find(|c| {
                    c.dims.first() == Some(&2048)
                        && c.values.len() == 2048 * half
                        && c.values[..half].iter().all(|&x| x == first)
                })
            };
            let (cos, sin) = (table(1.0)?, table(0.0)?);
            let row = half..2 * half;
            sin.values[row.clone()].iter().zip(&cos.values[row]).map(|(sin, cos)| sin.atan2(*cos)).collect()
        }
    };
    // The exporter keeps six decimals, too few for the slow pairs. Where a round base explains all of them, it is exact.
    let base = f64::from(*stored.get(1)?).powf(-(half as f64));
    let magnitude = 10f64.powf(base.log10().floor() - 2.0);
    let base = (base / magnitude).round() * magnitude;
    let exact = rope::frequencies(base as f32, head_size);
    let close = exact.iter().zip(&stored).all(|(exact, stored)| (exact - stored).abs() <= 2e-6);
    Some(if close { exact } else { stored })
}

/// The embedding matrix, or `None` when it is the output matrix.
fn embedding(settings: &Settings, path: &Path, c: &Config, head: &Conv, file: &File) -> Result<Option<Matrix>> {
    let Some(tie) = settings.get("tie_embeddings") else {
        let embed_path = settings.file("embedding_file", "embeddings_bf16.bin")?;
        let data = Bytes::map(&embed_path)?;
        let matrix = Matrix::ggml(GgmlType::BF16, c.vocab, c.hidden, data);
        return matrix.map(Some).map_err(|reason| Error::malformed(&embed_path, "embedding", reason));
    };
    let tie = Tie::parse(tie).ok_or_else(|| Error::malformed(&settings.path, "tie_embeddings", "lacks a number"))?;
    if tie.weight_offset != 0 && file.code_offsets("lm_head", head)? == Some((tie.weight_offset, tie.alpha_offset)) {
        return Ok(None);
    }
    let (source_path, bytes) = if tie.weight_offset != 0 {
        (file.path.clone(), file.bytes.clone())
    } else {
        let embed_path = settings.file("embedding_file", "embeddings_bf16.bin")?;
        (embed_path.clone(), Bytes::map(&embed_path)?)
    };
    let malformed = |reason: &str| Error::malformed(&source_path, "embedding", reason);
    let slice = |from: u64, to: Option<u64>| {
        let range = usize::try_from(from).ok().zip(to.and_then(|to| usize::try_from(to).ok()));
        range
            .and_then(|(from, to)| bytes.slice(from..to))
            .ok_or_else(|| malformed("reaches beyond the end of the file"))
    };
    let codes = slice(tie.weight_offset, Some(tie.alpha_offset))?;
    let alpha = slice(tie.alpha_offset, tie.alpha_offset.checked_add(tie.alpha_size))?;
    if tie.bits == 16 {
        return Matrix::ggml(GgmlType::F16, c.vocab, c.hidden, codes).map(Some).map_err(|e| malformed(&e));
    }
    if !(2..=8).contains(&tie.bits) {
        return Err(Error::unsupported(path, "tie_embeddings", format!("{}-bit codes", tie.bits)));
    }
    // Pairs of zero and scale, or scales alone: whichever makes the blocks that were asked for.
    let element = if tie.half_scales { 2 } else { 4 };
    let block = if tie.block == 0 { c.hidden } else { tie.block.min(c.hidden) };
    let pairs = c.vocab * c.hidden.div_ceil(block) * 2 * element;
    let asymmetric = alpha.len() >= pairs;
    let format = Codes { bits: tie.bits, asymmetric, half_scales: tie.half_scales, zero_shift: 0.0, scale: 1.0 };
    matrix((c.vocab, c.hidden), codes, &alpha, &format).map(Some).map_err(|e| malformed(&e))
}

/// `tie_embeddings`: an object, or in older files a list.
struct Tie {
    weight_offset: u64,
    alpha_offset: u64,
    alpha_size: u64,
    bits: usize,
    block: usize,
    half_scales: bool,
}

impl Tie {
    fn parse(json: &Value) -> Option<Self> {
        let number = |key: &str, index: usize| json.get(key).or_else(|| json.get(index))?.as_u64();
        let half_scales = match json.get("alpha_dtype") {
            Some(kind) => kind == "fp16",
            None => number("", 5) == Some(1),
        };
        Some(Self {
            weight_offset: number("weight_offset", 0)?,
            alpha_offset: number("alpha_offset", 1)?,
            alpha_size: number("alpha_size", 2)?,
            bits: usize::try_from(number("quant_bit", 3)?).ok()?,
            block: usize::try_from(number("quant_block", 4)?).ok()?,
            half_scales,
        })
    }
}
