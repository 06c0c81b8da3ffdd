//! What the detector hears in WAV files, what the gate saves and what it loses.
//!
//! `cargo run --release -p pocket-voice-vad --example survey -- ../shared/speech/*.wav`
//!
//! For each file (16 kHz mono): the segments; the share of frames that Silero ran on; the frames that Silero alone calls
//! speech and that the gate withheld; and the cost in milliseconds for each second of audio, gated and not.

use std::path::{Path, PathBuf};
use std::time::Instant;

use vad::{GateConfig, Vad, VadConfig, VadEvent};

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Anyhow<()> {
    let store = assets::Store::open()?;
    let runtime = onnx::Runtime::load(&store.onnxruntime()?)?;
    let model = store.file("silero-vad", "silero_vad_16k_op15.onnx")?;
    let mut totals = [0.0; 6];
    println!("{:<32} {:>5} {:>6} {:>5} {:>6} {:>6}  segments", "file", "s", "ran %", "lost", "ms/s", "alone");
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let audio = read(&path)?;
        let seconds = audio.len() as f64 / 16_000.0;
        let open = |enabled| {
            let gate = GateConfig { enabled, ..GateConfig::default() };
            Vad::open(&runtime, &model, VadConfig { gate, ..VadConfig::default() })
        };
        let (gated, ran, cost) = hear(open(true)?, &audio)?;
        let (alone, all, cost_alone) = hear(open(false)?, &audio)?;
        let lost = speech_frames(&gated).zip(speech_frames(&alone)).filter(|&(g, a)| a && !g).count();
        let speech = speech_frames(&alone).filter(|&s| s).count();
        let row = [seconds, ran as f64, all as f64, lost as f64, cost, cost_alone];
        totals.iter_mut().zip(row).for_each(|(total, value)| *total += value);
        println!(
            "{:<32} {seconds:>5.1} {:>6.1} {:>5} {:>6.2} {:>6.2}  {}",
            path.file_stem().unwrap_or_default().to_string_lossy(),
            100.0 * ran as f64 / all as f64,
            format!("{lost}/{speech}"),
            cost / seconds,
            cost_alone / seconds,
            segments(&gated)
        );
    }
    let [seconds, ran, all, lost, cost, cost_alone] = totals;
    println!(
        "all: {seconds:.1} s, Silero ran on {:.1}% of the frames, {lost} speech frames lost, {:.2} ms/s gated, {:.2} alone",
        100.0 * ran / all,
        cost / seconds,
        cost_alone / seconds
    );
    Ok(())
}

/// The events of the whole file, how often Silero ran, and the milliseconds it took.
fn hear(mut vad: Vad, audio: &[f32]) -> Anyhow<(Vec<VadEvent>, u64, f64)> {
    let begin = Instant::now();
    let mut events = Vec::new();
    for chunk in audio.chunks(160) {
        events.extend(vad.push(chunk)?);
    }
    events.extend(vad.finish()?);
    Ok((events, vad.silero_runs(), begin.elapsed().as_secs_f64() * 1e3))
}

fn speech_frames(events: &[VadEvent]) -> impl Iterator<Item = bool> {
    events.iter().filter_map(|event| match event {
        VadEvent::Frame { is_speech, .. } => Some(*is_speech),
        _ => None,
    })
}

fn segments(events: &[VadEvent]) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            VadEvent::SpeechStart { at } => text += &format!(" {:.2}", at.0 as f64 / 16e3),
            VadEvent::SpeechEnd { at } => text += &format!("-{:.2}", at.0 as f64 / 16e3),
            VadEvent::Frame { .. } => {}
        }
    }
    text
}

fn read(path: &Path) -> Anyhow<Vec<f32>> {
    let mut wav = hound::WavReader::open(path)?;
    let spec = wav.spec();
    if (spec.sample_rate, spec.channels, spec.bits_per_sample) != (16_000, 1, 16) {
        return Err(format!("{}: want 16 kHz mono 16 bit, got {spec:?}", path.display()).into());
    }
    Ok(wav.samples::<i16>().map(|s| s.map(|s| f32::from(s) / 32_768.0)).collect::<Result<_, _>>()?)
}
