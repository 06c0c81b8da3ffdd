//! Amounts of money.

use super::number::{count, decimal};
use super::{Match, NUMBER, Rule};

const SIGNS: &str = r"US\$|HK\$|[$€£¥￥₩₹]";
const SCALE: &str = "万亿|百万|千万|亿|万|千|百";

pub(super) fn rules() -> Vec<Rule> {
    let signed: fn(&Match<'_, '_>) -> Option<String> = |m| {
        let name = match m.get("sign") {
            "$" | "US$" => "美元",
            "HK$" => "港币",
            "€" => "欧元",
            "£" => "英镑",
            "₩" => "韩元",
            "₹" => "卢比",
            _ => "元",
        };
        Some(format!("{}{}{name}", amount(m.get("n")), m.get("scale")))
    };
    vec![
        Rule::new(&format!(r"(?P<sign>{SIGNS}) ?(?P<n>{NUMBER})(?P<scale>{SCALE})?元?"), signed),
        Rule::new(
            &format!(
                r"(?P<n>{NUMBER}) ?(?P<scale>{SCALE})?(?P<unit>元|块钱|块|美元|欧元|英镑|日元|港币|人民币|毛|角|分钱)"
            ),
            |m| {
                let number = amount(m.get("n"));
                Some(format!("{number}{}{}", m.get("scale"), m.get("unit")))
            },
        ),
    ]
}

/// ".50" of a price list is fifty hundredths only to a clerk: 九块五 is said 九点五.
fn amount(written: &str) -> String {
    match written.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|b| b == b'0') => decimal(whole),
        Some((whole, fraction)) => decimal(&format!("{whole}.{}", fraction.trim_end_matches('0'))),
        None => count(written),
    }
}
