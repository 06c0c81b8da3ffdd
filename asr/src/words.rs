//! Text cut into the units that hypotheses are compared by: words, or characters of a script without spaces.

/// True for characters that are words of their own: Han, kana.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' | '\u{3040}'..='\u{30FF}')
}

/// Pieces that joined give the text again; spaces and punctuation belong to the word before them, at the start to the
/// word after.
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut starts = vec![];
    let mut inside_word = false;
    for (at, c) in text.char_indices() {
        let alone = stands_alone(c);
        let word = c.is_alphanumeric() || matches!(c, '\'' | '’');
        if alone || (word && !inside_word) {
            starts.push(at);
        }
        inside_word = word && !alone;
    }
    if let Some(first) = starts.first_mut() {
        *first = 0;
    } else if !text.is_empty() {
        starts.push(0);
    }
    starts.push(text.len());
    let ranges: Vec<_> = starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
    ranges.into_iter().map(|range| &text[range]).filter(|piece| !piece.is_empty())
}

/// A piece without case, spaces and punctuation.
pub(crate) fn normalise(piece: &str) -> String {
    piece.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_text() {
        for (text, pieces) in [
            ("", vec![]),
            ("  ", vec!["  "]),
            (" Hello, world!", vec![" Hello, ", "world!"]),
            ("don't well-known", vec!["don't ", "well-", "known"]),
            ("打开 the door吗？", vec!["打", "开 ", "the ", "door", "吗？"]),
        ] {
            assert_eq!(split(text).collect::<Vec<_>>(), pieces);
        }
    }

    #[test]
    fn case_and_punctuation_do_not_matter() {
        assert_eq!(normalise(" Hello, "), normalise("hello"));
        assert_eq!(normalise("吗？"), "吗");
    }
}
