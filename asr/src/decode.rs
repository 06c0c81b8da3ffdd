//! What every engine shares: windows, context size, retries, and the decision whether a decoded text was really said.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::audio::{check_finite, is_silent, quietest};
use crate::guard;
use crate::{AudioContext, Error, Language, Options, Pass, Rejection, Result, SAMPLE_RATE, TokenId, Transcript};

/// Samples per encoder frame, 20 ms.
pub(crate) const FRAME: usize = 320;
/// Longest audio decoded in one piece. Whisper sees at most 30 s; the margin must fit in as well.
pub(crate) const WINDOW: usize = 28 * SAMPLE_RATE;
/// A window is cut at its quietest place in its last part, this long.
const CUT_RANGE: usize = 12 * SAMPLE_RATE;
/// Shorter clips are filled up with silence, or the decoder has nothing to hold on to.
const SHORTEST: usize = SAMPLE_RATE;

/// Most tokens of a clip: the fastest speech has about 10 a second, so a decode beyond this is caught in a loop.
pub(crate) fn max_tokens(samples: usize) -> usize {
    16 + samples * 12 / SAMPLE_RATE
}

/// What an engine makes of one window.
#[derive(Clone, Debug)]
pub(crate) struct Hypothesis {
    pub(crate) text: String,
    pub(crate) tokens: Vec<TokenId>,
    pub(crate) language: Language,
    pub(crate) avg_logprob: f32,
    pub(crate) no_speech_prob: f32,
}

/// An engine's side of the seam: at most 30 s of finite samples, an encoder context, a hypothesis.
pub(crate) trait WindowDecoder {
    /// Encoder frames of the model, 1,500.
    fn n_audio_ctx(&self) -> usize;

    /// Encoder frames of silence, 20 ms each, that must follow the clip for the transcript to be as good as with the
    /// full context.
    fn margin(&self) -> usize;

    /// Decodes one window with the encoder seeing `n_ctx` frames; what exceeds the audio is silence.
    fn decode(
        &mut self,
        audio: &[f32],
        n_ctx: usize,
        prompt: &str,
        options: &Options,
        cancel: &AtomicBool,
    ) -> Result<Hypothesis>;
}

/// Decodes a clip of any length.
pub(crate) fn transcribe(
    engine: &mut impl WindowDecoder,
    audio: &[f32],
    options: &Options,
    cancel: &AtomicBool,
) -> Result<Transcript> {
    check_finite(audio)?;
    let mut whole =
        Transcript { language: options.language, rejection: Some(Rejection::Silence), ..Transcript::default() };
    let mut rest = audio;
    let mut prompt = options.initial_prompt.clone();
    let mut draft = Some(options.draft.as_slice());
    while !rest.is_empty() {
        let (window, after) = rest.split_at(window_len(rest));
        let options = Options { draft: draft.take().unwrap_or_default().to_vec(), ..options.clone() };
        let part = transcribe_window(engine, window, &prompt, &options, cancel)?;
        if !part.text.is_empty() {
            prompt.clone_from(&part.text);
        }
        append(&mut whole, part);
        rest = after;
    }
    Ok(whole)
}

/// Samples of the next window: all, or up to the quietest place before the limit.
pub(crate) fn window_len(audio: &[f32]) -> usize {
    if audio.len() <= WINDOW { audio.len() } else { quietest(audio, WINDOW - CUT_RANGE..WINDOW) }
}

/// Adds the transcript of the next window.
pub(crate) fn append(whole: &mut Transcript, part: Transcript) {
    if part.text.is_empty() {
        if whole.text.is_empty() && whole.rejection == Some(Rejection::Silence) {
            *whole = part;
        }
        return;
    }
    if whole.text.is_empty() {
        *whole = part;
        return;
    }
    let tokens = (whole.tokens.len() + part.tokens.len()).max(1) as f32;
    let sum = whole.avg_logprob * whole.tokens.len() as f32 + part.avg_logprob * part.tokens.len() as f32;
    whole.avg_logprob = sum / tokens;
    whole.no_speech_prob = whole.no_speech_prob.min(part.no_speech_prob);
    // Mandarin is written without spaces.
    if whole.text.ends_with(|c: char| c.is_ascii()) || part.text.starts_with(|c: char| c.is_ascii()) {
        whole.text.push(' ');
    }
    whole.text.push_str(&part.text);
    whole.tokens.extend(part.tokens);
    whole.rejection = whole.rejection.or(part.rejection);
}

fn transcribe_window(
    engine: &mut impl WindowDecoder,
    audio: &[f32],
    prompt: &str,
    options: &Options,
    cancel: &AtomicBool,
) -> Result<Transcript> {
    if cancel.load(Ordering::Relaxed) {
        return Err(Error::Cancelled);
    }
    if options.voiced == Some(0.0) || is_silent(audio) {
        return Ok(Transcript {
            language: options.language,
            rejection: Some(Rejection::Silence),
            ..Transcript::default()
        });
    }
    let padded;
    let audio = if audio.len() < SHORTEST {
        let mut longer = audio.to_vec();
        longer.resize(SHORTEST, 0.0);
        padded = longer;
        &padded
    } else {
        audio
    };
    let full = engine.n_audio_ctx();
    let n_ctx = match options.audio_context {
        AudioContext::Fit => fitted(audio.len(), engine.margin()),
        AudioContext::Margin(margin) => fitted(audio.len(), margin),
        AudioContext::Full => full,
    };
    let n_ctx = n_ctx.min(full);
    let hypothesis = engine.decode(audio, n_ctx, prompt, options, cancel)?;
    let mut judged = guard::judge(hypothesis, options.voiced);
    // Too short a context is one cause of loops; the full one costs more but is what the model was trained on.
    if judged.rejection == Some(Rejection::Repetition) && options.pass == Pass::Final && n_ctx < full {
        let options = Options { draft: Vec::new(), ..options.clone() };
        let again = guard::judge(engine.decode(audio, full, "", &options, cancel)?, options.voiced);
        if again.rejection.is_none() {
            judged = again;
        }
    }
    Ok(judged)
}

fn fitted(samples: usize, margin: usize) -> usize {
    // A multiple of 8 suits the kernels.
    (samples.div_ceil(FRAME) + margin).next_multiple_of(8)
}
