//! Speaks lines of text into a WAV file and prints when each chunk was there.
//!
//! `cargo run --release -p pocket-voice-tts --example say -- joe out.wav "Hello there." "How are you?"`
//! The voice is `joe`, or the id of a Kokoro voice: `zf_xiaobei`.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tts::{ClauseStream, Kokoro, Piper, Synthesizer, VoiceConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: say VOICE OUT.wav TEXT...";
    let (name, path) = (arguments.next().ok_or(usage)?, arguments.next().ok_or(usage)?);
    let store = assets::Store::open()?;
    let runtime = onnx::Runtime::load(&store.onnxruntime()?)?;
    let start = Instant::now();
    let mut voice: Box<dyn Synthesizer> = if name == "joe" {
        Box::new(Piper::open(&runtime, &store.file("piper-en-us-joe", "en_US-joe-medium.onnx")?, 2)?)
    } else {
        let file = store.file("kokoro-voices", &format!("{name}.bin"))?;
        Box::new(Kokoro::open(
            &runtime,
            &store.file("kokoro-82m", "kokoro-82m-int8.onnx")?,
            &file,
            VoiceConfig::default(),
        )?)
    };
    println!("opened in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: voice.sample_rate(),
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut wav = hound::WavWriter::create(path, spec)?;
    for text in arguments {
        let mut stream = ClauseStream::default();
        let mut clauses = stream.push(&text);
        clauses.extend(stream.finish());
        for clause in clauses {
            let start = Instant::now();
            let mut pieces = Vec::new();
            let mut written = Ok(());
            voice.synthesize(&clause, &AtomicBool::new(false), &mut |speech| {
                let seconds = speech.samples.len() as f64 / f64::from(spec.sample_rate);
                pieces.push(format!("{:.0} ms: {seconds:.2} s", start.elapsed().as_secs_f64() * 1e3));
                for sample in speech.samples {
                    if written.is_ok() {
                        written = wav.write_sample((sample * 32_767.0) as i16);
                    }
                }
            })?;
            written?;
            println!("{:?}\n    {}", clause.spoken, pieces.join(", "));
        }
    }
    wav.finalize()?;
    Ok(())
}
