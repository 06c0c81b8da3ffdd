//! What the words so far say about the end of the turn, in English and Mandarin.
//!
//! Recognisers set full stops where a speaker merely pauses, so a full stop says little; a word that cannot end a
//! sentence says much, whatever stands behind it.

mod english;
mod mandarin;
mod numbers;

/// How finished a transcript reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextCue {
    /// More is to come.
    Unfinished(Open),
    /// The words do not tell.
    Undecided,
    /// Nothing needs to follow.
    Finished(Closed),
}

/// Why more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Nothing was recognised yet.
    Empty,
    /// A comma, dash, colon or ellipsis ends it.
    Punctuation,
    /// "um", "嗯", "那个": the speaker holds the floor.
    Filler,
    /// "and", "because", "然后", "因为": a clause must follow.
    Conjunction,
    /// "the", "to", "我想", "把": a noun or verb must follow.
    Function,
    /// A number that is being dictated and is too short.
    Digits,
    /// An address or a word that is being spelled.
    Spelling,
}

/// Why nothing needs to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// A question or exclamation mark, "吗", "呢".
    Question,
    /// A full stop behind several words.
    Sentence,
    /// "yes", "thank you", "stop", "好的": complete by itself.
    Reply,
    /// A number or address with all its parts.
    Dictation,
}

/// Reads the end of `text`. Only the last 200 characters count, so the cost does not grow with the turn.
#[must_use]
pub fn cue(text: &str) -> TextCue {
    let text = text.trim_end();
    let from = text.char_indices().rev().nth(199).map_or(0, |(i, _)| i);
    let text = &text[from..];
    if !text.contains(char::is_alphanumeric) {
        return TextCue::Unfinished(Open::Empty);
    }
    let ending = Ending::of(text);
    // Digits belong to the language in front of them.
    if text.chars().rev().find(|c| c.is_alphabetic()).is_some_and(is_han) {
        mandarin::cue(text, ending)
    } else {
        english::cue(text, ending)
    }
}

/// What stands behind the last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Nothing,
    FullStop,
    Question,
    /// Comma, colon, dash or ellipsis.
    Continuing,
}

impl Ending {
    fn of(text: &str) -> Self {
        let tail: String = text.chars().rev().take_while(|c| !c.is_alphanumeric()).collect();
        if tail.contains("..") || tail.contains(['…', ',', '，', '、', ':', '：', ';', '；', '-', '–', '—']) {
            Self::Continuing
        } else if tail.contains(['?', '？', '!', '！']) {
            Self::Question
        } else if tail.contains(['.', '。']) {
            Self::FullStop
        } else {
            Self::Nothing
        }
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests;
