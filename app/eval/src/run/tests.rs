//! Runs that are cut short, damaged data, and the files that come out.

use std::process::{Command, Stdio};

use super::*;
use crate::tally::{Means, score};

/// Answers by a rule, slowly where asked; the answer depends on the question alone.
struct Scripted {
    pause: Duration,
}

impl Responder for Scripted {
    fn parts(&self) -> Vec<(String, String)> {
        vec![("llm".into(), "scripted".into())]
    }

    fn respond(&mut self, ask: &Ask<'_>, _: &AtomicBool) -> Result<Reply> {
        std::thread::sleep(self.pause);
        let response = match ask {
            Ask::Text { prompt, .. } if prompt.contains("7") => return Err(Error::Score("seven".into())),
            Ask::Text { prompt, .. } => if prompt.len() % 2 == 0 { "The answer is B." } else { "Hm" }.to_owned(),
            Ask::Speech { samples, .. } => format!("heard {} samples", samples.len()),
            _ => "[]".to_owned(),
        };
        Ok(Reply { response, generated_tokens: 3, total_ms: 1.0, ..Reply::default() })
    }
}

fn questions(folder: &Path, count: usize) {
    let letter = |i: usize| ["A", "B", "C", "D"][i % 4];
    let line = |i: usize| format!("{{\"id\": {i}, \"prompt\": \"Question {i}\", \"reference\": \"{}\"}}\n", letter(i));
    std::fs::create_dir_all(folder.join("mmsu")).unwrap();
    std::fs::write(folder.join("mmsu/law.jsonl"), (0..count).map(line).collect::<String>()).unwrap();
}

fn run(out: &Path, data: &Path, pause: Duration, limit: Option<usize>) -> Result<BTreeMap<usize, Record>> {
    let mut responder = Scripted { pause };
    let settings = Settings { data: data.to_owned(), modality: Modality::Text, limit, ..Settings::default() };
    let mut run = Run::open(out, settings, &responder.parts())?;
    let task = Task::new("mmsu", "law")?;
    run.run(&task, "scripted", &mut responder, &mut |_| {}, &AtomicBool::new(false))
}

/// Not a test by itself: the process that the next test kills.
#[test]
fn child_that_gets_killed() {
    if let Ok(folder) = std::env::var("EVAL_TEST_FOLDER") {
        let folder = PathBuf::from(folder);
        run(&folder.join("killed"), &folder.join("data"), Duration::from_millis(4), None).unwrap();
    }
}

#[test]
fn killed_again_and_again_a_run_comes_to_the_same_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    questions(&data, 60);
    let whole = run(&dir.path().join("whole"), &data, Duration::ZERO, None).unwrap();
    let killed = dir.path().join("killed");
    let journal = killed.join("journal/mmsu-law-text.jsonl");
    let lines = || std::fs::read(&journal).map_or(0, |bytes| bytes.iter().filter(|&&b| b == b'\n').count());
    let mut seen = 0;
    for wanted in [5, 20, 35] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "run::tests::child_that_gets_killed"])
            .env("EVAL_TEST_FOLDER", dir.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while lines() < wanted {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself after {} items", lines());
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        assert!(lines() > seen && lines() < 60);
        seen = lines();
    }
    let resumed = run(&killed, &data, Duration::ZERO, None).unwrap();
    assert_eq!(resumed, whole);
    assert_eq!(lines(), 60, "no item twice, none lost");
    let task = Task::new("mmsu", "law").unwrap();
    let file = voicebench::file_name("scripted", "mmsu", "law", Modality::Text);
    let read = |folder: &str| std::fs::read(dir.path().join(folder).join(&file)).unwrap();
    assert_eq!(read("killed"), read("whole"));
    let numbers = |records| serde_json::to_string(&score(&task, records, &Means::default())).unwrap();
    assert_eq!(numbers(&resumed), numbers(&whole));
}

#[test]
fn a_larger_limit_continues_and_other_settings_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    questions(&data, 20);
    let five = run(&out, &data, Duration::ZERO, Some(5)).unwrap();
    let ten = run(&out, &data, Duration::ZERO, Some(10)).unwrap();
    assert_eq!((five.len(), ten.len()), (5, 10));
    assert!(five.keys().all(|index| ten.contains_key(index)));
    assert_eq!(run(&out, &data, Duration::ZERO, Some(5)).unwrap(), five, "and a smaller one looks at fewer");
    let settings = Settings { data, modality: Modality::Audio, ..Settings::default() };
    let message = Run::open(&out, settings.clone(), &[]).unwrap_err().to_string();
    assert!(message.contains("modality"), "{message}");
    let _first = Run::open(&dir.path().join("other"), settings.clone(), &[]).unwrap();
    let message = Run::open(&dir.path().join("other"), settings, &[]).unwrap_err().to_string();
    assert!(message.contains("another process"), "{message}");
}

#[test]
fn bad_data_is_reported_and_the_run_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir_all(data.join("commoneval")).unwrap();
    let wav = |name: &str, seconds: f64| {
        let samples = vec![0.1; (seconds * 8000.0) as usize];
        pocket_voice::audio::wav::write(&data.join("commoneval").join(name), 8000, &samples).unwrap();
    };
    wav("good.wav", 0.5);
    wav("empty.wav", 0.0);
    wav("hour.wav", 3600.0);
    let lines = [
        r#"{"prompt": "fine", "audio": "good.wav"}"#,
        r#"{"prompt": "nothing in it", "audio": "empty.wav"}"#,
        r#"{"prompt": "far too long", "audio": "hour.wav"}"#,
        r#"{"prompt": "lost", "audio": "none.wav"}"#,
        r#"{"prompt": "null", "audio": null}"#,
        r#"{"prompt": "absent"}"#,
        r#"{"no_prompt": 1, "audio": "good.wav"}"#,
        r#"{"prompt": 5, "audio": "good.wav"}"#,
        r#"{"id": 1, "prompt": "twice", "audio": "good.wav"}"#,
        r#"{"id": 1, "prompt": "twice", "audio": "good.wav"}"#,
        r#"{"prompt": "#,
        r#"{"prompt": "fine too", "audio": "good.wav"}"#,
    ];
    std::fs::write(data.join("commoneval/test.jsonl"), lines.join("\n")).unwrap();
    let mut responder = Scripted { pause: Duration::ZERO };
    let settings = Settings { data, ..Settings::default() };
    let mut run = Run::open(&dir.path().join("out"), settings, &responder.parts()).unwrap();
    let task = Task::new("commoneval", "test").unwrap();
    let mut last = (0, 0);
    let mut progress = |p: Progress<'_>| last = (p.done, p.all);
    let cancel = AtomicBool::new(false);
    let records = run.run(&task, "m", &mut responder, &mut progress, &cancel).unwrap();
    assert_eq!((records.len(), last), (12, (12, 12)));
    let expected = [
        Ok("heard 8000 samples"),
        Err("no"),
        Err("longer than 600 s"),
        Err("none.wav"),
        Err("neither a file name"),
        Err("the item has none"),
        Err("prompt is missing"),
        Err("not text"),
        Ok("heard 8000 samples"),
        Err("twice"),
        Err("wrong JSON"),
        Ok("heard 8000 samples"),
    ];
    for ((index, record), expected) in records.iter().zip(expected) {
        match (&record.outcome, expected) {
            (Ok(reply), Ok(response)) => assert_eq!(reply.response, response, "item {index}"),
            (Err(problem), Err(part)) => assert!(problem.contains(part), "item {index}: {problem}"),
            (outcome, _) => panic!("item {index}: {outcome:?}"),
        }
    }
    let score = score(&task, &records, &Means::default());
    assert_eq!((score.items, score.failed), (12, 9));
}

#[test]
fn a_judge_is_asked_once_an_item_and_its_file_is_the_originals() {
    struct Counting(usize);
    impl Judge for Counting {
        fn name(&self) -> String {
            "counting".into()
        }
        fn judge(&mut self, _: judge::Form, _: &str, _: &AtomicBool) -> Result<Vec<String>> {
            self.0 += 1;
            Ok(vec!["Yes".into(), "yes".into(), "No".into()])
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    questions(&data, 6);
    let records = run(&out, &data, Duration::ZERO, None).unwrap();
    let settings = Settings { data, modality: Modality::Text, ..Settings::default() };
    let mut run = Run::open(&out, settings, &[]).unwrap();
    let task = Task::new("mmsu", "law").unwrap();
    let mut judge = Counting(0);
    for _ in 0..2 {
        let cancel = AtomicBool::new(false);
        let replies = run.judge(&task, "scripted", &records, &mut judge, &mut |_| {}, &cancel).unwrap();
        assert_eq!((replies.len(), judge.0), (6, 6));
    }
    let text = std::fs::read_to_string(out.join("result-scripted-mmsu-law-text.jsonl")).unwrap();
    assert!(text.starts_with(
        "{\"id\": 0, \"prompt\": \"Question 0\", \"reference\": \"A\", \"response\": \"The answer is B.\", \
         \"score\": [\"Yes\", \"yes\", \"No\"]}\n"
    ));
}
