//! The models of a conversation: found in the models directory, loaded side by side, warm.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use assets::Store;
use onnx::Runtime;
use tts::Synthesizer;
use turn_detect::SmartTurn;
use vad::{Vad, VadConfig};

use crate::config::{AsrEngine, Config, Language};
use crate::history::History;
use crate::report;
use crate::{Error, Result};

/// Everything a conversation computes with.
pub struct Models {
    pub(crate) vad: Vad,
    pub(crate) smart_turn: SmartTurn,
    pub(crate) transcriber: Box<dyn asr::Transcriber>,
    pub(crate) asr_options: asr::Options,
    pub(crate) session: llm::Session,
    pub(crate) voice: Box<dyn Synthesizer>,
    pub(crate) clause_plan: tts::ClausePlan,
    /// Their names, for the report.
    pub names: report::Models,
}

impl Models {
    /// Loads what `config` names. The slowest decides how long that takes, not their sum.
    ///
    /// # Errors
    /// The first model that is missing, damaged or of the wrong kind, and the command that brings it.
    pub fn load(config: &Config, store: &Store) -> Result<Self> {
        config.check()?;
        let runtime = Runtime::load(&store.onnxruntime()?)?;
        let smart_turn = "smart-turn-v3.2";
        let silero = store.file("silero-vad", "silero_vad_16k_op15.onnx")?;
        let smart_turn_file = store.file(smart_turn, "smart-turn-v3.2-cpu.onnx")?;

        thread::scope(|scope| {
            let llm = scope.spawn(|| load_llm(config, store));
            let asr = scope.spawn(|| load_asr(config, store));
            let voice = scope.spawn(|| load_voice(config, store, &runtime));
            let vad = Vad::open(&runtime, &silero, VadConfig::default())?;
            let mut smart_turn_model = SmartTurn::open_with_threads(&runtime, &smart_turn_file, config.threads)?;
            // The first run of a session plans its memory; no turn should wait for that.
            smart_turn_model.score(&[0.0; 16_000])?;
            Ok(Self {
                vad,
                smart_turn: smart_turn_model,
                transcriber: join(asr)?,
                asr_options: asr_options(config),
                session: join(llm)?,
                voice: join(voice)?,
                clause_plan: clause_plan(config, store),
                names: report::Models {
                    asr: config.asr.clone(),
                    llm: name_of(&config.llm),
                    voice: name_of(&config.voice),
                    turn: smart_turn.into(),
                },
            })
        })
    }
}

/// Speech recognition alone, for `transcribe`.
///
/// # Errors
/// As [`Models::load`].
pub fn load_asr(config: &Config, store: &Store) -> Result<Box<dyn asr::Transcriber>> {
    let wanted = config.asr_engine;
    let model = match as_path(&config.asr) {
        Some(path) => path,
        None => file_of(store, &config.asr, "Whisper model for this engine", |name| match wanted {
            AsrEngine::Native => name == "model.bin",
            AsrEngine::WhisperCpp => name.starts_with("ggml-") && name.ends_with(".bin"),
        })?,
    };
    let engine = match wanted {
        AsrEngine::Native => asr::Engine::Native,
        AsrEngine::WhisperCpp => asr::Engine::WhisperCpp,
    };
    let mut transcriber = asr::open(&model, engine)?;
    // The first decode plans its memory; no utterance should wait for that.
    let noise: Vec<f32> = (0..16_000).map(|i| ((i * 7919 % 997) as f32 / 997.0 - 0.5) * 0.02).collect();
    let options = asr::Options { pass: asr::Pass::Partial, ..asr_options(config) };
    transcriber.transcribe(&noise, &options, &AtomicBool::new(false))?;
    Ok(transcriber)
}

/// How speech is recognised under `config`.
#[must_use]
pub fn asr_options(config: &Config) -> asr::Options {
    let language = match config.language {
        Language::Auto => asr::Language::Auto,
        Language::En => asr::Language::English,
        Language::Zh => asr::Language::Mandarin,
    };
    asr::Options { language, threads: config.threads, ..asr::Options::default() }
}

/// The language model alone, for `generate`, with the system prompt computed.
///
/// # Errors
/// As [`Models::load`].
pub fn load_llm(config: &Config, store: &Store) -> Result<llm::Session> {
    let path = llm_path(config, store)?;
    let model = llm::Model::open(&path)?;
    let context = config.context.min(model.config().context);
    let mut session = llm::Session::new(Arc::clone(&model), llm::SessionConfig { context, threads: config.threads })?;
    let mut system = History::new(&config.system_prompt).prompt("");
    system.retain(|m| !m.text.is_empty());
    crate::actor::thinker::Thinker::warm_up(&mut session, &system)?;
    Ok(session)
}

/// Where the language model of `config` lies.
///
/// # Errors
/// What is missing and the command that brings it.
pub fn llm_path(config: &Config, store: &Store) -> Result<PathBuf> {
    if let Some(path) = as_path(&config.llm) {
        return Ok(path);
    }
    Ok(store.language_model(&config.llm)?)
}

/// The catalogue's multi-speaker voice, and where its speakers lie.
const KOKORO: &str = "kokoro-82m";
const KOKORO_SPEAKERS: &str = "kokoro-voices";

/// Speakers for the language that the chosen one was not born to: (English, Mandarin).
const KOKORO_DEFAULTS: (&str, &str) = ("af_heart", "zf_xiaoxiao");

/// The Kokoro speaker that a setting names: `kokoro-82m` for the default one, or a speaker's own id.
fn kokoro_speaker<'a>(store: &Store, voice: &'a str) -> Option<&'a str> {
    if voice == KOKORO {
        return Some(KOKORO_DEFAULTS.0);
    }
    let speakers = store.catalogue().model(KOKORO_SPEAKERS)?;
    let file = format!("{voice}.bin");
    speakers.files_for(store.platform()).any(|f| f.name == file).then_some(voice)
}

/// How large the chunks of a voice should be: the slower it is, the more must be ahead.
pub(crate) fn clause_plan(config: &Config, store: &Store) -> tts::ClausePlan {
    if kokoro_speaker(store, &config.voice).is_some() { tts::ClausePlan::KOKORO } else { tts::ClausePlan::default() }
}

/// The voice alone, for `say`: a Kokoro speaker by its id, a Piper voice by its id or path.
///
/// # Errors
/// As [`Models::load`].
pub fn load_voice(config: &Config, store: &Store, runtime: &Runtime) -> Result<Box<dyn Synthesizer>> {
    if let Some(speaker) = kokoro_speaker(store, &config.voice) {
        let file = |speaker: &str| store.file(KOKORO_SPEAKERS, &format!("{speaker}.bin"));
        let model = file_of(store, KOKORO, "Kokoro voice", |name| name.ends_with(".onnx"))?;
        // A speaker's id begins with the letter of its language; one answer may hold both.
        let other = if speaker.starts_with('z') { KOKORO_DEFAULTS.0 } else { KOKORO_DEFAULTS.1 };
        let settings = tts::VoiceConfig { threads: config.threads, ..tts::VoiceConfig::default() };
        let kokoro = tts::Kokoro::open(runtime, &model, &file(speaker)?, settings)?;
        return Ok(Box::new(kokoro.with_voice(&file(other)?)?));
    }
    let path = match as_path(&config.voice) {
        Some(path) => path,
        None => file_of(store, &config.voice, "Piper voice", |name| name.ends_with(".onnx"))?,
    };
    Ok(Box::new(tts::Piper::open(runtime, &path, config.threads)?))
}

/// The first file of a model that fits.
fn file_of(store: &Store, id: &str, what: &'static str, fits: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let catalogued = store.catalogue().model(id).map(|model| {
        let files = model.files_for(store.platform()).map(|f| f.name.clone());
        files.chain(model.derived.iter().map(|d| d.name.clone())).collect::<Vec<_>>()
    });
    let names = match catalogued {
        Some(names) => names,
        None => store.manifest(id)?.map(|m| m.files.iter().map(|f| f.name.clone()).collect()).unwrap_or_default(),
    };
    match names.iter().find(|name| fits(name)) {
        Some(name) => Ok(store.file(id, name)?),
        // An unknown id is reported as such by the store.
        None if names.is_empty() => Ok(store.file(id, "")?),
        None => Err(Error::WrongKind { id: id.into(), what }),
    }
}

/// `Some` where a setting is meant as a path rather than an id.
fn as_path(setting: &str) -> Option<PathBuf> {
    let path = Path::new(setting);
    (path.components().count() > 1 || path.exists()).then(|| path.to_owned())
}

/// A model as a report names it.
fn name_of(setting: &str) -> String {
    let path = as_path(setting);
    path.and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned())).unwrap_or_else(|| setting.into())
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
