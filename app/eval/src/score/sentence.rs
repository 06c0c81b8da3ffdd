//! Where sentences begin and end, without a trained model.

/// Every rest of `text` that begins with a sentence or a line.
pub(crate) fn starts(text: &str) -> impl Iterator<Item = &str> {
    let begins = std::iter::once(0).chain(
        text.char_indices()
            .filter(|(_, c)| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？' | ':' | ';'))
            .map(|(at, c)| at + c.len_utf8()),
    );
    begins.map(|at| text[at..].trim_start_matches([' ', '\n', '\r', '\t', '"', '\'', '“', '*']))
}
