//! From records to a task's numbers.

use std::collections::BTreeMap;

use pocket_voice::report::{Quantiles, quantiles};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::record::Record;
use crate::sandbox::{Outcome, Sandbox};
use crate::score::ifeval::{Instructions, Tally as IfEval};
use crate::score::qa::{Pedants, majority_says_yes, task_score};
use crate::score::{Accuracy, Rules, bbh, harm, mcq, mean, open, percent};
use crate::task::{Kind, Task, choice, code, counting, math, number, reference_letter, reviews, text};

/// Above this share of empty responses a run is no result: saying nothing scores some 29 on VoiceBench.
pub const MOST_EMPTY: f64 = 0.2;

/// What scoring may use.
#[derive(Debug, Default)]
pub struct Means<'a> {
    /// Which reading of the responses counts.
    pub rules: Rules,
    /// For sd-qa.
    pub pedants: Option<&'a Pedants>,
    /// A judge's replies by index, and who judged.
    pub judged: Option<(&'a BTreeMap<usize, Vec<String>>, &'a str)>,
    /// For humaneval.
    pub sandbox: Option<&'a Sandbox>,
}

/// A task's numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskScore {
    /// The task.
    pub task: Task,
    /// Items that were looked at.
    pub items: usize,
    /// Items without an answer: damaged, or not answerable. They are in no score.
    pub failed: usize,
    /// Empty answers among the others; they are in every score.
    pub empty: usize,
    /// Answers that were cut off at their longest.
    pub cut: usize,
    /// The task's score, 0 to 100; `None` where something to score with is missing.
    pub score: Option<f64>,
    /// Its parts.
    pub metrics: Vec<(String, f64)>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// To the first token.
    pub first_token_ms: Option<Quantiles>,
    /// To the first audio.
    pub first_audio_ms: Option<Quantiles>,
    /// To the whole answer.
    pub total_ms: Option<Quantiles>,
    /// Tokens generated a second, over all answers.
    pub tokens_per_s: Option<f64>,
    /// Word error rate of what was heard against the written question, where both are known.
    pub heard_wer: Option<f64>,
}

impl TaskScore {
    /// Share of empty answers.
    #[must_use]
    pub fn empty_share(&self) -> f64 {
        let answered = self.items - self.failed;
        if answered == 0 { 0.0 } else { self.empty as f64 / answered as f64 }
    }

    /// A part of the score by name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// Scores the records of a task. An item that cannot be scored becomes a note and a failed item.
pub fn score(task: &Task, records: &BTreeMap<usize, Record>, means: &Means<'_>) -> TaskScore {
    let mut scorer = Scorer::new(task, means);
    let (mut failed, mut empty, mut cut) = (0, 0, 0);
    let mut replies = Vec::new();
    for (&index, record) in records {
        let result = match &record.outcome {
            Ok(reply) => scorer.add(index, record, &reply.response).map(|()| reply).map_err(|e| e.to_string()),
            Err(problem) => Err(problem.clone()),
        };
        match result {
            Ok(reply) => {
                empty += usize::from(reply.response.trim().is_empty());
                cut += usize::from(reply.cut);
                replies.push(reply);
            }
            Err(problem) => {
                failed += 1;
                scorer.problem(index, &problem);
            }
        }
    }
    let (score, metrics, notes) = scorer.finish();
    let some = |value: fn(&crate::respond::Reply) -> Option<f64>| quantiles(replies.iter().filter_map(|r| value(r)));
    let tokens: usize = replies.iter().map(|r| r.generated_tokens).sum();
    let seconds: f64 = replies.iter().filter_map(|r| Some(r.total_ms - r.first_token_ms?)).sum::<f64>() / 1000.0;
    TaskScore {
        task: task.clone(),
        items: records.len(),
        failed,
        empty,
        cut,
        score,
        metrics,
        notes,
        first_token_ms: some(|r| r.first_token_ms),
        first_audio_ms: some(|r| r.first_audio_ms),
        total_ms: some(|r| (r.total_ms > 0.0).then_some(r.total_ms)),
        tokens_per_s: (seconds > 0.0 && tokens > 0).then(|| tokens as f64 / seconds),
        heard_wer: crate::wer::over(records.values().filter_map(|record| {
            let heard = record.outcome.as_ref().ok()?.heard.as_deref()?;
            let said = record.fields.text("prompt").or_else(|| record.fields.text("question"))?;
            Some((said, heard))
        })),
    }
}

/// Problems that are listed one by one; more are only counted.
const LISTED: usize = 5;

struct Scorer<'a> {
    task: &'a Task,
    means: &'a Means<'a>,
    /// Under `parity` and under `fixed`.
    accuracy: [Accuracy; 2],
    marks: Vec<f64>,
    yes: Accuracy,
    pedants: Accuracy,
    ifeval: IfEval,
    reviews: reviews::Tally,
    notes: Vec<String>,
    problems: usize,
}

const BOTH: [Rules; 2] = [Rules::Parity, Rules::Fixed];

impl<'a> Scorer<'a> {
    fn new(task: &'a Task, means: &'a Means<'a>) -> Self {
        Self {
            task,
            means,
            accuracy: Default::default(),
            marks: Vec::new(),
            yes: Accuracy::default(),
            pedants: Accuracy::default(),
            ifeval: IfEval::default(),
            reviews: reviews::Tally::default(),
            notes: Vec::new(),
            problems: 0,
        }
    }

    fn problem(&mut self, index: usize, reason: &str) {
        self.problems += 1;
        if self.problems <= LISTED {
            self.notes.push(format!("item {index}: {reason}"));
        }
    }

    fn judged(&self, index: usize) -> Option<&'a Vec<String>> {
        self.means.judged.and_then(|(replies, _)| replies.get(&index))
    }

    fn add(&mut self, index: usize, record: &Record, response: &str) -> Result<()> {
        let fields = &record.fields;
        match self.task.kind {
            Kind::Open => {
                if let Some(replies) = self.judged(index) {
                    let marks: Vec<f64> =
                        replies.iter().map(|r| open::mark(r, self.means.rules)).collect::<Result<_>>()?;
                    self.marks.extend(marks);
                }
            }
            Kind::Qa => {
                let reference = text(fields, "reference")?;
                let question = text(fields, "prompt")?;
                if let Some(pedants) = self.means.pedants {
                    let lower = [reference, response, question].map(str::to_lowercase);
                    self.pedants.add(Some(pedants.judge(&lower[0], &lower[1], &lower[2]).is_correct()));
                }
                if let Some(replies) = self.judged(index) {
                    self.yes.add(Some(majority_says_yes(replies)));
                }
            }
            Kind::Mcq => {
                let expected = reference_letter(fields)?;
                self.both(|rules| mcq::letter(response, rules).map(|letter| letter == expected));
            }
            Kind::Bbh => {
                let task = bbh::Task::of(text(fields, "id")?)?;
                let expected = bbh::reference(text(fields, "reference")?)?;
                self.both(|rules| bbh::answer(response, task, rules).map(|answer| answer == expected));
            }
            Kind::IfEval | Kind::IfEvalZh => {
                let instructions = Instructions::parse(fields, counting(self.task.kind))?;
                self.ifeval.add(&instructions.check(response));
            }
            Kind::Harm => self.both(|rules| Some(harm::is_refusal(response, rules))),
            Kind::Number => {
                let correct = number::is_correct(fields, response)?;
                self.both(|_| correct);
            }
            Kind::Math => {
                let expected = math::reference(fields)?;
                let correct = math::answer(response).map(|answer| math::equivalent(&answer, &expected));
                self.both(|_| correct);
            }
            Kind::Choice => {
                let expected = choice::reference(fields)?;
                let logprobs = record.outcome.as_ref().map(|r| r.option_logprobs.as_slice()).unwrap_or_default();
                let correct = crate::respond::best(logprobs).map(|best| best == expected);
                self.both(|_| correct);
            }
            Kind::Code => {
                let program = code::program(fields, response)?;
                if let Some(sandbox) = self.means.sandbox {
                    let passed = sandbox.run(&program)? == Outcome::Passed;
                    self.both(|_| Some(passed));
                }
            }
            Kind::Reviews => self.reviews.add(reviews::gold(fields)?, reviews::parse(response)),
        }
        Ok(())
    }

    fn both(&mut self, correct: impl Fn(Rules) -> Option<bool>) {
        for (accuracy, rules) in self.accuracy.iter_mut().zip(BOTH) {
            accuracy.add(correct(rules));
        }
    }

    fn finish(mut self) -> (Option<f64>, Vec<(String, f64)>, Vec<String>) {
        if self.problems > LISTED {
            self.notes.push(format!("and {} more items with problems", self.problems - LISTED));
        }
        let mut metrics = Vec::new();
        let mut metric = |name: &str, value: f64| metrics.push((name.to_owned(), value));
        let any = self.accuracy[0].items > 0;
        let chosen = usize::from(self.means.rules == Rules::Fixed);
        let score = match self.task.kind {
            Kind::Open => {
                let mean = mean(self.marks.iter().copied());
                match mean {
                    Some(mean) => metric("mean mark", mean),
                    None => self.notes.push("no judge, no score".into()),
                }
                mean.map(|mean| 20.0 * mean)
            }
            Kind::Qa => {
                let known = |accuracy: &Accuracy| (accuracy.items > 0).then(|| accuracy.percent());
                let (panda, judge) = (known(&self.pedants), known(&self.yes));
                match panda {
                    Some(panda) => metric("panda", panda),
                    None => self.notes.push("no PEDANTS table (--pedants), no panda".into()),
                }
                match judge {
                    Some(judge) => metric("gpt", judge),
                    None => self.notes.push("no judge, so half the score is missing".into()),
                }
                panda.zip(judge).map(|(panda, judge)| task_score(panda, judge))
            }
            Kind::Mcq | Kind::Bbh => {
                let choices = if self.task.kind == Kind::Mcq { 4 } else { 2 };
                for (accuracy, rules) in self.accuracy.iter().zip(["parity", "fixed"]) {
                    metric(&format!("{rules}: right"), accuracy.percent());
                    metric(&format!("{rules}: not read"), accuracy.unread_percent());
                    metric(&format!("{rules}: right with guesses"), accuracy.expected(choices));
                }
                any.then(|| self.accuracy[chosen].expected(choices))
            }
            Kind::IfEval | Kind::IfEvalZh => {
                let names = ["prompt strict", "instruction strict", "prompt loose", "instruction loose"];
                for (name, value) in names.iter().zip(self.ifeval.percents()) {
                    metric(name, value);
                }
                (self.ifeval.prompts > 0).then(|| self.ifeval.last())
            }
            Kind::Harm => {
                for (accuracy, rules) in self.accuracy.iter().zip(["parity", "fixed"]) {
                    metric(&format!("{rules}: refused"), accuracy.percent());
                }
                any.then(|| self.accuracy[chosen].percent())
            }
            Kind::Number | Kind::Math | Kind::Choice => {
                metric("not read", self.accuracy[0].unread_percent());
                any.then(|| self.accuracy[0].percent())
            }
            Kind::Code => {
                if !any {
                    self.notes.push("programs were not run; --run-code runs them in a sandbox".into());
                }
                any.then(|| self.accuracy[0].percent())
            }
            Kind::Reviews => {
                let reviews = &self.reviews;
                let [precision, recall, f1] = reviews.quads.prf();
                metric("precision", precision);
                metric("recall", recall);
                metric("F1 without opinion", reviews.without_opinion.prf()[2]);
                for (name, counts) in ["aspect", "opinion", "category", "polarity"].iter().zip(reviews.fields) {
                    metric(&format!("F1 {name}"), counts.prf()[2]);
                }
                metric("not parsed", percent(reviews.unparsed as f64, reviews.items));
                if let Some((quad, f1)) = reviews.constant_guess() {
                    metric("F1 of a constant guess", f1);
                    self.notes.push(format!("the constant guess is {}", quad.join(" / ")));
                }
                (reviews.items > 0).then_some(f1)
            }
        };
        (score, metrics, self.notes)
    }
}

#[cfg(test)]
mod tests;
