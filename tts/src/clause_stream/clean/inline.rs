//! Marks inside a line: emphasis, links, brackets, quotes, dashes, signs that are read and signs that are not.

use super::{Bracket, Cleaner, Hidden, MAX_NESTING, Step};

impl Cleaner {
    /// The unit that begins with a character that is no letter, digit or space.
    pub(super) fn inline_step(&mut self, rest: &str, ch: char, last: bool) -> Step {
        let len = ch.len_utf8();
        let run = rest.len() - rest.trim_start_matches(ch).len();
        let after = rest[run..].chars().next();
        let undecided = after.is_none() && !last && run < 64;
        let word_before = self.last.is_alphanumeric();
        match ch {
            '*' | '_' | '~' | '…' | '.' | '-' | '=' | '#' | '!' | '?' | '\'' | '’' | '‘' | '′' | 'ʼ' | '/' | ':'
            | ',' | '–' | '\\' | '&'
                if undecided =>
            {
                Step::Need
            }
            '*' => {
                let operand = |c: char| c.is_ascii_digit() || c == ' ';
                let number_before =
                    self.last.is_ascii_digit() || (self.last == ' ' && self.before_last.is_ascii_digit());
                if run == 1 && number_before && after.is_some_and(operand) && (self.last == ' ') == (after == Some(' '))
                {
                    Step::Say(1, "×")
                } else {
                    Step::Drop(run)
                }
            }
            '_' => {
                if word_before && after.is_some_and(char::is_alphanumeric) {
                    Step::Say(run, "_")
                } else {
                    Step::Drop(run)
                }
            }
            '~' if run == 1 && after.is_some_and(|c| c.is_ascii_digit() || c == '$') => Step::Keep(1),
            '~' | '～' => Step::Drop(run),
            '\\' => Step::Drop(1),
            '.' if run > 1 => Step::Say(run, "…"),
            '…' => Step::Say(run, "…"),
            '。' | '！' | '？' | '；' | '，' | '、' | '：' => Step::Keep(len),
            // "1." and "1)" open a list item: see line_start_step.
            '.' if self.opens_item(after) => Step::Say(1, ","),
            '.' | ',' | ';' => Step::Keep(1),
            ':' => Step::Keep(1),
            '!' | '?' => match (ch, after) {
                ('!', Some('[')) if run == 1 => Step::Drop(1),
                // "What?!" asks; "No!!!" is one cry.
                ('!', Some('?')) => Step::Drop(run),
                _ if matches!(self.last, '!' | '?') => Step::Drop(run),
                _ => Step::Say(run, if ch == '!' { "!" } else { "?" }),
            },
            '[' => self.open_square(rest, last),
            ']' | '】' => match after {
                None if !last && run == len => Step::Need,
                Some('(') if ch == ']' => Step::Hide(run + 1, Hidden::LinkTarget(1)),
                Some('[') if ch == ']' => Step::Hide(run + 1, Hidden::Until("]".into())),
                _ => Step::Drop(run),
            },
            '(' | '（' => self.open_round(rest, len, last),
            ')' | '）' => {
                if undecided {
                    return Step::Need;
                }
                if self.opens_item(after) {
                    return Step::Say(1, ",");
                }
                let bracket = self.brackets.pop().unwrap_or(Bracket::Silent);
                if bracket == Bracket::AreaCode {
                    return Step::Keep(1);
                }
                let goes_on = after.is_some_and(|c| {
                    !matches!(
                        c,
                        '.' | ',' | ';' | ':' | '!' | '?' | ')' | '\n' | '。' | '，' | '；' | '：' | '！' | '？' | '）'
                    )
                });
                if bracket == Bracket::Pause && goes_on {
                    Step::Say(len, if ch == ')' { "," } else { "，" })
                } else {
                    Step::Drop(len)
                }
            }
            '-' | '=' if run == 1 && after == Some('>') => Step::Say(2, ", "),
            '-' => self.hyphen(run, after),
            '–' | '—' | '―' | '‒' | '−' => {
                let digit_after = after.is_some_and(|c| c.is_ascii_digit());
                match ch {
                    '−' => Step::Say(run, "-"),
                    '–' | '‒' if (self.last.is_alphanumeric() || self.last == '.') && digit_after => {
                        Step::Say(run, "–")
                    }
                    _ if self.last == '\n' || !self.line_started => Step::Drop(run),
                    _ => Step::Say(run, ", "),
                }
            }
            '\'' | '’' | '‘' | 'ʼ' | '′' => {
                if word_before && after.is_some_and(char::is_alphabetic) && run == len {
                    Step::Say(len, "'")
                } else if run == len
                    && ch != '’'
                    && ch != '‘'
                    && self.last.is_ascii_digit()
                    && after.is_some_and(|c| c.is_ascii_digit())
                {
                    Step::Say(len, "′")
                } else {
                    Step::Drop(run)
                }
            }
            '"' | '″' if self.last.is_ascii_digit() && matches!(self.before_last, '′' | '1') && ch == '″' => {
                Step::Say(len, "″")
            }
            '|' if self.table_row => Step::Say(1, ", "),
            '&' => entity(rest, last),
            '#' => {
                if run == 1 && (after.is_some_and(|c| c.is_ascii_digit()) || matches!(self.last, 'C' | 'F')) {
                    Step::Keep(1)
                } else {
                    Step::Drop(run)
                }
            }
            '/' | '|' if run > 1 => Step::Say(run, " "),
            '→' | '⇒' | '➔' | '·' | '•' | '‣' | '◦' | '●' if ch != '·' => Step::Say(len, ", "),
            '$' | '€' | '£' | '¥' | '￥' | '₹' | '₩' | '₽' | '₿' | '¢' | '%' | '％' | '‰' | '°' | '℃' | '℉' | '+'
            | '=' | '×' | '÷' | '≈' | '≤' | '≥' | '≠' | '±' | '√' | '∞' | '<' | '>' | '@' | '/' | '^' | '§' => {
                Step::Keep(len)
            }
            '{' | '}' | '|' => Step::Say(len, " "),
            _ => Step::Drop(len),
        }
    }

    /// Whether this mark follows a number that begins its line and counts on from the item before.
    fn opens_item(&mut self, after: Option<char>) -> bool {
        match self.line_number {
            Some(number)
                if after == Some(' ') && self.line_started && (number == 1 || number == self.last_item + 1) =>
            {
                self.last_item = number;
                true
            }
            _ => false,
        }
    }

    fn open_square(&mut self, rest: &str, last: bool) -> Step {
        // "[3]", "[^1]" and "[1, 2]" point to sources nobody can see.
        let inside =
            rest[1..].trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '^' | ',' | ' ' | '-' | '–'));
        let length = rest.len() - inside.len();
        let note = rest[1..length].bytes().any(|b| b.is_ascii_digit());
        if length <= 16 && (note || rest.len() == 1) {
            let mut after = inside.chars();
            match (after.next(), after.next()) {
                (None, _) | (Some(']'), None) if !last => return Step::Need,
                (Some(']'), next) if next != Some('(') => return Step::Drop(length + 1),
                _ => {}
            }
        }
        Step::Drop(1)
    }

    fn open_round(&mut self, rest: &str, len: usize, last: bool) -> Step {
        let ascii = len == 1;
        if ascii && !self.last.is_alphanumeric() {
            // An area code belongs to its number.
            let inside = &rest[1..];
            let digits = inside.len() - inside.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits <= 3 && inside.len() <= 4 && digits == inside.len() && !last {
                return Step::Need;
            }
            if digits == 3 && inside[3..].starts_with(')') {
                self.brackets.push(Bracket::AreaCode);
                return Step::Keep(1);
            }
        }
        let attached = ascii && self.last.is_alphanumeric();
        let plural = attached && rest[1..].starts_with("s)");
        let pause = !attached && self.line_started && !self.last.is_ascii_punctuation();
        if self.brackets.len() < MAX_NESTING {
            self.brackets.push(if pause { Bracket::Pause } else { Bracket::Silent });
        }
        match (attached, pause) {
            (true, _) if plural || (rest.len() < 3 && !last && "(s)".starts_with(rest)) => {
                if plural {
                    Step::Drop(1)
                } else {
                    self.undo_bracket()
                }
            }
            (true, _) => Step::Say(len, " "),
            (false, true) => Step::Say(len, if ascii { ", " } else { "，" }),
            (false, false) => Step::Drop(len),
        }
    }

    fn undo_bracket(&mut self) -> Step {
        self.brackets.pop();
        Step::Need
    }

    fn hyphen(&self, run: usize, after: Option<char>) -> Step {
        let number_after = after.is_some_and(|c| c.is_ascii_digit() || matches!(c, '$' | '€' | '£' | '.'));
        match after {
            _ if run > 1 => Step::Say(run, ", "),
            Some(c) if self.last.is_alphanumeric() && c.is_alphanumeric() => Step::Keep(1),
            _ if number_after => Step::Keep(1),
            Some(' ') if self.last == ' ' && self.before_last.is_ascii_digit() => Step::Keep(1),
            Some(' ') if self.last == ' ' => Step::Say(1, ", "),
            _ => Step::Drop(1),
        }
    }
}

/// A character written as `&name;`, or the sign itself.
fn entity(rest: &str, last: bool) -> Step {
    const ENTITIES: &[(&str, &str)] = &[
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", " "),
        ("&apos;", "'"),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&mdash;", ", "),
        ("&ndash;", "–"),
        ("&hellip;", "…"),
        ("&deg;", "°"),
        ("&times;", "×"),
    ];
    for (written, meant) in ENTITIES {
        if rest.starts_with(written) {
            return Step::Say(written.len(), meant);
        }
        if written.starts_with(rest) && !last {
            return Step::Need;
        }
    }
    Step::Keep(1)
}
