//! Linear layers and layer norms: weights as the kernels want them, and the passes over rows that go with them.

use kernels::{Activations, Matrix, elementwise};

use super::{Machine, kernel_error};
use crate::Result;
use crate::checkpoint::Checkpoint;

/// `y = x W^T + b`.
pub(super) struct Linear {
    weight: Matrix,
    bias: Vec<f32>,
}

/// What happens to a product after the bias.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing.
    Nothing,
    /// The activation function.
    Gelu,
}

impl Linear {
    /// Reads `{name}/weight` `[rows, cols]` and `{name}/bias` `[rows]`.
    pub(super) fn load(checkpoint: &Checkpoint, name: &str, rows: usize, cols: usize) -> Result<Linear> {
        let weight = checkpoint.f32s(&format!("{name}/weight"), &[rows, cols])?;
        let bias = checkpoint.f32s(&format!("{name}/bias"), &[rows])?;
        Linear::new(&weight, bias, cols)
    }

    /// From weights `[bias.len(), cols]`.
    pub(super) fn new(weight: &[f32], bias: Vec<f32>, cols: usize) -> Result<Linear> {
        let weight = Matrix::from_f32_int8(bias.len(), cols, weight).map_err(kernel_error)?;
        Ok(Linear { weight, bias })
    }

    pub(super) fn rows(&self) -> usize {
        self.bias.len()
    }

    /// `out = then(x W^T + b)`; `x` `[n, cols]`, `out` `[n, rows]`, resized to fit.
    pub(super) fn apply(
        &self,
        x: &[f32],
        out: &mut Vec<f32>,
        then: Then,
        scratch: &mut Activations,
        machine: &Machine,
    ) -> Result<()> {
        product(&self.weight, x, out, scratch, machine)?;
        let Machine { isa, pool } = machine;
        let rows = self.rows();
        pool.map_chunks(out, rows, |_, row| {
            elementwise::add_assign(*isa, row, &self.bias);
            if then == Then::Gelu {
                elementwise::gelu(*isa, row);
            }
            Ok(())
        })
    }

    /// `x += W input + b`, the residual form.
    pub(super) fn add_to(
        &self,
        x: &mut [f32],
        input: &[f32],
        product_out: &mut Vec<f32>,
        scratch: &mut Activations,
        machine: &Machine,
    ) -> Result<()> {
        product(&self.weight, input, product_out, scratch, machine)?;
        let Machine { isa, pool } = machine;
        let rows = self.rows();
        let products: &[f32] = product_out;
        pool.map_chunks(x, rows, |i, row| {
            elementwise::add_assign(*isa, row, &products[i * rows..][..rows]);
            elementwise::add_assign(*isa, row, &self.bias);
            Ok(())
        })
    }
}

/// `out = x W^T`; `x` `[n, cols]`, `out` resized to `[n, rows]`.
pub(super) fn product(
    weight: &Matrix,
    x: &[f32],
    out: &mut Vec<f32>,
    scratch: &mut Activations,
    machine: &Machine,
) -> Result<()> {
    let n = x.len() / weight.cols();
    out.resize(n * weight.rows(), 0.0);
    let group = weight.format().group;
    // Handing out a few rows costs more than quantising them here.
    if n < 8 {
        scratch.quantize(machine.isa, x, n, weight.cols(), group).map_err(kernel_error)?;
    } else {
        scratch.quantize_with(machine.isa, x, n, weight.cols(), group, &machine.pool).map_err(kernel_error)?;
    }
    kernels::matmul_quantized(machine.isa, weight, scratch, out, &machine.pool).map_err(kernel_error)
}

/// Layer norm with gain and bias.
pub(super) struct Norm {
    gamma: Vec<f32>,
    beta: Vec<f32>,
}

impl Norm {
    /// Reads `{name}/gamma` and `{name}/beta`, `[n]` each.
    pub(super) fn load(checkpoint: &Checkpoint, name: &str, n: usize) -> Result<Norm> {
        Ok(Norm {
            gamma: checkpoint.f32s(&format!("{name}/gamma"), &[n])?,
            beta: checkpoint.f32s(&format!("{name}/beta"), &[n])?,
        })
    }

    /// Each row of `x` normalised into `out`, resized to fit.
    pub(super) fn apply(&self, x: &[f32], out: &mut Vec<f32>, machine: &Machine) -> Result<()> {
        const EPS: f32 = 1e-5;
        let n = self.gamma.len();
        out.resize(x.len(), 0.0);
        let Machine { isa, pool } = machine;
        pool.map_chunks(out, n, |i, row| {
            elementwise::layer_norm(*isa, &x[i * n..][..n], &self.gamma, &self.beta, EPS, row);
            Ok(())
        })
    }
}
