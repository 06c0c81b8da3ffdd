//! The whisper.cpp engine, through whisper-rs, on a converted ggml file.

use std::ffi::c_void;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use whisper_rs::{
    FullParams, SamplingStrategy, WhisperContext, WhisperContextParameters, WhisperError, WhisperState, get_lang_id,
    install_logging_hooks,
};

use crate::decode::{self, Hypothesis, WindowDecoder};
use crate::{Error, Language, Options, Result, TokenId, Transcriber, Transcript};

mod ggml;

/// whisper.cpp with one model loaded.
#[derive(Debug)]
pub struct Whisper {
    context: WhisperContext,
    state: WhisperState,
}

impl Whisper {
    /// Loads a ggml file as [`crate::convert`] writes it.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Model`] if whisper.cpp refuses it.
    pub fn open(model: &Path) -> Result<Whisper> {
        install_logging_hooks();
        ggml::check(model)?;
        let mut parameters = WhisperContextParameters::default();
        parameters.use_gpu(false).flash_attn(true);
        let refused = |error: WhisperError| Error::Model { path: model.to_owned(), what: error.to_string() };
        let context = WhisperContext::new_with_params(model, parameters).map_err(refused)?;
        let state = context.create_state().map_err(refused)?;
        Ok(Whisper { context, state })
    }

    /// The likelier of English and Mandarin.
    fn detect_language(&mut self, audio: &[f32], threads: usize) -> Result<Language> {
        self.state.pcm_to_mel(audio, threads).map_err(engine_error)?;
        let (_, probs) = self.state.lang_detect(0, threads).map_err(engine_error)?;
        let prob = |code| get_lang_id(code).and_then(|id| probs.get(id as usize).copied()).unwrap_or(0.0);
        Ok(if prob("zh") > prob("en") { Language::Mandarin } else { Language::English })
    }
}

impl Transcriber for Whisper {
    fn transcribe(&mut self, audio: &[f32], options: &Options, cancel: &AtomicBool) -> Result<Transcript> {
        decode::transcribe(self, audio, options, cancel)
    }
}

impl WindowDecoder for Whisper {
    fn n_audio_ctx(&self) -> usize {
        self.context.model_n_audio_ctx().max(0) as usize
    }

    fn margin(&self) -> usize {
        // With less it repeats itself: word error rate on the shared clips 9.4 % at 64, 3.3 % at 256, 3.3 % in full.
        256
    }

    fn decode(
        &mut self,
        audio: &[f32],
        n_ctx: usize,
        prompt: &str,
        options: &Options,
        cancel: &AtomicBool,
    ) -> Result<Hypothesis> {
        let threads = options.threads.clamp(1, 64);
        let multilingual = self.context.is_multilingual();
        let language = match options.language {
            Language::Mandarin if !multilingual => return Err(Error::Language(Language::Mandarin)),
            Language::Auto if multilingual => self.detect_language(audio, threads)?,
            Language::Auto => Language::English,
            language => language,
        };
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let example = if language == Language::Mandarin { options.script.example() } else { "" };
        let prompt = self.prompt_tokens(if prompt.is_empty() { example } else { prompt })?;
        let mut params = FullParams::new(SamplingStrategy::Greedy { best_of: 1 });
        params.set_n_threads(threads as i32);
        params.set_language(Some(if language == Language::Mandarin { "zh" } else { "en" }));
        params.set_tokens(&prompt);
        params.set_no_context(true);
        params.set_no_timestamps(true);
        params.set_single_segment(true);
        params.set_suppress_blank(true);
        params.set_suppress_nst(true);
        params.set_audio_ctx(n_ctx as i32);
        params.set_print_progress(false);
        params.set_print_special(false);
        params.set_print_realtime(false);
        params.set_print_timestamps(false);
        // Withholding is ours to decide, on more evidence than whisper.cpp has.
        params.set_no_speech_thold(f32::INFINITY);
        // Random tokens make no better transcript; a failed final is tried again with the full context instead.
        params.set_temperature_inc(0.0);
        params.set_max_tokens(decode::max_tokens(audio.len()) as i32);
        attach_cancel(&mut params, cancel);
        let done = self.state.full(params, audio);
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        done.map_err(engine_error)?;
        let no_speech_prob = self.no_speech_prob(threads)?;
        self.hypothesis(language, no_speech_prob)
    }
}

impl Whisper {
    fn prompt_tokens(&self, prompt: &str) -> Result<Vec<i32>> {
        if prompt.is_empty() {
            return Ok(Vec::new());
        }
        // whisper.cpp takes a C string, and no more than half its text context of prompt.
        let prompt = prompt.replace('\0', " ");
        let mut tokens = self.context.tokenize(&prompt, prompt.len() + 1).map_err(engine_error)?;
        let keep = (self.context.n_text_ctx().max(0) as usize / 2).saturating_sub(1);
        tokens.drain(..tokens.len().saturating_sub(keep));
        Ok(tokens)
    }

    /// Probability that nobody speaks, read where Whisper was trained to tell it: right after the start of the
    /// transcript. whisper.cpp reads it one token later, where it says nothing.
    fn no_speech_prob(&mut self, threads: usize) -> Result<f32> {
        let start = self.context.token_sot();
        self.state.decode(&[start], 0, threads).map_err(engine_error)?;
        let logits = self.state.get_logits().map_err(engine_error)?;
        let largest = logits.iter().copied().fold(f32::MIN, f32::max);
        let total: f32 = logits.iter().map(|logit| (logit - largest).exp()).sum();
        let no_speech = usize::try_from(self.context.token_nosp()).ok().and_then(|id| logits.get(id));
        Ok(no_speech.map_or(0.0, |logit| (logit - largest).exp() / total))
    }

    fn hypothesis(&self, language: Language, no_speech_prob: f32) -> Result<Hypothesis> {
        let end_of_text = self.context.token_eot();
        let mut bytes = Vec::new();
        let mut tokens = Vec::new();
        let mut logprob = 0.0;
        for segment in self.state.as_iter() {
            for i in 0..segment.n_tokens() {
                let Some(token) = segment.get_token(i) else {
                    continue;
                };
                let data = token.token_data();
                if data.id < end_of_text {
                    bytes.extend_from_slice(token.to_bytes().map_err(engine_error)?);
                    tokens.push(data.id as TokenId);
                    logprob += data.plog;
                }
            }
        }
        let avg_logprob = if tokens.is_empty() { 0.0 } else { logprob / tokens.len() as f32 };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Hypothesis { text, tokens, language, avg_logprob, no_speech_prob })
    }
}

/// whisper.cpp reads the flag before every graph node, so a cancel takes effect within a fraction of a layer.
#[allow(unsafe_code, reason = "the safe setter of whisper-rs wants a 'static closure and leaks it")]
fn attach_cancel(params: &mut FullParams<'_, '_>, cancel: &AtomicBool) {
    unsafe extern "C" fn raised(flag: *mut c_void) -> bool {
        // SAFETY: `flag` is the `&AtomicBool` below, alive while `full` runs; an atomic may be read through any alias.
        unsafe { (*flag.cast_const().cast::<AtomicBool>()).load(Ordering::Relaxed) }
    }
    // SAFETY: the callback is called only inside `WhisperState::full`, which `decode` calls while it borrows `cancel`;
    // the callback only reads the flag, from any thread.
    unsafe {
        params.set_abort_callback(Some(raised));
        params.set_abort_callback_user_data(std::ptr::from_ref(cancel).cast_mut().cast());
    }
}

fn engine_error(error: WhisperError) -> Error {
    Error::Engine(error.to_string())
}
