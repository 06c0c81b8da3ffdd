//! Word error rate over the shared speech collection at several margins: `wer MODEL [MARGIN...]`.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use asr::{AudioContext, Native, Options, Pass, Transcriber, Whisper};

#[path = "../tests/common/mod.rs"]
mod common;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let model = args.next().ok_or("usage: wer MODEL [MARGIN...]")?;
    let model = Path::new(&model);
    let english_only = model.to_string_lossy().contains("tiny");
    let mut engine: Box<dyn Transcriber> =
        if model.is_dir() { Box::new(Native::open(model)?) } else { Box::new(Whisper::open(model)?) };
    let mut contexts: Vec<AudioContext> =
        args.map(|margin| AudioContext::Margin(margin.parse().unwrap_or(0))).collect();
    if contexts.is_empty() {
        contexts = vec![AudioContext::Fit, AudioContext::Full];
    }
    let pass = if std::env::var_os("PARTIAL").is_some() { Pass::Partial } else { Pass::Final };
    let clips = common::shared_clips().ok_or("no clips")?;
    for audio_context in contexts {
        let (mut errors, mut words, mut looped, mut invented) = (0, 0, 0, 0);
        let start = Instant::now();
        for clip in clips.iter().filter(|clip| !(english_only && clip.language == "zh")) {
            let options = Options { audio_context, pass, ..Options::default() };
            let t = engine.transcribe(&clip.audio, &options, &AtomicBool::new(false))?;
            looped += usize::from(t.rejection == Some(asr::Rejection::Repetition));
            if clip.text.is_empty() {
                invented += usize::from(!t.text.is_empty());
                continue;
            }
            let (e, n) = common::errors(&clip.text, &t.text);
            errors += e;
            words += n;
            if e > 0 && std::env::var_os("SHOW").is_some() {
                println!("  {} {e}/{n} {:?} {:.2} {:?}", clip.name, t.text, t.avg_logprob, t.rejection);
            }
        }
        println!(
            "{audio_context:?}: {errors}/{words} = {:.1}%, looped {looped}, invented {invented}, {:.0} ms in all",
            100.0 * errors as f64 / words as f64,
            start.elapsed().as_secs_f64() * 1e3
        );
    }
    Ok(())
}
