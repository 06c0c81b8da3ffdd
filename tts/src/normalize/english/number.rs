//! Numbers in words: cardinals, ordinals, digits one by one, decimals, years.
//!
//! American usage: no "and" in "two hundred five", a hyphen in "twenty-one". Numbers come as decimal digits of any
//! length, because written numbers do not stop where machine words do.

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const THOUSANDS: [&str; 12] = [
    "",
    "thousand",
    "million",
    "billion",
    "trillion",
    "quadrillion",
    "quintillion",
    "sextillion",
    "septillion",
    "octillion",
    "nonillion",
    "decillion",
];

/// "1,234" → "one thousand two hundred thirty-four". Separators are skipped; what has no name is read digit by digit.
pub(crate) fn cardinal(written: &str) -> String {
    let digits: String = written.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_start_matches('0');
    if digits.is_empty() {
        return String::new();
    }
    if significant.is_empty() {
        return "zero".into();
    }
    if significant.len() > 3 * THOUSANDS.len() {
        return spell(&digits);
    }
    let mut words = Vec::new();
    let groups = significant.len().div_ceil(3);
    let mut rest = significant;
    for group in (0..groups).rev() {
        let (head, tail) = rest.split_at(rest.len() - 3 * group);
        rest = tail;
        let value = head.parse::<u32>().unwrap_or(0);
        if value > 0 {
            below_thousand(value, &mut words);
            if group > 0 {
                words.push(THOUSANDS[group].to_owned());
            }
        }
    }
    words.join(" ")
}

fn below_thousand(value: u32, words: &mut Vec<String>) {
    if value >= 100 {
        words.push(ONES[value as usize / 100].to_owned());
        words.push("hundred".to_owned());
    }
    let rest = value % 100;
    if rest > 0 {
        words.push(below_hundred(rest));
    }
}

fn below_hundred(value: u32) -> String {
    match (value / 10, value % 10) {
        (0 | 1, _) => ONES[value as usize % 20].to_owned(),
        (tens, 0) => TENS[tens as usize].to_owned(),
        (tens, ones) => format!("{}-{}", TENS[tens as usize], ONES[ones as usize]),
    }
}

/// "21" → "twenty-first".
pub(crate) fn ordinal(written: &str) -> String {
    let cardinal = cardinal(written);
    let cut = cardinal.rfind([' ', '-']).map_or(0, |at| at + 1);
    let (head, last) = cardinal.split_at(cut);
    let last = match last {
        "one" => "first".to_owned(),
        "two" => "second".to_owned(),
        "three" => "third".to_owned(),
        "five" => "fifth".to_owned(),
        "eight" => "eighth".to_owned(),
        "nine" => "ninth".to_owned(),
        "twelve" => "twelfth".to_owned(),
        tens if tens.ends_with('y') => format!("{}ieth", &tens[..tens.len() - 1]),
        other => format!("{other}th"),
    };
    format!("{head}{last}")
}

/// "405" → "four zero five".
pub(crate) fn spell(written: &str) -> String {
    let names: Vec<&str> = written.chars().filter_map(|c| c.to_digit(10)).map(|d| ONES[d as usize]).collect();
    names.join(" ")
}

/// Digits of a code or a phone number: "oh" for zero.
pub(crate) fn spell_oh(written: &str) -> String {
    spell(written).replace("zero", "oh")
}

/// "-1,234.50" → "minus one thousand two hundred thirty-four point five zero".
pub(crate) fn decimal(written: &str) -> String {
    let (sign, unsigned) = match written.strip_prefix('-') {
        Some(rest) => ("minus ", rest),
        None => ("", written.trim_start_matches('+')),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let whole = if whole.is_empty() { "zero".to_owned() } else { cardinal(whole) };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole} point {}", spell(fraction)) }
}

/// "1905" → "nineteen oh five", "2024" → "twenty twenty-four", "2000" → "two thousand".
pub(crate) fn year(written: &str) -> String {
    let Ok(value) = written.parse::<u32>() else { return cardinal(written) };
    let (century, rest) = (value / 100, value % 100);
    match (century, rest) {
        (0..=9, _) | (100.., _) => cardinal(written),
        (_, 0) if century % 10 == 0 => cardinal(written),
        (20, 1..=9) => cardinal(written),
        (_, 0) => format!("{} hundred", below_hundred(century)),
        (_, 1..=9) => format!("{} oh {}", below_hundred(century), ONES[rest as usize]),
        _ => format!("{} {}", below_hundred(century), below_hundred(rest)),
    }
}

/// "1990" → "nineteen nineties", "80" → "eighties".
pub(crate) fn decade(written: &str) -> String {
    let base = if written.len() == 4 { year(written) } else { cardinal(written) };
    match base.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{base}s"),
    }
}

/// Whether a written number is exactly one, so that what it counts stands in the singular.
pub(crate) fn is_one(written: &str) -> bool {
    written == "1"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_are_read() {
        for (written, said) in [
            ("0", "zero"),
            ("007", "seven"),
            ("13", "thirteen"),
            ("40", "forty"),
            ("100", "one hundred"),
            ("1,000,000", "one million"),
            ("1001", "one thousand one"),
            ("999999", "nine hundred ninety-nine thousand nine hundred ninety-nine"),
            ("1000000000000000000000000000000000", "one decillion"),
            ("", ""),
        ] {
            assert_eq!(cardinal(written), said);
        }
        assert_eq!(cardinal(&"7".repeat(100)).split(' ').count(), 100);
    }

    #[test]
    fn ordinals_and_years_follow_usage() {
        for (written, said) in [
            ("1", "first"),
            ("12", "twelfth"),
            ("20", "twentieth"),
            ("22", "twenty-second"),
            ("101", "one hundred first"),
        ] {
            assert_eq!(ordinal(written), said);
        }
        for (written, said) in [
            ("1066", "ten sixty-six"),
            ("1800", "eighteen hundred"),
            ("1905", "nineteen oh five"),
            ("2000", "two thousand"),
            ("2008", "two thousand eight"),
            ("2024", "twenty twenty-four"),
        ] {
            assert_eq!(year(written), said);
        }
        assert_eq!(decade("1990"), "nineteen nineties");
        assert_eq!(decade("2000"), "two thousands");
    }
}
