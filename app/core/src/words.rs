//! Words as the conversation compares them: without case, punctuation or spacing; and the few that steer it.

/// `text` as comparable words: lower case, letters and digits only; every Han character is a word of its own.
#[must_use]
pub fn normalised(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if is_han(c) {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            words.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else if (c == '\'' || c == '’') && !word.is_empty() {
            // "don't" stays one word and equals "dont".
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{2ffff}')
}

/// What words said over an answer ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// Nothing was understood.
    Nothing,
    /// "mhm", "yeah": the listener is listening.
    Backchannel,
    /// "stop" and nothing else: silence is wanted, no answer.
    Stop,
    /// Something to answer; it may begin with "stop".
    Words,
}

/// Words that show attention without asking for the floor.
const BACKCHANNELS: &[&str] = &[
    "mhm", "mhmm", "mm", "mmm", "mmhmm", "hm", "hmm", "hmmm", "uh", "huh", "um", "uhhuh", "uhuh", "ah", "oh", "aha",
    "ooh", "yeah", "yep", "yup", "yes", "ok", "okay", "right", "sure", "wow", "cool", "嗯", "哦", "噢", "啊", "呃",
    "唔", "对", "好", "是", "的", "行",
];

/// Sequences that, alone, ask for silence. "please" and the assistant's manners may surround them.
const STOPS: &[&[&str]] = &[
    &["stop"],
    &["stop", "it"],
    &["stop", "talking"],
    &["stop", "speaking"],
    &["stop", "now"],
    &["stop", "stop"],
    &["be", "quiet"],
    &["quiet"],
    &["shut", "up"],
    &["enough"],
    &["thats", "enough"],
    &["停"],
    &["停", "下"],
    &["停", "止"],
    &["停", "一", "下"],
    &["别", "说", "了"],
    &["不", "要", "说", "了"],
    &["闭", "嘴"],
    &["安", "静"],
    &["够", "了"],
];

/// Classifies words heard while an answer is being thought of or spoken.
#[must_use]
pub fn overlap(text: &str) -> Overlap {
    let words = normalised(text);
    if words.is_empty() {
        return Overlap::Nothing;
    }
    if words.iter().all(|w| BACKCHANNELS.contains(&w.as_str())) {
        return Overlap::Backchannel;
    }
    let core: Vec<&str> =
        words.iter().map(String::as_str).filter(|w| !matches!(*w, "please" | "ok" | "okay" | "请" | "吧")).collect();
    if STOPS.contains(&core.as_slice()) { Overlap::Stop } else { Overlap::Words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_count() {
        for (a, b, same) in [
            ("What time is it?", "what time is it", true),
            ("What time is it", "What time was it", false),
            ("Don't stop.", "dont stop", true),
            ("你好，世界。", "你好世界", true),
            ("Set 2 timers", "set two timers", false),
            ("", "...", true),
        ] {
            assert_eq!(normalised(a) == normalised(b), same, "{a:?} {b:?}");
        }
    }

    #[test]
    fn overlapping_words_are_told_apart() {
        use Overlap::{Backchannel, Nothing, Stop, Words};
        for (text, expected) in [
            ("", Nothing),
            (" ... ", Nothing),
            ("Mhm.", Backchannel),
            ("Yeah, okay.", Backchannel),
            ("嗯。", Backchannel),
            ("Stop!", Stop),
            ("Okay, stop please.", Stop),
            ("停。", Stop),
            ("别说了", Stop),
            ("That's enough.", Stop),
            ("Stop the music.", Words),
            ("Stop, please. What is two plus two?", Words),
            ("Wait, what about Monday?", Words),
            ("Yeah, but why?", Words),
            ("停车场在哪里", Words),
        ] {
            assert_eq!(overlap(text), expected, "{text:?}");
        }
    }
}
