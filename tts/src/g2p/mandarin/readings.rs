//! Which reading a character has: by the word it stands in, by its neighbours, else its most frequent one.

use std::collections::HashMap;

use pinyin::ToPinyin;

use super::syllable::Syllable;

/// Words whose characters have other readings than alone, and characters whose usual reading is another than the first.
pub(super) struct Readings {
    words: HashMap<&'static str, Vec<(&'static str, u8)>>,
    longest: usize,
}

/// Light endings: after another character they have the neutral tone.
const LIGHT: [(char, &str); 12] = [
    ('的', "de"),
    ('了', "le"),
    ('着', "zhe"),
    ('吗', "ma"),
    ('呢', "ne"),
    ('吧', "ba"),
    ('们', "men"),
    ('么', "me"),
    ('嘛', "ma"),
    ('啦', "la"),
    ('呀', "ya"),
    ('啊', "a"),
];

impl Readings {
    pub(super) fn load() -> Readings {
        let mut words = HashMap::new();
        for line in include_str!("../../../data/zh/readings.tsv").lines().filter(|l| !l.starts_with('#')) {
            if let Some((word, reading)) = line.split_once('\t') {
                let syllables: Vec<_> = reading.split(' ').filter_map(numbered).collect();
                if syllables.len() == word.chars().count() {
                    words.insert(word, syllables);
                }
            }
        }
        let longest = words.keys().map(|w| w.chars().count()).max().unwrap_or(1);
        Readings { words, longest }
    }

    /// The syllables of words that follow each other.
    pub(super) fn read(&self, words: &[&str]) -> Vec<Syllable> {
        let characters: Vec<(char, bool)> =
            words.iter().flat_map(|w| w.chars().enumerate().map(|(i, c)| (c, i == 0))).collect();
        let mut syllables: Vec<Syllable> = Vec::with_capacity(characters.len());
        let mut at = 0;
        while at < characters.len() {
            if let Some(found) = self.longest_word(&characters[at..]) {
                for (pinyin, tone) in found {
                    let (character, begins_word) = characters[at];
                    syllables.push(Syllable { character, pinyin: (*pinyin).to_owned(), tone: *tone, begins_word });
                    at += 1;
                }
                continue;
            }
            let (character, begins_word) = characters[at];
            let (pinyin, tone) = self.character(&characters, at);
            syllables.push(Syllable { character, pinyin, tone, begins_word });
            at += 1;
        }
        syllables
    }

    /// The longest known word of two or more characters that stands here. It begins where a word does or lies within one.
    fn longest_word(&self, rest: &[(char, bool)]) -> Option<&[(&'static str, u8)]> {
        (2..=self.longest.min(rest.len())).rev().find_map(|length| {
            let inside = rest[1..length].iter().all(|(_, begins)| !begins);
            if !rest[0].1 && !inside {
                return None;
            }
            let word: String = rest[..length].iter().map(|(c, _)| c).collect();
            self.words.get(word.as_str()).map(Vec::as_slice)
        })
    }

    fn character(&self, characters: &[(char, bool)], at: usize) -> (String, u8) {
        let (character, begins_word) = characters[at];
        let before = at.checked_sub(1).map(|b| characters[b].0);
        let after = characters.get(at + 1).map(|c| c.0);
        let ends_word = characters.get(at + 1).is_none_or(|c| c.1);
        let said = |pinyin: &str, tone| (pinyin.to_owned(), tone);
        match character {
            '了' if matches!(before, Some('不' | '得')) => return said("liao", 3),
            '得' if begins_word && ends_word => {
                let must = before.is_none_or(|c| "我你他她它们就还也都总可必".contains(c)) && after.is_some();
                return if must { said("dei", 3) } else { said("de", 5) };
            }
            '地' if begins_word
                && ends_word
                && before.is_some()
                && after.is_some()
                && !matches!(before, Some('在' | '各' | '本' | '当' | '的')) =>
            {
                return said("de", 5);
            }
            '还' if matches!(after, Some('钱' | '款' | '债' | '书' | '清')) => return said("huan", 2),
            '只' if before.is_some_and(|c| "一二三四五六七八九十两几百千万每这那".contains(c)) => {
                return said("zhi", 1);
            }
            '行' if before.is_some_and(|c| "一二三四五六七八九十两几每这那".contains(c)) && begins_word =>
            {
                return said("hang", 2);
            }
            '为' if begins_word && ends_word && after.is_some_and(|c| "我你您他她它谁人大什此了".contains(c)) =>
            {
                return said("wei", 4);
            }
            '长' if after.is_some_and(|c| "大高胖成出".contains(c)) => return said("zhang", 3),
            '种' if after.is_some_and(|c| "地菜树花田植".contains(c)) => return said("zhong", 4),
            '子' if !begins_word && at > 0 => return said("zi", 5),
            '头' if !begins_word
                && ends_word
                && before.is_some_and(|c| "石木馒枕舌骨锄码念苦甜里外上下前后".contains(c)) =>
            {
                return said("tou", 5);
            }
            // The second of a doubled kinship name or verb is light: 妈妈, 看看.
            _ if !begins_word
                && before == Some(character)
                && ends_word
                && "妈爸哥姐弟妹爷奶公婆叔伯舅姑宝看说想走听试问等坐".contains(character) =>
            {
                let (pinyin, _) = self.first_reading(character);
                return (pinyin, 5);
            }
            _ => {}
        }
        if let Some((_, pinyin)) = LIGHT.iter().find(|(c, _)| *c == character) {
            return said(pinyin, 5);
        }
        // 花儿, 这儿: the ending colours the vowel before it.
        if character == '儿' && !begins_word && ends_word && at > 0 {
            return said("er", 5);
        }
        self.first_reading(character)
    }

    fn first_reading(&self, character: char) -> (String, u8) {
        let mut buffer = [0; 4];
        if let Some([(pinyin, tone)]) = self.words.get(&*character.encode_utf8(&mut buffer)).map(Vec::as_slice) {
            return ((*pinyin).to_owned(), *tone);
        }
        let Some(pinyin) = character.to_pinyin() else {
            tracing::debug!("left out a Chinese character without a known reading");
            return (String::new(), 5);
        };
        match numbered(pinyin.with_tone_num_end()) {
            Some((plain, tone)) => (plain.to_owned(), tone),
            None => (pinyin.plain().to_owned(), 5),
        }
    }
}

/// "zhong1" → ("zhong", 1).
fn numbered(syllable: &str) -> Option<(&str, u8)> {
    let tone = syllable.chars().next_back()?.to_digit(10)?;
    (1..=5).contains(&tone).then(|| (&syllable[..syllable.len() - 1], tone as u8))
}
