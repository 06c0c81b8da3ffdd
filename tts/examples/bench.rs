//! Measures the voices on short and long clauses.
//!
//! `cargo run --release -p pocket-voice-tts --example bench -- joe zf_xiaoxiao`

use std::time::Instant;

use tts::{Clause, ClauseStream, Kokoro, Piper, Synthesizer, VoiceConfig, bench};

/// Clauses of about six words, and of a dozen and more.
const ENGLISH: [&[&str]; 2] = [
    &["The weather today is quite sunny", "I can help you with that", "She left the house very early"],
    &["He finished all of his homework before dinner and then watched a movie with his sister"],
];
const MANDARIN: [&[&str]; 2] =
    [&["今天天气很好", "我们去公园吧", "你吃早饭了吗"], &["周末我们一起去看电影然后在附近的餐厅吃晚饭"]];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = assets::Store::open()?;
    let runtime = onnx::Runtime::load(&store.onnxruntime()?)?;
    let start = Instant::now();
    for name in std::env::args().skip(1) {
        let opened = Instant::now();
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
        println!("{name}: opened in {:.0} ms", opened.elapsed().as_secs_f64() * 1e3);
        let texts = if name.starts_with('z') { MANDARIN } else { ENGLISH };
        for texts in texts {
            let clauses: Vec<Clause> = texts.iter().flat_map(|text| whole(text)).collect();
            let measured = bench(&mut *voice, &clauses, 12, &|| start.elapsed())?;
            let ms = |share| measured.first_chunk_at(share).unwrap_or_default().as_secs_f64() * 1e3;
            println!(
                "  {:?}...: first chunk P50 {:.1} ms, P95 {:.1} ms; real-time factor {:.3}",
                texts[0],
                ms(0.5),
                ms(0.95),
                measured.real_time_factor()
            );
        }
    }
    Ok(())
}

/// The text as one clause, however long.
fn whole(text: &str) -> Vec<Clause> {
    let mut stream = ClauseStream::default();
    stream.audio_queued(60_000);
    let mut clauses = stream.push(text);
    clauses.extend(stream.finish());
    clauses
}
