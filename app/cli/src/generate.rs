//! `generate`: the language model alone, streamed.

use assets::Store;
use pocket_voice::alone;

use crate::args::{Common, Generate};
use crate::output::{self, Out, plain};
use crate::{interrupt, settings};

pub(crate) fn run(common: &Common, generate: &Generate, out: &Out) -> anyhow::Result<()> {
    let mut config = settings::config(common)?;
    if let Some(max_tokens) = generate.max_tokens {
        config.max_tokens = max_tokens;
    }
    let prompt = settings::text(&generate.prompt, "prompt")?;
    let json_only = common.json.as_deref() == Some("-".as_ref());
    let mut text = String::new();
    let mut closed = None;
    let done = alone::generate(&config, &Store::open()?, &prompt, interrupt::flag(), &mut |piece| {
        text.push_str(piece);
        if !json_only && let Err(error) = out.text(plain(piece)) {
            closed = Some(error);
        }
        closed.is_none()
    })?;
    if let Some(error) = closed {
        return Err(error);
    }
    if !json_only {
        out.line("")?;
    }
    out.remark(format_args!(
        "{} prompt tokens ({} computed in {:.0} ms), {} tokens at {:.0} per second",
        done.prompt_tokens,
        done.prefill_tokens,
        done.prefill_ms,
        done.tokens,
        done.tokens as f64 * 1000.0 / done.decode_ms.max(1e-3)
    ));
    if let Some(path) = &common.json {
        let report = serde_json::json!({
            "version": 1,
            "llm": config.llm,
            "text": text,
            "prompt_tokens": done.prompt_tokens,
            "prefill_tokens": done.prefill_tokens,
            "prefill_ms": done.prefill_ms,
            "generated_tokens": done.tokens,
            "decode_ms": done.decode_ms,
        });
        output::json(path, &report, out)?;
    }
    Ok(())
}
