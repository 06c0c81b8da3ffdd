//! LocalAgreement-2: a word is stable once two hypotheses in a row begin alike up to it.
//!
//! Macháček, Dabre, Bojar: "Turning Whisper into Real-Time Transcription System", 2023. Words are compared without
//! case and punctuation, which a decoder changes its mind about at the growing end.

use super::Partial;
use crate::words;

/// The hypotheses of one window, and the text of the windows before.
#[derive(Clone, Debug, Default)]
pub(super) struct Agreement {
    committed: String,
    stable: Vec<String>,
    latest: Vec<String>,
}

impl Agreement {
    /// Takes the next hypothesis of the window.
    pub(super) fn add(&mut self, text: &str) {
        let next: Vec<String> = words::split(text).map(str::to_owned).collect();
        let same = |(a, b): &(&String, &String)| words::normalise(a) == words::normalise(b);
        let agreed = self.latest.iter().zip(&next).take_while(same).count();
        if agreed > self.stable.len() {
            self.stable.extend_from_slice(&next[self.stable.len()..agreed]);
        }
        self.latest = next;
    }

    /// Closes the window with its final text.
    pub(super) fn commit(&mut self, text: &str) {
        // What was shown as stable stays; the final text supplies what comes after it.
        let rest: Vec<&str> = words::split(text).skip(self.stable.len()).collect();
        let window = self.stable.concat() + &rest.concat();
        join(&mut self.committed, &window);
        self.stable.clear();
        self.latest.clear();
    }

    /// What can be shown now.
    pub(super) fn partial(&self) -> Partial {
        let mut stable = self.committed.clone();
        if !self.stable.is_empty() {
            join(&mut stable, &self.stable.concat());
        }
        let unstable = self.latest.get(self.stable.len()..).unwrap_or_default().concat();
        Partial { stable, unstable }
    }
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !text.ends_with(char::is_whitespace) && !more.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hypotheses in turn, each with the partial it leads to.
    fn check(steps: &[(&str, &str, &str)]) {
        let mut agreement = Agreement::default();
        for (hypothesis, stable, unstable) in steps {
            agreement.add(hypothesis);
            let partial = agreement.partial();
            assert_eq!(
                (partial.stable.as_str(), partial.unstable.as_str()),
                (*stable, *unstable),
                "after {hypothesis}"
            );
        }
    }

    #[test]
    fn what_two_agree_on_is_stable() {
        check(&[
            ("And so", "", "And so"),
            ("And so my fell", "And so ", "my fell"),
            ("And so, my fellow Amer", "And so my ", "fellow Amer"),
            ("And so, my fellow Americans.", "And so my fellow ", "Americans."),
        ]);
    }

    #[test]
    fn the_stable_part_never_shrinks() {
        check(&[
            ("one two", "", "one two"),
            ("one two three", "one two ", "three"),
            ("won to", "one two ", ""),
            ("", "one two ", ""),
            ("one two three four", "one two ", "three four"),
        ]);
    }

    #[test]
    fn mandarin_agrees_by_character() {
        check(&[("打开", "", "打开"), ("打开门。", "打开", "门。")]);
    }

    #[test]
    fn a_committed_window_stays() {
        let mut agreement = Agreement::default();
        agreement.add("one two");
        agreement.commit("one two three.");
        agreement.add("four");
        assert_eq!(agreement.partial(), Partial { stable: "one two three.".into(), unstable: "four".into() });
    }
}
