//! Opinions in reviews: quadruples of aspect, opinion, category and polarity.
//!
//! Scored as the Zhijiang Cup 2019 did: within one review a quadruple is correct when all four fields are equal; counts
//! are summed over all reviews (micro). A quadruple said twice counts once. Fields are compared after NFKC and trimming;
//! `_`, `NULL`, `-1,-1` and an empty text all mean "not said".

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::text;
use crate::json::{Json, Object};
use crate::respond::grammar::{Grammar, Value};
use crate::{Error, Result};

/// Aspect, opinion, category, polarity.
pub type Quad = [String; 4];

const FIELDS: [&str; 4] = ["aspect", "opinion", "category", "polarity"];

const CATEGORIES_ZH: [&str; 13] =
    ["整体", "使用体验", "功效", "价格", "物流", "气味", "包装", "真伪", "服务", "其他", "成分", "尺寸", "新鲜度"];
const CATEGORIES_EN: [&str; 10] =
    ["overall", "quality", "performance", "price", "delivery", "packaging", "service", "design", "size", "other"];

fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}'))
}

/// The request and the form of its answer, in the review's language. Categories are the item's `categories` where it
/// has them.
///
/// # Errors
/// [`Error::Score`] naming a column that is missing.
pub fn question(fields: &Object) -> Result<(String, Grammar)> {
    let review = text(fields, "text").or_else(|_| text(fields, "review")).or_else(|_| text(fields, "prompt"))?;
    let chinese = is_chinese(review);
    let own = fields
        .get("categories")
        .and_then(Json::as_array)
        .map(|list| list.iter().filter_map(|c| c.as_str().map(str::to_owned)).collect::<Vec<_>>());
    let default = if chinese { &CATEGORIES_ZH[..] } else { &CATEGORIES_EN[..] };
    let categories = own.unwrap_or_else(|| default.iter().map(|c| (*c).to_owned()).collect());
    let polarities = if chinese { ["正面", "负面", "中性"] } else { ["positive", "negative", "neutral"] };
    let list = categories.join(if chinese { "、" } else { ", " });
    let prompt = if chinese {
        format!(
            "从评论中找出每一个观点：aspect 是被评价的对象，opinion 是评价的词语，都用评论原文；没有写出来的用“_”。\
             category 是{list}之一，polarity 是正面、负面、中性之一。用 JSON 数组回答。\n\
             例子：价格便宜，味道不好\n\
             [{{\"aspect\": \"价格\", \"opinion\": \"便宜\", \"category\": \"价格\", \"polarity\": \"正面\"}}, \
             {{\"aspect\": \"味道\", \"opinion\": \"不好\", \"category\": \"气味\", \"polarity\": \"负面\"}}]\n评论：{review}"
        )
    } else {
        format!(
            "Find every opinion in the review. aspect is what is judged and opinion the words that judge it, both as the \
             review has them; write \"_\" for what is not said. category is one of: {list}. polarity is positive, \
             negative or neutral. Answer with a JSON array.\nExample: Cheap, but the box was broken.\n\
             [{{\"aspect\": \"_\", \"opinion\": \"Cheap\", \"category\": \"price\", \"polarity\": \"positive\"}}, \
             {{\"aspect\": \"box\", \"opinion\": \"broken\", \"category\": \"packaging\", \"polarity\": \"negative\"}}]\n\
             Review: {review}"
        )
    };
    let longest = review.len().clamp(8, 90);
    let grammar = Grammar::new(
        vec![
            ("aspect".into(), Value::Text(longest)),
            ("opinion".into(), Value::Text(longest)),
            ("category".into(), Value::OneOf(categories)),
            ("polarity".into(), Value::OneOf(polarities.map(str::to_owned).to_vec())),
        ],
        8,
    );
    Ok((prompt, grammar))
}

/// An item's own quadruples: `quads`, a list of objects or of four texts.
///
/// # Errors
/// [`Error::Score`] where there is no such list.
pub fn gold(fields: &Object) -> Result<BTreeSet<Quad>> {
    let value = fields.get("quads").or_else(|| fields.get("reference"));
    let value = value.ok_or_else(|| Error::Score("the column quads is missing".into()))?;
    quads(value)
        .ok_or_else(|| Error::Score("quads is no list of objects with aspect, opinion, category, polarity".into()))
}

/// The quadruples of a response; `None` where it is not the JSON that was asked for.
#[must_use]
pub fn parse(response: &str) -> Option<BTreeSet<Quad>> {
    let start = response.find('[')?;
    let end = response.rfind(']')?;
    quads(&Json::parse(response.get(start..=end)?).ok()?)
}

fn quads(value: &Json) -> Option<BTreeSet<Quad>> {
    value.as_array()?.iter().map(quad).collect()
}

fn quad(value: &Json) -> Option<Quad> {
    let mut quad = Quad::default();
    for (i, (slot, name)) in quad.iter_mut().zip(FIELDS).enumerate() {
        let field = match value {
            Json::Object(object) => object.get(name),
            Json::Array(list) if list.len() == 4 => list.get(i),
            _ => None,
        };
        *slot = normalise(match field? {
            Json::Null => "",
            other => other.as_str()?,
        });
    }
    Some(quad)
}

fn normalise(text: &str) -> String {
    let text: String = text.nfkc().collect();
    let text = text.trim();
    if matches!(text, "" | "_" | "NULL" | "null" | "-1,-1") { "_".to_owned() } else { text.to_owned() }
}

/// Correct, predicted and gold things, summed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    correct: usize,
    predicted: usize,
    gold: usize,
}

impl Counts {
    fn add<T: Ord>(&mut self, predicted: &BTreeSet<T>, gold: &BTreeSet<T>) {
        self.correct += predicted.intersection(gold).count();
        self.predicted += predicted.len();
        self.gold += gold.len();
    }

    /// Precision, recall and F1, 0 to 100; 0 where nothing was predicted.
    #[must_use]
    pub fn prf(self) -> [f64; 3] {
        let share = |of: usize| if of == 0 { 0.0 } else { 100.0 * self.correct as f64 / of as f64 };
        let (precision, recall) = (share(self.predicted), share(self.gold));
        let sum = precision + recall;
        [precision, recall, if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 }]
    }
}

/// The numbers of a set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Reviews.
    pub items: usize,
    /// Responses that were not the JSON asked for; they count as no prediction.
    pub unparsed: usize,
    /// All four fields.
    pub quads: Counts,
    /// Aspect, category and polarity.
    pub without_opinion: Counts,
    /// Each field by itself.
    pub fields: [Counts; 4],
    golds: Vec<BTreeSet<Quad>>,
}

impl Tally {
    /// Adds one review's response.
    pub fn add(&mut self, gold: BTreeSet<Quad>, predicted: Option<BTreeSet<Quad>>) {
        self.items += 1;
        self.unparsed += usize::from(predicted.is_none());
        let predicted = predicted.unwrap_or_default();
        self.quads.add(&predicted, &gold);
        let three = |set: &BTreeSet<Quad>| -> BTreeSet<[String; 3]> {
            set.iter()
                .map(|[aspect, _, category, polarity]| [aspect.clone(), category.clone(), polarity.clone()])
                .collect()
        };
        self.without_opinion.add(&three(&predicted), &three(&gold));
        for (i, counts) in self.fields.iter_mut().enumerate() {
            let one = |set: &BTreeSet<Quad>| -> BTreeSet<String> { set.iter().map(|quad| quad[i].clone()).collect() };
            counts.add(&one(&predicted), &one(&gold));
        }
        self.golds.push(gold);
    }

    /// What a system scores that says the commonest quadruple of the set to every review, and that quadruple.
    #[must_use]
    pub fn constant_guess(&self) -> Option<(Quad, f64)> {
        let mut counts: BTreeMap<&Quad, usize> = BTreeMap::new();
        for quad in self.golds.iter().flatten() {
            *counts.entry(quad).or_default() += 1;
        }
        let commonest = counts.iter().max_by_key(|(quad, count)| (**count, std::cmp::Reverse(*quad)))?.0;
        let guess: BTreeSet<Quad> = [(*commonest).clone()].into();
        let mut tally = Counts::default();
        for gold in &self.golds {
            tally.add(&guess, gold);
        }
        Some(((*commonest).clone(), tally.prf()[2]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> Object {
        let Json::Object(fields) = Json::parse(json).unwrap() else { panic!() };
        fields
    }

    const REVIEWS: [&str; 3] = [
        r#"{"text": "很好，价格便宜", "quads": [{"aspect": "_", "opinion": "很好", "category": "整体", "polarity": "正面"}, ["价格", "便宜", "价格", "正面"]]}"#,
        r#"{"text": "很好", "quads": [[null, "很好", "整体", "正面"]]}"#,
        r#"{"text": "Fine", "quads": []}"#,
    ];

    #[test]
    fn gold_against_itself_and_against_nothing() {
        let (mut same, mut empty) = (Tally::default(), Tally::default());
        for review in REVIEWS {
            let gold = gold(&item(review)).unwrap();
            same.add(gold.clone(), Some(gold.clone()));
            empty.add(gold, Some(BTreeSet::new()));
        }
        assert_eq!(same.quads.prf(), [100.0; 3]);
        assert_eq!(same.fields.map(Counts::prf), [[100.0; 3]; 4]);
        assert_eq!(empty.quads.prf(), [0.0; 3]);
        let (quad, f1) = same.constant_guess().unwrap();
        assert_eq!(quad, ["_", "很好", "整体", "正面"]);
        assert!((f1 - 200.0 / 3.0).abs() < 1e-9, "2 of 3 predicted, 2 of 3 gold: {f1}");
    }

    #[test]
    fn responses_are_compared_after_normalising_and_once() {
        let gold = gold(&item(r#"{"quads": [["屏幕", "ＯＫ", "其他", "正面"]]}"#)).unwrap();
        let mut tally = Tally::default();
        let response =
            r#"Sure: [["屏幕 ", "OK", "其他", "正面"], ["屏幕", "OK", "其他", "正面"], ["", "x", "其他", "负面"]]"#;
        tally.add(gold.clone(), parse(response));
        assert_eq!(tally.quads.prf(), [50.0, 100.0, 200.0 / 3.0]);
        tally.add(gold, parse("no json"));
        assert_eq!((tally.items, tally.unparsed), (2, 1));
    }

    #[test]
    fn the_form_of_the_answer_is_what_is_parsed() {
        for review in REVIEWS {
            let (prompt, grammar) = question(&item(review)).unwrap();
            let chinese = review.contains('好');
            let (category, polarity) = if chinese { ("整体", "正面") } else { ("price", "neutral") };
            let answer =
                format!(r#"[{{"aspect": "_", "opinion": "x", "category": "{category}", "polarity": "{polarity}"}}]"#);
            let state = grammar.advance(&grammar.start(), answer.as_bytes()).unwrap();
            assert!(grammar.is_done(&state) && prompt.contains(polarity));
            assert_eq!(parse(&answer).unwrap().len(), 1);
        }
        assert!(question(&item("{}")).is_err() && gold(&item(r#"{"quads": [["a"]]}"#)).is_err());
    }
}
