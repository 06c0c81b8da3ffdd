//! How fast products with packed matrices run: streaming speed for few rows, operations for many.
//!
//! `cargo run --release -p pocket-voice-kernels --example product_speed [threads]`

use kernels::{Activations, Arena, Format, Isa, Matrix, Packer, Pool, Source, matmul_quantized};
use std::time::Instant;

const ROUNDS: usize = 7;
/// `[rows, cols]` of a layer of the Pocket LLM; 28 copies exceed any cache.
const SHAPES: [(usize, usize); 4] = [(1152, 896), (896, 896), (5120, 896), (896, 2560)];
const LAYERS: usize = 28;

fn main() -> kernels::Result<()> {
    let threads = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2);
    let pool = Pool::new(threads)?;
    let isa = Isa::choose()?;
    println!("{}, {threads} threads", isa.name());
    for format in [Format::INT4_MIN_32, Format::INT4_MIN_64, Format::INT8_32] {
        let mut arena = Arena::default();
        let mut layers = Vec::new();
        for (rows, cols) in SHAPES.repeat(LAYERS) {
            let weights: Vec<f32> = (0..cols * rows).map(|i| ((i * 7919) % 255) as f32 / 128.0 - 1.0).collect();
            let mut packer = Packer::new(&mut arena, format, rows, cols)?;
            packer.append(Source::F32(&weights), rows, &pool)?;
            layers.push(packer.finish()?);
        }
        let bytes: usize = layers.iter().map(Matrix::bytes).sum();
        let weights: usize = layers.iter().map(|m| m.rows() * m.cols()).sum();
        for n in [1, 2, 4, 8, 12, 16, 32, 128, 256] {
            let seconds = median(|| run(isa, &layers, n, &pool))?;
            println!(
                "{format:>12} n {n:>3}: {:7.2} ms  {:5.1} GB/s  {:7.1} G multiply-adds/s",
                seconds * 1e3,
                bytes as f64 / seconds / 1e9,
                (weights * n) as f64 / seconds / 1e9
            );
        }
    }
    Ok(())
}

/// All layers once, on prepared activations.
fn run(isa: Isa, layers: &[Matrix], n: usize, pool: &Pool) -> kernels::Result<f64> {
    let mut inputs = Vec::new();
    for (_, cols) in SHAPES {
        let x: Vec<f32> = (0..n * cols).map(|i| ((i * 31) % 97) as f32 / 48.0 - 1.0).collect();
        let mut activations = Activations::default();
        activations.quantize(isa, &x, n, cols, layers[0].format().group)?;
        inputs.push(activations);
    }
    let mut out = vec![0.0; n * 5120];
    let start = Instant::now();
    for (i, m) in layers.iter().enumerate() {
        matmul_quantized(isa, m, &inputs[i % SHAPES.len()], &mut out[..n * m.rows()], pool)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

fn median(mut f: impl FnMut() -> kernels::Result<f64>) -> kernels::Result<f64> {
    f()?;
    let mut times = (0..ROUNDS).map(|_| f()).collect::<kernels::Result<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}
