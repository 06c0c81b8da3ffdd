//! Answers of known worth that a judge must put in order before its marks count.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use super::{Judge, prompt};
use crate::json::{Json, Object};
use crate::score::{Rules, mean, open, qa};
use crate::{Error, Result};

/// How a judge did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calibration {
    /// Mean mark of each kind of answer.
    pub marks: BTreeMap<String, f64>,
    /// Right verdicts on right and on wrong answers, each of so many.
    pub verdicts: [(usize, usize); 2],
}

/// Asks a judge about the calibration set.
///
/// # Errors
/// [`Error::Judge`] where it does not rank good over partial over the rest, or takes more than a quarter of right
/// answers for wrong or of wrong ones for right; whatever keeps it from judging.
pub fn calibrate(judge: &mut dyn Judge, cancel: &AtomicBool) -> Result<Calibration> {
    let mut marks: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut verdicts = [(0, 0); 2];
    for line in include_str!("../../data/calibration.jsonl").lines() {
        let question = match Json::parse(line) {
            Ok(Json::Object(object)) => object,
            _ => return Err(Error::Score("the calibration set is damaged".into())),
        };
        let answers = question.get("answers").and_then(Json::as_object).cloned().unwrap_or_default();
        for (kind, answer) in answers.iter() {
            let replies = ask(judge, &question, answer.as_str().unwrap_or_default(), cancel)?;
            if question.get("reference").is_some() {
                let right = usize::from(kind == "yes");
                let verdict = qa::majority_says_yes(&replies);
                verdicts[right].1 += 1;
                verdicts[right].0 += usize::from(verdict == (right == 1));
            } else {
                for reply in &replies {
                    let mark = open::mark(reply, Rules::Fixed).map_err(|e| refused(judge, &e.to_string()))?;
                    marks.entry(kind.to_owned()).or_default().push(mark);
                }
            }
        }
    }
    let marks: BTreeMap<String, f64> = marks.into_iter().filter_map(|(kind, m)| Some((kind, mean(m)?))).collect();
    let mark = |kind: &str| marks.get(kind).copied().unwrap_or(0.0);
    let worst = mark("wrong").max(mark("off_topic")).max(mark("empty"));
    let in_order = mark("good") > mark("partial") && mark("partial") > worst;
    if !in_order {
        let list: Vec<String> = marks.iter().map(|(kind, mark)| format!("{kind} {mark:.2}")).collect();
        return Err(refused(judge, &format!("its mean marks are {}, out of order", list.join(", "))));
    }
    if verdicts.iter().any(|(right, of)| right * 4 < of * 3) {
        let [(no, nos), (yes, yeses)] = verdicts;
        return Err(refused(judge, &format!("it knew {yes} of {yeses} right and {no} of {nos} wrong answers")));
    }
    Ok(Calibration { marks, verdicts })
}

fn ask(judge: &mut dyn Judge, question: &Object, answer: &str, cancel: &AtomicBool) -> Result<Vec<String>> {
    let (form, prompt) = prompt(question, answer)?;
    judge.judge(form, &prompt, cancel)
}

fn refused(judge: &dyn Judge, reason: &str) -> Error {
    Error::Judge { judge: judge.name(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Form;

    /// A judge that marks by looking for words.
    struct ByWords(fn(Form, &str) -> &'static str);

    impl Judge for ByWords {
        fn name(&self) -> String {
            "by words".into()
        }

        fn judge(&mut self, form: Form, prompt: &str, _: &AtomicBool) -> Result<Vec<String>> {
            Ok(vec![(self.0)(form, prompt).to_owned(); 3])
        }
    }

    fn knows(form: Form, prompt: &str) -> &'static str {
        let response = prompt.split("[Response]: ").nth(1).unwrap_or(prompt);
        let has = |words: &[&str]| words.iter().any(|word| response.contains(word));
        match form {
            Form::YesNo if has(&["Dickens", "360", "Mars", "1918"]) => "No",
            Form::YesNo => "Yes",
            Form::Mark if has(&["Paris", "boiling water", "green and blue", "tilted"]) => "5",
            Form::Mark if has(&["Seine", "a pot", "One of them", "more sun"]) => "3",
            Form::Mark => "1",
        }
    }

    #[test]
    fn a_judge_that_ranks_is_used() {
        let calibration = calibrate(&mut ByWords(knows), &AtomicBool::new(false)).unwrap();
        assert_eq!(calibration.marks["good"], 5.0);
        assert_eq!(calibration.marks["empty"], 1.0);
        assert_eq!(calibration.verdicts, [(4, 4), (4, 4)]);
    }

    #[test]
    fn a_judge_that_does_not_is_refused() {
        let always_five: fn(Form, &str) -> &'static str = |form, _| if form == Form::Mark { "5" } else { "Yes" };
        let ranks_but_says_yes: fn(Form, &str) -> &'static str =
            |form, prompt| if form == Form::Mark { knows(form, prompt) } else { "Yes" };
        let babbles: fn(Form, &str) -> &'static str = |_, _| "I think so";
        for (judge, expected) in
            [(always_five, "out of order"), (ranks_but_says_yes, "4 of 4 right and 0 of 4 wrong"), (babbles, "no mark")]
        {
            let message = calibrate(&mut ByWords(judge), &AtomicBool::new(false)).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains("by words"), "{message}");
        }
    }
}
