//! Loops of a decoder that is stuck: "in in in in", or one clause again and again.
//!
//! People repeat themselves too ("no, no, no", "fail again. Fail better"), so a run counts as a loop only when it is
//! longer than speech: a short unit five times over, a long one three times. One occurrence is kept.

/// Longest unit looked for, in words (or characters of a script without spaces).
const LONGEST_UNIT: usize = 24;
/// A run shorter than this many units altogether may be speech.
const SHORTEST_RUN: usize = 5;

/// The text with every loop reduced to its first occurrence; the same text if there is none.
pub(crate) fn cut_loops(text: &str) -> String {
    let units = units(text);
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while at < units.len() {
        let (unit, times) = run_at(&units, at);
        let keep = if times > 1 { unit } else { 1 };
        for (_, raw) in &units[at..at + keep] {
            kept.push_str(raw);
        }
        at += if times > 1 { unit * times } else { 1 };
    }
    kept
}

/// Length in units of the loop that begins here, and how often it occurs; `(1, 1)` for none.
fn run_at(units: &[(String, &str)], at: usize) -> (usize, usize) {
    let rest = &units[at..];
    (1..=LONGEST_UNIT.min(rest.len() / 3))
        .map(|unit| {
            let first = &rest[..unit];
            let same = |next: &&[(String, &str)]| next.iter().zip(first).all(|(a, b)| a.0 == b.0);
            (unit, 1 + rest[unit..].chunks_exact(unit).take_while(same).count())
        })
        .find(|&(unit, times)| times >= 3 && unit * times >= SHORTEST_RUN && (unit > 1 || times > SHORTEST_RUN))
        .unwrap_or((1, 1))
}

/// Words, or single characters of a script without spaces: normalised for comparing, and as written.
fn units(text: &str) -> Vec<(String, &str)> {
    crate::words::split(text).map(|raw| (crate::words::normalise(raw), raw)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_cut_and_speech_is_kept() {
        for (text, expected) in [
            ("", ""),
            ("in in in in in in in in", "in "),
            (" I went in in in in in in in", " I went in "),
            ("Thank you. Thank you. Thank you. Thank you.", "Thank you. "),
            ("and so on, and so on, and so on, and then", "and so on, and then"),
            ("No, no, no, no!", "No, no, no, no!"),
            ("very very very good", "very very very good"),
            (
                "Ever tried, ever failed. No matter. Try again, fail again, fail better.",
                "Ever tried, ever failed. No matter. Try again, fail again, fail better.",
            ),
            ("bye bye", "bye bye"),
            ("好的好的好的好的好的", "好的"),
            ("谢谢谢谢", "谢谢谢谢"),
            ("one two three one two three", "one two three one two three"),
        ] {
            assert_eq!(cut_loops(text), expected);
        }
    }

    #[test]
    fn a_long_text_takes_no_quadratic_time() {
        let text = "word other ".repeat(50_000);
        assert_eq!(cut_loops(&text), "word other ");
    }
}
