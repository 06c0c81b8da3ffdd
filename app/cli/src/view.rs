//! A conversation on a terminal: lines that stay, and one that changes while the user speaks.

use pocket_voice::report::{self, Turn};
use pocket_voice::{Event, TurnId};

use crate::output::{Out, plain};

/// Columns of the changing line; short enough for any terminal.
const WIDTH: usize = 76;

/// What the cursor stands behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    /// A finished line.
    Line,
    /// The changing line.
    Partial,
    /// An answer that is being written.
    Answer(TurnId),
}

/// Draws events.
#[derive(Debug)]
pub(crate) struct View<'a> {
    out: &'a Out,
    live: bool,
    waterfalls: bool,
    cursor: Cursor,
}

impl<'a> View<'a> {
    /// A view that shows each turn's waterfall if `waterfalls`.
    pub(crate) fn new(out: &'a Out, waterfalls: bool) -> Self {
        Self { out, live: out.is_terminal() && !out.quiet(), waterfalls, cursor: Cursor::Line }
    }

    /// Draws what happened.
    pub(crate) fn show(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::SpeechStarted { .. } => self.partial("listening"),
            Event::PartialTranscript { text } => self.partial(text),
            Event::TurnCommitted { user, .. } => self.line(&format!("You: {}", plain(user).trim())),
            Event::TurnWithdrawn { .. } => self.note("(you go on)"),
            Event::AssistantText { turn, text } => self.answer(*turn, text),
            Event::Paused { .. } => self.note("(paused)"),
            Event::Resumed { .. } => self.note("(goes on)"),
            Event::TurnFinished(turn) => self.finished(turn),
            Event::Dismissed => self.note("(nothing to answer)"),
            Event::DeviceLost(what) => self.remark(&format!("lost: {what}; waiting for it")),
            Event::DeviceRecovered(what) => self.remark(&format!("using {what}")),
            Event::Failed { message } => self.remark(message),
            _ => Ok(()),
        }
    }

    /// Leaves the cursor at the start of a line.
    pub(crate) fn settle(&mut self) -> anyhow::Result<()> {
        match std::mem::replace(&mut self.cursor, Cursor::Line) {
            Cursor::Line => Ok(()),
            Cursor::Partial => self.out.text("\r\x1b[2K"),
            Cursor::Answer(_) => self.out.text("\n"),
        }
    }

    fn partial(&mut self, text: &str) -> anyhow::Result<()> {
        // An answer that is being written is not torn apart for the words that interrupt it.
        if !self.live || matches!(self.cursor, Cursor::Answer(_)) {
            return Ok(());
        }
        self.cursor = Cursor::Partial;
        self.out.text(format_args!("\r\x1b[2K\x1b[2m… {}\x1b[0m", tail(&plain(text).replace('\n', " "), WIDTH)))
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        self.settle()?;
        self.out.line(line)
    }

    /// A line for somebody who watches.
    fn note(&mut self, note: &str) -> anyhow::Result<()> {
        if !self.live {
            return Ok(());
        }
        self.settle()?;
        self.out.line(format_args!("\x1b[2m  {note}\x1b[0m"))
    }

    fn remark(&mut self, remark: &str) -> anyhow::Result<()> {
        self.settle()?;
        self.out.remark(plain(remark));
        Ok(())
    }

    fn answer(&mut self, turn: TurnId, text: &str) -> anyhow::Result<()> {
        if self.cursor != Cursor::Answer(turn) {
            self.settle()?;
            self.out.text("Assistant: ")?;
            self.cursor = Cursor::Answer(turn);
        }
        self.out.text(plain(text))
    }

    fn finished(&mut self, turn: &Turn) -> anyhow::Result<()> {
        self.settle()?;
        if turn.interrupted {
            self.out.line(format_args!("  interrupted; heard: {:?}", plain(&turn.heard)))?;
        }
        if self.out.quiet() {
            return Ok(());
        }
        if self.waterfalls {
            return self.out.text(report::waterfall(turn));
        }
        let ms = |value: Option<f64>| value.map_or_else(|| "-".into(), |ms| format!("{ms:.0} ms"));
        self.out.line(format_args!(
            "  first token {}, first audio {} after your last word",
            ms(turn.first_token_ms.from_speech_end),
            ms(turn.first_audio_ms.from_speech_end)
        ))
    }
}

/// The end of `text`, at most `width` characters.
fn tail(text: &str, width: usize) -> String {
    let len = text.chars().count();
    if len <= width { text.to_owned() } else { ['…'].into_iter().chain(text.chars().skip(len - width + 1)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changing_line_keeps_its_end() {
        assert_eq!(tail("short", 10), "short");
        assert_eq!(tail("what is the capital", 8), "…capital");
        assert_eq!(tail("天天天天天", 3), "…天天");
    }
}
