//! Greedy search: the likeliest token, again and again; or a whole draft at once.
//!
//! While the user speaks, most of a hypothesis comes back word for word in the next one. So the previous tokens are
//! fed as one batch and kept as far as the decoder would have chosen the same: the result is that of plain greedy
//! search, at the price of a few passes. After the first difference the rest of the draft is tried again behind it.

use std::sync::atomic::{AtomicBool, Ordering};

use kernels::elementwise;

use super::Machine;
use super::decoder::Decoder;
use super::suppress::Suppress;
use crate::decode::Hypothesis;
use crate::vocabulary::Vocabulary;
use crate::{Error, Language, Result, Script, TokenId};

/// Draft tokens verified in one pass: bounds the logits' memory, 32 x 200 kB.
const MAX_DRAFT: usize = 32;
/// How far ahead a draft is searched for the token that was chosen instead.
const LOOKAHEAD: usize = 4;

/// What to decode, and under which rules.
pub(super) struct Task<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) suppress: &'a Suppress,
    pub(super) language: Language,
    pub(super) script: Script,
    pub(super) prompt: &'a str,
    pub(super) draft: &'a [TokenId],
    pub(super) max_tokens: usize,
}

/// Decodes what `decoder` listens to.
pub(super) fn search(
    decoder: &mut Decoder,
    task: &Task<'_>,
    machine: &Machine,
    cancel: &AtomicBool,
) -> Result<Hypothesis> {
    let special = task.vocabulary.special;
    let (head, tail, language, no_speech_prob) = start(decoder, task, machine)?;
    debug_assert_eq!(decoder.len(), head);
    let mut tokens: Vec<TokenId> = Vec::new();
    let mut logprob = 0.0;
    // Tokens chosen but not yet taken in by the decoder.
    let mut pending = tail;
    let mut draft = task.draft.to_vec();
    draft.retain(|&id| id < special.end_of_text);
    let max_tokens = task.max_tokens.min(decoder.n_text_ctx() - head - pending.len() - MAX_DRAFT);
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let tried = draft.len().min(MAX_DRAFT - 1).min(max_tokens - tokens.len());
        let batch: Vec<TokenId> = pending.iter().chain(&draft[..tried]).copied().collect();
        let before = decoder.len();
        let n_vocab = decoder.n_vocab();
        let logits = decoder.forward(&batch, tried + 1, machine)?;
        let mut chosen = Vec::with_capacity(tried + 1);
        let mut ended = false;
        for (i, row) in logits.chunks_exact_mut(n_vocab).enumerate() {
            task.suppress.apply(row, tokens.is_empty() && i == 0);
            let best = argmax(row);
            elementwise::softmax(machine.isa, row);
            // The end counts as a token in Whisper's average too.
            logprob += row[best as usize].max(f32::MIN_POSITIVE).ln();
            if best == special.end_of_text {
                ended = true;
                break;
            }
            chosen.push(best);
            if draft.get(i) != Some(&best) {
                break;
            }
        }
        // Right as far as it agrees; what was chosen last is not in the decoder yet.
        let agreed = if ended { chosen.len() } else { chosen.len() - 1 };
        let wrong = (!ended).then(|| chosen.last().copied()).flatten();
        decoder.truncate(before + pending.len() + agreed);
        tokens.extend_from_slice(&chosen);
        if ended || tokens.len() >= max_tokens {
            tokens.truncate(max_tokens);
            break;
        }
        draft = rest_of_draft(&draft[agreed..], wrong);
        pending = wrong.into_iter().collect();
    }
    let avg_logprob = logprob / (tokens.len() + 1) as f32;
    let text = task.vocabulary.decode(&tokens);
    Ok(Hypothesis { text, tokens, language, avg_logprob, no_speech_prob })
}

/// Takes in the prompt. Returns how many tokens that were, those still to be taken in before the first choice, the
/// language, and the probability that nobody speaks.
fn start(decoder: &mut Decoder, task: &Task<'_>, machine: &Machine) -> Result<(usize, Vec<TokenId>, Language, f32)> {
    let vocabulary = task.vocabulary;
    let special = vocabulary.special;
    if task.language == Language::Mandarin && !vocabulary.is_multilingual() {
        return Err(Error::Language(Language::Mandarin));
    }
    let mut language = task.language;
    let example = if language == Language::Mandarin { task.script.example() } else { "" };
    let mut head = head(task, example, decoder.n_text_ctx());
    let logits = decoder.forward(&head, 1, machine)?;
    if language == Language::Auto {
        let mandarin = logits[special.mandarin as usize] > logits[special.english as usize];
        language = if mandarin && vocabulary.is_multilingual() { Language::Mandarin } else { Language::English };
    }
    elementwise::softmax(machine.isa, logits);
    let no_speech_prob = logits[special.no_speech as usize];
    if !vocabulary.is_multilingual() {
        return Ok((head.len(), vec![special.no_timestamps], language, no_speech_prob));
    }
    if task.language != Language::Mandarin && language == Language::Mandarin && task.prompt.is_empty() {
        // Only now it is known that the script matters.
        head = self::head(task, task.script.example(), decoder.n_text_ctx());
        decoder.truncate(0);
        decoder.forward(&head, 1, machine)?;
    }
    let tail = vec![vocabulary.language_token(language), special.transcribe, special.no_timestamps];
    Ok((head.len(), tail, language, no_speech_prob))
}

/// What came before, or an example of the script where nothing did, and the start of the transcript.
fn head(task: &Task<'_>, example: &str, n_text_ctx: usize) -> Vec<TokenId> {
    let Task { vocabulary, prompt, .. } = task;
    let special = vocabulary.special;
    let before = match prompt.trim() {
        "" => vocabulary.encode(example),
        // Text goes on after a space; Whisper gives half of its context to what came before.
        prompt => vocabulary.encode(&format!(" {prompt}")),
    };
    let mut head = Vec::new();
    if !before.is_empty() {
        head.push(special.start_of_prev);
        head.extend_from_slice(&before[before.len().saturating_sub(n_text_ctx / 2 - 1)..]);
    }
    head.push(special.start_of_transcript);
    head
}

/// What may follow `chosen` according to the draft that had another token, or nothing, in its place.
fn rest_of_draft(draft: &[TokenId], chosen: Option<TokenId>) -> Vec<TokenId> {
    let ahead = draft.iter().take(LOOKAHEAD).position(|&id| Some(id) == chosen);
    // Either words were left out or added, or one took another's place.
    draft.get(ahead.map_or(1, |at| at + 1)..).unwrap_or_default().to_vec()
}

fn argmax(row: &[f32]) -> TokenId {
    let mut best = (0, f32::NEG_INFINITY);
    for (i, &value) in row.iter().enumerate() {
        if value > best.1 {
            best = (i, value);
        }
    }
    best.0 as TokenId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_goes_on_behind_a_difference() {
        for (draft, chosen, rest) in [
            (vec![1, 2, 3], Some(9), vec![2, 3]),
            (vec![1, 2, 3], Some(2), vec![3]),
            (vec![1, 2, 3, 4, 5, 6], Some(6), vec![2, 3, 4, 5, 6]),
            (vec![], Some(1), vec![]),
            (vec![1], Some(1), vec![]),
        ] {
            assert_eq!(rest_of_draft(&draft, chosen), rest);
        }
    }
}
