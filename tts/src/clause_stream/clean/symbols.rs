//! Which characters are pictures, and which are Chinese.

/// Emoji, dingbats, arrows in boxes, flags, and what joins or colours them.
pub(super) fn is_emoji(ch: char) -> bool {
    matches!(ch,
        '\u{200D}' | '\u{20E3}' | '\u{FE00}'..='\u{FE0F}' | '\u{231A}'..='\u{23FF}' | '\u{2460}'..='\u{24FF}'
        | '\u{2500}'..='\u{27BF}' | '\u{2900}'..='\u{297F}' | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}'
        | '\u{3297}' | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}' | '\u{E0000}'..='\u{E007F}')
}

/// A Chinese character.
pub(crate) fn is_han(ch: char) -> bool {
    matches!(ch, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}' | '〇')
}
