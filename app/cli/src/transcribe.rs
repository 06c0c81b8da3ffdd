//! `transcribe`: speech recognition alone.

use assets::Store;
use pocket_voice::alone::{self, OnPartial};
use pocket_voice::audio::wav::Recording;

use crate::args::{Common, Transcribe};
use crate::output::{self, Out, plain};
use crate::{interrupt, settings};

pub(crate) fn run(common: &Common, transcribe: &Transcribe, out: &Out) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    let mut recording = Recording::open(&transcribe.input)?;
    let mut closed = None;
    let mut show = |stable: &str, unstable: &str| {
        let line = format!("… {}", plain(&format!("{stable} {unstable}")).trim());
        if let Err(error) = out.line(line) {
            closed.get_or_insert(error);
        }
    };
    let partial: Option<OnPartial<'_>> = if transcribe.partials { Some(&mut show) } else { None };
    let heard = alone::transcribe(&config, &Store::open()?, &mut recording, interrupt::flag(), partial)?;
    if let Some(error) = closed {
        return Err(error);
    }
    if heard.truncated {
        out.remark(format_args!("{} is shorter than its header says", transcribe.input.display()));
    }
    if heard.text.is_empty() {
        out.remark(format_args!("no speech was found in {}", transcribe.input.display()));
    } else if common.json.as_deref() != Some("-".as_ref()) {
        out.line(plain(&heard.text))?;
    }
    out.remark(format_args!("{:.1} s of audio in {:.0} ms", heard.audio_ms / 1000.0, heard.elapsed_ms));
    if let Some(path) = &common.json {
        let report = serde_json::json!({
            "version": 1,
            "asr": config.asr,
            "text": heard.text,
            "language": heard.language,
            "audio_ms": heard.audio_ms,
            "elapsed_ms": heard.elapsed_ms,
        });
        output::json(path, &report, out)?;
    }
    Ok(())
}
