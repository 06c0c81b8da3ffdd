//! Strips what must not be spoken from a stream of text: markup, code, addresses, emoji, thoughts, control characters.
//!
//! A lexer over the text not yet understood: it either takes a unit from the front or asks for more. What it may wait
//! for is bounded, so that text without end never piles up here.

mod inline;
mod symbols;
mod tags;

use std::ops::Range;

use symbols::is_emoji;
pub(crate) use symbols::is_han;

/// What remains of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A character to be read, and the raw bytes behind it.
    Char(char, Range<usize>),
    /// A line ends: a list item, a heading, a verse.
    Line,
    /// A paragraph ends.
    Paragraph,
}

/// What the lexer does next.
enum Step {
    /// Not decidable before more text arrives.
    Need,
    /// Take so many bytes and say nothing.
    Drop(usize),
    /// Take so many bytes and read this instead.
    Say(usize, &'static str),
    /// Take so many bytes, that are one character, as they are.
    Keep(usize),
    /// Take so many bytes and go on with something hidden.
    Hide(usize, Hidden),
    /// Take so many bytes and end the line.
    Line(usize),
    /// Take so many bytes and end the paragraph.
    Paragraph(usize),
}

/// Something that goes on until its end is seen and is not read meanwhile.
enum Hidden {
    /// Up to and with a closing mark.
    Until(String),
    /// A link's address up to the closing bracket; how many brackets are open.
    LinkTarget(u32),
    /// A bare address that began at this raw byte.
    Address { start: usize, brackets: u32 },
}

/// The lexer's state between two pushes.
#[derive(Default)]
pub(crate) struct Cleaner {
    pending: String,
    // raw position of the first pending byte
    base: usize,
    hidden: Option<Hidden>,
    // whether a line has begun and nothing of it was read yet
    line_started: bool,
    table_row: bool,
    brackets: Vec<Bracket>,
    // the number that the line consists of so far, and the number of the last list item
    line_number: Option<u32>,
    last_item: u32,
    // the last two characters read
    last: char,
    before_last: char,
}

/// What an open round bracket stands for.
#[derive(PartialEq)]
enum Bracket {
    Silent,
    Pause,
    AreaCode,
}

/// Brackets nested deeper than this are dropped without a pause.
const MAX_NESTING: usize = 8;

impl Cleaner {
    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        self.pending.push_str(text);
        self.run(false, out);
    }

    /// Bytes that wait for more text.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn finish(&mut self, out: &mut Vec<Piece>) {
        self.run(true, out);
        let end = self.base;
        *self = Cleaner { base: end, ..Cleaner::default() };
    }

    fn run(&mut self, last: bool, out: &mut Vec<Piece>) {
        let pending = std::mem::take(&mut self.pending);
        let start = self.base;
        let mut at = 0;
        while at < pending.len() {
            self.base = start + at;
            let rest = &pending[at..];
            let step = match self.hidden.take() {
                Some(hidden) => self.hidden_step(hidden, rest, last, out),
                None => self.step(rest, last),
            };
            match step {
                Step::Need => break,
                Step::Drop(n) => at += n,
                Step::Hide(n, hidden) => {
                    self.hidden = Some(hidden);
                    at += n;
                }
                Step::Say(n, text) => {
                    self.say(text, self.base..self.base + n, out);
                    at += n;
                }
                Step::Keep(n) => {
                    if let Some(ch) = rest.chars().next() {
                        self.emit(ch, self.base..self.base + n, out);
                    }
                    at += n;
                }
                Step::Line(n) => {
                    self.end_line(Piece::Line, out);
                    at += n;
                }
                Step::Paragraph(n) => {
                    self.end_line(Piece::Paragraph, out);
                    at += n;
                }
            }
        }
        self.base = start + at;
        self.pending.push_str(&pending[at..]);
    }

    fn end_line(&mut self, piece: Piece, out: &mut Vec<Piece>) {
        out.push(piece);
        self.line_started = false;
        self.table_row = false;
        self.brackets.clear();
        self.line_number = None;
        self.last = '\n';
        self.before_last = '\n';
    }

    fn say(&mut self, text: &str, source: Range<usize>, out: &mut Vec<Piece>) {
        for ch in text.chars() {
            self.emit(ch, source.clone(), out);
        }
    }

    fn emit(&mut self, ch: char, source: Range<usize>, out: &mut Vec<Piece>) {
        if ch == ' ' && (self.last == ' ' || !self.line_started) {
            return;
        }
        self.line_number = match (ch.to_digit(10), self.line_number) {
            (Some(digit), None) if !self.line_started => Some(digit),
            (Some(digit), Some(number)) if number < 100 => Some(number * 10 + digit),
            _ => None,
        };
        self.line_started = true;
        self.before_last = self.last;
        self.last = ch;
        out.push(Piece::Char(ch, source));
    }

    /// The next unit of ordinary text.
    fn step(&mut self, rest: &str, last: bool) -> Step {
        let Some(ch) = rest.chars().next() else {
            return Step::Need;
        };
        let len = ch.len_utf8();
        if !self.line_started
            && let Some(step) = self.line_start_step(rest, ch, last)
        {
            return step;
        }
        match ch {
            '\n' => self.newline_step(rest, last),
            '\r' => Step::Drop(len),
            _ if ch.is_whitespace() => Step::Say(len, " "),
            '<' => tags::step(rest, last),
            '`' => {
                if rest.len() < 3 && rest.bytes().all(|b| b == b'`') && !last {
                    Step::Need
                } else if rest.starts_with("```") {
                    Step::Hide(3, Hidden::Until("```".into()))
                } else {
                    Step::Drop(1)
                }
            }
            'h' | 'H' | 'w' | 'W' if !self.last.is_alphanumeric() || is_han(self.last) => self.address_step(rest, last),
            _ if is_emoji(ch) => Step::Drop(len),
            _ if ch.is_alphanumeric() => Step::Keep(len),
            _ => self.inline_step(rest, ch, last),
        }
    }

    /// Marks that mean something only where a line begins.
    fn line_start_step(&mut self, rest: &str, ch: char, last: bool) -> Option<Step> {
        let run = rest.len() - rest.trim_start_matches(ch).len();
        let after = rest[run..].chars().next();
        match ch {
            '#' => match after {
                None if !last && run < 64 => Some(Step::Need),
                Some(' ' | '\t') | None => Some(Step::Drop(run)),
                Some(c) if run > 1 || c == '#' => Some(Step::Drop(run)),
                _ => None,
            },
            '>' => Some(Step::Drop(run)),
            '=' | '_' | '*' | '-' | '~' | '+' | '•' => match after {
                None if !last && run < 200 => Some(Step::Need),
                _ if ch == '~' && run >= 3 => Some(Step::Hide(run, Hidden::Until("~~~".into()))),
                _ if run >= 3 => Some(Step::Drop(run)),
                // a bullet
                Some(c) if c.is_whitespace() && run == ch.len_utf8() => Some(Step::Drop(run)),
                None => Some(Step::Drop(run)),
                _ => None,
            },
            '|' => match rest[1..].trim_start_matches([' ', ':']).chars().next() {
                None if !last && rest.len() < 200 => Some(Step::Need),
                Some('-') => Some(Step::Hide(1, Hidden::Until("\n".into()))),
                _ => {
                    self.table_row = true;
                    Some(Step::Drop(1))
                }
            },
            '[' => ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| {
                if rest.starts_with(mark) {
                    Some(Step::Drop(mark.len()))
                } else if mark.starts_with(rest) && !last {
                    Some(Step::Need)
                } else {
                    None
                }
            }),
            _ => None,
        }
    }

    /// A line break inside a sentence is a space; any other ends the line.
    fn newline_step(&mut self, rest: &str, last: bool) -> Step {
        let after = rest.trim_start_matches(['\n', '\r', ' ', '\t']);
        let taken = rest.len() - after.len();
        let breaks = rest[..taken].bytes().filter(|b| *b == b'\n').count();
        match after.chars().next() {
            None if !last && taken < 200 => Step::Need,
            _ if breaks > 1 => Step::Paragraph(taken),
            Some(c) if c.is_lowercase() && self.last.is_alphanumeric() && !self.table_row => Step::Say(taken, " "),
            _ => Step::Line(taken),
        }
    }

    fn address_step(&self, rest: &str, last: bool) -> Step {
        for scheme in ["https://", "http://", "www."] {
            let n = rest.len().min(scheme.len());
            if rest.as_bytes()[..n].eq_ignore_ascii_case(&scheme.as_bytes()[..n]) {
                if n == scheme.len() {
                    return Step::Hide(n, Hidden::Address { start: self.base, brackets: 0 });
                }
                if !last {
                    return Step::Need;
                }
            }
        }
        Step::Keep(1)
    }

    fn hidden_step(&mut self, hidden: Hidden, rest: &str, last: bool, out: &mut Vec<Piece>) -> Step {
        match hidden {
            Hidden::Until(close) => {
                if let Some(at) = find_ignoring_case(rest, &close) {
                    if close == "\n" { Step::Line(at + 1) } else { Step::Drop(at + close.len()) }
                } else {
                    // Keep a tail that may be the beginning of the closing mark.
                    let mut keep = (close.len() - 1).min(rest.len());
                    while !rest.is_char_boundary(rest.len() - keep) {
                        keep -= 1;
                    }
                    let taken = if last { rest.len() } else { rest.len() - keep };
                    self.hidden = Some(Hidden::Until(close));
                    if taken == 0 { Step::Need } else { self.rehide(taken) }
                }
            }
            Hidden::LinkTarget(mut open) => {
                for (at, ch) in rest.char_indices() {
                    match ch {
                        '(' => open += 1,
                        ')' if open == 1 => return Step::Drop(at + 1),
                        ')' => open -= 1,
                        // No address spans lines: the bracket was never closed.
                        '\n' if at == 0 => return self.newline_step(rest, last),
                        '\n' => return Step::Drop(at),
                        _ => {}
                    }
                }
                Step::Hide(rest.len(), Hidden::LinkTarget(open))
            }
            Hidden::Address { start, mut brackets } => {
                let mut chars = rest.char_indices().peekable();
                while let Some((at, ch)) = chars.next() {
                    let next = chars.peek().map(|(_, c)| *c);
                    let ends = match ch {
                        '(' => {
                            brackets += 1;
                            false
                        }
                        ')' if brackets > 0 => {
                            brackets -= 1;
                            false
                        }
                        '.' | ',' | '!' | '?' | ';' | ':' | '\'' | '*' | '_' => match next {
                            None if !last => {
                                if at == 0 {
                                    self.hidden = Some(Hidden::Address { start, brackets });
                                    return Step::Need;
                                }
                                return Step::Hide(at, Hidden::Address { start, brackets });
                            }
                            None => true,
                            Some(n) => n.is_whitespace() || matches!(n, ')' | ']' | '"' | '*' | '_'),
                        },
                        _ => !ch.is_ascii_graphic() || matches!(ch, ')' | ']' | '<' | '>' | '"' | '`' | '|'),
                    };
                    if ends {
                        self.say_link(start..self.base + at, out);
                        return if at == 0 { self.step(rest, last) } else { Step::Drop(at) };
                    }
                }
                if last {
                    self.say_link(start..self.base + rest.len(), out);
                    Step::Drop(rest.len())
                } else {
                    Step::Hide(rest.len(), Hidden::Address { start, brackets })
                }
            }
        }
    }

    /// Goes on hiding after `n` more bytes; `self.hidden` was put back already.
    fn rehide(&mut self, n: usize) -> Step {
        match self.hidden.take() {
            Some(hidden) => Step::Hide(n, hidden),
            None => Step::Drop(n),
        }
    }

    /// Nobody wants to hear an address spelled; that there is one is worth a word.
    fn say_link(&mut self, source: Range<usize>, out: &mut Vec<Piece>) {
        let text = if is_han(self.last) || is_han(self.before_last) { "链接" } else { "the link" };
        self.say(text, source, out);
    }
}

/// Position of an ASCII mark in the text, upper and lower case alike.
fn find_ignoring_case(text: &str, mark: &str) -> Option<usize> {
    text.as_bytes().windows(mark.len()).position(|w| w.eq_ignore_ascii_case(mark.as_bytes()))
}
