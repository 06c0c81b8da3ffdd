//! Our own Whisper: log-mel, encoder and greedy decoder on 8-bit kernels, straight from the CTranslate2 file.
//!
//! "Robust Speech Recognition via Large-Scale Weak Supervision", Radford et al., 2022. Weights are quantised at load
//! to signed 8 bits with a scale per 64, activations on the fly; attention, norms and the residual stream are `f32`.
//! Left out on purpose: sampling, beam search, timestamps, translation.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use kernels::{Isa, Pool};

use crate::checkpoint::Checkpoint;
use crate::decode::{self, Hypothesis, WindowDecoder};
use crate::vocabulary::Vocabulary;
use crate::{Error, Options, Result, Transcriber, Transcript};

mod attention;
mod decoder;
mod encoder;
mod greedy;
mod linear;
mod mel;
mod silence;
mod suppress;

use decoder::Decoder;
use encoder::Encoder;
use mel::LogMel;
use silence::Silence;
use suppress::Suppress;

/// Log-mel value of the silence behind every clip: 80 dB below a peak of 10 dB, as of ordinary speech.
const SILENT_LEVEL: f32 = -0.75;

/// Our own engine with one model loaded.
pub struct Native {
    machine: Machine,
    mel: LogMel,
    encoder: Encoder,
    decoder: Decoder,
    vocabulary: Vocabulary,
    suppress: Suppress,
    silence: Silence,
}

/// What every layer computes with.
pub(crate) struct Machine {
    pub(crate) isa: Isa,
    pub(crate) pool: Pool,
}

impl Native {
    /// Loads a CTranslate2 model: its directory (`model.bin`, `vocabulary.txt`), or its `model.bin`.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read, [`Error::Model`] if it is damaged or no Whisper model.
    pub fn open(model: &Path) -> Result<Native> {
        let dir = if model.is_file() { model.parent().unwrap_or(Path::new(".")) } else { model };
        let checkpoint = Checkpoint::open(dir)?;
        let machine = Machine { isa: Isa::choose().map_err(kernel_error)?, pool: Pool::new(2).map_err(kernel_error)? };
        let mut encoder = Encoder::load(&checkpoint)?;
        let mut decoder = Decoder::load(&checkpoint)?;
        let mut silence = encoder.silence(SILENT_LEVEL, &machine)?;
        decoder.complete_silence(&mut silence, &machine)?;
        let hyper = checkpoint.hyper;
        let vocabulary = checkpoint.vocabulary;
        let suppress = Suppress::new(&vocabulary);
        Ok(Native { machine, mel: LogMel::new(hyper.n_mels), encoder, decoder, vocabulary, suppress, silence })
    }
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Native").field("isa", &self.machine.isa).finish_non_exhaustive()
    }
}

impl Transcriber for Native {
    fn transcribe(&mut self, audio: &[f32], options: &Options, cancel: &AtomicBool) -> Result<Transcript> {
        decode::transcribe(self, audio, options, cancel)
    }
}

impl WindowDecoder for Native {
    fn margin(&self) -> usize {
        // The remembered silence does the rest; 0.3 s lets the last sounds die away.
        16
    }

    fn n_audio_ctx(&self) -> usize {
        self.encoder.n_audio_ctx()
    }

    fn decode(
        &mut self,
        audio: &[f32],
        n_ctx: usize,
        prompt: &str,
        options: &Options,
        cancel: &AtomicBool,
    ) -> Result<Hypothesis> {
        let threads = options.threads.clamp(1, kernels::MAX_THREADS);
        self.machine.pool.set_threads(threads).map_err(kernel_error)?;
        let mel = self.mel.compute(audio, 2 * n_ctx, &self.machine.pool)?;
        let silence = Some(&self.silence);
        let features = self.encoder.forward(mel, n_ctx, silence, &self.machine, cancel)?;
        self.decoder.listen(features, n_ctx, silence, &self.machine, cancel)?;
        let task = greedy::Task {
            vocabulary: &self.vocabulary,
            suppress: &self.suppress,
            language: options.language,
            script: options.script,
            prompt,
            draft: &options.draft,
            max_tokens: decode::max_tokens(audio.len()),
        };
        greedy::search(&mut self.decoder, &task, &self.machine, cancel)
    }
}

/// Kernels only fail on shapes that do not fit, which is ours to prevent, or a bad `POCKET_VOICE_ISA`.
fn kernel_error(error: kernels::Error) -> Error {
    Error::Engine(error.to_string())
}
