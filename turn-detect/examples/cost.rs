//! What a score costs: the front end and the model, in milliseconds, for turns of several lengths and 1 or 2 threads.
//!
//! `cargo run --release -p pocket-voice-turn-detect --example cost`

use std::time::Instant;

use turn_detect::SmartTurn;
use turn_detect::mel::LogMel;

const ROUNDS: usize = 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = assets::Store::open()?;
    let runtime = onnx::Runtime::load(&store.onnxruntime()?)?;
    let model = store.file("smart-turn-v3.2", "smart-turn-v3.2-cpu.onnx")?;
    let mut one = SmartTurn::open_with_threads(&runtime, &model, 1)?;
    let mut two = SmartTurn::open_with_threads(&runtime, &model, 2)?;
    let mut mel = LogMel::default();
    println!("turn s   mel ms   score ms, 1 thread   score ms, 2 threads   (median of {ROUNDS})");
    for seconds in [1, 2, 4, 8] {
        let turn: Vec<f32> = (0..seconds * 16_000).map(|i| (i as f32 * 0.05).sin() * (i as f32 * 3e-4).sin()).collect();
        let front_end = median(|| {
            mel.features(&turn);
            Ok(())
        })?;
        let single = median(|| one.score(&turn).map(|_| ()))?;
        let double = median(|| two.score(&turn).map(|_| ()))?;
        println!("{seconds:>6}   {front_end:>6.2}   {single:>18.1}   {double:>19.1}");
    }
    Ok(())
}

/// Median time of a call in milliseconds.
fn median(mut call: impl FnMut() -> turn_detect::Result<()>) -> turn_detect::Result<f64> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        call()?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}
