//! Percentages, fractions, ranges, units and measure words.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::number::{cardinal, count, decimal};
use super::{NUMBER, Rule};
use crate::normalize::table;

/// Unit → as said.
static UNITS: LazyLock<HashMap<&str, Vec<&str>>> =
    LazyLock::new(|| table::by_first(include_str!("../../../data/zh/units.tsv")));

/// Words that are counted: before them two is 两.
const MEASURES: &str = "个|位|名|只|条|张|本|件|杯|瓶|碗|天|周|年|小时|分钟|秒|次|遍|种|家|间|层|岁|倍|米|公里|公斤|斤|克|升|人|块|台|辆|座|棵|朵|口|双|对|套|份|颗|把|支|首|部|句|段|页|篇|章|步|度|点|星期|礼拜|季度|世纪|代|届|场|门|道|排|群|批|笔|顿|封|幅|匹|头|艘|架|栋|所|片|滴|盒|室|厅|包|袋|箱|毫升|厘米|毫米|千米|吨|平方米|亩|里|尺|寸|万|千|亿";

pub(super) fn rules() -> Vec<Rule> {
    let units = table::any_of(UNITS.keys().copied());
    vec![
        Rule::new(&format!(r"(?P<a>{NUMBER}) ?[%％]? ?[-–~到至] ?(?P<b>{NUMBER}) ?[%％]"), |m| {
            Some(format!("百分之{}到百分之{}", decimal(m.get("a")), decimal(m.get("b"))))
        }),
        Rule::new(&format!(r"(?P<n>[+-]?(?:{NUMBER})) ?[%％]"), |m| {
            Some(format!("百分之{}", signed(m.get("n"), m.before)?))
        }),
        Rule::new(&format!(r"(?P<n>[+-]?(?:{NUMBER})) ?‰"), |m| {
            Some(format!("千分之{}", signed(m.get("n"), m.before)?))
        }),
        Rule::new(
            &format!(r"(?P<a>-?(?:{NUMBER})) ?[-–~到至] ?(?P<b>-?(?:{NUMBER})) ?(?P<unit>℃|°C|° C|度)"),
            |m| {
                let name = if m.get("unit") == "度" { "度" } else { "摄氏度" };
                Some(format!("{}到{}{name}", below_zero(m.get("a")), below_zero(m.get("b"))))
            },
        ),
        Rule::new(&format!(r"(?P<n>[+-]?(?:{NUMBER})) ?(?P<unit>℃|°C|° C|℉|°F|° F|度)"), |m| {
            let name = match m.get("unit") {
                "度" => "度",
                fahrenheit if fahrenheit.contains('F') || fahrenheit == "℉" => "华氏度",
                _ => "摄氏度",
            };
            if m.get("n").starts_with(['-', '+']) && m.before.ends_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
            Some(format!(
                "{}{name}",
                if name == "度" && m.get("n") == "2" { "两".into() } else { below_zero(m.get("n")) }
            ))
        }),
        Rule::new(r"(?P<a>\d{1,4})/(?P<b>\d{1,4})", |m| {
            (!m.get("b").trim_start_matches('0').is_empty() && !m.after.starts_with('/'))
                .then(|| format!("{}分之{}", cardinal(m.get("b")), cardinal(m.get("a"))))
        }),
        Rule::new(r"第(?P<n>\d+)", |m| Some(format!("第{}", cardinal(m.get("n"))))),
        Rule::new(&format!(r"(?P<n>-?(?:{NUMBER})) ?(?P<unit>{units})"), |m| {
            let row = UNITS.get(m.get("unit"))?;
            if m.after.starts_with(|c: char| c.is_ascii_alphanumeric())
                || m.get("n").starts_with('-') && m.before.ends_with(|c: char| c.is_ascii_digit())
            {
                return None;
            }
            Some(format!("{}{}", count(m.get("n")), row.get(1)?))
        }),
        // What joins the ends of a range when each has its unit: "5月3日-5月5日"
        Rule::new(r"[-–~～—]", |m| {
            let joins = m.before.ends_with(['日', '号', '月', '年', '点', '元', '块', '度', '%', '分'])
                && m.after.starts_with(|c: char| c.is_ascii_digit());
            joins.then(|| "到".to_owned())
        }),
        // What joins the ends of a range.
        Rule::new(&format!(r"(?P<a>{NUMBER}) ?[-–~～—至到] ?(?P<b>{NUMBER}) ?(?P<unit>{MEASURES})"), |m| {
            Some(format!("{}到{}{}", count(m.get("a")), count(m.get("b")), m.get("unit")))
        }),
        Rule::new(&format!(r"(?P<n>{NUMBER}) ?(?P<more>多|余|来)?(?P<unit>{MEASURES})"), |m| {
            Some(format!("{}{}{}", count(m.get("n")), m.get("more"), m.get("unit")))
        }),
    ]
}

fn signed(written: &str, before: &str) -> Option<String> {
    let joined = before.ends_with(|c: char| c.is_ascii_alphanumeric());
    match written.chars().next() {
        Some('-' | '+') if joined => None,
        Some('+') => Some(format!("正{}", decimal(&written[1..]))),
        _ => Some(decimal(written)),
    }
}

fn below_zero(written: &str) -> String {
    match written.strip_prefix('-') {
        Some(rest) => format!("零下{}", decimal(rest)),
        None => decimal(written.trim_start_matches('+')),
    }
}
