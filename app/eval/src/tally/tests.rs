//! Whole tasks scored.

use super::*;
use crate::json::{Json, Object};
use crate::respond::Reply;
use crate::testing::shared;
use crate::voicebench;

fn fields(json: &str) -> Object {
    let Json::Object(fields) = Json::parse(json).unwrap() else { panic!() };
    fields
}

fn records(items: Vec<Object>, response: &str) -> BTreeMap<usize, Record> {
    let reply = Reply { response: response.to_owned(), ..Reply::default() };
    items.into_iter().map(|fields| Record { fields, outcome: Ok(reply.clone()) }).enumerate().collect()
}

/// Saying nothing, with a judge that gives 1 and "No": some 28.9, with nothing left to chance.
#[test]
fn an_empty_assistant_reproduces_the_floor() {
    let pedants_table = {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.tsv");
        let table = "#f1\t0\n#precision\t0\n#recall\t0\n#intercept\t1\nword\t1\t0\n";
        std::fs::write(&path, table).unwrap();
        Pedants::open(&path).unwrap()
    };
    let plain = || vec![fields(r#"{"prompt": "Why?"}"#); 4];
    let letters =
        || ["A", "B", "C", "D"].map(|l| fields(&format!(r#"{{"prompt": "Q", "reference": "{l}"}}"#))).to_vec();
    let bbh = || {
        ["sports_understanding", "navigate", "web_of_lies"]
            .iter()
            .flat_map(|id| {
                ["yes", "no"].map(|r| fields(&format!(r#"{{"id": "{id}_1", "prompt": "Q", "reference": "{r}"}}"#)))
            })
            .collect::<Vec<_>>()
    };
    let ifeval = || vec![fields(r#"{"prompt": "Q", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}"#)];
    let sdqa = || vec![fields(r#"{"prompt": "Q", "reference": "Paris"}"#); 3];
    let sets = voicebench::BOARD.map(|name| {
        let items = match name {
            "sd-qa" => sdqa(),
            "mmsu" | "openbookqa" => letters(),
            "bbh" => bbh(),
            "ifeval" => ifeval(),
            _ => plain(),
        };
        (name, items)
    });
    let scores: BTreeMap<&str, TaskScore> = sets
        .into_iter()
        .map(|(name, items)| {
            let task = Task::new(name, "test").unwrap();
            let records = records(items, "");
            let reply = if name == "sd-qa" { "No" } else { "1" };
            let judged: BTreeMap<usize, Vec<String>> =
                records.keys().map(|&i| (i, vec![reply.to_owned(); 3])).collect();
            let means = Means { judged: Some((&judged, "stub")), pedants: Some(&pedants_table), ..Means::default() };
            (name, score(&task, &records, &means))
        })
        .collect();
    let parts: Vec<f64> = voicebench::BOARD.iter().map(|name| scores[name].score.unwrap()).collect();
    assert_eq!(parts, [20.0, 20.0, 20.0, 0.0, 25.0, 25.0, 50.0, 0.0, 100.0]);
    let composite = voicebench::composite(|name| scores[name].score).unwrap();
    assert!((composite - 260.0 / 9.0).abs() < 1e-12 && (composite - 28.9).abs() < 0.05, "{composite}");
    assert!(scores.values().all(|s| s.empty_share() > MOST_EMPTY), "and it is no result");
}

#[test]
fn damaged_items_are_counted_and_named_and_the_rest_is_scored() {
    let task = Task::new("mmsu", "law").unwrap();
    let mut records = records(vec![fields(r#"{"prompt": "Q", "reference": "B"}"#); 2], "The answer is B.");
    records.insert(2, Record::failed(Object::default(), "audio is null"));
    records.insert(3, Record { fields: fields(r#"{"prompt": "Q"}"#), outcome: Ok(Reply::default()) });
    let score = score(&task, &records, &Means::default());
    assert_eq!((score.items, score.failed, score.score), (4, 2, Some(100.0)));
    assert_eq!(score.notes, ["item 2: audio is null", "item 3: score: the column reference is missing"]);
}

#[test]
fn without_judge_and_table_the_score_is_missing_and_says_why() {
    let task = Task::new("sd-qa", "usa").unwrap();
    let records = records(vec![fields(r#"{"prompt": "Q", "reference": "B"}"#)], "B");
    let result = score(&task, &records, &Means::default());
    assert_eq!((result.score, result.notes.len()), (None, 2));
    let task = Task::new("commoneval", "test").unwrap();
    assert_eq!(score(&task, &records, &Means::default()).notes, ["no judge, no score"]);
    let task = Task::new("humaneval", "test").unwrap();
    let program = vec![fields(r#"{"prompt": "def f():\n", "test": "def check(c): pass", "entry_point": "f"}"#)];
    let records = super::tests::records(program, "    return 1");
    let result = score(&task, &records, &Means::default());
    assert_eq!(result.score, None);
    assert!(result.notes[0].contains("--run-code"), "{:?}", result.notes);
}

/// Reference solutions of HumanEval pass in the sandbox, and broken ones fail.
#[test]
fn reference_programs_pass() {
    let Some(folder) = shared("evaldata") else { return };
    let sandbox = match Sandbox::new("python3".as_ref(), Default::default()) {
        Ok(sandbox) => sandbox,
        Err(e) => {
            eprintln!("skipped: {e}");
            return;
        }
    };
    let task = Task::new("humaneval", "test").unwrap();
    let means = Means { sandbox: Some(&sandbox), ..Means::default() };
    let lines = std::fs::read_to_string(folder.join("humaneval_164.jsonl")).unwrap();
    let items: Vec<Object> = lines.lines().step_by(40).map(fields).collect();
    let with = |response: fn(&Object) -> String| -> f64 {
        let record = |fields: &Object| Record {
            fields: fields.clone(),
            outcome: Ok(Reply { response: response(fields), ..Reply::default() }),
        };
        score(&task, &items.iter().map(record).enumerate().collect(), &means).score.unwrap()
    };
    assert_eq!(with(|f| f.text("canonical_solution").unwrap().to_owned()), 100.0);
    assert_eq!(
        with(|f| format!("```python\n{}{}```", f.text("prompt").unwrap(), f.text("canonical_solution").unwrap())),
        100.0
    );
    assert_eq!(with(|_| "    return None\n".to_owned()), 0.0);
}
