//! Prints the transcript of 16 kHz mono WAV files: `transcribe MODEL WAV...`.
//!
//! MODEL is a CTranslate2 directory for our own engine, or a ggml file for whisper.cpp.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use asr::{AudioContext, Native, Options, Transcriber, Whisper};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let model = args.next().ok_or("usage: transcribe MODEL WAV...")?;
    let model = Path::new(&model);
    let mut engine: Box<dyn Transcriber> =
        if model.is_dir() { Box::new(Native::open(model)?) } else { Box::new(Whisper::open(model)?) };
    let audio_context = match std::env::var("MARGIN").ok().and_then(|margin| margin.parse().ok()) {
        Some(margin) => AudioContext::Margin(margin),
        None => AudioContext::Fit,
    };
    let options = Options { audio_context, ..Options::default() };
    for wav in args {
        let mut reader = hound::WavReader::open(&wav)?;
        let audio: Vec<f32> =
            reader.samples::<i16>().map(|s| Ok(f32::from(s?) / 32768.0)).collect::<Result<_, hound::Error>>()?;
        let start = Instant::now();
        let t = engine.transcribe(&audio, &options, &AtomicBool::new(false))?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let name = Path::new(&wav).file_stem().unwrap_or_default().to_string_lossy();
        println!(
            "{name}: {:?} logprob {:.2} no_speech {:.3} {:?} {ms:.0} ms",
            t.text, t.avg_logprob, t.no_speech_prob, t.rejection
        );
    }
    Ok(())
}
