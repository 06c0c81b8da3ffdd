//! How tones change next to each other: 不, 一, and low tones in a row.

use super::syllable::Syllable;

/// Changes the tones of a stretch that is said without a pause.
pub(super) fn apply(syllables: &mut [Syllable]) {
    bu(syllables);
    yi(syllables);
    low_tones(syllables);
}

/// 不 rises before a falling tone, and is light inside 看不看.
fn bu(syllables: &mut [Syllable]) {
    for i in 0..syllables.len() {
        if syllables[i].character != '不' {
            continue;
        }
        let before = i.checked_sub(1).map(|b| syllables[b].character);
        let after = syllables.get(i + 1).map(|s| (s.character, s.tone));
        syllables[i].tone = match after {
            Some((c, _)) if before == Some(c) => 5,
            Some((_, 4)) => 2,
            _ => 4,
        };
    }
}

/// 一 rises before a falling tone and falls before the others, but stays high where it counts or is the last.
fn yi(syllables: &mut [Syllable]) {
    let digit = |c: char| "零〇一二三四五六七八九十幺点".contains(c);
    for i in 0..syllables.len() {
        if syllables[i].character != '一' {
            continue;
        }
        let before = i.checked_sub(1).map(|b| syllables[b].character);
        let after = syllables.get(i + 1).map(|s| (s.character, s.tone));
        let counts =
            before.is_some_and(|c| digit(c) || matches!(c, '第' | '周' | '期' | '初' | '百' | '千' | '万' | '之'));
        syllables[i].tone = match after {
            _ if counts => 1,
            None => 1,
            Some((c, _)) if digit(c) || matches!(c, '月' | '号' | '楼' | '级') => 1,
            Some((c, _)) if before == Some(c) => 5,
            Some((_, 4)) => 2,
            // 一个: the measure word's own tone is falling.
            Some(('个', _)) => 2,
            Some(_) => 4,
        };
    }
}

/// Of two low tones the first rises. In a longer row each word is settled first, then the seams between words.
fn low_tones(syllables: &mut [Syllable]) {
    let mut start = 0;
    while start < syllables.len() {
        let end = (start + 1..syllables.len()).find(|i| syllables[*i].begins_word).unwrap_or(syllables.len());
        match end - start {
            // 展览馆 is 2-2-3, 小老虎 is 3-2-3: without a parse, the last two settle first.
            0 | 1 => {}
            _ => {
                for i in (start..end - 1).rev() {
                    if syllables[i].tone == 3 && syllables[i + 1].tone == 3 {
                        syllables[i].tone = 2;
                    }
                }
            }
        }
        start = end;
    }
    for i in 1..syllables.len() {
        if syllables[i].begins_word && syllables[i].tone == 3 && syllables[i - 1].tone == 3 {
            syllables[i - 1].tone = 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tones of a row of "character tone" pairs; a space begins a word.
    fn check(written: &str, wanted: &str) {
        let mut syllables = Vec::new();
        for word in written.split(' ') {
            let mut chars = word.chars();
            let mut begins_word = true;
            while let (Some(character), Some(tone)) = (chars.next(), chars.next()) {
                let tone = tone.to_digit(10).unwrap() as u8;
                syllables.push(Syllable { character, pinyin: "a".into(), tone, begins_word });
                begins_word = false;
            }
        }
        apply(&mut syllables);
        assert_eq!(syllables.iter().map(|s| s.tone.to_string()).collect::<String>(), wanted, "{written}");
    }

    #[test]
    fn tones_change_next_to_each_other() {
        for (written, wanted) in [
            ("你3好3", "23"),
            ("我3 很3 好3", "223"),
            ("不4 是4", "24"),
            ("不4 好3", "43"),
            ("好3不4好3", "353"),
            ("一1 个4", "24"),
            ("一1天1", "41"),
            ("一1 年2", "42"),
            ("一1 起3", "43"),
            ("一1定4", "24"),
            ("第4一1", "41"),
            ("十2一1", "21"),
            ("一1九3九3零2", "1232"),
            ("一1月4", "14"),
            ("看4一1看4", "454"),
            ("星1期1一1", "111"),
        ] {
            check(written, wanted);
        }
    }
}
