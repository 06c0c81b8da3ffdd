//! Scores labelled pauses and ends of turns, for `curve`: one line for each, made once and kept as data.
//!
//! `cargo run --release -p pocket-voice-turn-detect --example score -- FOLDER > tests/data/pauses.tsv`
//!
//! FOLDER holds `labels.tsv` with the columns `file`, `kind` (`hold` when the speaker goes on, `end` when not), `source`,
//! `speech_end_ms` and `text` (what a recogniser makes of the audio so far), and the WAV files (16 kHz mono 16 bit), each
//! with the silence behind the speech. The output has the model's probability after each length of silence.

use std::path::{Path, PathBuf};

use turn_detect::SmartTurn;

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

/// Milliseconds of silence at which the model is asked.
const SILENCES: [usize; 6] = [100, 200, 300, 500, 800, 1200];

fn main() -> Anyhow<()> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("usage: score FOLDER")?.into();
    let store = assets::Store::open()?;
    let runtime = onnx::Runtime::load(&store.onnxruntime()?)?;
    let mut smart_turn = SmartTurn::open(&runtime, &store.file("smart-turn-v3.2", "smart-turn-v3.2-cpu.onnx")?)?;
    print!("kind\tsource\tname");
    SILENCES.iter().for_each(|ms| print!("\tp{ms}"));
    println!("\ttext");
    for line in std::fs::read_to_string(folder.join("labels.tsv"))?.lines().skip(1) {
        let [file, kind, source, speech_end_ms, text] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("labels.tsv: not five columns: {line}").into());
        };
        let audio = read(&folder.join(file))?;
        let end = (speech_end_ms.parse::<f64>()? * 16.0) as usize;
        print!("{kind}\t{source}\t{}", file.trim_end_matches(".wav"));
        for ms in SILENCES {
            let turn = audio.get(..end + ms * 16).ok_or_else(|| format!("{file} ends before {ms} ms of silence"))?;
            print!("\t{:.4}", smart_turn.score(turn)?);
        }
        println!("\t{text}");
    }
    Ok(())
}

fn read(path: &Path) -> Anyhow<Vec<f32>> {
    let mut wav = hound::WavReader::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let spec = wav.spec();
    if (spec.sample_rate, spec.channels, spec.bits_per_sample) != (16_000, 1, 16) {
        return Err(format!("{}: want 16 kHz mono 16 bit, got {spec:?}", path.display()).into());
    }
    Ok(wav.samples::<i16>().map(|s| s.map(|s| f32::from(s) / 32_768.0)).collect::<Result<_, _>>()?)
}
