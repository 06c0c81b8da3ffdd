//! Median time to the final transcript of clips: alone, with the right draft, and at the end of a stream that was
//! decoded every half second: `latency MODEL [whisper.cpp] [WAV...]`.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use asr::{Engine, Options, SAMPLE_RATE, Stream, Transcriber, open};

const RUNS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).peekable();
    let model = args.next().ok_or("usage: latency MODEL [whisper.cpp] WAV...")?;
    let engine = match args.next_if(|arg| arg == "whisper.cpp") {
        Some(_) => Engine::WhisperCpp,
        None => Engine::Native,
    };
    let mut transcriber = open(Path::new(&model), engine)?;
    let never = AtomicBool::new(false);
    println!("{engine:?}, 2 threads, median of {RUNS}: clip, alone, with draft, end of stream, partial (last)");
    for wav in args {
        let mut reader = hound::WavReader::open(&wav)?;
        let audio: Vec<f32> =
            reader.samples::<i16>().map(|s| Ok(f32::from(s?) / 32768.0)).collect::<Result<_, hound::Error>>()?;
        let options = Options::default();
        let first = transcriber.transcribe(&audio, &options, &never)?;
        let alone = median(|| transcriber.transcribe(&audio, &options, &never).map(|_| ()))?;
        let drafted = Options { draft: first.tokens.clone(), ..Options::default() };
        let draft = median(|| transcriber.transcribe(&audio, &drafted, &never).map(|_| ()))?;
        let (mut finals, mut partials) = (Vec::new(), Vec::new());
        let mut text = String::new();
        for _ in 0..RUNS {
            let mut stream = Stream::new(&mut transcriber, Options::default());
            let step = SAMPLE_RATE / 2;
            let mut last = 0.0;
            for (i, chunk) in audio.chunks(step).enumerate() {
                stream.push_judged(chunk, true);
                if (i + 1) * step < audio.len() {
                    let start = Instant::now();
                    stream.partial(&never)?;
                    last = ms(start);
                }
            }
            let start = Instant::now();
            text = stream.finish(&never)?.text;
            finals.push(ms(start));
            partials.push(last);
        }
        let name = Path::new(&wav).file_stem().unwrap_or_default().to_string_lossy();
        let seconds = audio.len() as f64 / SAMPLE_RATE as f64;
        let same = if text == first.text { "" } else { " (differs)" };
        println!(
            "{name} {seconds:.1} s: {alone:.0} / {draft:.0} / {:.0}{same} / {:.0} ms",
            middle(&mut finals),
            middle(&mut partials)
        );
    }
    Ok(())
}

fn median(mut run: impl FnMut() -> asr::Result<()>) -> asr::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        times.push(ms(start));
    }
    Ok(middle(&mut times))
}

fn middle(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
