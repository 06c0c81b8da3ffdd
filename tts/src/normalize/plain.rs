//! Words as they are, and the marks between them.

use std::ops::Range;

use super::Span;
use crate::clause_stream::clean::is_han;

/// Text that no rule reads: words go through, punctuation is kept where it shapes the melody, other signs are gaps.
pub(super) fn spans(text: &str, range: Range<usize>, out: &mut Vec<Span>) {
    let mut word: Option<Range<usize>> = None;
    let flush = |word: &mut Option<Range<usize>>, out: &mut Vec<Span>| {
        if let Some(written) = word.take() {
            let said = text[written.clone()].trim_end_matches(['\'', '-']).to_owned();
            out.push(Span { written, said });
        }
    };
    for (offset, ch) in text[range.clone()].char_indices() {
        let at = range.start + offset;
        let end = at + ch.len_utf8();
        let joins = word.is_some() && matches!(ch, '\'' | '-');
        if is_han(ch) {
            flush(&mut word, out);
            out.push(Span { written: at..end, said: ch.to_string() });
            continue;
        }
        if ch.is_alphanumeric() || joins {
            word.get_or_insert(at..at).end = end;
            continue;
        }
        flush(&mut word, out);
        let said = match ch {
            // A stop inside a sentence belongs to an abbreviation.
            '.' if text[end..].trim_start().starts_with(char::is_lowercase) => String::new(),
            ',' | '.' | ';' | ':' | '!' | '?' | '…' => ch.to_string(),
            '，' | '、' | '。' | '！' | '？' | '；' | '：' => ch.to_string(),
            _ => String::new(),
        };
        out.push(Span { written: at..end, said });
    }
    flush(&mut word, out);
}
