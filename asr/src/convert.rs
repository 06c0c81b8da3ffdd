//! A CTranslate2 Whisper model turned into whisper.cpp's ggml file.
//!
//! The ggml file: magic, eleven `i32` of geometry, mel filters, text tokens, then tensors, each with its dimensions
//! innermost first. Stacked projections are split (self-attention q, k, v; cross-attention k, v); key biases, which
//! cancel in the softmax, are dropped as whisper.cpp has none. The same input always gives the same bytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use half::f16;

use crate::checkpoint::{Checkpoint, Hyper};
use crate::mel_filters::{N_BINS, mel_filters};
use crate::{Error, Result};

/// How the large matrices are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quant {
    /// Half precision, as in the source.
    F16,
    /// Eight bits in blocks of 32 with one scale: half the size, faster, transcripts as good.
    #[default]
    Q8_0,
}

const MAGIC: u32 = 0x6767_6d6c;
/// ggml's file type numbers; quantised types carry the quantisation version times 1000.
const FTYPE_F16: i32 = 1;
const FTYPE_Q8_0: i32 = 2007;
const TYPE_F32: i32 = 0;
const TYPE_F16: i32 = 1;
const TYPE_Q8_0: i32 = 8;
/// Weights per q8_0 block.
const BLOCK: usize = 32;

/// Converts the CTranslate2 model in `src_dir` (`model.bin`, `vocabulary.txt`) to a ggml file at `dst`.
///
/// The file is written beside `dst` and renamed when complete, so `dst` is never half written.
///
/// # Errors
/// [`Error::Model`] names what is wrong with the input, [`Error::Io`] the file that could not be read or written.
pub fn convert(src_dir: &Path, dst: &Path, quant: Quant) -> Result<()> {
    let checkpoint = Checkpoint::open(src_dir)?;
    let mut aside = dst.as_os_str().to_owned();
    aside.push(format!(".{}.partial", std::process::id()));
    let aside = Path::new(&aside);
    let io = |source| Error::Io { path: aside.to_owned(), source };
    let written = (|| {
        let mut writer = Writer { out: BufWriter::new(File::create(aside).map_err(io)?), path: aside, quant };
        writer.model(&checkpoint)?;
        let file = writer.out.into_inner().map_err(|error| io(error.into_error()))?;
        file.sync_all().map_err(io)?;
        std::fs::rename(aside, dst).map_err(|source| Error::Io { path: dst.to_owned(), source })
    })();
    if written.is_err() {
        // The first error is the one to report; a leftover is only untidy.
        let _ = std::fs::remove_file(aside);
    }
    written
}

struct Writer<'a> {
    out: BufWriter<File>,
    path: &'a Path,
    quant: Quant,
}

impl Writer<'_> {
    fn model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let Hyper { n_state, n_mels, n_audio_ctx, n_text_ctx, n_vocab, .. } = checkpoint.hyper;
        self.header(checkpoint)?;
        let get = |name: &str, shape: &[usize]| checkpoint.f32s(name, shape);

        let positions = get("encoder/position_encodings/encodings", &[n_audio_ctx, n_state])?;
        self.f32("encoder.positional_embedding", &[n_audio_ctx, n_state], &positions)?;
        for (conv, n_in) in [("conv1", n_mels), ("conv2", n_state)] {
            let weight = get(&format!("encoder/{conv}/weight"), &[n_state, n_in, 3])?;
            self.f16(&format!("encoder.{conv}.weight"), &[n_state, n_in, 3], &weight)?;
            let bias = get(&format!("encoder/{conv}/bias"), &[n_state])?;
            self.f32(&format!("encoder.{conv}.bias"), &[n_state, 1], &bias)?;
        }
        self.norm(checkpoint, "encoder/layer_norm", "encoder.ln_post")?;
        for i in 0..checkpoint.hyper.n_audio_layer {
            self.layer(checkpoint, "encoder", i)?;
        }

        let positions = get("decoder/position_encodings/encodings", &[n_text_ctx, n_state])?;
        self.f32("decoder.positional_embedding", &[n_text_ctx, n_state], &positions)?;
        let embeddings = get("decoder/embeddings/weight", &[n_vocab, n_state])?;
        self.matrix("decoder.token_embedding.weight", [n_vocab, n_state], &embeddings)?;
        self.norm(checkpoint, "decoder/layer_norm", "decoder.ln")?;
        for i in 0..checkpoint.hyper.n_text_layer {
            self.layer(checkpoint, "decoder", i)?;
            self.cross_attention(checkpoint, i)?;
        }
        Ok(())
    }

    fn header(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let hyper = checkpoint.hyper;
        self.bytes(&MAGIC.to_le_bytes())?;
        for value in [
            hyper.n_vocab,
            hyper.n_audio_ctx,
            hyper.n_state,
            hyper.n_head,
            hyper.n_audio_layer,
            hyper.n_text_ctx,
            hyper.n_state,
            hyper.n_head,
            hyper.n_text_layer,
            hyper.n_mels,
        ] {
            self.i32(value as i32)?;
        }
        self.i32(match self.quant {
            Quant::F16 => FTYPE_F16,
            Quant::Q8_0 => FTYPE_Q8_0,
        })?;
        self.i32(hyper.n_mels as i32)?;
        self.i32(N_BINS as i32)?;
        for weight in mel_filters(hyper.n_mels) {
            self.bytes(&weight.to_le_bytes())?;
        }
        let vocabulary = &checkpoint.vocabulary;
        self.i32(vocabulary.n_text() as i32)?;
        for id in 0..vocabulary.n_text() {
            let token = vocabulary.bytes(id as u32);
            self.i32(token.len() as i32)?;
            self.bytes(token)?;
        }
        Ok(())
    }

    /// Self-attention and feed-forward, which encoder and decoder share.
    fn layer(&mut self, checkpoint: &Checkpoint, side: &str, i: usize) -> Result<()> {
        let n = checkpoint.hyper.n_state;
        let from = format!("{side}/layer_{i}");
        let to = format!("{side}.blocks.{i}");
        self.norm(checkpoint, &format!("{from}/self_attention/layer_norm"), &format!("{to}.attn_ln"))?;
        let weight = checkpoint.f32s(&format!("{from}/self_attention/linear_0/weight"), &[3 * n, n])?;
        let bias = checkpoint.f32s(&format!("{from}/self_attention/linear_0/bias"), &[3 * n])?;
        self.projections(&format!("{to}.attn"), &["query", "key", "value"], n, &weight, &bias)?;
        self.linear(checkpoint, &format!("{from}/self_attention/linear_1"), &format!("{to}.attn.out"), [n, n])?;
        self.norm(checkpoint, &format!("{from}/ffn/layer_norm"), &format!("{to}.mlp_ln"))?;
        self.linear(checkpoint, &format!("{from}/ffn/linear_0"), &format!("{to}.mlp.0"), [4 * n, n])?;
        self.linear(checkpoint, &format!("{from}/ffn/linear_1"), &format!("{to}.mlp.2"), [n, 4 * n])
    }

    fn cross_attention(&mut self, checkpoint: &Checkpoint, i: usize) -> Result<()> {
        let n = checkpoint.hyper.n_state;
        let from = format!("decoder/layer_{i}/attention");
        let to = format!("decoder.blocks.{i}.cross_attn");
        self.norm(checkpoint, &format!("{from}/layer_norm"), &format!("{to}_ln"))?;
        self.linear(checkpoint, &format!("{from}/linear_0"), &format!("{to}.query"), [n, n])?;
        let weight = checkpoint.f32s(&format!("{from}/linear_1/weight"), &[2 * n, n])?;
        let bias = checkpoint.f32s(&format!("{from}/linear_1/bias"), &[2 * n])?;
        self.projections(&to, &["key", "value"], n, &weight, &bias)?;
        self.linear(checkpoint, &format!("{from}/linear_2"), &format!("{to}.out"), [n, n])
    }

    /// Splits stacked square projections; the key's bias is left out.
    fn projections(&mut self, to: &str, parts: &[&str], n: usize, weight: &[f32], bias: &[f32]) -> Result<()> {
        for ((part, weight), bias) in parts.iter().zip(weight.chunks_exact(n * n)).zip(bias.chunks_exact(n)) {
            self.matrix(&format!("{to}.{part}.weight"), [n, n], weight)?;
            if *part != "key" {
                self.f32(&format!("{to}.{part}.bias"), &[n], bias)?;
            }
        }
        Ok(())
    }

    fn norm(&mut self, checkpoint: &Checkpoint, from: &str, to: &str) -> Result<()> {
        let n = checkpoint.hyper.n_state;
        self.f32(&format!("{to}.weight"), &[n], &checkpoint.f32s(&format!("{from}/gamma"), &[n])?)?;
        self.f32(&format!("{to}.bias"), &[n], &checkpoint.f32s(&format!("{from}/beta"), &[n])?)
    }

    fn linear(&mut self, checkpoint: &Checkpoint, from: &str, to: &str, shape: [usize; 2]) -> Result<()> {
        self.matrix(&format!("{to}.weight"), shape, &checkpoint.f32s(&format!("{from}/weight"), &shape)?)?;
        self.f32(&format!("{to}.bias"), &shape[..1], &checkpoint.f32s(&format!("{from}/bias"), &shape[..1])?)
    }

    fn matrix(&mut self, name: &str, shape: [usize; 2], values: &[f32]) -> Result<()> {
        // A row that is no whole number of blocks cannot be quantised; no Whisper has one.
        if self.quant == Quant::F16 || !shape[1].is_multiple_of(BLOCK) {
            return self.f16(name, &shape, values);
        }
        self.tensor_header(name, &shape, TYPE_Q8_0)?;
        for block in values.chunks_exact(BLOCK) {
            let largest = block.iter().fold(0f32, |max, v| max.max(v.abs()));
            let scale = largest / 127.0;
            let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
            self.bytes(&f16::from_f32(scale).to_le_bytes())?;
            let mut quantised = [0u8; BLOCK];
            for (q, v) in quantised.iter_mut().zip(block) {
                *q = ((v * inverse).round() as i8).cast_unsigned();
            }
            self.bytes(&quantised)?;
        }
        Ok(())
    }

    fn f16(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Result<()> {
        self.tensor_header(name, shape, TYPE_F16)?;
        values.iter().try_for_each(|&v| self.bytes(&f16::from_f32(v).to_le_bytes()))
    }

    fn f32(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Result<()> {
        self.tensor_header(name, shape, TYPE_F32)?;
        values.iter().try_for_each(|v| self.bytes(&v.to_le_bytes()))
    }

    fn tensor_header(&mut self, name: &str, shape: &[usize], kind: i32) -> Result<()> {
        self.i32(shape.len() as i32)?;
        self.i32(name.len() as i32)?;
        self.i32(kind)?;
        for &dim in shape.iter().rev() {
            self.i32(dim as i32)?;
        }
        self.bytes(name.as_bytes())
    }

    fn i32(&mut self, value: i32) -> Result<()> {
        self.bytes(&value.to_le_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|source| Error::Io { path: self.path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests;
