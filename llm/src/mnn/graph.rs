//! What `llm.mnn` says: linears, norms, RoPE and attention parameters, constants, in the order of its op list.

use super::flatbuffer::{Result as Parsed, Table};
use crate::error::{Error, Result};
use std::path::Path;

/// The parts of the graph that make a model.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) linears: Vec<Linear>,
    pub(super) norms: Vec<Norm>,
    pub(super) ropes: Vec<Rope>,
    /// Attention scales, 0 for the usual one.
    pub(super) attn_scales: Vec<f32>,
    pub(super) constants: Vec<Constant>,
}

/// A matrix multiplication (MNN: a 1x1 convolution).
#[derive(Debug)]
pub(super) struct Linear {
    /// Empty for members of a fused group.
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Where its parts lie in the weight file: offset, weight bytes, alpha bytes, bias bytes.
    pub(super) external: Vec<i64>,
    pub(super) quant: Option<Quant>,
}

/// How its codes are to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quant {
    pub(super) kind: i32,
    pub(super) scale: f32,
    pub(super) has_scale_int: bool,
    pub(super) a_min: i32,
    pub(super) asymmetric: bool,
    pub(super) wide_shape: bool,
    pub(super) half_scales: bool,
}

/// An RMSNorm.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) epsilon: f32,
    pub(super) rms: bool,
    /// Offset and bytes in the weight file, or none.
    pub(super) external: Vec<i64>,
    pub(super) gamma: Vec<f32>,
}

/// RoPE of q and k, after their norms.
#[derive(Debug)]
pub(super) struct Rope {
    pub(super) rotary: usize,
    pub(super) n_heads: usize,
    pub(super) n_kv_heads: usize,
    pub(super) head_size: usize,
    pub(super) norms: Option<(Norm, Norm)>,
}

/// A float constant.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) dims: Vec<i32>,
    pub(super) values: Vec<f32>,
}

/// Op types of MNN's schema that matter here.
mod op {
    pub(super) const CONST: i32 = 11;
    pub(super) const CONVOLUTION: i32 = 12;
    pub(super) const MOE: i32 = 40;
    pub(super) const ATTENTION: i32 = 299;
    pub(super) const LINEAR_ATTENTION: i32 = 305;
    pub(super) const ROPE: i32 = 306;
    pub(super) const FUSED_LINEAR: i32 = 307;
    pub(super) const GATED_RMS_NORM: i32 = 308;
    pub(super) const LAYER_NORM: i32 = 603;
}

/// A graph of a dense model has some hundred ops; this bounds the work on one that lies.
const MAX_OPS: usize = 100_000;
/// Bytes of inlined constants that are kept, summed over all: the RoPE tables of a long context stay below.
const MAX_CONSTANTS: usize = 64 << 20;

impl Graph {
    /// Parses the flatbuffer.
    pub(super) fn parse(path: &Path, buffer: &[u8]) -> Result<Self> {
        let net = Table::root(buffer);
        let counts = net.and_then(|net| Ok((net, net.count(10)?, net.count(24)?)));
        let (net, ops, subgraphs) = counts.map_err(|reason| Error::malformed(path, "graph", reason))?;
        if subgraphs > 0 {
            return Err(Error::unsupported(path, "graph", format!("a graph with {subgraphs} subgraphs")));
        }
        if ops > MAX_OPS {
            return Err(Error::malformed(path, "graph", format!("{ops} ops")));
        }
        let mut graph = Self::default();
        let mut room = MAX_CONSTANTS;
        let tables = net.tables(10).map_err(|reason| Error::malformed(path, "graph", reason))?;
        for (i, table) in tables.enumerate() {
            let outcome = table.and_then(|table| graph.add(&table, &mut room));
            match outcome {
                Ok(None) => {}
                Ok(Some(unsupported)) => return Err(Error::unsupported(path, format!("op {i}"), unsupported)),
                Err(reason) => return Err(Error::malformed(path, format!("op {i}"), reason)),
            }
        }
        Ok(graph)
    }

    /// Adds an op; returns what it is if that rules the model out.
    fn add(&mut self, table: &Table<'_>, room: &mut usize) -> Parsed<Option<String>> {
        let kind = table.i32(14, 0)?;
        let main = || table.table(8)?.ok_or_else(|| format!("an op of type {kind} has no parameters"));
        match kind {
            op::CONVOLUTION => self.linears.push(linear(&main()?, table.string(10)?)?),
            op::FUSED_LINEAR => {
                let fused = main()?;
                if let Some(ln) = fused.table(10)? {
                    self.norms.push(norm(&ln, room)?);
                }
                for conv in fused.tables(4)? {
                    self.linears.push(linear(&conv?, "")?);
                }
            }
            op::LAYER_NORM => self.norms.push(norm(&main()?, room)?),
            op::ROPE => self.ropes.push(rope(&main()?, room)?),
            op::ATTENTION => {
                let attention = main()?;
                if attention.i32(10, -1)? >= 0 {
                    return Ok(Some("attention with another layer's keys".to_owned()));
                }
                self.attn_scales.push(attention.f32(16, 0.0)?);
            }
            op::CONST => {
                let blob = main()?;
                let values = floats(&blob, 18, room)?;
                if !values.is_empty() {
                    self.constants.push(Constant { dims: blob.i32s(4)?, values });
                }
            }
            op::MOE => return Ok(Some("a mixture of experts".to_owned())),
            op::LINEAR_ATTENTION | op::GATED_RMS_NORM => return Ok(Some("linear attention".to_owned())),
            _ => {}
        }
        Ok(None)
    }
}

/// Reads a float vector and takes it off the room that is left: many ops may share one large vector.
fn floats(table: &Table<'_>, slot: usize, room: &mut usize) -> Parsed<Vec<f32>> {
    let bytes = 4 * table.count(slot)?;
    *room = room.checked_sub(bytes).ok_or("more constants than any model has")?;
    table.f32s(slot)
}

fn size(value: i32) -> Parsed<usize> {
    usize::try_from(value).map_err(|_| format!("a size of {value}"))
}

fn linear(conv: &Table<'_>, name: &str) -> Parsed<Linear> {
    let common = conv.table(4)?.ok_or("a convolution has no shape")?;
    if common.i32(22, 1)? != 1 || common.u8(28, 0)? != 0 {
        return Err("a convolution with groups or an activation".to_owned());
    }
    let quant = match conv.table(10)? {
        None => None,
        Some(q) => Some(Quant {
            kind: q.i32(8, 0)?,
            scale: q.f32(12, 0.0)?,
            has_scale_int: q.u8(24, 0)? != 0,
            a_min: q.i32(20, 0)?,
            asymmetric: q.i32(22, 0)? != 0,
            wide_shape: q.u8(26, 0)? != 0,
            half_scales: q.u8(34, 0)? == 1,
        }),
    };
    Ok(Linear {
        name: name.to_owned(),
        rows: size(common.i32(24, 0)?)?,
        cols: size(common.i32(26, 0)?)?,
        external: conv.i64s(16)?,
        quant,
    })
}

fn norm(table: &Table<'_>, room: &mut usize) -> Parsed<Norm> {
    Ok(Norm {
        epsilon: table.f32(6, 0.0)?,
        rms: table.u8(16, 0)? != 0,
        external: table.i64s(14)?,
        gamma: floats(table, 8, room)?,
    })
}

fn rope(table: &Table<'_>, room: &mut usize) -> Parsed<Rope> {
    let norms = match (table.table(12)?, table.table(14)?) {
        (Some(q), Some(k)) => Some((norm(&q, room)?, norm(&k, room)?)),
        (None, None) => None,
        _ => return Err("a norm of q without one of k".to_owned()),
    };
    Ok(Rope {
        rotary: size(table.i32(4, 0)?)?,
        n_heads: size(table.i32(6, 0)?)?,
        n_kv_heads: size(table.i32(8, 0)?)?,
        head_size: size(table.i32(10, 0)?)?,
        norms,
    })
}
