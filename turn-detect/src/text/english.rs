//! The end of an English transcript.

use super::{Closed, Ending, Open, TextCue, numbers};

const FILLERS: [&str; 14] = ["um", "umm", "uh", "uhh", "uhm", "er", "erm", "ehm", "emm", "hmm", "hm", "mm", "ah", "eh"];

/// Phrases with which a speaker holds the floor, at the end of what was said.
const HOLDING: [&str; 13] = [
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
    "hold on",
    "the thing is",
    "the problem is",
];

/// Words after which a clause or a noun must follow, whatever mark the recogniser sets behind them.
const CONJUNCTIONS: [&str; 23] = [
    "and", "or", "but", "because", "cause", "if", "unless", "although", "though", "while", "whereas", "whether",
    "since", "until", "than", "nor", "plus", "also", "then", "so", "when", "where", "minus",
];

/// Words that want a noun or a verb behind them under all circumstances.
const DETERMINERS: [&str; 31] = [
    "the", "a", "an", "my", "your", "his", "our", "their", "its", "every", "some", "any", "very", "really", "another",
    "i'm", "i'd", "i'll", "i've", "we're", "you're", "they're", "it's", "that's", "what's", "who", "which", "whose",
    "whom", "into", "onto",
];

/// Words that may end a question or a short answer ("where are you from?", "yes I would"), and otherwise go on.
const PREPOSITIONS: [&str; 37] = [
    "to", "of", "for", "with", "from", "at", "about", "between", "by", "as", "via", "per", "without", "through",
    "against", "during", "toward", "towards", "in", "is", "are", "was", "were", "am", "be", "have", "has", "had",
    "will", "would", "could", "should", "can", "must", "might", "may", "how",
];

/// The prepositions that do end questions: "what is this for", "what are you talking about".
const STRANDED: [&str; 7] = ["for", "with", "from", "at", "about", "in", "through"];

/// Adverbs that announce what they qualify, unless they are the whole answer.
const ANNOUNCING: [&str; 8] = ["probably", "maybe", "perhaps", "usually", "almost", "just", "actually", "basically"];

/// Words after which "that" begins a clause: "he told me that", "is it true that".
const BEFORE_THAT: [&str; 16] = [
    "said", "say", "me", "him", "her", "us", "them", "true", "think", "believe", "sure", "hope", "heard", "mean",
    "found", "movie",
];

/// Words that begin a subordinate clause, which alone is no sentence: "if it rains tomorrow".
const SUBORDINATORS: [&str; 11] =
    ["if", "when", "because", "although", "though", "while", "since", "unless", "whenever", "once", "before"];

/// Beginnings that say nothing yet.
const OPENINGS: [&str; 34] = [
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
    "maybe",
    "i think",
    "i would like to know",
    "i'd like to know",
    "in my opinion",
    "first of all",
    "for example",
    "by the way",
    "on the other hand",
    "do you know",
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
    if REPLIES.contains(&joined.as_str()) {
        return if ending == Ending::Continuing { TextCue::Undecided } else { TextCue::Finished(Closed::Reply) };
    }
    if let Some(verdict) = open_word(&words, last, ending) {
        return verdict;
    }
    let asked = ending == Ending::Question;
    let only_a_clause = SUBORDINATORS.contains(&words[0]) && !sentence.trim_end_matches(',').contains(',') && !asked;
    if OPENINGS.contains(&joined.as_str()) || (only_a_clause && words.len() <= 9 && ending != Ending::Continuing) {
        return TextCue::Unfinished(Open::Function);
    }
    match ending {
        Ending::Continuing => TextCue::Unfinished(Open::Punctuation),
        Ending::Question => TextCue::Finished(Closed::Question),
        Ending::FullStop if words.len() >= 3 => TextCue::Finished(Closed::Sentence),
        _ => TextCue::Undecided,
    }
}

/// A last word that wants something behind it. Recognisers set "." and "?" behind such words too, so the mark counts
/// only where the word may end a sentence.
fn open_word(words: &[&str], last: &str, ending: Ending) -> Option<TextCue> {
    let before = words.len().checked_sub(2).map_or("", |i| words[i]);
    let asks = matches!(words[0], "who" | "what" | "what's" | "which" | "where" | "how" | "when" | "whose");
    if CONJUNCTIONS.contains(&last) {
        // "I think so", "back then": a mark behind several words lets these stand. "When?" alone is a question.
        let may_end = matches!(last, "so" | "then" | "also" | "though" | "when" | "where");
        let stands = may_end && (ending == Ending::FullStop || words.len() == 1);
        return Some(if stands { TextCue::Undecided } else { TextCue::Unfinished(Open::Conjunction) });
    }
    if DETERMINERS.contains(&last) && words.len() > 1 {
        return Some(TextCue::Unfinished(Open::Function));
    }
    let announces = ANNOUNCING.contains(&last) && words.len() >= 3;
    let clause = last == "that" && BEFORE_THAT.contains(&before) && words.len() >= 3;
    let sum = last == "times" && before.chars().all(|c| c.is_ascii_digit());
    if announces || clause || sum {
        return Some(TextCue::Unfinished(Open::Function));
    }
    if !PREPOSITIONS.contains(&last) {
        return None;
    }
    // "What is this for", "who are you talking to"; "yes I would"; "I know where it is"; "come in".
    let stranded = asks && (STRANDED.contains(&last) || (last == "to" && before.ends_with("ing")));
    let answers = words.len() <= 3 && matches!(words[0], "yes" | "no" | "i" | "it" | "we" | "they");
    let embedded = matches!(last, "is" | "are" | "was" | "were") && words.len() >= 4 && {
        words[1..words.len() - 2]
            .iter()
            .any(|w| matches!(*w, "where" | "what" | "who" | "how" | "when" | "than" | "as"))
    };
    // "What is water made of?", "how many legs does a spider have?"
    let question = asks && ending == Ending::Question && matches!(last, "of" | "have" | "has" | "had" | "be" | "was");
    let particle = last == "in" && words.len() <= 3;
    let verb = answers && !matches!(last, "of" | "with" | "from" | "at" | "for");
    Some(if stranded && ending == Ending::Question {
        TextCue::Finished(Closed::Question)
    } else if stranded || verb || embedded || particle || question {
        TextCue::Undecided
    } else {
        TextCue::Unfinished(Open::Function)
    })
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
