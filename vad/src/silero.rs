//! Silero VAD for 16 kHz: one probability of speech for each 32 ms frame.
//!
//! The model is recurrent: each call takes 64 samples of context before the frame and the state of the call before,
//! `input [1, 576]`, `state [2, 1, 128]`, `sr` (scalar), and returns `output [1, 1]` and `stateN [2, 1, 128]`.

use std::path::Path;

use onnx::ort::value::{Outlet, TensorRef};
use onnx::{Runtime, Session, ort};

use crate::{Error, FRAME, Result};

/// Samples before each frame that the model wants to see again.
const CONTEXT: usize = 64;
/// Numbers in the recurrent state.
const STATE: usize = 2 * 128;

/// The model with its memory of the stream.
#[derive(Debug)]
pub(crate) struct Silero {
    session: Session,
    input: [f32; CONTEXT + FRAME], // [1, 576]: the context, then the frame
    state: [f32; STATE],           // [2, 1, 128]
}

impl Silero {
    pub(crate) fn open(runtime: &Runtime, path: &Path) -> Result<Self> {
        // One thread: a frame is some 0.1 ms of work, less than waking a second thread costs.
        let session = runtime.session(path, 1)?;
        let names = |outlets: &[Outlet]| outlets.iter().map(|o| o.name().to_owned()).collect::<Vec<_>>();
        let (inputs, outputs) = (names(session.inputs()), names(session.outputs()));
        if inputs != ["input", "state", "sr"] || outputs != ["output", "stateN"] {
            return Err(Error::WrongModel {
                path: path.to_owned(),
                reason: format!("it maps {inputs:?} to {outputs:?}, not [input, state, sr] to [output, stateN]"),
            });
        }
        let mut silero = Self { session, input: [0.0; CONTEXT + FRAME], state: [0.0; STATE] };
        // A model of other shapes shows itself now and not in the middle of a conversation.
        silero
            .probability(&[0.0; FRAME])
            .map_err(|e| Error::WrongModel { path: path.to_owned(), reason: e.to_string() })?;
        silero.reset();
        Ok(silero)
    }

    /// Forgets the stream.
    pub(crate) fn reset(&mut self) {
        self.input.fill(0.0);
        self.state.fill(0.0);
    }

    /// Probability that this frame, which follows the one before, holds speech.
    pub(crate) fn probability(&mut self, frame: &[f32; FRAME]) -> Result<f32> {
        self.input.copy_within(FRAME.., 0);
        self.input[CONTEXT..].copy_from_slice(frame);
        self.run().map_err(|e| Error::Inference(e.to_string()))
    }

    fn run(&mut self) -> ort::Result<f32> {
        let outputs = self.session.run(ort::inputs![
            "input" => TensorRef::from_array_view(([1, CONTEXT + FRAME], &self.input[..]))?,
            "state" => TensorRef::from_array_view(([2usize, 1, 128], &self.state[..]))?,
            "sr" => TensorRef::from_array_view((Vec::<usize>::new(), &[i64::from(crate::SAMPLE_RATE)][..]))?,
        ])?;
        let (_, state) = outputs["stateN"].try_extract_tensor::<f32>()?;
        let (_, output) = outputs["output"].try_extract_tensor::<f32>()?;
        if state.len() != STATE || output.len() != 1 {
            return Err(ort::Error::new(format!(
                "it returned {} probabilities and a state of {}, not 1 and {STATE}",
                output.len(),
                state.len()
            )));
        }
        self.state.copy_from_slice(state);
        Ok(output[0])
    }
}
