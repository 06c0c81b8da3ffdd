//! A syllable of Mandarin, and its symbols in the Kokoro voices' alphabet.
//!
//! The alphabet is IPA with single letters for affricates (ʦ ʨ ꭧ), ɨ for the vowels of "zi" and "zhi", and an arrow after
//! the vowel for the tone: → high, ↗ rising, ↓ low, ↘ falling, none for the neutral tone. Facts from Misaki's zh.py.

/// One character and how it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Syllable {
    pub(super) character: char,
    /// Pinyin without tone, ü written so.
    pub(super) pinyin: String,
    /// 1 to 4; 5 is the neutral tone.
    pub(super) tone: u8,
    pub(super) begins_word: bool,
}

const INITIALS: [(&str, &str); 21] = [
    ("zh", "ꭧ"),
    ("ch", "ꭧʰ"),
    ("sh", "ʂ"),
    ("b", "p"),
    ("p", "pʰ"),
    ("m", "m"),
    ("f", "f"),
    ("d", "t"),
    ("t", "tʰ"),
    ("n", "n"),
    ("l", "l"),
    ("g", "k"),
    ("k", "kʰ"),
    ("h", "x"),
    ("j", "ʨ"),
    ("q", "ʨʰ"),
    ("x", "ɕ"),
    ("r", "ɻ"),
    ("z", "ʦ"),
    ("c", "ʦʰ"),
    ("s", "s"),
];

/// Finals as they are without an initial before them: what comes before the tone, and what comes after it.
const FINALS: [(&str, &str, &str); 37] = [
    ("a", "a", ""),
    ("ai", "ai", ""),
    ("an", "a", "n"),
    ("ang", "a", "ŋ"),
    ("ao", "au", ""),
    ("e", "ɤ", ""),
    ("ei", "ei", ""),
    ("en", "ə", "n"),
    ("eng", "ə", "ŋ"),
    ("er", "ɚ", ""),
    ("i", "i", ""),
    ("ia", "ja", ""),
    ("ian", "jɛ", "n"),
    ("iang", "ja", "ŋ"),
    ("iao", "jau", ""),
    ("ie", "je", ""),
    ("in", "i", "n"),
    ("iou", "jou", ""),
    ("ing", "i", "ŋ"),
    ("iong", "jʊ", "ŋ"),
    ("ong", "ʊ", "ŋ"),
    ("ou", "ou", ""),
    ("u", "u", ""),
    ("uei", "wei", ""),
    ("ua", "wa", ""),
    ("uai", "wai", ""),
    ("uan", "wa", "n"),
    ("uen", "wə", "n"),
    ("uang", "wa", "ŋ"),
    ("ueng", "wə", "ŋ"),
    ("uo", "wo", ""),
    ("ü", "y", ""),
    ("üe", "ɥe", ""),
    ("üan", "ɥɛ", "n"),
    ("ün", "y", "n"),
    ("o", "wo", ""),
    ("ê", "ɛ", ""),
];

impl Syllable {
    /// The syllable's symbols; empty for a syllable that is none.
    pub(super) fn symbols(&self) -> String {
        let tone = match self.tone {
            1 => "→",
            2 => "↗",
            3 => "↓",
            4 => "↘",
            _ => "",
        };
        if self.pinyin == "o" {
            return format!("ɔ{tone}");
        }
        let (initial, final_) = split(&self.pinyin);
        let start = INITIALS.iter().find(|(p, _)| *p == initial).map_or("", |(_, symbols)| symbols);
        // The i of "zi" and "zhi" is no i.
        if final_ == "i" && matches!(initial, "zh" | "ch" | "sh" | "r" | "z" | "c" | "s") {
            return format!("{start}ɨ{tone}");
        }
        match FINALS.iter().find(|(p, ..)| *p == final_) {
            Some((_, vowel, coda)) => format!("{start}{vowel}{tone}{coda}"),
            None if final_.is_empty() => start.to_owned(),
            None => String::new(),
        }
    }
}

/// Initial and full final of a spelled syllable: "you" → ("", "iou"), "jun" → ("j", "ün"), "gui" → ("g", "uei").
fn split(pinyin: &str) -> (&str, String) {
    let initial = INITIALS.iter().map(|(p, _)| *p).find(|p| pinyin.starts_with(p)).unwrap_or("");
    let rest = &pinyin[initial.len()..];
    if initial.is_empty() {
        let full = match rest {
            _ if rest.starts_with("yu") => rest.replacen("yu", "ü", 1),
            _ if rest.starts_with("yi") => rest.replacen("yi", "i", 1),
            "you" => "iou".into(),
            _ if rest.starts_with('y') => rest.replacen('y', "i", 1),
            _ if rest.starts_with("wu") => rest.replacen("wu", "u", 1),
            "wei" => "uei".into(),
            "wen" => "uen".into(),
            _ if rest.starts_with('w') => rest.replacen('w', "u", 1),
            _ => rest.to_owned(),
        };
        return ("", full);
    }
    let full = match rest {
        _ if matches!(initial, "j" | "q" | "x") && rest.starts_with('u') => rest.replacen('u', "ü", 1),
        "iu" => "iou".into(),
        "ui" => "uei".into(),
        "un" => "uen".into(),
        _ => rest.replace('v', "ü"),
    };
    (initial, full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syllables_become_symbols() {
        for (pinyin, tone, symbols) in [
            ("ni", 3, "ni↓"),
            ("hao", 3, "xau↓"),
            ("zhong", 1, "ꭧʊ→ŋ"),
            ("guo", 2, "kwo↗"),
            ("shi", 4, "ʂɨ↘"),
            ("zi", 5, "ʦɨ"),
            ("jun", 1, "ʨy→n"),
            ("xue", 2, "ɕɥe↗"),
            ("lü", 4, "ly↘"),
            ("yuan", 2, "ɥɛ↗n"),
            ("you", 3, "jou↓"),
            ("wo", 3, "wo↓"),
            ("wen", 4, "wə↘n"),
            ("er", 4, "ɚ↘"),
            ("dui", 4, "twei↘"),
            ("yong", 4, "jʊ↘ŋ"),
            ("ying", 1, "i→ŋ"),
            ("bo", 1, "pwo→"),
            ("ju", 2, "ʨy↗"),
        ] {
            let syllable = Syllable { character: '字', pinyin: pinyin.into(), tone, begins_word: true };
            assert_eq!(syllable.symbols(), symbols, "{pinyin}");
        }
    }
}
