//! SentencePiece merging by score, for GGUF vocabularies that have scores and no merges (`tokenizer.ggml.model` = llama).
//!
//! Letters are joined pairwise, the best-scored pair first, the leftmost of equals; what is no token in the end is spelled
//! in `<0xAB>` byte tokens.

use super::bytes::byte_token;
use super::{Kind, Token};
use crate::config::TokenId;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

pub(crate) struct Spm {
    ids: HashMap<Box<str>, TokenId>,
    scores: Vec<f32>, // [vocab]
    bytes: [Option<TokenId>; 256],
    unknown: Option<TokenId>,
    add_space_prefix: bool,
}

impl Spm {
    pub(super) fn new(tokens: &[Token], scores: &[f32], add_space_prefix: bool) -> Self {
        let mut ids = HashMap::with_capacity(tokens.len());
        let mut bytes = [None; 256];
        let mut unknown = None;
        for (token, id) in tokens.iter().zip(0..) {
            match (token.kind, byte_token(&token.text)) {
                (Kind::Byte, Some(byte)) => bytes[usize::from(byte)] = Some(id),
                (Kind::Normal | Kind::UserDefined, _) => {
                    ids.entry(token.text.as_str().into()).or_insert(id);
                }
                _ if token.text == "<unk>" => unknown = Some(id),
                _ => {}
            }
        }
        Self { ids, scores: scores.to_vec(), bytes, unknown, add_space_prefix }
    }

    pub(super) fn encode(&self, text: &str, ids: &mut Vec<TokenId>) {
        let prefix = if self.add_space_prefix && ids.len() <= 1 { "\u{2581}" } else { "" };
        let text = prefix.to_owned() + &text.replace(' ', "\u{2581}");
        let mut pieces = Pieces::new(&text);
        let mut pairs = BinaryHeap::new();
        for left in 0..pieces.0.len() {
            self.push_pair(&text, &pieces, left, &mut pairs);
        }
        while let Some(pair) = pairs.pop() {
            if let Some(merged) = pieces.merge(&pair) {
                self.push_pair(&text, &pieces, merged, &mut pairs);
                if let Some(before) = pieces.0[merged].previous {
                    self.push_pair(&text, &pieces, before, &mut pairs);
                }
            }
        }
        for piece in pieces.0.iter().filter(|piece| piece.len > 0) {
            let piece = &text[piece.start..piece.start + piece.len];
            match self.ids.get(piece) {
                Some(&id) => ids.push(id),
                None => ids.extend(piece.bytes().filter_map(|b| self.bytes[usize::from(b)].or(self.unknown))),
            }
        }
    }

    fn push_pair(&self, text: &str, pieces: &Pieces, left: usize, pairs: &mut BinaryHeap<Pair>) {
        let Some(right) = pieces.0[left].next else { return };
        let start = pieces.0[left].start;
        let len = pieces.0[left].len + pieces.0[right].len;
        if let Some(&id) = self.ids.get(&text[start..start + len]) {
            let score = self.scores.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY);
            pairs.push(Pair { score, left, right, len });
        }
    }
}

/// A run of letters in a doubly linked list; empty once it was joined to its left neighbour.
struct Piece {
    start: usize,
    len: usize,
    previous: Option<usize>,
    next: Option<usize>,
}

struct Pieces(Vec<Piece>);

impl Pieces {
    fn new(text: &str) -> Self {
        let letters: Vec<(usize, char)> = text.char_indices().collect();
        let piece = |(i, &(start, letter)): (usize, &(usize, char))| Piece {
            start,
            len: letter.len_utf8(),
            previous: i.checked_sub(1),
            next: Some(i + 1).filter(|&next| next < letters.len()),
        };
        Self(letters.iter().enumerate().map(piece).collect())
    }

    /// Joins the pair if both halves are as they were when it was found.
    fn merge(&mut self, pair: &Pair) -> Option<usize> {
        let (left, right) = (&self.0[pair.left], &self.0[pair.right]);
        if left.len == 0 || right.len == 0 || left.len + right.len != pair.len || left.next != Some(pair.right) {
            return None;
        }
        let next = right.next;
        self.0[pair.right].len = 0;
        self.0[pair.left].len = pair.len;
        self.0[pair.left].next = next;
        if let Some(next) = next {
            self.0[next].previous = Some(pair.left);
        }
        Some(pair.left)
    }
}

struct Pair {
    score: f32,
    left: usize,
    right: usize,
    len: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}
