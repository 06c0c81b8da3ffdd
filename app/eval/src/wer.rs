//! Word error rate of what was heard; Han characters count as words.

/// Words of a text for comparison: lower case, no punctuation.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.to_lowercase().chars() {
        let han = matches!(c, '\u{3400}'..='\u{9fff}');
        if c.is_alphanumeric() && !han {
            word.push(c);
        } else if !matches!(c, '\'' | '’') {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if han {
                words.push(c.to_string());
            }
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Longest text that is compared, in words; the table grows with the square.
const LONGEST: usize = 3000;

/// Insertions, deletions and substitutions that lead from `said` to `heard`, and the words of `said`.
fn edits(said: &str, heard: &str) -> (usize, usize) {
    let (said, heard) = (words(said), words(heard));
    let (said, heard) = (&said[..said.len().min(LONGEST)], &heard[..heard.len().min(LONGEST)]);
    let mut row: Vec<usize> = (0..=heard.len()).collect();
    for (i, word) in said.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in heard.iter().enumerate() {
            let substituted = diagonal + usize::from(word != other);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    (row[heard.len()], said.len())
}

/// The rate over all pairs, 0 to 1 and beyond; `None` without words.
pub fn over<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<f64> {
    let (mut wrong, mut all) = (0, 0);
    for (said, heard) in pairs {
        let (edits, words) = edits(said, heard);
        wrong += edits;
        all += words;
    }
    (all > 0).then(|| wrong as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (said, heard, expected) in [
            ("What's the time?", "whats the time", (0, 3)),
            ("one two three", "one three four", (2, 3)),
            ("", "noise", (1, 0)),
            ("今天天气 ok", "今天天汽 OK", (1, 5)),
            ("a b", "", (2, 2)),
        ] {
            assert_eq!(edits(said, heard), expected, "{said}");
        }
        assert_eq!(over([("a b", "a"), ("c d", "c d")]), Some(0.25));
        assert_eq!(over([("", "")]), None);
    }
}
