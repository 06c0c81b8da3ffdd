//! `say`: speech out alone.

use assets::Store;
use pocket_voice::alone;

use crate::args::{Common, Say};
use crate::output::{self, Out};
use crate::{interrupt, settings};

pub(crate) fn run(common: &Common, say: &Say, out: &Out) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    let text = settings::text(&say.text, "text")?;
    let spoken = alone::say(&config, &Store::open()?, &text, &say.out, interrupt::flag())?;
    out.remark(format_args!(
        "{}: {:.1} s of speech in {:.0} ms, the first after {:.0} ms",
        say.out.display(),
        spoken.audio_ms / 1000.0,
        spoken.elapsed_ms,
        spoken.first_chunk_ms
    ));
    if let Some(path) = &common.json {
        let report = serde_json::json!({
            "version": 1,
            "voice": config.voice,
            "audio_ms": spoken.audio_ms,
            "first_chunk_ms": spoken.first_chunk_ms,
            "elapsed_ms": spoken.elapsed_ms,
        });
        output::json(path, &report, out)?;
    }
    Ok(())
}
