//! From a loader's weights to packed ones: which format each matrix takes, and what is fused with what.
//!
//! Codes of 4-bit and 8-bit types stay what they are. Equal neighbouring blocks of Q4_1 become groups of 64.
//! Everything else is rounded to 8 bits in groups of 32. The file's pages are given back stripe by stripe, so
//! the peak is one copy of the weights, not two.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::quant::GgmlType;
use crate::weights::{Encoding, Layer, Linear, Matrix, Weights};
use kernels::{Arena, Bits, Format, MAX_THREADS, Minimum, Packer, Pool, Source, q4_1_has_groups_of_64};
use std::path::Path;
use std::sync::Arc;

/// Bytes of the file that are packed before their pages are given back.
const STRIPE: usize = 2 << 20;

/// All weights, in the order of the forward pass.
pub(super) struct Packed {
    embed: Embed,
    pub(super) layers: Vec<PackedLayer>,
    pub(super) output_norm: Vec<f32>,      // [hidden]
    pub(super) head: Vec<kernels::Matrix>, // one, [vocab, hidden]
    pub(super) ropes: Vec<Arc<[f32]>>,     // distinct sets of frequencies, [head_size / 2] each
}

/// Where embedding rows come from.
enum Embed {
    /// The output matrix.
    Tied,
    /// The file itself: a prompt reads a few rows of it.
    File(Matrix),
}

/// One transformer block.
pub(super) struct PackedLayer {
    pub(super) attn_norm: Vec<f32>,
    pub(super) qkv: Vec<kernels::Matrix>, // q, k and v as one matrix where their formats agree, else three
    pub(super) qkv_bias: Option<Vec<f32>>,
    pub(super) q_norm: Option<Vec<f32>>,
    pub(super) k_norm: Option<Vec<f32>>,
    pub(super) o: PackedLinear,
    pub(super) post_attn_norm: Option<Vec<f32>>,
    pub(super) ffn_norm: Vec<f32>,
    pub(super) gate_up: GateUp,
    pub(super) down: PackedLinear,
    pub(super) post_ffn_norm: Option<Vec<f32>>,
    pub(super) rope: usize, // in `Packed::ropes`
    pub(super) window: Option<usize>,
}

pub(super) struct PackedLinear {
    pub(super) matrix: Vec<kernels::Matrix>, // one
    pub(super) bias: Option<Vec<f32>>,
}

/// Gate and up projections.
pub(super) enum GateUp {
    /// Panels in turn, for a fused gate. One matrix.
    Pairs(Vec<kernels::Matrix>),
    /// Side by side, where formats differ or there is a bias `[2 ffn]`.
    Separate { matrices: Vec<kernels::Matrix>, bias: Option<Vec<f32>> },
}

impl GateUp {
    /// What a product reads first.
    pub(super) fn first(&self) -> Option<&kernels::Matrix> {
        match self {
            GateUp::Pairs(m) | GateUp::Separate { matrices: m, .. } => m.first(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            GateUp::Pairs(m) | GateUp::Separate { matrices: m, .. } => bytes(m),
        }
    }
}

fn bytes(matrices: &[kernels::Matrix]) -> usize {
    matrices.iter().map(kernels::Matrix::bytes).sum()
}

impl Packed {
    pub(super) fn new(path: &Path, c: &Config, weights: Weights) -> Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS));
        let pool = Pool::new(threads).map_err(|e| Error::Setting { setting: "threads", reason: e.to_string() })?;
        let mut loading = Loading { path, arena: Arena::default(), pool };
        let mut ropes: Vec<Arc<[f32]>> = Vec::new();
        let mut layers = Vec::with_capacity(weights.layers.len());
        for (l, layer) in weights.layers.into_iter().enumerate() {
            let known = ropes.iter().position(|r| *r == layer.rope);
            let rope = known.unwrap_or_else(|| {
                ropes.push(layer.rope.clone());
                ropes.len() - 1
            });
            layers.push(loading.layer(c, l, layer, rope)?);
        }
        let (head, embed) = match weights.output {
            Some(output) => (output, Embed::File(weights.embed)),
            None => (weights.embed, Embed::Tied),
        };
        let head = vec![loading.matrix("the output matrix", &head)?];
        Ok(Self { embed, layers, output_norm: weights.output_norm, head, ropes })
    }

    /// Row `token` of the embedding. `[hidden]`
    pub(super) fn embed(&self, token: usize, out: &mut [f32]) -> kernels::Result<()> {
        match (&self.embed, &self.head[..]) {
            (Embed::File(matrix), _) => matrix.row(token, out),
            (Embed::Tied, [head, ..]) => head.dequantize_row(token, out)?,
            (Embed::Tied, []) => (),
        }
        Ok(())
    }

    /// The matrix that is read after layer `l`.
    pub(super) fn after(&self, l: usize) -> Option<&kernels::Matrix> {
        self.layers.get(l + 1).and_then(|layer| layer.qkv.first()).or(self.head.first())
    }

    /// Width of the feed-forward buffer.
    pub(super) fn ffn_width(&self, c: &Config) -> usize {
        let separate = self.layers.iter().any(|layer| matches!(layer.gate_up, GateUp::Separate { .. }));
        if separate { 2 * c.ffn } else { c.ffn }
    }

    pub(super) fn bytes_per_token(&self) -> usize {
        let layer = |l: &PackedLayer| bytes(&l.qkv) + bytes(&l.o.matrix) + l.gate_up.bytes() + bytes(&l.down.matrix);
        self.layers.iter().map(layer).sum::<usize>() + bytes(&self.head)
    }
}

/// What packing needs all along.
struct Loading<'a> {
    path: &'a Path,
    arena: Arena,
    pool: Pool,
}

impl Loading<'_> {
    fn layer(&mut self, c: &Config, l: usize, layer: Layer, rope: usize) -> Result<PackedLayer> {
        let name = |part: &str| format!("layer {l}, {part}");
        let bias = |parts: &[&Linear]| {
            let any = parts.iter().any(|p| p.bias.is_some());
            let one = |p: &&Linear| p.bias.clone().unwrap_or_else(|| vec![0.0; p.weight.rows()]);
            any.then(|| parts.iter().flat_map(one).collect::<Vec<f32>>())
        };
        let qkv_bias = bias(&[&layer.q, &layer.k, &layer.v]);
        let qkv = self.side_by_side(&name("q, k and v"), &[&layer.q.weight, &layer.k.weight, &layer.v.weight])?;
        let o =
            PackedLinear { matrix: vec![self.matrix(&name("attention output"), &layer.o.weight)?], bias: layer.o.bias };
        let (gate, up) = (&layer.gate, &layer.up);
        let gate_up = match bias(&[gate, up]) {
            None => GateUp::Pairs(vec![self.pairs(&name("gate and up"), c, &gate.weight, &up.weight)?]),
            bias => {
                let matrices = self.side_by_side(&name("gate and up"), &[&gate.weight, &up.weight])?;
                GateUp::Separate { matrices, bias }
            }
        };
        let down =
            PackedLinear { matrix: vec![self.matrix(&name("down"), &layer.down.weight)?], bias: layer.down.bias };
        Ok(PackedLayer {
            attn_norm: layer.attn_norm,
            qkv,
            qkv_bias,
            q_norm: layer.q_norm,
            k_norm: layer.k_norm,
            o,
            post_attn_norm: layer.post_attn_norm,
            ffn_norm: layer.ffn_norm,
            gate_up,
            down,
            post_ffn_norm: layer.post_ffn_norm,
            rope,
            window: layer.window,
        })
    }

    /// One matrix.
    fn matrix(&mut self, name: &str, m: &Matrix) -> Result<kernels::Matrix> {
        self.rows(name, best_format(m, 64), &[m])
    }

    /// Matrices over the same input: one if their formats agree, else several of the same group.
    fn side_by_side(&mut self, name: &str, parts: &[&Matrix]) -> Result<Vec<kernels::Matrix>> {
        let group = parts.iter().map(|m| best_format(m, 64).group).min().unwrap_or(32);
        let formats: Vec<Format> = parts.iter().map(|m| best_format(m, group)).collect();
        if formats.windows(2).all(|f| f[0] == f[1]) {
            return Ok(vec![self.rows(name, formats[0], parts)?]);
        }
        parts.iter().zip(formats).map(|(m, format)| self.rows(name, format, &[m])).collect()
    }

    /// Rows of all `parts` one after the other.
    fn rows(&mut self, name: &str, format: Format, parts: &[&Matrix]) -> Result<kernels::Matrix> {
        let path = self.path;
        let fail = |e: kernels::Error| Error::malformed(path, name, e.to_string());
        let rows = parts.iter().map(|m| m.rows()).sum();
        let cols = parts.first().map_or(0, |m| m.cols());
        let mut packer = Packer::new(&mut self.arena, format, rows, cols).map_err(fail)?;
        let mut buffers = Buffers::default();
        for m in parts {
            for (first, count) in stripes(m) {
                let source = buffers.source(m, format, first, count, &self.pool);
                packer.append(source, count, &self.pool).map_err(fail)?;
                m.release_rows(first, count);
            }
        }
        packer.finish().map_err(fail)
    }

    /// Gate and up with their panels in turn.
    fn pairs(&mut self, name: &str, c: &Config, gate: &Matrix, up: &Matrix) -> Result<kernels::Matrix> {
        let path = self.path;
        let fail = |e: kernels::Error| Error::malformed(path, name, e.to_string());
        let group = best_format(gate, 64).group.min(best_format(up, 64).group);
        let formats = [best_format(gate, group), best_format(up, group)];
        // Different types (a mixed quantization) meet in the format that holds any.
        let format = if formats[0] == formats[1] { formats[0] } else { Format::INT8_32 };
        let rows = 2 * c.ffn.next_multiple_of(kernels::PANEL_ROWS);
        let mut packer = Packer::new(&mut self.arena, format, rows, gate.cols()).map_err(fail)?;
        let (mut first_buffers, mut second_buffers) = (Buffers::default(), Buffers::default());
        for (first, count) in stripes(gate) {
            let gates = first_buffers.source(gate, format, first, count, &self.pool);
            let ups = second_buffers.source(up, format, first, count, &self.pool);
            packer.append_pairs(gates, ups, count, &self.pool).map_err(fail)?;
            gate.release_rows(first, count);
            up.release_rows(first, count);
        }
        packer.finish().map_err(fail)
    }
}

/// Stripes of rows, each a multiple of a panel but the last.
fn stripes(m: &Matrix) -> impl Iterator<Item = (usize, usize)> + use<> {
    let rows = m.rows();
    let stripe = (STRIPE * rows / m.bytes().max(1)).next_multiple_of(kernels::PANEL_ROWS).max(kernels::PANEL_ROWS);
    (0..rows).step_by(stripe).map(move |first| (first, stripe.min(rows - first)))
}

/// The format that keeps the most of `m` in the fewest bytes, in groups of at most `limit` (32 or 64).
fn best_format(m: &Matrix, limit: usize) -> Format {
    match m.encoding() {
        Encoding::Ggml(GgmlType::Q4_1, blocks) if limit == 64 && q4_1_has_groups_of_64(blocks, m.cols()) => {
            Format::INT4_MIN_64
        }
        Encoding::Ggml(GgmlType::Q4_1, _) => Format::INT4_MIN_32,
        Encoding::Ggml(GgmlType::Q4_0, _) => Format::INT4_SYM_32,
        Encoding::Groups(g) if g.bits >= 4 && g.group.is_multiple_of(32) => Format {
            bits: if g.bits == 4 { Bits::Four } else { Bits::Eight },
            group: if g.group.is_multiple_of(64) { limit } else { 32 },
            minimum: Minimum::Stored,
        },
        _ => Format::INT8_32,
    }
}

/// Buffers for sources that do not lie ready in the file.
#[derive(Default)]
struct Buffers {
    floats: Vec<f32>,
    codes: Vec<u8>,
    scales: Vec<f32>,
    minima: Vec<f32>,
}

impl Buffers {
    /// Rows `first..first + count` of `m` as the packer takes them.
    fn source<'a>(&'a mut self, m: &'a Matrix, format: Format, first: usize, count: usize, pool: &Pool) -> Source<'a> {
        let cols = m.cols();
        match m.encoding() {
            Encoding::Ggml(kind, blocks) => {
                let row = blocks.len() / m.rows();
                let blocks = &blocks[first * row..(first + count) * row];
                match (kind, format) {
                    (GgmlType::Q4_1, Format::INT4_MIN_32 | Format::INT4_MIN_64) => return Source::Q4_1(blocks),
                    (GgmlType::Q4_0, Format::INT4_SYM_32) => return Source::Q4_0(blocks),
                    (GgmlType::Q8_0, Format::INT8_32) => return Source::Q8_0(blocks),
                    _ => (),
                }
            }
            Encoding::Groups(g)
                if g.bits >= 4 && g.group.is_multiple_of(format.group) && format.minimum == Minimum::Stored =>
            {
                let bytes = cols * g.bits / 8;
                let packed = &g.codes[first * bytes..(first + count) * bytes];
                self.codes.clear();
                match g.bits {
                    4 => self.codes.extend(packed.iter().flat_map(|b| [b >> 4, b & 15])),
                    _ => self.codes.extend_from_slice(packed),
                }
                let per_row = cols / g.group;
                let range = first * per_row..(first + count) * per_row;
                // A wider group is several of ours with the same scale.
                let spread = |from: &[f32], to: &mut Vec<f32>| {
                    to.clear();
                    to.extend(from.iter().flat_map(|&v| std::iter::repeat_n(v, g.group / format.group)));
                };
                spread(&g.scales[range.clone()], &mut self.scales);
                spread(&g.mins[range], &mut self.minima);
                return Source::Codes { codes: &self.codes, scales: &self.scales, minima: &self.minima };
            }
            Encoding::Groups(_) => (),
        }
        self.floats.resize(count * cols, 0.0);
        let rows = pool.map_chunks::<f32, std::convert::Infallible>(&mut self.floats, cols, |i, out| {
            m.row(first + i, out);
            Ok(())
        });
        match rows {
            Ok(()) => Source::F32(&self.floats),
            Err(never) => match never {},
        }
    }
}
