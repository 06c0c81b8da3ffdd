//! Prints the transcript of 16 kHz mono WAV files: `transcribe MODEL WAV...`; MODEL is a ggml file.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use asr::{Options, Transcriber, Whisper};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let model = args.next().ok_or("usage: transcribe MODEL WAV...")?;
    let mut engine = Whisper::open(Path::new(&model))?;
    for wav in args {
        let mut reader = hound::WavReader::open(&wav)?;
        let audio: Vec<f32> =
            reader.samples::<i16>().map(|s| Ok(f32::from(s?) / 32768.0)).collect::<Result<_, hound::Error>>()?;
        let start = Instant::now();
        let t = engine.transcribe(&audio, &Options::default(), &AtomicBool::new(false))?;
        println!(
            "{wav}: {:?} logprob {:.2} no_speech {:.3} {:?} {:.0} ms",
            t.text,
            t.avg_logprob,
            t.no_speech_prob,
            t.rejection,
            start.elapsed().as_secs_f64() * 1e3
        );
    }
    Ok(())
}
