//! The VITS network of a Piper voice: an encoder that plans the clause, and a decoder that renders any window of it.
//!
//! The file holds both in one graph. They meet in one tensor, the latent frames z, which the decoder reads through
//! convolutions only; so z can be decoded in windows, each with enough frames around it, and every sample comes out as
//! if the whole had been decoded at once. The durations of phonemes are read on the way.

use std::path::{Path, PathBuf};

use onnx::ort::session::SessionInputValue;
use onnx::ort::value::Tensor;
use onnx::{Runtime, Session};

use crate::onnx_graph::Graph;
use crate::{Error, Result};

/// Frames on each side of a window that its samples depend on.
/// The decoder of the "medium" voices reaches 11 frames far; the "high" ones have the same strides and larger kernels.
pub(super) const CONTEXT_FRAMES: usize = 14;

/// The two halves of the network, or the whole where it cannot be cut.
pub(super) struct Model {
    path: PathBuf,
    halves: Halves,
    multi_speaker: bool,
}

enum Halves {
    Split { encoder: Session, decoder: Session, latent: String, durations: String },
    Whole(Session),
}

/// What the encoder plans.
pub(super) struct Plan {
    /// Latent frames, [channels, frames].
    z: Vec<f32>,
    channels: usize,
    pub(super) frames: usize,
    /// Frames of each phoneme id; empty when the model does not tell.
    pub(super) durations: Vec<usize>,
    /// All samples, where the network could not be cut.
    pub(super) samples: Vec<f32>,
}

/// What the encoder needs to know besides the phonemes.
pub(super) struct Scales {
    pub(super) noise: f32,
    pub(super) length: f32,
    pub(super) duration_noise: f32,
    pub(super) speaker: i64,
}

/// A clause is never longer than this: 5 minutes at any frame rate; more means that the model is broken.
const MAX_FRAMES: usize = 30_000;

impl Model {
    pub(super) fn open(runtime: &Runtime, path: &Path, threads: usize) -> Result<Model> {
        let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let session = |model: &[u8]| {
            runtime
                .builder(threads)
                .and_then(|mut b| b.commit_from_memory(model))
                .map_err(|e| Error::Voice { path: path.to_owned(), reason: e.to_string() })
        };
        let halves = match split(&bytes) {
            Ok(parts) => Halves::Split {
                encoder: session(&parts.encoder)?,
                decoder: session(&parts.decoder)?,
                latent: parts.latent,
                durations: parts.durations,
            },
            Err(reason) => {
                tracing::debug!(path = %path.display(), reason, "the voice cannot be cut in two; clauses are rendered whole");
                Halves::Whole(session(&bytes)?)
            }
        };
        let entry = match &halves {
            Halves::Split { encoder, .. } => encoder,
            Halves::Whole(session) => session,
        };
        let mut inputs: Vec<&str> = entry.inputs().iter().map(|i| i.name()).collect();
        inputs.sort_unstable();
        let multi_speaker = inputs.contains(&"sid");
        if inputs.iter().filter(|i| **i != "sid").ne(&["input", "input_lengths", "scales"]) {
            return Err(Error::Voice {
                path: path.to_owned(),
                reason: format!("it takes {inputs:?}, not [input, input_lengths, scales]"),
            });
        }
        Ok(Model { path: path.to_owned(), halves, multi_speaker })
    }

    pub(super) fn is_multi_speaker(&self) -> bool {
        self.multi_speaker
    }

    /// Plans the clause; where the network is whole, renders it too.
    pub(super) fn encode(&mut self, ids: &[i64], scales: &Scales) -> Result<Plan> {
        let path = self.path.clone();
        let failed = |reason: String| Error::Synthesis { path: path.clone(), reason };
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> = vec![
            ("input", tensor([1, ids.len()], ids.to_vec()).map_err(&failed)?.into()),
            ("input_lengths", tensor([1], vec![ids.len() as i64]).map_err(&failed)?.into()),
            ("scales", tensor([3], vec![scales.noise, scales.length, scales.duration_noise]).map_err(&failed)?.into()),
        ];
        if self.multi_speaker {
            inputs.push(("sid", tensor([1], vec![scales.speaker]).map_err(&failed)?.into()));
        }
        match &mut self.halves {
            Halves::Split { encoder, latent, durations, .. } => {
                let outputs = encoder.run(inputs).map_err(|e| failed(e.to_string()))?;
                let (shape, z) =
                    outputs[latent.as_str()].try_extract_tensor::<f32>().map_err(|e| failed(e.to_string()))?;
                let [1, channels, frames] = shape[..] else {
                    return Err(failed(format!("its latent tensor has the shape {shape}")));
                };
                let (channels, frames) = (channels.max(0) as usize, frames.max(0) as usize);
                if frames > MAX_FRAMES {
                    return Err(failed(format!("it plans {frames} frames for {} phonemes", ids.len())));
                }
                let (_, lengths) =
                    outputs[durations.as_str()].try_extract_tensor::<f32>().map_err(|e| failed(e.to_string()))?;
                let durations: Vec<usize> = lengths.iter().map(|d| d.clamp(0.0, MAX_FRAMES as f32) as usize).collect();
                let told = durations.len() == ids.len() && durations.iter().sum::<usize>() == frames;
                Ok(Plan {
                    z: z.to_vec(),
                    channels,
                    frames,
                    durations: if told { durations } else { Vec::new() },
                    samples: Vec::new(),
                })
            }
            Halves::Whole(session) => {
                let outputs = session.run(inputs).map_err(|e| failed(e.to_string()))?;
                let (_, samples) = outputs[0].try_extract_tensor::<f32>().map_err(|e| failed(e.to_string()))?;
                let samples = finite(samples).map_err(failed)?;
                Ok(Plan { z: Vec::new(), channels: 0, frames: 0, durations: Vec::new(), samples })
            }
        }
    }

    /// Renders a window of the plan.
    pub(super) fn decode(&mut self, plan: &Plan, window: std::ops::Range<usize>) -> Result<Vec<f32>> {
        let path = self.path.clone();
        let failed = |reason: String| Error::Synthesis { path: path.clone(), reason };
        let Halves::Split { decoder, latent, .. } = &mut self.halves else { return Ok(Vec::new()) };
        let start = window.start.saturating_sub(CONTEXT_FRAMES);
        let end = (window.end + CONTEXT_FRAMES).min(plan.frames);
        let mut z = Vec::with_capacity(plan.channels * (end - start));
        for channel in plan.z.chunks_exact(plan.frames) {
            z.extend_from_slice(&channel[start..end]);
        }
        let input = tensor([1, plan.channels, end - start], z).map_err(&failed)?;
        let outputs = decoder.run(vec![(latent.as_str(), input)]).map_err(|e| failed(e.to_string()))?;
        let (_, samples) = outputs[0].try_extract_tensor::<f32>().map_err(|e| failed(e.to_string()))?;
        if samples.is_empty() || samples.len() % (end - start) != 0 {
            return Err(failed(format!("{} frames became {} samples", end - start, samples.len())));
        }
        let hop = samples.len() / (end - start);
        finite(&samples[(window.start - start) * hop..(window.end - start) * hop]).map_err(failed)
    }
}

fn tensor<T: onnx::ort::value::PrimitiveTensorElementType + std::fmt::Debug + Clone + 'static, const N: usize>(
    shape: [usize; N],
    data: Vec<T>,
) -> std::result::Result<Tensor<T>, String> {
    Tensor::from_array((shape, data)).map_err(|e| e.to_string())
}

fn finite(samples: &[f32]) -> std::result::Result<Vec<f32>, String> {
    if samples.iter().all(|s| s.is_finite()) {
        Ok(samples.to_vec())
    } else {
        Err("its audio is not a number".to_owned())
    }
}

struct Parts {
    encoder: Vec<u8>,
    decoder: Vec<u8>,
    latent: String,
    durations: String,
}

/// Cuts the file before the decoder's first convolution.
fn split(file: &[u8]) -> std::result::Result<Parts, String> {
    let graph = Graph::parse(file)?;
    let first = graph.nodes.iter().find(|n| n.op == "Conv" && n.inputs.get(1) == Some(&"dec.conv_pre.weight"));
    let latent = *first.and_then(|n| n.inputs.first()).ok_or("no decoder begins with dec.conv_pre")?;
    // Durations are rounded up to whole frames, the only rounding in the graph.
    let ceilings: Vec<&str> =
        graph.nodes.iter().filter(|n| n.op == "Ceil").filter_map(|n| n.outputs.first().copied()).collect();
    let [durations] = ceilings[..] else { return Err("no single rounding of durations".to_owned()) };
    Ok(Parts {
        encoder: graph.extract(&[], &[latent, durations])?,
        decoder: graph.extract(&[latent], &["output"])?,
        latent: latent.to_owned(),
        durations: durations.to_owned(),
    })
}
