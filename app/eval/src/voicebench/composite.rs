//! One number of nine tasks; and, without a judge, another number under another name.

use serde::{Deserialize, Serialize};

use super::BOARD;

/// What the mean without a judge is called; it must never be mistaken for the composite.
pub const JUDGE_FREE: &str = "VB-judge-free";

/// The tasks of [`JUDGE_FREE`]: those scored without a judge, sd-qa by PEDANTS alone.
const JUDGE_FREE_TASKS: [&str; 6] = ["sd-qa", "mmsu", "openbookqa", "bbh", "ifeval", "advbench"];

/// A mean over tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Composite {
    /// What it is.
    pub name: String,
    /// 0 to 100.
    pub value: f64,
    /// The tasks in it.
    pub tasks: Vec<String>,
    /// Tasks that should be in it and are not.
    pub missing: Vec<String>,
}

/// The plain mean of the nine tasks, each 0 to 100 (open tasks: 20 times the mean mark). `None` while one is missing.
pub fn composite(score: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let scores: Option<Vec<f64>> = BOARD.iter().map(|task| score(task)).collect();
    Some(scores?.iter().sum::<f64>() / BOARD.len() as f64)
}

/// The mean of those tasks that need no judge; `None` where there is none of them. What is missing is named.
pub fn judge_free(score: impl Fn(&str) -> Option<f64>) -> Option<Composite> {
    let (mut tasks, mut missing, mut sum) = (Vec::new(), Vec::new(), 0.0);
    for task in JUDGE_FREE_TASKS {
        match score(task) {
            Some(value) => {
                sum += value;
                tasks.push(task.to_owned());
            }
            None => missing.push(task.to_owned()),
        }
    }
    if tasks.is_empty() {
        return None;
    }
    Some(Composite { name: JUDGE_FREE.to_owned(), value: sum / tasks.len() as f64, tasks, missing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boards_overalls_come_out_exactly() {
        let text = include_str!("../../data/board.tsv");
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
        let mut models = 0;
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let overall = composite(|task| {
                let at = names.iter().position(|name| *name == task)?;
                let value: f64 = fields[at].parse().ok()?;
                Some(if matches!(task, "alpacaeval_full" | "commoneval" | "wildvoice") { 20.0 * value } else { value })
            });
            let published: f64 = fields[10].parse().unwrap();
            let overall = overall.unwrap();
            // To half of the last digit that the board has.
            assert!((overall - published).abs() <= 0.0051, "{}: {overall}", fields[0]);
            models += 1;
        }
        assert_eq!(models, 33);
    }

    #[test]
    fn a_missing_task_makes_no_composite() {
        assert_eq!(composite(|task| (task != "bbh").then_some(50.0)), None);
        let partial = judge_free(|task| (task != "bbh" && task != "wildvoice").then_some(50.0)).unwrap();
        assert_eq!((partial.value, partial.tasks.len(), partial.missing), (50.0, 5, vec!["bbh".to_owned()]));
        assert_eq!(judge_free(|_| None), None);
    }
}
