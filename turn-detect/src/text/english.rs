//! The end of an English transcript.

use super::{Closed, Ending, Open, TextCue, numbers};

const FILLERS: [&str; 14] = ["um", "umm", "uh", "uhh", "uhm", "er", "erm", "ehm", "emm", "hmm", "hm", "mm", "ah", "eh"];

/// Phrases with which a speaker holds the floor.
const HOLDING: [&str; 10] = [
    "you know",
    "i mean",
    "let me see",
    "let me think",
    "let's see",
    "how do i say",
    "kind of",
    "sort of",
    "such as",
    "wait",
];

const CONJUNCTIONS: [&str; 22] = [
    "and", "or", "but", "because", "cause", "if", "unless", "although", "though", "while", "whereas", "whether",
    "since", "until", "than", "nor", "plus", "also", "then", "so", "when", "where",
];

/// Words that want a noun or a verb behind them under all circumstances.
const DETERMINERS: [&str; 24] = [
    "the", "a", "an", "my", "your", "his", "our", "their", "its", "every", "some", "any", "very", "really", "another",
    "i'm", "i'd", "i'll", "i've", "we're", "you're", "they're", "it's", "that's",
];

/// Words that may end a question or a short answer ("where are you from?", "I'd love to"), and otherwise go on.
const PREPOSITIONS: [&str; 34] = [
    "to", "of", "for", "with", "from", "at", "into", "onto", "about", "between", "by", "as", "via", "per", "without",
    "through", "against", "during", "toward", "towards", "is", "are", "was", "were", "am", "be", "have", "has", "had",
    "will", "would", "could", "should", "can",
];

/// Beginnings of a request that say nothing yet.
const OPENINGS: [&str; 26] = [
    "can you",
    "could you",
    "would you",
    "will you",
    "can i",
    "could i",
    "may i",
    "i want",
    "i want to",
    "i need",
    "i need to",
    "i would like",
    "i'd like",
    "i would like to",
    "i'd like to",
    "please",
    "tell me about",
    "what about",
    "how about",
    "how do i",
    "how can i",
    "what's the",
    "what is the",
    "i was wondering",
    "the thing is",
    "maybe",
];

/// Answers that are complete by themselves.
const REPLIES: [&str; 40] = [
    "yes",
    "yeah",
    "yep",
    "yup",
    "no",
    "nope",
    "nah",
    "ok",
    "okay",
    "sure",
    "right",
    "correct",
    "exactly",
    "thanks",
    "thank you",
    "thank you very much",
    "thanks a lot",
    "stop",
    "cancel",
    "goodbye",
    "bye",
    "hello",
    "hi",
    "hey",
    "never mind",
    "that's all",
    "that's it",
    "that is all",
    "not really",
    "of course",
    "no thanks",
    "no thank you",
    "yes please",
    "go ahead",
    "go on",
    "continue",
    "repeat that",
    "say that again",
    "good morning",
    "good night",
];

pub(super) fn cue(text: &str, ending: Ending) -> TextCue {
    // Words of the last sentence only: "Yes. And then" ends in "and then".
    let lower = text.to_lowercase().replace('’', "'");
    let sentence = last_sentence(&lower);
    let words: Vec<&str> = sentence
        .split_whitespace()
        .map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|w| !w.is_empty())
        .collect();
    let Some(&last) = words.last() else {
        return TextCue::Unfinished(Open::Empty);
    };
    let joined = words.join(" ");
    let ends_with =
        |phrase: &str| joined.strip_suffix(phrase).is_some_and(|before| before.is_empty() || before.ends_with(' '));

    if FILLERS.contains(&last) || HOLDING.iter().any(|phrase| ends_with(phrase)) {
        return TextCue::Unfinished(Open::Filler);
    }
    if let Some(verdict) = numbers::english(&words) {
        return verdict;
    }
    if ending == Ending::Question {
        return TextCue::Finished(Closed::Question);
    }
    if CONJUNCTIONS.contains(&last) {
        // "I think so", "back then", "by then": a full stop behind several words lets these stand.
        let may_end =
            matches!(last, "so" | "then" | "also" | "though" | "when" | "where") && ending == Ending::FullStop;
        return if may_end { TextCue::Undecided } else { TextCue::Unfinished(Open::Conjunction) };
    }
    if DETERMINERS.contains(&last) {
        return TextCue::Unfinished(Open::Function);
    }
    if REPLIES.contains(&joined.as_str()) {
        return if ending == Ending::Continuing { TextCue::Undecided } else { TextCue::Finished(Closed::Reply) };
    }
    if OPENINGS.contains(&joined.as_str()) {
        return TextCue::Unfinished(Open::Function);
    }
    if PREPOSITIONS.contains(&last) {
        // "What is this for", "yes I am": a question word in front, or a short answer, may leave it standing.
        let asks = matches!(words[0], "who" | "what" | "which" | "where" | "how" | "when" | "whose");
        let answers = words.len() <= 3 && matches!(words[0], "yes" | "no" | "i" | "it" | "we" | "they");
        return if asks || (answers && !matches!(last, "of" | "with" | "from" | "at")) {
            TextCue::Undecided
        } else {
            TextCue::Unfinished(Open::Function)
        };
    }
    match ending {
        Ending::Continuing => TextCue::Unfinished(Open::Punctuation),
        Ending::FullStop if words.len() >= 3 => TextCue::Finished(Closed::Sentence),
        _ => TextCue::Undecided,
    }
}

/// What stands behind the last sentence end that has words behind it.
fn last_sentence(text: &str) -> &str {
    let body = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    // A full stop within a word, as in "3.5" or "example.com", ends nothing.
    let cut = body
        .char_indices()
        .zip(body.chars().skip(1))
        .filter(|&((_, c), next)| matches!(c, '.' | '?' | '!' | ';') && next.is_whitespace())
        .map(|((i, _), _)| i + 1)
        .last();
    &text[cut.unwrap_or(0)..]
}
