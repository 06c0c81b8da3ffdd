//! One stage by itself: a recording transcribed, a prompt answered, a text spoken; and files that are made, not fetched.

pub mod bench;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use assets::{DerivedFile, Store};
use llm::{Sampler, SamplerConfig, TextStream};
use onnx::Runtime;
use tts::ClauseStream;

use crate::audio::wav::Recording;
use crate::audio::{EAR_RATE, wav};
use crate::config::Config;
use crate::history::History;
use crate::models::{asr_options, load_asr, load_llm, load_voice};
use crate::{Error, Result};

/// Audio between two partial transcripts.
const PARTIAL_EVERY: usize = EAR_RATE as usize / 2;

/// Audio after which full windows are decoded although nobody asked for a partial, so that memory stays bounded.
const DECODE_EVERY: usize = 60 * EAR_RATE as usize;

/// What was recognised in a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcribed {
    /// The words; empty when there was no speech.
    pub text: String,
    /// "auto", "en" or "zh".
    pub language: &'static str,
    /// Length of the recording in milliseconds.
    pub audio_ms: f64,
    /// Time that recognition took in milliseconds, loading not included.
    pub elapsed_ms: f64,
    /// Whether the file ended before its header said so.
    pub truncated: bool,
}

/// Hears the stable and the unstable words of a partial transcript.
pub type OnPartial<'a> = &'a mut dyn FnMut(&str, &str);

/// Recognises the speech in a recording of any length; `partial` hears the stable and the unstable words as they come.
///
/// # Errors
/// A model that is missing or damaged, a file that cannot be read on, a cancel.
pub fn transcribe(
    config: &Config,
    store: &Store,
    recording: &mut Recording,
    cancel: &AtomicBool,
    mut partial: Option<OnPartial<'_>>,
) -> Result<Transcribed> {
    config.check()?;
    let mut stream = asr::Stream::new(load_asr(config, store)?, asr_options(config));
    let start = Instant::now();
    let step = if partial.is_some() { PARTIAL_EVERY } else { DECODE_EVERY };
    let mut block = vec![0.0; PARTIAL_EVERY];
    let (mut samples, mut waiting) = (0, 0);
    loop {
        let got = recording.read(&mut block)?;
        stream.push(&block[..got]);
        samples += got;
        waiting += got;
        if got < block.len() {
            break;
        }
        if waiting >= step {
            waiting = 0;
            let words = stream.partial(cancel)?;
            if let Some(partial) = partial.as_mut() {
                partial(&words.stable, &words.unstable);
            }
        }
    }
    let transcript = stream.finish(cancel)?;
    let language = match transcript.language {
        asr::Language::Auto => "auto",
        asr::Language::English => "en",
        asr::Language::Mandarin => "zh",
    };
    Ok(Transcribed {
        text: transcript.text.trim().to_owned(),
        language,
        audio_ms: samples as f64 * 1000.0 / f64::from(EAR_RATE),
        elapsed_ms: start.elapsed().as_secs_f64() * 1000.0,
        truncated: recording.truncated(),
    })
}

/// How an answer was written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Generated {
    /// Tokens of the prompt, instructions included.
    pub prompt_tokens: usize,
    /// Tokens of it that had to be computed after loading.
    pub prefill_tokens: usize,
    /// Until the first token could be chosen, in milliseconds.
    pub prefill_ms: f64,
    /// Tokens written.
    pub tokens: usize,
    /// Time from the first token to the last in milliseconds.
    pub decode_ms: f64,
}

/// Answers `prompt`; `sink` gets the text as it is written and stops it by returning `false`.
///
/// # Errors
/// A model that is missing or damaged, a prompt that does not fit, a cancel.
pub fn generate(
    config: &Config,
    store: &Store,
    prompt: &str,
    cancel: &AtomicBool,
    sink: &mut dyn FnMut(&str) -> bool,
) -> Result<Generated> {
    config.check()?;
    let refuse = |reason: String| Err(Error::Setting { setting: "prompt", reason });
    if prompt.trim().is_empty() {
        return refuse("is empty; write what should be answered".into());
    }
    let mut session = load_llm(config, store)?;
    let model = session.model().clone();
    let messages = crate::actor::thinker::messages(&History::new(&config.system_prompt).prompt(prompt));
    let tokens = model.chat().render(&messages, true)?;
    let room = session.context().saturating_sub(tokens.len() + 1);
    if room == 0 {
        let context = session.context();
        return refuse(format!("has {} tokens with its instructions, but the context holds {context}", tokens.len()));
    }
    let start = Instant::now();
    let prefill = session.advance_to(&tokens, cancel)?;
    let mut done = Generated {
        prompt_tokens: tokens.len(),
        prefill_tokens: prefill.computed,
        prefill_ms: start.elapsed().as_secs_f64() * 1000.0,
        ..Generated::default()
    };
    let mut sampler = Sampler::new(SamplerConfig {
        temperature: config.sampling.temperature,
        top_p: config.sampling.top_p,
        repetition_penalty: config.sampling.repetition_penalty,
        seed: config.sampling.seed,
        ..SamplerConfig::default()
    })?;
    let mut text = TextStream::new(&model);
    let start = Instant::now();
    let mut wanted = true;
    for token in session.generate(&mut sampler, cancel).take(config.max_tokens.min(room)) {
        let piece = text.push(token?);
        done.tokens += 1;
        wanted = sink(&piece);
        if !wanted {
            break;
        }
    }
    if wanted {
        sink(&text.finish());
    }
    done.decode_ms = start.elapsed().as_secs_f64() * 1000.0;
    Ok(done)
}

/// What was spoken into a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spoken {
    /// Length of the speech in milliseconds.
    pub audio_ms: f64,
    /// Until the first chunk was there, in milliseconds, loading not included.
    pub first_chunk_ms: f64,
    /// Time that synthesis took in milliseconds.
    pub elapsed_ms: f64,
}

/// Speaks `text` into the WAV file `out`.
///
/// # Errors
/// A voice that is missing or damaged, a text without a speakable word, a file that cannot be written, a cancel.
pub fn say(config: &Config, store: &Store, text: &str, out: &Path, cancel: &AtomicBool) -> Result<Spoken> {
    config.check()?;
    let mut stream = ClauseStream::default();
    let mut clauses = stream.push(text);
    clauses.extend(stream.finish());
    if clauses.is_empty() {
        let reason = "has nothing in it that can be spoken; write at least one word".into();
        return Err(Error::Setting { setting: "text", reason });
    }
    let mut voice = load_voice(config, store, &Runtime::load(&store.onnxruntime()?)?)?;
    let rate = f64::from(voice.sample_rate());
    let mut writer = wav::Writer::create(out, voice.sample_rate())?;
    let start = Instant::now();
    let mut first_chunk_ms = 0.0;
    for clause in clauses {
        let mut written = Ok(());
        voice.synthesize(&clause, cancel, &mut |speech| {
            if writer.is_empty() {
                first_chunk_ms = start.elapsed().as_secs_f64() * 1000.0;
            }
            if written.is_ok() {
                written = writer.write(&speech.samples);
            }
        })?;
        written?;
    }
    let spoken = Spoken {
        audio_ms: writer.len() as f64 * 1000.0 / rate,
        first_chunk_ms,
        elapsed_ms: start.elapsed().as_secs_f64() * 1000.0,
    };
    writer.finish()?;
    Ok(spoken)
}

/// Makes a file that the catalogue derives from fetched ones: `file` from the model's `folder`, written to `to`.
///
/// # Errors
/// A recipe of a newer catalogue, or a source that cannot be converted.
pub fn derive(
    file: &DerivedFile,
    folder: &Path,
    to: &Path,
) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    match file.recipe.as_str() {
        "whisper-ct2-to-ggml-q8_0" => Ok(asr::convert(folder, to, asr::Quant::Q8_0)?),
        unknown => Err(format!("{} is made by the unknown recipe {unknown}; update this program", file.name).into()),
    }
}
