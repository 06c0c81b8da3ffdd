//! smart-turn v3: the probability that the speaker has finished, from the sound of the turn alone.
//!
//! The file is int8: its weights, and each activation between the layers, are rounded to 256 steps. Rounding the
//! activations makes the answer jump: features changed by 1e-4 moved the probability of clips by up to 0.5, and changed by
//! 1e-6 by up to 0.1. So ONNX Runtime is told to drop the rounding of activations and to compute in `f32` on the rounded
//! weights. The same change of 1e-4 then moves it by under 0.01 on most clips and by 0.08 at worst, for 1.6 times the time.

use std::path::Path;

use onnx::ort::value::TensorRef;
use onnx::{Runtime, Session, ort};

use crate::mel::{FRAMES, LogMel, MELS};
use crate::{Error, Result};

/// The model (Whisper tiny's encoder with a pooling head, int8) and its front end.
#[derive(Debug)]
pub struct SmartTurn {
    session: Session,
    mel: LogMel,
}

impl SmartTurn {
    /// Opens the model (`input_features [1, 80, 800]` in, one probability out) on two threads.
    ///
    /// # Errors
    /// When the file is missing or another model.
    pub fn open(runtime: &Runtime, model: &Path) -> Result<Self> {
        Self::open_with_threads(runtime, model, 2)
    }

    /// As [`Self::open`], on as many threads as the compute budget grants.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with_threads(runtime: &Runtime, model: &Path, threads: usize) -> Result<Self> {
        let session = session(runtime, model, threads)?;
        let wrong = |reason| Error::WrongModel { path: model.to_owned(), reason };
        let inputs: Vec<_> = session.inputs().iter().map(|i| i.name()).collect();
        if inputs != ["input_features"] || session.outputs().len() != 1 {
            let outputs = session.outputs().len();
            return Err(wrong(format!("it takes {inputs:?} and gives {outputs} outputs, not [input_features] and 1")));
        }
        let mut smart_turn = Self { session, mel: LogMel::default() };
        // A model of other shapes shows itself now; this also readies its buffers for the first turn.
        smart_turn.score(&[]).map_err(|e| wrong(e.to_string()))?;
        Ok(smart_turn)
    }

    /// The probability that the turn is complete. `turn_audio` (16 kHz) is the whole turn so far with the silence
    /// behind it and without earlier turns; of a long one the last 8 s count.
    ///
    /// # Errors
    /// When ONNX Runtime fails.
    pub fn score(&mut self, turn_audio: &[f32]) -> Result<f32> {
        let features = self.mel.features(turn_audio);
        run(&mut self.session, features)
            .map_err(|e| Error::Inference { samples: turn_audio.len(), reason: e.to_string() })
    }
}

/// The session, without the rounding of activations: the pairs of quantise and dequantise between the operators are
/// neither fused into integer operators nor kept.
fn session(runtime: &Runtime, model: &Path, threads: usize) -> Result<Session> {
    let path = || model.to_owned();
    std::fs::File::open(model).map_err(|source| onnx::Error::ModelUnreadable { path: path(), source })?;
    let build = || -> ort::Result<Session> {
        let builder = runtime.builder(threads)?.with_quant_qdq(false)?;
        builder.with_qdq_cleanup()?.commit_from_file(model)
    };
    Ok(build().map_err(|e| onnx::Error::ModelRefused { path: path(), reason: e.to_string() })?)
}

/// `features [80, 800]` to the probability; the sigmoid is part of the graph.
fn run(session: &mut Session, features: &[f32]) -> ort::Result<f32> {
    let outputs = session.run(ort::inputs![TensorRef::from_array_view(([1, MELS, FRAMES], features))?])?;
    let (_, probability) = outputs[0].try_extract_tensor::<f32>()?;
    match probability {
        &[p] if (0.0..=1.0).contains(&p) => Ok(p),
        other => {
            Err(ort::Error::new(format!("it returned {:?} instead of one probability", &other[..other.len().min(4)])))
        }
    }
}
