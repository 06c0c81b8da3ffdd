//! The loops of a product with a packed matrix, written once over [`Dot`] and compiled per instruction set.
//!
//! Few rows of activations (decode, short drafts) stream the packed panels once and unpack nibbles in
//! registers: memory bounds them. Many rows (prefill) unpack a tile of panels into scratch that stays in the
//! first-level cache and run all rows past it: the multiplier bounds them.
#![allow(
    unsafe_code,
    reason = "unchecked indexing in the inner loops, after lengths are asserted; writes of disjoint rows through a shared pointer"
)]

use crate::activations::Activations;
use crate::dot::Dot;
use crate::elementwise::{gelu_tanh, silu};
use crate::isa::Isa;
use crate::lanes::Lanes;
use crate::matrix::{Bits, Format, Matrix, Minimum, PANEL_ROWS, STEP};
use half::f16;
use std::ops::Range;

/// Up to this many rows of activations go through the panels directly.
pub(crate) const DIRECT: usize = 24;
/// How far ahead of the loop the panels are prefetched, in bytes: beyond what the hardware's own prefetcher
/// covers across page ends, well inside the second-level cache.
const AHEAD: usize = 4096;

/// What happens to the finished sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// `out = sum`
    Store,
    /// `out += sum`: the residual stream.
    Add,
    /// Even panels are gates, odd panels the values they scale: `out = silu(gate) * up`.
    GatedSilu,
    /// As `GatedSilu` with the tanh form of GELU.
    GatedGelu,
    /// `out = silu(out) * sum`: the second half of `GatedSilu`.
    TimesSilu,
    /// `out = gelu(out) * sum`
    TimesGelu,
}

impl Finish {
    /// Panels that make one panel of output.
    pub(crate) fn panels(self) -> usize {
        match self {
            Finish::Store | Finish::Add | Finish::TimesSilu | Finish::TimesGelu => 1,
            Finish::GatedSilu | Finish::GatedGelu => 2,
        }
    }
}

/// Where sums go: a row-major buffer `[n, stride]` of which this product fills columns `column..column + width`.
#[derive(Clone, Copy)]
pub(crate) struct Out {
    pub(crate) ptr: *mut f32,
    pub(crate) stride: usize,
    pub(crate) column: usize,
    pub(crate) width: usize,
    pub(crate) finish: Finish,
}

// SAFETY: threads write disjoint columns, see `product`.
unsafe impl Sync for Out {}

/// Scratch of one thread for unpacked panels; grows to the largest matrix.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    codes: Vec<u8>,   // [groups, group / 4, panels of the tile, STEP]
    scales: Vec<f32>, // [groups, 2 (scale, minimum), panels of the tile, PANEL_ROWS]
}

/// Multiplies output panels `panels` (pairs of panels if gated) of `m` with all rows of `x`.
///
/// # Safety
/// - `out.ptr` is valid for writes of `[x.n, stride]` floats and `column + width <= stride`.
/// - No other thread touches columns `column + 16 p` for `p` in `panels` meanwhile.
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn product(
    isa: Isa,
    m: &Matrix,
    x: &Activations,
    panels: Range<usize>,
    out: Out,
    scratch: &mut Unpacked,
) {
    assert_eq!((m.cols, m.format.group), (x.cols, x.group));
    assert!(panels.end * out.finish.panels() <= m.panels());
    assert!(panels.start >= panels.end || (panels.end - 1) * PANEL_ROWS < out.width);
    #[cfg(target_arch = "x86_64")]
    {
        use crate::dot::{DotAvx2, DotAvx512Vnni, DotAvxVnni};
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
        fn avx512(m: &Matrix, x: &Activations, panels: Range<usize>, out: Out, scratch: &mut Unpacked) {
            body::<DotAvx512Vnni>(m, x, panels, out, scratch)
        }
        #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
        fn avx_vnni(m: &Matrix, x: &Activations, panels: Range<usize>, out: Out, scratch: &mut Unpacked) {
            body::<DotAvxVnni>(m, x, panels, out, scratch)
        }
        #[target_feature(enable = "avx2,fma,f16c")]
        fn avx2(m: &Matrix, x: &Activations, panels: Range<usize>, out: Out, scratch: &mut Unpacked) {
            body::<DotAvx2>(m, x, panels, out, scratch)
        }
        match isa {
            // SAFETY: the token proves that the CPU has the features.
            Isa::Avx512Vnni(_) => return unsafe { avx512(m, x, panels, out, scratch) },
            // SAFETY: as above.
            Isa::AvxVnni(_) => return unsafe { avx_vnni(m, x, panels, out, scratch) },
            // SAFETY: as above.
            Isa::Avx2(_) => return unsafe { avx2(m, x, panels, out, scratch) },
            _ => (),
        }
    }
    let _ = (isa, scratch);
    scalar(m, x, panels, out);
}

/// Output panels that a thread takes at a time; `per` panels make one of output.
pub(crate) fn grain(m: &Matrix, n: usize, per: usize) -> usize {
    if n > DIRECT {
        // Two panels make a tile.
        return 2 / per;
    }
    // About a microsecond of streaming: claiming costs a hundredth of it, and threads end within it of each other.
    const BYTES: usize = 32 << 10;
    (BYTES / (m.panel_bytes() * per)).max(1)
}

/// Asks for the first lines of panel `first`, up to where the loop's own prefetching takes over.
pub(crate) fn prefetch(isa: Isa, m: &Matrix, first: usize) {
    #[cfg(target_arch = "x86_64")]
    if isa != Isa::Scalar {
        let at = m.data().as_ptr().wrapping_add(first * m.panel_bytes());
        for line in (0..AHEAD).step_by(64) {
            crate::dot::DotAvx2::prefetch(at.wrapping_add(line));
        }
    }
    let _ = (isa, m, first);
}

/// The reference, one panel at a time.
fn scalar(m: &Matrix, x: &Activations, panels: Range<usize>, out: Out) {
    let per = out.finish.panels();
    for p in panels {
        for i in 0..x.n {
            let mut tile = [[0.0; PANEL_ROWS]; 2];
            for (half, tile) in tile[..per].iter_mut().enumerate() {
                for (lane, sum) in tile.iter_mut().enumerate() {
                    let row = (p * per + half) * PANEL_ROWS + lane;
                    *sum = if row < m.rows { crate::reference::dot(m, row, x, i) } else { 0.0 };
                }
            }
            finish::<[f32; 16]>(tile[0], tile[1], out, p, i);
        }
    }
}

/// Applies `out.finish` to the sums of one row and stores them.
#[inline(always)]
fn finish<V: Lanes>(sum: V, other: V, out: Out, panel: usize, row: usize) {
    let column = panel * PANEL_ROWS;
    let width = (out.width - column).min(PANEL_ROWS);
    // SAFETY: row < n and column + width <= out.width, so the range lies in the buffer that `product`'s caller
    // promised, in columns that belong to this thread.
    let slot = unsafe { std::slice::from_raw_parts_mut(out.ptr.add(row * out.stride + out.column + column), width) };
    let mut old = [0.0; PANEL_ROWS];
    if matches!(out.finish, Finish::Add | Finish::TimesSilu | Finish::TimesGelu) {
        if width == PANEL_ROWS { old.copy_from_slice(slot) } else { old[..width].copy_from_slice(slot) }
    }
    let old = V::load(&old);
    let value = match out.finish {
        Finish::Store => sum,
        Finish::Add => old.add(sum),
        Finish::GatedSilu => silu(sum).mul(other),
        Finish::GatedGelu => gelu_tanh(sum).mul(other),
        Finish::TimesSilu => silu(old).mul(sum),
        Finish::TimesGelu => gelu_tanh(old).mul(sum),
    };
    if width == PANEL_ROWS { value.store(slot) } else { slot.copy_from_slice(&value.to_array()[..width]) }
}

#[inline(always)]
fn body<D: Dot>(m: &Matrix, x: &Activations, panels: Range<usize>, out: Out, scratch: &mut Unpacked) {
    // Lengths on which the unchecked indexing below relies.
    assert_eq!(m.data().len(), m.panels() * m.panel_bytes());
    assert_eq!(x.codes.len(), x.n * x.padded());
    assert_eq!((x.scales.len(), x.sums.len()), (x.n * x.groups(), x.n * x.groups()));
    assert_eq!(x.groups(), m.groups());
    macro_rules! with_format {
        ($($bits:ident $group:literal $minimum:ident)+) => {
            match (m.format.bits, m.format.group, m.format.minimum) {
                $((Bits::$bits, $group, Minimum::$minimum) => {
                    struct F;
                    impl Shape for F {
                        const FORMAT: Format = Format { bits: Bits::$bits, group: $group, minimum: Minimum::$minimum };
                    }
                    if x.n <= DIRECT {
                        direct_rows::<D, F>(m, x, panels, out)
                    } else {
                        tiles::<D, F>(m, x, panels, out, scratch)
                    }
                })+
                _ => unreachable!("the packer makes no other groups"),
            }
        };
    }
    with_format! {
        Four 32 Stored Four 32 Implied Four 64 Stored Four 64 Implied
        Eight 32 Stored Eight 32 Implied Eight 64 Stored Eight 64 Implied
    }
}

/// A format known at compile time.
trait Shape {
    const FORMAT: Format;
}

#[inline(always)]
fn direct_rows<D: Dot, F: Shape>(m: &Matrix, x: &Activations, panels: Range<usize>, out: Out) {
    for p in panels {
        let mut row = 0;
        // After the first block of rows the panel lies in the cache.
        macro_rules! blocks {
            ($($rows:literal)+) => {
                $(while x.n - row >= $rows {
                    direct_panel::<D, F, $rows>(m, x, row, p, out);
                    row += $rows;
                })+
            };
        }
        blocks!(8 4 2 1);
    }
}

#[inline(always)]
fn direct_panel<D: Dot, F: Shape, const N: usize>(m: &Matrix, x: &Activations, row: usize, p: usize, out: Out) {
    let bytes = m.panel_bytes();
    let at = p * out.finish.panels();
    let sums = direct::<D, F, N>(&m.data()[at * bytes..][..bytes], x, row);
    let other = match out.finish.panels() {
        2 => direct::<D, F, N>(&m.data()[(at + 1) * bytes..][..bytes], x, row),
        _ => sums,
    };
    for i in 0..N {
        finish::<D::V>(sums[i], other[i], out, p, row + i);
    }
}

/// Four activations as the operand of a dot product.
///
/// # Safety
/// `at + 4 <= codes.len()`
#[inline(always)]
unsafe fn four(codes: &[i8], at: usize) -> i32 {
    debug_assert!(at + 4 <= codes.len());
    // SAFETY: the caller's promise; unaligned reads are allowed.
    unsafe { codes.as_ptr().add(at).cast::<i32>().read_unaligned() }
}

/// The step at byte `at`.
///
/// # Safety
/// `at + STEP <= bytes.len()`
#[inline(always)]
unsafe fn step(bytes: &[u8], at: usize) -> &[u8; STEP] {
    debug_assert!(at + STEP <= bytes.len());
    // SAFETY: the caller's promise.
    unsafe { &*bytes.as_ptr().add(at).cast() }
}

/// Sixteen halves at byte `at`, widened.
///
/// # Safety
/// `at + 32 <= bytes.len()` and `at` is even.
#[inline(always)]
unsafe fn halves<V: Lanes>(bytes: &[u8], at: usize) -> V {
    debug_assert!(at + 32 <= bytes.len() && at.is_multiple_of(2));
    // SAFETY: the caller's promise; panels start at even addresses (blocks are aligned to 64 and every part of
    // a panel has an even length), and any bits are a valid f16.
    V::load_f16(unsafe { std::slice::from_raw_parts(bytes.as_ptr().add(at).cast::<f16>(), PANEL_ROWS) })
}

/// One panel times `N` rows of activations from `row` on.
#[inline(always)]
fn direct<D: Dot, F: Shape, const N: usize>(panel: &[u8], x: &Activations, row: usize) -> [D::V; N] {
    let (format, group) = (F::FORMAT, F::FORMAT.group);
    let (groups, padded) = (x.groups(), x.padded());
    assert!(x.n >= row + N && panel.len() == groups * format.group_bytes());
    let x_codes = &x.codes[row * padded..(row + N) * padded];
    let x_scales = &x.scales[row * groups..(row + N) * groups];
    let x_sums = &x.sums[row * groups..(row + N) * groups];
    let mut total = [D::V::splat(0.0); N];
    for g in 0..groups {
        let at = g * format.group_bytes();
        for line in (0..format.group_bytes()).step_by(64) {
            D::prefetch(panel.as_ptr().wrapping_add(at + line + AHEAD));
        }
        let mut sums = [D::zero(); N];
        for s in 0..format.code_bytes() / STEP {
            // SAFETY: step s of group g lies inside the panel, whose length is asserted above, and its
            // activations inside row i, as `body` asserted for all N <= n rows.
            unsafe {
                let codes = D::load(step(panel, at + s * STEP));
                match format.bits {
                    Bits::Four => {
                        let (low, high) = D::nibbles(codes);
                        for (i, sum) in sums.iter_mut().enumerate() {
                            let k = i * padded + g * group + 8 * s;
                            *sum = D::dot4(*sum, low, four(x_codes, k));
                            *sum = D::dot4(*sum, high, four(x_codes, k + 4));
                        }
                    }
                    Bits::Eight => {
                        for (i, sum) in sums.iter_mut().enumerate() {
                            *sum = D::dot8(*sum, codes, four(x_codes, i * padded + g * group + 4 * s));
                        }
                    }
                }
            }
        }
        // SAFETY: scales and minima of group g lie behind its codes inside the panel.
        let scale: D::V = unsafe { halves(panel, at + format.code_bytes()) };
        let offset = if format.bits == Bits::Eight { D::OFFSET } else { 0.0 };
        for i in 0..N {
            // SAFETY: i < n and g < groups; `body` asserted both lengths.
            let (x_scale, x_sum) =
                unsafe { (*x_scales.get_unchecked(i * groups + g), *x_sums.get_unchecked(i * groups + g)) };
            let sum = D::to_f32(sums[i]).mul(D::V::splat(x_scale));
            match format.minimum {
                Minimum::Implied => {
                    let sum = sum.sub(D::V::splat((format.zero() - offset) * x_sum));
                    total[i] = sum.mul_add(scale, total[i]);
                }
                Minimum::Stored => {
                    // SAFETY: as for the scale.
                    let minimum: D::V = unsafe { halves(panel, at + format.code_bytes() + 2 * PANEL_ROWS) };
                    let sum = if offset == 0.0 { sum } else { sum.add(D::V::splat(offset * x_sum)) };
                    total[i] = sum.mul_add(scale, minimum.mul_add(D::V::splat(x_sum), total[i]));
                }
            }
        }
    }
    total
}

#[inline(always)]
fn tiles<D: Dot, F: Shape>(m: &Matrix, x: &Activations, panels: Range<usize>, out: Out, scratch: &mut Unpacked) {
    let per = out.finish.panels();
    let all = panels.start * per..panels.end * per;
    let mut at = all.start;
    while at < all.end {
        // A pair of a gate and its value always shares a tile where tiles have two panels.
        if D::TILE_PANELS == 2 && at + 2 <= all.end {
            tile_columns::<D, F, 2>(m, x, at, out, scratch);
            at += 2;
        } else if per == 2 {
            tile_gated::<D, F>(m, x, at, out, scratch);
            at += 2;
        } else {
            tile_columns::<D, F, 1>(m, x, at, out, scratch);
            at += 1;
        }
    }
}

/// Runs all rows past `P` panels starting at `first`.
#[inline(always)]
fn tile_columns<D: Dot, F: Shape, const P: usize>(
    m: &Matrix,
    x: &Activations,
    first: usize,
    out: Out,
    scratch: &mut Unpacked,
) {
    unpack::<D, F, P>(m, first, scratch);
    each_row_block::<D, F, P>(x, scratch, first, out);
}

/// A gate and its value where a tile has one panel: the gate's sums wait in the output itself.
#[inline(always)]
fn tile_gated<D: Dot, F: Shape>(m: &Matrix, x: &Activations, first: usize, out: Out, scratch: &mut Unpacked) {
    unpack::<D, F, 1>(m, first, scratch);
    let finish = if out.finish == Finish::GatedSilu { Finish::TimesSilu } else { Finish::TimesGelu };
    each_row_block::<D, F, 1>(x, scratch, first / 2, Out { finish: Finish::Store, ..out });
    unpack::<D, F, 1>(m, first + 1, scratch);
    each_row_block::<D, F, 1>(x, scratch, first / 2, Out { finish, ..out });
}

/// Runs every row of `x` past the unpacked panels, the first of which has number `first`.
///
/// No closures here: one that is not inlined is compiled without the instruction set, and every operation on a vector
/// then becomes a call.
#[inline(always)]
fn each_row_block<D: Dot, F: Shape, const P: usize>(x: &Activations, scratch: &Unpacked, first: usize, out: Out) {
    // Minima are unpacked whether stored or implied, so fewer forms of the tile suffice than there are formats; where
    // 8-bit codes need no offset, their product is that of 4-bit codes.
    let eight = F::FORMAT.bits == Bits::Eight && D::OFFSET != 0.0;
    let mut row = 0;
    macro_rules! blocks {
        ($($rows:literal)+) => {
            $(while D::TILE_ROWS >= $rows && x.n - row >= $rows {
                let sums = match (eight, F::FORMAT.group) {
                    (false, 32) => tile::<D, false, 32, P, $rows>(x, row, scratch),
                    (false, _) => tile::<D, false, 64, P, $rows>(x, row, scratch),
                    (true, 32) => tile::<D, true, 32, P, $rows>(x, row, scratch),
                    (true, _) => tile::<D, true, 64, P, $rows>(x, row, scratch),
                };
                for (i, sums) in sums.into_iter().enumerate() {
                    if out.finish.panels() == 2 {
                        finish::<D::V>(sums[0], sums[P - 1], out, first / 2, row + i);
                    } else {
                        for (p, sum) in sums.into_iter().enumerate() {
                            finish::<D::V>(sum, sum, out, first + p, row + i);
                        }
                    }
                }
                row += $rows;
            })+
        };
    }
    blocks!(6 3 1);
}

/// Codes of `P` panels as bytes, scales and minima as floats.
#[inline(always)]
fn unpack<D: Dot, F: Shape, const P: usize>(m: &Matrix, first: usize, scratch: &mut Unpacked) {
    let format = F::FORMAT;
    let (groups, steps) = (m.groups(), format.group / 4);
    scratch.codes.resize(groups * steps * P * STEP, 0);
    scratch.scales.resize(groups * 2 * P * PANEL_ROWS, 0.0);
    let (codes, _) = scratch.codes.as_chunks_mut::<STEP>();
    let offset = if format.bits == Bits::Eight { D::OFFSET } else { 0.0 };
    for p in 0..P {
        let panel = &m.data()[(first + p) * m.panel_bytes()..][..m.panel_bytes()];
        for (g, group) in panel.chunks_exact(format.group_bytes()).enumerate() {
            for (s, bytes) in group[..format.code_bytes()].as_chunks::<STEP>().0.iter().enumerate() {
                D::prefetch(bytes.as_ptr().wrapping_add(AHEAD));
                let packed = D::load(bytes);
                match format.bits {
                    Bits::Eight => D::store(packed, &mut codes[(g * steps + s) * P + p]),
                    Bits::Four => {
                        let (low, high) = D::nibbles(packed);
                        D::store(low, &mut codes[(g * steps + 2 * s) * P + p]);
                        D::store(high, &mut codes[(g * steps + 2 * s + 1) * P + p]);
                    }
                }
            }
            // SAFETY: scales and minima lie behind the codes of the group.
            let scale: D::V = unsafe { halves(group, format.code_bytes()) };
            let minimum = match format.minimum {
                Minimum::Implied => scale.mul(D::V::splat(offset - format.zero())),
                // SAFETY: as above.
                Minimum::Stored => unsafe { halves::<D::V>(group, format.code_bytes() + 2 * PANEL_ROWS) }
                    .add(scale.mul(D::V::splat(offset))),
            };
            scale.store(&mut scratch.scales[(g * 2 * P + p) * PANEL_ROWS..]);
            minimum.store(&mut scratch.scales[((g * 2 + 1) * P + p) * PANEL_ROWS..]);
        }
    }
}

/// `P` unpacked panels times `N` rows of activations from `row` on.
#[inline(always)]
fn tile<D: Dot, const EIGHT: bool, const GROUP: usize, const P: usize, const N: usize>(
    x: &Activations,
    row: usize,
    scratch: &Unpacked,
) -> [[D::V; P]; N] {
    let (group, steps) = (GROUP, GROUP / 4);
    let (groups, padded) = (x.groups(), x.padded());
    let x_codes = &x.codes[row * padded..(row + N) * padded];
    let x_scales = &x.scales[row * groups..(row + N) * groups];
    let x_sums = &x.sums[row * groups..(row + N) * groups];
    let codes = &scratch.codes[..groups * steps * P * STEP];
    let scales = &scratch.scales[..groups * 2 * P * PANEL_ROWS];
    let mut total = [[D::V::splat(0.0); P]; N];
    for g in 0..groups {
        let mut sums = [[D::zero(); P]; N];
        for s in 0..steps {
            // SAFETY: step s of group g and the activations at its columns lie inside the slices cut above.
            unsafe {
                let w: [D::Codes; P] = std::array::from_fn(|p| D::load(step(codes, ((g * steps + s) * P + p) * STEP)));
                for (i, sums) in sums.iter_mut().enumerate() {
                    let x = four(x_codes, i * padded + g * group + 4 * s);
                    for (sum, &w) in sums.iter_mut().zip(&w) {
                        *sum = if EIGHT { D::dot8(*sum, w, x) } else { D::dot4(*sum, w, x) };
                    }
                }
            }
        }
        for i in 0..N {
            // SAFETY: i < N and g < groups, see the lengths above.
            let (x_scale, x_sum) = unsafe {
                (
                    D::V::splat(*x_scales.get_unchecked(i * groups + g)),
                    D::V::splat(*x_sums.get_unchecked(i * groups + g)),
                )
            };
            for p in 0..P {
                let at = (g * 2 * P + p) * PANEL_ROWS;
                // SAFETY: group g of `scales` has 2 P vectors, see its length above.
                let (scale, minimum) = unsafe {
                    (
                        D::V::load(scales.get_unchecked(at..at + PANEL_ROWS)),
                        D::V::load(scales.get_unchecked(at + P * PANEL_ROWS..at + (P + 1) * PANEL_ROWS)),
                    )
                };
                let sum = D::to_f32(sums[i][p]).mul(x_scale);
                total[i][p] = sum.mul_add(scale, minimum.mul_add(x_sum, total[i][p]));
            }
        }
    }
    total
}
