//! Tokens that are matched literally in a text, longest first.

use super::{Kind, Token};
use crate::config::TokenId;
use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;

pub(super) struct SpecialTokens {
    all: Matcher,
    control: Matcher,
}

struct Matcher {
    automaton: Option<AhoCorasick>,
    ids: Vec<TokenId>,
}

impl Matcher {
    fn new<'a>(tokens: impl Iterator<Item = (&'a Token, TokenId)>) -> Self {
        let (texts, ids): (Vec<&str>, Vec<TokenId>) =
            tokens.filter(|(t, _)| !t.text.is_empty()).map(|(t, id)| (&*t.text, id)).unzip();
        // Building fails only beyond billions of states; then none are matched, and the text stays text.
        let automaton = match texts.is_empty() {
            true => None,
            false => AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts).ok(),
        };
        Self { automaton, ids }
    }

    fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Range<usize>, TokenId)> + 'a {
        let matches = self.automaton.iter().flat_map(move |a| a.find_iter(text));
        matches.map(|m| (m.range(), self.ids[m.pattern().as_usize()]))
    }
}

impl SpecialTokens {
    pub(super) fn new(tokens: &[Token]) -> Self {
        let of = |kinds: &'static [Kind]| Matcher::new(tokens.iter().zip(0..).filter(|(t, _)| kinds.contains(&t.kind)));
        Self { all: of(&[Kind::Control, Kind::UserDefined]), control: of(&[Kind::Control]) }
    }

    /// Every literal token in `text`, from left to right.
    pub(super) fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Range<usize>, TokenId)> + 'a {
        self.all.find(text)
    }

    /// `text` without control tokens, also without those that a removal would bring together.
    pub(super) fn remove(&self, text: &str) -> String {
        let mut text = text.to_owned();
        loop {
            let mut kept = String::with_capacity(text.len());
            let mut rest = 0;
            for (range, _) in self.control.find(&text) {
                kept.push_str(&text[rest..range.start]);
                rest = range.end;
            }
            if rest == 0 {
                return text;
            }
            kept.push_str(&text[rest..]);
            // Shorter each time, so this ends; nesting n deep takes n rounds over a text that halves or better.
            text = kept;
        }
    }
}
