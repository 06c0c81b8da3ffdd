//! A forward pass's parallel steps over one thread pool, one set of scratch buffers and one instruction set.
//!
//! A decode step is bound by memory, so what lies between two streams of weights must be short: each thread
//! normalizes and quantizes the one row of activations for itself instead of waiting for another to do it,
//! and asks for the first lines of its next weights before it reports. Nothing allocates once the buffers
//! have grown to a model's size.

use crate::activations::{Activations, quantize_row};
use crate::attention::{Heads, Kind, MAX_PARTS, QUERIES, Scratch, decode_part, merge, parts, prefill_item, prepare};
use crate::cache::KvCache;
use crate::elementwise::rms_norm;
use crate::error::{Error, Result, check_len};
use crate::isa::Isa;
use crate::matrix::{Matrix, PANEL_ROWS};
use crate::pool::{Pool, SendPtr};
use crate::product::{Finish, Out, Unpacked, grain, prefetch, product};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Up to this many rows each thread prepares all activations itself.
const FEW: usize = 2;

/// What a product multiplies with.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Rows as they are. `[n, cols]`
    Rows(&'a [f32]),
    /// Rows after RMSNorm with `gamma: [cols]`.
    Normed {
        /// `[n, cols]`
        x: &'a [f32],
        /// `[cols]`
        gamma: &'a [f32],
        /// Epsilon.
        eps: f32,
    },
    /// What the last [`Compute::attention`] gave. `[n, n_heads x head_size]`
    Attended(&'a Heads<'a>),
}

/// Where a product goes; rows are row-major with the width of all matrices together.
#[derive(Debug)]
pub enum Output<'a> {
    /// Overwrites. `[n, rows]`
    Store(&'a mut [f32]),
    /// Adds to the residual stream. `[n, rows]`
    Add(&'a mut [f32]),
    /// For matrices packed with [`crate::Packer::append_pairs`]: `silu(gate) * up`. `[n, width]`
    GatedSilu(&'a mut [f32]),
    /// As `GatedSilu` with the tanh form of GELU. `[n, width]`
    GatedGelu(&'a mut [f32]),
}

/// Threads, scratch and instruction set of one sequence.
#[derive(Debug)]
pub struct Compute {
    isa: Isa,
    pool: Pool,
    local: Vec<Mutex<Local>>,
    shared: Activations,
    attended: Vec<f32>, // [n, heads x head_size], or the parts of a decode step
    attended_parts: Option<usize>,
}

/// Scratch of one thread.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Local {
    activations: Activations,
    row: Vec<f32>,
    head: Vec<f32>,
    scores: Vec<f32>,
    unpacked: Unpacked,
    attention: Scratch,
}

impl Compute {
    /// Starts `threads - 1` workers and chooses the instruction set.
    ///
    /// # Errors
    /// As [`Pool::new`] and [`Isa::choose`].
    pub fn new(threads: usize) -> Result<Self> {
        Compute::with_isa(threads, Isa::choose()?)
    }

    /// As [`Compute::new`] with a given instruction set.
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn with_isa(threads: usize, isa: Isa) -> Result<Self> {
        let mut compute = Compute {
            isa,
            pool: Pool::new(1)?,
            local: Vec::new(),
            shared: Activations::default(),
            attended: Vec::new(),
            attended_parts: None,
        };
        compute.set_threads(threads)?;
        Ok(compute)
    }

    /// Changes the number of threads from the next step on.
    ///
    /// # Errors
    /// As [`Pool::set_threads`].
    pub fn set_threads(&mut self, threads: usize) -> Result<()> {
        self.pool.set_threads(threads)?;
        while self.local.len() < threads {
            self.local.push(Mutex::default());
        }
        Ok(())
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The threads, for work that is not a product.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// `out = input W^T` over all rows of all `matrices`, side by side; all share columns and group.
    /// `next` is the matrix that will be read after this one.
    ///
    /// # Errors
    /// When a length does not fit.
    pub fn product(
        &mut self,
        input: Input<'_>,
        n: usize,
        matrices: &[Matrix],
        out: Output<'_>,
        next: Option<&Matrix>,
    ) -> Result<()> {
        let Some(first) = matrices.first() else { return Ok(()) };
        let (cols, group) = (first.cols, first.format.group);
        for m in matrices {
            check_len("matrix columns", m.cols, cols)?;
            check_len("matrix group", m.format.group, group)?;
        }
        let (finish, buffer) = match out {
            Output::Store(b) => (Finish::Store, b),
            Output::Add(b) => (Finish::Add, b),
            Output::GatedSilu(b) => (Finish::GatedSilu, b),
            Output::GatedGelu(b) => (Finish::GatedGelu, b),
        };
        let rows: usize = matrices.iter().map(|m| m.rows).sum();
        let width = match finish.panels() {
            1 => rows,
            _ => {
                // The last pair may be padded; what the caller's buffer is wide is what counts.
                let width = buffer.len() / n.max(1);
                if matrices.len() != 1 || width.next_multiple_of(PANEL_ROWS) * 2 != rows {
                    return Err(Error::Length { what: "gated matrix rows", got: rows, expected: 2 * width });
                }
                width
            }
        };
        check_len("out", buffer.len(), n * width)?;
        self.check_input(&input, n, cols)?;
        if n > FEW {
            self.quantize_shared(&input, n, cols, group)?;
        }
        let this = &*self;
        let buffer = SendPtr(buffer.as_mut_ptr());
        let count: usize = matrices.iter().map(|m| m.panels() / finish.panels()).sum();
        this.pool.claim(count, grain(first, n, finish.panels()), &|claims| {
            let buffer = &buffer;
            let local = &mut *this.local(claims.thread);
            let activations = if n > FEW {
                &this.shared
            } else {
                local.activations.resize(n, cols, group);
                for i in 0..n {
                    this.quantize_into(&input, i, cols, &mut local.activations, &mut local.row);
                }
                &local.activations
            };
            while let Some(share) = claims.take() {
                let (mut before, mut column) = (0, 0);
                for m in matrices {
                    let panels = m.panels() / finish.panels();
                    let [begin, end] = [share.start, share.end].map(|p| p.clamp(before, before + panels) - before);
                    let own = if finish.panels() == 1 { m.rows } else { width };
                    let out = Out { ptr: buffer.0, stride: width, column, width: own, finish };
                    // SAFETY: the buffer has n rows of `width` floats (checked above) and is borrowed for the whole
                    // call; each panel, and so its columns, is claimed once.
                    #[expect(unsafe_code, reason = "threads write disjoint columns of one buffer")]
                    unsafe {
                        product(this.isa, m, activations, begin..end, out, &mut local.unpacked);
                    }
                    before += panels;
                    column += own;
                }
            }
            if let Some(next) = next {
                prefetch(this.isa, next, claims.start_of(next.panels()));
            }
        });
        Ok(())
    }

    /// Attention of `n` new positions from `start` on: takes `qkv: [n, (n_heads + 2 n_kv_heads) x head_size]`,
    /// writes keys and values of `layer` to the cache, and keeps the result for [`Input::Attended`].
    ///
    /// # Errors
    /// When a length does not fit or the cache is full.
    pub fn attention(
        &mut self,
        heads: &Heads<'_>,
        qkv: &[f32],
        n: usize,
        start: usize,
        cache: &mut KvCache,
        layer: usize,
    ) -> Result<()> {
        check_len("qkv", qkv.len(), n * heads.row())?;
        check_len("cosines", heads.cos.len(), n * (heads.head_size / 2))?;
        check_len("sines", heads.sin.len(), n * (heads.head_size / 2))?;
        check_len("head size", heads.head_size, cache.head_size)?;
        check_len("kv heads", heads.n_kv_heads, cache.kv_heads)?;
        if start + n > cache.context || layer >= cache.layers {
            return Err(Error::Range { what: "position or layer", value: start + n, range: "the cache" });
        }
        if n == 1 {
            self.decode_attention(heads, qkv, start, cache, layer);
        } else {
            self.prefill_attention(heads, qkv, n, start, cache, layer);
        }
        Ok(())
    }

    fn decode_attention(&mut self, heads: &Heads<'_>, qkv: &[f32], position: usize, cache: &mut KvCache, layer: usize) {
        let (padded, group, end) = (heads.padded(), heads.group(), position + 1);
        let first = heads.first(position);
        let begin = first / 16 * 16;
        let (len, count) = parts(first, end);
        let width = group * (2 + padded);
        {
            let local = &mut *self.local(0);
            local.row.resize(2 * padded, 0.0);
            let (key, value) = local.row.split_at_mut(padded);
            let writer = cache.writer(self.isa, layer);
            for head in 0..heads.n_kv_heads {
                prepare(self.isa, heads, qkv, 0, Kind::Key, head, key);
                prepare(self.isa, heads, qkv, 0, Kind::Value, head, value);
                // SAFETY: the cache is borrowed mutably, and no other thread is at work.
                #[expect(unsafe_code, reason = "the writer is made for threads")]
                unsafe {
                    writer.write(head, position, key, value);
                }
            }
        }
        let mut buffer = std::mem::take(&mut self.attended);
        buffer.resize(heads.n_kv_heads * MAX_PARTS.max(count) * width, 0.0);
        self.attended_parts = Some(count);
        let attended = SendPtr(buffer.as_mut_ptr());
        let cache = &*cache;
        let this = &*self;
        this.pool.claim(heads.n_kv_heads * count, 1, &|claims| {
            let attended = &attended;
            let local = &mut *this.local(claims.thread);
            let mut prepared = usize::MAX;
            while let Some(range) = claims.take() {
                for item in range {
                    let (head, part) = (item / count, item % count);
                    if prepared != head {
                        local.head.resize(group * padded, 0.0);
                        for (g, q) in local.head.chunks_exact_mut(padded).enumerate() {
                            prepare(this.isa, heads, qkv, 0, Kind::Query, head * group + g, q);
                        }
                        prepared = head;
                    }
                    // SAFETY: each item is claimed once, and there are kv_heads x count of them in the buffer.
                    #[expect(unsafe_code, reason = "threads write disjoint items of one buffer")]
                    let out = unsafe { std::slice::from_raw_parts_mut(attended.0.add(item * width), width) };
                    let from = begin + part * len;
                    let to = (from + len).min(end);
                    decode_part(this.isa, cache, layer, head, &local.head, first, from, to, &mut local.scores, out);
                }
            }
        });
        self.attended = buffer;
    }

    fn prefill_attention(
        &mut self,
        heads: &Heads<'_>,
        qkv: &[f32],
        n: usize,
        start: usize,
        cache: &mut KvCache,
        layer: usize,
    ) {
        let (padded, group, size) = (heads.padded(), heads.group(), heads.head_size);
        let row = heads.row();
        let writer = cache.writer(self.isa, layer);
        let mut buffer = std::mem::take(&mut self.attended);
        buffer.resize(n * heads.n_heads * size, 0.0);
        self.attended_parts = None;
        let this = &*self;
        this.pool.claim(n, QUERIES, &|claims| {
            let writer = &writer;
            let local = &mut *this.local(claims.thread);
            local.row.resize(2 * padded, 0.0);
            let (key, value) = local.row.split_at_mut(padded);
            while let Some(range) = claims.take() {
                for (i, head) in range.flat_map(|i| (0..heads.n_kv_heads).map(move |head| (i, head))) {
                    prepare(this.isa, heads, &qkv[i * row..][..row], i, Kind::Key, head, key);
                    prepare(this.isa, heads, &qkv[i * row..][..row], i, Kind::Value, head, value);
                    // SAFETY: the cache is borrowed mutably by our caller; each position is claimed once.
                    #[expect(unsafe_code, reason = "threads write disjoint positions of the cache")]
                    unsafe {
                        writer.write(head, start + i, key, value);
                    }
                }
            }
        });
        let cache = &*cache;
        let blocks = n.div_ceil(QUERIES);
        let items = blocks * heads.n_kv_heads;
        let attended = SendPtr(buffer.as_mut_ptr());
        this.pool.claim(items, 1, &|claims| {
            let attended = &attended;
            let local = &mut *this.local(claims.thread);
            while let Some(range) = claims.take() {
                for item in range {
                    // Late positions see the most: a thread's share has early and late ones of a head.
                    let (block, head) = (item % blocks, item / blocks);
                    let queries = block * QUERIES..((block + 1) * QUERIES).min(n);
                    local.attention.q.resize(queries.len() * group * padded, 0.0);
                    for (j, q) in local.attention.q.chunks_exact_mut(padded).enumerate() {
                        let i = queries.start + j / group;
                        prepare(this.isa, heads, &qkv[i * row..][..row], i, Kind::Query, head * group + j % group, q);
                    }
                    prefill_item(this.isa, heads, cache, layer, head, start + queries.start, &mut local.attention);
                    for (j, sum) in local.attention.sum.chunks_exact(padded).enumerate() {
                        let i = queries.start + j / group;
                        let at = (i * heads.n_heads + head * group + j % group) * size;
                        // SAFETY: position i and this head belong to this item alone; the buffer has room for n x heads.
                        #[expect(unsafe_code, reason = "threads write disjoint heads of one buffer")]
                        unsafe { std::slice::from_raw_parts_mut(attended.0.add(at), size) }
                            .copy_from_slice(&sum[..size]);
                    }
                }
            }
        });
        self.attended = buffer;
    }

    fn check_input(&self, input: &Input<'_>, n: usize, cols: usize) -> Result<()> {
        match *input {
            Input::Rows(x) => check_len("input", x.len(), n * cols),
            Input::Normed { x, gamma, .. } => {
                check_len("input", x.len(), n * cols)?;
                check_len("gamma", gamma.len(), cols)
            }
            Input::Attended(heads) => {
                check_len("heads", heads.n_heads * heads.head_size, cols)?;
                let width = heads.group() * (2 + heads.padded());
                match self.attended_parts {
                    Some(count) if n == 1 && heads.n_kv_heads * count * width <= self.attended.len() => Ok(()),
                    Some(_) => Err(Error::Length { what: "attended", got: 1, expected: n }),
                    None => check_len("attended", self.attended.len(), n * cols),
                }
            }
        }
    }

    /// Quantizes row `i` of the input into row `i` of `activations`.
    fn quantize_into(
        &self,
        input: &Input<'_>,
        i: usize,
        cols: usize,
        activations: &mut Activations,
        row: &mut Vec<f32>,
    ) {
        let (groups, padded, group) = (activations.groups(), activations.padded(), activations.group);
        let codes = &mut activations.codes[i * padded..][..padded];
        let scales = &mut activations.scales[i * groups..][..groups];
        let sums = &mut activations.sums[i * groups..][..groups];
        let x = self.row(input, i, cols, row);
        quantize_row(self.isa, x, group, codes, scales, sums);
    }

    /// Row `i` of the input, computed into `row` unless it lies ready.
    fn row<'a>(&'a self, input: &Input<'a>, i: usize, cols: usize, row: &'a mut Vec<f32>) -> &'a [f32] {
        row.resize(cols.max(row.len()), 0.0);
        match *input {
            Input::Rows(x) => &x[i * cols..][..cols],
            Input::Normed { x, gamma, eps } => {
                rms_norm(self.isa, &x[i * cols..][..cols], gamma, eps, &mut row[..cols]);
                &row[..cols]
            }
            Input::Attended(heads) => match self.attended_parts {
                Some(count) => {
                    merge(self.isa, heads, &self.attended, count, &mut row[..cols]);
                    &row[..cols]
                }
                None => &self.attended[i * cols..][..cols],
            },
        }
    }

    /// Quantizes all rows of the input into `self.shared`, rows shared among the threads.
    fn quantize_shared(&mut self, input: &Input<'_>, n: usize, cols: usize, group: usize) -> Result<()> {
        let mut shared = std::mem::take(&mut self.shared);
        shared.fill_rows(n, cols, group, &self.pool, |worker, i, codes, scales, sums| {
            let local = &mut *self.local(worker);
            let x = self.row(input, i, cols, &mut local.row);
            quantize_row(self.isa, x, group, codes, scales, sums);
        });
        self.shared = shared;
        Ok(())
    }

    fn local(&self, index: usize) -> MutexGuard<'_, Local> {
        // Never contended: each thread locks its own. A panic leaves scratch that the next use overwrites.
        self.local[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
