//! Converts a CTranslate2 Whisper directory to a ggml file for whisper.cpp: `convert DIR FILE [f16]`.

use std::path::Path;

use asr::{Quant, convert};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, file, rest @ ..] = args.as_slice() else {
        return Err("usage: convert DIR FILE [f16]".into());
    };
    let quant = if rest.first().is_some_and(|q| q == "f16") { Quant::F16 } else { Quant::Q8_0 };
    convert(Path::new(dir), Path::new(file), quant)?;
    Ok(())
}
