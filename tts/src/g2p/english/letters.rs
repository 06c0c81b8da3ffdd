//! Letter-to-sound rules for words that no dictionary has, after the manner of Elovitz and others (NRL report 7948,
//! 1976): for each letter the first rule whose contexts fit. Stress and vowel reduction follow.

use std::sync::LazyLock;

struct Rule {
    left: &'static str,
    letters: &'static str,
    right: &'static str,
    sounds: &'static str,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rules = include_str!("../../../data/en/letters.tsv");
    rules
        .lines()
        .filter(|line| !line.starts_with("# ") && !line.is_empty())
        .filter_map(|line| {
            let mut cells = line.split('\t');
            Some(Rule {
                left: cells.next()?,
                letters: cells.next()?,
                right: cells.next()?,
                sounds: cells.next().unwrap_or(""),
            })
        })
        .filter(|rule| !rule.letters.is_empty())
        .collect()
});

const SUFFIXES: &[&str] = &["e", "es", "ed", "er", "ers", "ing", "ely", "ery", "or"];
/// Vowel sounds, one letter each in Misaki's symbols.
const VOWELS: &str = "AIOWYaeiouɑæɛɪɔʊʌəɜᵊ";

/// The sounds of a lower-case ASCII word. Its length is the caller's affair; the work is linear in it.
pub(super) fn to_sound(word: &str) -> String {
    let word: Vec<u8> = word.bytes().filter(u8::is_ascii_lowercase).collect();
    let mut sounds = Vec::new();
    let mut at = 0;
    while at < word.len() {
        let rule = RULES.iter().find(|rule| {
            word[at..].starts_with(rule.letters.as_bytes())
                && fits_left(&word[..at], rule.left)
                && fits_right(&word[at + rule.letters.len()..], rule.right)
        });
        match rule {
            Some(rule) => {
                sounds.extend(rule.sounds.chars());
                at += rule.letters.len();
            }
            None => at += 1,
        }
    }
    stress(sounds, &word)
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Matches a pattern backwards against the letters before.
fn fits_left(before: &[u8], pattern: &str) -> bool {
    let mut end = before.len();
    for p in pattern.bytes().rev() {
        match p {
            b' ' if end == 0 => {}
            b' ' => return false,
            b'#' => {
                let vowels = before[..end].iter().rev().take_while(|c| is_vowel(**c)).count();
                if vowels == 0 {
                    return false;
                }
                end -= vowels;
            }
            b':' => end -= before[..end].iter().rev().take_while(|c| !is_vowel(**c)).count(),
            b'^' if end > 0 && !is_vowel(before[end - 1]) => end -= 1,
            b'+' if end > 0 && matches!(before[end - 1], b'e' | b'i' | b'y') => end -= 1,
            letter if end > 0 && before[end - 1] == letter => end -= 1,
            _ => return false,
        }
    }
    true
}

fn fits_right(after: &[u8], pattern: &str) -> bool {
    let mut at = 0;
    for p in pattern.bytes() {
        let next = after.get(at).copied();
        match (p, next) {
            (b' ', None) => {}
            (b' ', Some(_)) => return false,
            (b'%', _) => {
                if !SUFFIXES.iter().any(|s| &after[at..] == s.as_bytes()) {
                    return false;
                }
                at = after.len();
            }
            (b':', _) => at += after[at..].iter().take_while(|c| !is_vowel(**c)).count(),
            (b'#', Some(c)) if is_vowel(c) => at += after[at..].iter().take_while(|c| is_vowel(**c)).count(),
            (b'^', Some(c)) if !is_vowel(c) => at += 1,
            (b'+', Some(b'e' | b'i' | b'y')) => at += 1,
            (letter, Some(c)) if c == letter => at += 1,
            _ => return false,
        }
    }
    true
}

/// Puts the main stress where English mostly has it, and weakens vowels that are far from it.
fn stress(sounds: Vec<char>, word: &[u8]) -> String {
    let vowels: Vec<usize> = (0..sounds.len()).filter(|i| VOWELS.contains(sounds[*i])).collect();
    let full: Vec<usize> = vowels.iter().copied().filter(|i| !matches!(sounds[*i], 'ə' | 'ᵊ')).collect();
    let before_suffix =
        [&b"ic"[..], b"ion", b"ity", b"ial", b"ian", b"ious", b"ics", b"ical"].iter().any(|s| word.ends_with(s));
    let stressed = match vowels.len() {
        0 => None,
        1 | 2 => vowels.first().copied(),
        n if before_suffix => vowels.get(n - 2).copied(),
        n => vowels.get(n - 3).copied(),
    };
    // A schwa is never stressed.
    let stressed = match stressed {
        Some(at) if !full.contains(&at) => {
            full.iter().copied().find(|f| *f > at).or(full.first().copied()).or(Some(at))
        }
        other => other,
    };
    let mut out = String::new();
    for (i, sound) in sounds.iter().copied().enumerate() {
        if Some(i) == stressed {
            out.push('ˈ');
            out.push(if matches!(sound, 'ə' | 'ᵊ') { 'ʌ' } else { sound });
        } else if vowels.first() != Some(&i) && vowels.len() > 2 && matches!(sound, 'æ' | 'ʌ') {
            out.push('ə');
        } else {
            out.push(sound);
        }
    }
    out
}

/// What a plural or possessive s sounds like after these sounds.
pub(super) fn plural_ending(said: &str) -> &'static str {
    match said.chars().next_back() {
        Some('s' | 'z' | 'ʃ' | 'ʒ' | 'ʧ' | 'ʤ') => "ᵻz",
        Some('p' | 't' | 'k' | 'f' | 'θ') => "s",
        _ => "z",
    }
}
