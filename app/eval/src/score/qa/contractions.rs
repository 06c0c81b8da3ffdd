//! English contractions spelled out, as the `contractions` package 0.1.73 does before PEDANTS sees a text.
//!
//! The table is made from English grammar: which endings a word takes and what they stand for. Forms with the
//! apostrophe left out ("dont") are spelled out too, except where that is another word ("were", "its", "ill").

use std::collections::HashMap;
use std::sync::LazyLock;

/// Words and what each takes: s = is, l = will, d = would, r = are, v = have, D = did, m = am.
const TAKES: &[(&str, &str)] = &[
    ("i", "mldv"),
    ("you", "rldv"),
    ("he", "sldv"),
    ("she", "sld"),
    ("it", "sld"),
    ("we", "rldv"),
    ("they", "rldv"),
    ("that", "rsld"),
    ("this", "sld"),
    ("these", "r"),
    ("those", "r"),
    ("there", "rsld"),
    ("here", "s"),
    ("what", "rslDv"),
    ("who", "rsldv"),
    ("when", "sv"),
    ("where", "rsDv"),
    ("why", "rsDv"),
    ("how", "rslD"),
    ("which", "s"),
    ("everyone", "s"),
    ("somebody", "s"),
    ("someone", "s"),
    ("something", "s"),
    ("so", "sv"),
    ("to", "v"),
    ("will", "v"),
    ("could", "v"),
    ("might", "v"),
    ("must", "v"),
    ("should", "v"),
    ("would", "v"),
    ("may", "v"),
    ("need", "v"),
];

const NOT: &[&str] = &[
    "are", "could", "dare", "did", "do", "does", "had", "has", "have", "is", "may", "might", "must", "need", "ought",
    "should", "was", "were", "would",
];

const OTHER: &[(&str, &str)] = &[
    ("can't", "cannot"),
    ("won't", "will not"),
    ("shan't", "shall not"),
    ("ain't", "are not"),
    ("let's", "let us"),
    ("'tis", "it is"),
    ("'twas", "it was"),
    ("'cause", "because"),
    ("'em", "them"),
    ("o'clock", "of the clock"),
    ("o'", "of"),
    ("e'er", "ever"),
    ("ne'er", "never"),
    ("o'er", "over"),
    ("ma'am", "madam"),
    ("y'all", "you all"),
    ("gimme", "give me"),
    ("gonna", "going to"),
    ("gotta", "got to"),
    ("wanna", "want to"),
    ("kinda", "kind of"),
    ("lemme", "let me"),
    ("dunno", "do not know"),
    ("whatcha", "what are you"),
    ("ol'", "old"),
    ("thats", "that is"),
    ("whats", "what is"),
    ("u", "you"),
    ("ur", "you are"),
    ("ppl", "people"),
    ("thx", "thanks"),
    ("tho", "though"),
    ("idk", "I do not know"),
    ("btw", "by the way"),
    ("b4", "before"),
    ("asap", "as soon as possible"),
    ("msg", "message"),
    ("rn", "right now"),
    ("tbh", "to be honest"),
    ("jan.", "january"),
    ("feb.", "february"),
    ("mar.", "march"),
    ("apr.", "april"),
    ("jun.", "june"),
    ("jul.", "july"),
    ("aug.", "august"),
    ("sep.", "september"),
    ("oct.", "october"),
    ("nov.", "november"),
    ("dec.", "december"),
];

/// Forms that are other words without their apostrophe.
const KEEP: &[&str] = &["he's", "he'll", "we'll", "we'd", "it's", "i'd", "we're", "i'll", "who're", "o'"];

static TABLE: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    for &(word, endings) in TAKES {
        for ending in endings.chars() {
            let (short, long) = match ending {
                's' => ("s", "is"),
                'l' => ("ll", "will"),
                'd' => ("d", "would"),
                'r' => ("re", "are"),
                'v' => ("ve", "have"),
                'm' => ("m", "am"),
                _ => ("d", "did"),
            };
            let word_out = if word == "i" { "I" } else { word };
            add(&mut table, &format!("{word}'{short}"), &format!("{word_out} {long}"));
            if matches!(ending, 'l' | 'd') {
                add(&mut table, &format!("{word}'{short}'ve"), &format!("{word_out} {long} have"));
            }
        }
    }
    for &word in NOT {
        add(&mut table, &format!("{word}n't"), &format!("{word} not"));
        add(&mut table, &format!("{word}n't've"), &format!("{word} not have"));
    }
    for &(short, long) in OTHER {
        add(&mut table, short, long);
    }
    table
});

fn add(table: &mut HashMap<String, String>, short: &str, long: &str) {
    table.insert(short.to_owned(), long.to_owned());
    if short.contains('\'') && !KEEP.contains(&short) {
        table.insert(short.replace('\'', ""), long.to_owned());
    }
}

/// `text` with contractions spelled out; a spelled-out one takes the case of its first letter.
pub(super) fn spell_out(text: &str) -> String {
    let in_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '’';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !in_word(first) {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let plain = word.to_lowercase().replace('’', "'");
        let dotted = after.starts_with('.').then(|| TABLE.get(&format!("{plain}."))).flatten();
        match dotted.or_else(|| TABLE.get(&plain)) {
            Some(long) if first.is_uppercase() => {
                let mut letters = long.chars();
                out.extend(letters.next().map(|c| c.to_ascii_uppercase()));
                out.push_str(letters.as_str());
            }
            Some(long) => out.push_str(long),
            None => out.push_str(word),
        }
        rest = if dotted.is_some() { &after[1..] } else { after };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_are_spelled_out() {
        for (text, expected) in [
            ("I don't know", "I do not know"),
            ("i dont know whats up", "i do not know what is up"),
            ("It's here; its tail isn't", "It is here; its tail is not"),
            ("we were ill", "we were ill"),
            ("She’ll've gone by Oct. 5", "She will have gone by October 5"),
            ("Canada's capital", "Canada's capital"),
            ("你好 don't", "你好 do not"),
            ("", ""),
        ] {
            assert_eq!(spell_out(text), expected, "{text}");
        }
    }
}
