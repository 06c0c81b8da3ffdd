//! The seam between an engine and its users: a clip in, a transcript out.

use std::sync::atomic::AtomicBool;

use crate::Result;

/// Index into the model's vocabulary.
pub type TokenId = u32;

/// Language of the speech.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    /// Whichever of the others fits the audio best; English with an English-only model.
    #[default]
    Auto,
    /// English.
    English,
    /// Mandarin Chinese.
    Mandarin,
}

/// Characters that Mandarin is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Script {
    /// Simplified characters.
    #[default]
    Simplified,
    /// Traditional characters.
    Traditional,
}

impl Script {
    /// A sentence in the script, as a prompt: the decoder goes on as it finds the text begun.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Script::Simplified => "以下是普通话的句子。",
            Script::Traditional => "以下是普通話的句子。",
        }
    }
}

/// How much work a decode is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pass {
    /// A hypothesis while the user speaks: one greedy decode, no second try.
    Partial,
    /// The transcript that counts: a decode that got caught in a loop is tried again with the full context.
    #[default]
    Final,
}

/// How many encoder frames (20 ms each) the model looks at. The encoder's cost grows faster than in proportion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AudioContext {
    /// The clip and a margin of silence that was found by measurement.
    #[default]
    Fit,
    /// The clip and this many frames of silence.
    Margin(usize),
    /// 30 s, as the model was trained.
    Full,
}

/// How to decode one clip.
#[derive(Clone, Debug)]
pub struct Options {
    /// Language of the speech.
    pub language: Language,
    /// Characters of a Mandarin transcript; a strong hint, not a conversion.
    pub script: Script,
    /// Partial or final.
    pub pass: Pass,
    /// How much the encoder looks at.
    pub audio_context: AudioContext,
    /// Threads to compute with, at least 1.
    pub threads: usize,
    /// Text that came before or words to expect; empty for none.
    pub initial_prompt: String,
    /// Share of the clip, 0 to 1, that a voice activity detector called speech. Without it the engine falls back on a
    /// plain energy check. It decides, with the model's own confidence, whether a transcript of near silence is real.
    pub voiced: Option<f32>,
    /// Tokens of an earlier transcript of the same audio's beginning. The engine may verify them in one batch instead
    /// of decoding them one by one; the result is the same as without.
    pub draft: Vec<TokenId>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            language: Language::Auto,
            script: Script::Simplified,
            pass: Pass::Final,
            audio_context: AudioContext::Fit,
            threads: 2,
            initial_prompt: String::new(),
            voiced: None,
            draft: Vec::new(),
        }
    }
}

/// What was said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The words, trimmed; empty if nothing was said.
    pub text: String,
    /// The language spoken or assumed; never `Auto` unless there was nothing to decode.
    pub language: Language,
    /// Text tokens behind `text`, without special tokens.
    pub tokens: Vec<TokenId>,
    /// Mean natural-log probability per token, at most 0.
    pub avg_logprob: f32,
    /// The model's own probability that nobody speaks.
    pub no_speech_prob: f32,
    /// Why a decoded text was withheld or shortened.
    pub rejection: Option<Rejection>,
}

/// Why a decoded text was withheld (`text` is then empty) or shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The clip holds no sound above the noise floor; it was not decoded.
    Silence,
    /// The model made up words where nobody spoke.
    NoSpeech,
    /// The text was a loop with no first occurrence worth keeping, or its repeats were cut off.
    Repetition,
}

/// An engine with its model loaded.
pub trait Transcriber: Send {
    /// Decodes `audio`: mono, 16 kHz, nominally in [-1, 1], any length; anything beyond 30 s is decoded in windows.
    ///
    /// # Errors
    /// [`crate::Error::Cancelled`] soon after `cancel` is raised; [`crate::Error::NotFinite`] for NaN or infinite
    /// samples; [`crate::Error::Language`] if the model cannot do it.
    fn transcribe(&mut self, audio: &[f32], options: &Options, cancel: &AtomicBool) -> Result<Transcript>;
}

impl<T: Transcriber + ?Sized> Transcriber for &mut T {
    fn transcribe(&mut self, audio: &[f32], options: &Options, cancel: &AtomicBool) -> Result<Transcript> {
        (**self).transcribe(audio, options, cancel)
    }
}

impl<T: Transcriber + ?Sized> Transcriber for Box<T> {
    fn transcribe(&mut self, audio: &[f32], options: &Options, cancel: &AtomicBool) -> Result<Transcript> {
        (**self).transcribe(audio, options, cancel)
    }
}
