//! Unknown words that are two known ones: "chatbot", "snowplow".

/// Shortest part worth looking up: shorter ones are found inside everything.
const MIN_PART: usize = 3;
/// Longer words are left to the rules; nothing that long is a compound of two.
const MAX_WORD: usize = 24;

/// The sounds of both parts, stress on the first; the most even split wins.
pub(super) fn split(word: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if word.len() > MAX_WORD || !word.is_ascii() {
        return None;
    }
    let mut cuts: Vec<usize> = (MIN_PART..word.len().saturating_sub(MIN_PART - 1)).collect();
    cuts.sort_by_key(|cut| (2 * cut).abs_diff(word.len()));
    cuts.into_iter().find_map(|cut| {
        let (first, second) = word.split_at(cut);
        let (first, second) = (lookup(first)?, lookup(second)?);
        // Two stresses in one word: the second becomes secondary.
        Some(format!("{first}{}", second.replace('ˈ', "ˌ")))
    })
}
