//! Short answers against a reference (sd-qa): PEDANTS, and a judge's yes or no.

mod contractions;
pub mod pedants;

pub use pedants::Pedants;

/// What the majority of a judge's replies says: each counts as yes only where it is exactly that word.
///
/// The most frequent reply decides; between equally frequent ones the first, as Python's `Counter.most_common`.
#[must_use]
pub fn majority_says_yes(replies: &[String]) -> bool {
    let replies: Vec<String> = replies.iter().map(|reply| reply.to_lowercase().trim().to_owned()).collect();
    let count = |reply: &String| replies.iter().filter(|other| *other == reply).count();
    let most = replies.iter().map(count).max().unwrap_or(0);
    replies.iter().find(|reply| count(reply) == most).is_some_and(|reply| reply == "yes")
}

/// The task's score from both of its numbers, each in percent.
#[must_use]
pub fn task_score(panda: f64, judge: f64) -> f64 {
    (panda + judge) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majorities() {
        for (replies, yes) in [
            (["Yes", "yes", "No"], true),
            (["Yes.", "yes.", "Yes"], false),
            ([" YES ", "no", "yes\n"], true),
            (["no", "no", "yes"], false),
            (["yes", "no", "maybe"], true),
        ] {
            assert_eq!(majority_says_yes(&replies.map(str::to_owned)), yes, "{replies:?}");
        }
        assert!(!majority_says_yes(&[]));
    }
}
