//! The Kokoro network: tokens and a style in, audio and the durations of tokens out.

use std::path::{Path, PathBuf};

use onnx::ort::value::Tensor;
use onnx::{Runtime, Session};

use crate::onnx_graph::Graph;
use crate::{Error, Result};

pub(super) struct Model {
    path: PathBuf,
    session: Session,
    // the output that holds the durations, where the network could be made to tell
    durations: Option<String>,
}

/// What the network renders.
pub(super) struct Rendering {
    pub(super) samples: Vec<f32>,
    /// Frames of each token; empty when the network does not tell.
    pub(super) durations: Vec<usize>,
}

impl Model {
    pub(super) fn open(runtime: &Runtime, path: &Path, threads: usize) -> Result<Model> {
        let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let session = |model: &[u8]| runtime.builder(threads).and_then(|mut b| b.commit_from_memory(model));
        let telling =
            with_durations(&bytes).and_then(|(model, name)| Ok((session(&model).map_err(|e| e.to_string())?, name)));
        let (session, durations) = match telling {
            Ok((session, name)) => (session, Some(name)),
            Err(reason) => {
                tracing::debug!(path = %path.display(), reason, "the network does not tell durations; word times are estimated");
                (session(&bytes).map_err(|e| Error::Voice { path: path.to_owned(), reason: e.to_string() })?, None)
            }
        };
        let mut inputs: Vec<&str> = session.inputs().iter().map(|i| i.name()).collect();
        inputs.sort_unstable();
        if inputs != ["speed", "style", "tokens"] {
            return Err(Error::Voice {
                path: path.to_owned(),
                reason: format!("it takes {inputs:?}, not [speed, style, tokens]"),
            });
        }
        Ok(Model { path: path.to_owned(), session, durations })
    }

    pub(super) fn run(&mut self, tokens: &[i64], style: &[f32], speed: f32) -> Result<Rendering> {
        let path = self.path.clone();
        let failed = |reason: String| Error::Synthesis { path: path.clone(), reason };
        let inputs = onnx::ort::inputs![
            "tokens" => Tensor::from_array(([1, tokens.len()], tokens.to_vec())).map_err(|e| failed(e.to_string()))?,
            "style" => Tensor::from_array(([1, style.len()], style.to_vec())).map_err(|e| failed(e.to_string()))?,
            "speed" => Tensor::from_array(([1], vec![speed])).map_err(|e| failed(e.to_string()))?,
        ];
        let outputs = self.session.run(inputs).map_err(|e| failed(e.to_string()))?;
        let (_, samples) = outputs[0].try_extract_tensor::<f32>().map_err(|e| failed(e.to_string()))?;
        if !samples.iter().all(|s| s.is_finite()) {
            return Err(failed("its audio is not a number".to_owned()));
        }
        let durations = match &self.durations {
            Some(name) => {
                let (_, frames) =
                    outputs[name.as_str()].try_extract_tensor::<f32>().map_err(|e| failed(e.to_string()))?;
                // A token lasts at least one frame.
                frames.iter().map(|f| f.clamp(1.0, 10_000.0) as usize).collect()
            }
            None => Vec::new(),
        };
        Ok(Rendering { samples: samples.to_vec(), durations })
    }
}

/// The model with the rounded durations as a second output; rounding them is the only rounding it does.
fn with_durations(file: &[u8]) -> std::result::Result<(Vec<u8>, String), String> {
    let graph = Graph::parse(file)?;
    let rounded: Vec<&str> =
        graph.nodes.iter().filter(|n| n.op == "Round").filter_map(|n| n.outputs.first().copied()).collect();
    let [durations] = rounded[..] else { return Err("no single rounding of durations".to_owned()) };
    Ok((graph.extract(&[], &["audio", durations])?, durations.to_owned()))
}
