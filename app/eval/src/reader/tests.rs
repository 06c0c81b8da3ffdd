//! Whole, damaged and hostile data sets.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

use super::*;
use crate::item::{Audio, Item};
use crate::json::Json;
use crate::testing::shared;

fn read(path: &Path) -> (Vec<Item>, Vec<Problem>) {
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    for entry in Reader::new(vec![path.to_owned()]) {
        match entry {
            Ok(item) => items.push(item),
            Err(problem) => problems.push(problem),
        }
    }
    (items, problems)
}

#[test]
fn the_fixture_holds_six_clips_byte_for_byte() {
    let (Some(data), Some(speech)) = (shared("evaldata"), shared("speech")) else { return };
    let (items, problems) = read(&data.join("hf_audio_fixture.parquet"));
    assert_eq!((items.len(), problems), (6, vec![]));
    let clips: Vec<Vec<u8>> = fs::read_dir(speech).unwrap().filter_map(|e| fs::read(e.unwrap().path()).ok()).collect();
    for item in &items {
        let Some(Audio::Bytes(bytes)) = &item.audio else { panic!("{item:?}") };
        assert!(clips.iter().any(|clip| clip == bytes), "row {} is none of the clips", item.index);
        assert!(item.fields.text("prompt").is_some_and(|p| !p.is_empty()), "{:?}", item.fields);
    }
}

/// Writes rows of (prompt, audio bytes) as Hugging Face does; `None` is null.
fn write_parquet(path: &Path, rows: &[(Option<&str>, Option<&[u8]>)], row_group: usize) {
    let schema = "message schema { optional binary prompt (UTF8);
        optional group audio { optional binary path (UTF8); optional binary bytes; } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, Arc::default()).unwrap();
    for rows in rows.chunks(row_group) {
        let mut group = writer.next_row_group().unwrap();
        let prompts: Vec<Option<Vec<u8>>> = rows.iter().map(|r| r.0.map(|p| p.as_bytes().to_vec())).collect();
        let bytes: Vec<Option<Vec<u8>>> = rows.iter().map(|r| r.1.map(<[u8]>::to_vec)).collect();
        let columns = [(prompts, 1, 0), (vec![None; rows.len()], 2, 1), (bytes, 2, 0)];
        for (values, present, absent) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            let levels: Vec<i16> = values.iter().map(|v| if v.is_some() { present } else { absent }).collect();
            let values: Vec<ByteArray> = values.into_iter().flatten().map(ByteArray::from).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn row_groups_follow_each_other_and_null_audio_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    let rows: &[(Option<&str>, Option<&[u8]>)] =
        &[(Some("one"), Some(b"RIFF")), (Some("two"), None), (None, Some(b"")), (Some("four"), Some(b"x"))];
    write_parquet(&path, rows, 3);
    let (items, problems) = read(&path);
    let seen: Vec<_> = items.iter().map(|i| (i.index, i.fields.get("prompt").cloned().unwrap())).collect();
    assert_eq!(seen, [(0, Json::from("one")), (2, Json::Null), (3, Json::from("four"))]);
    assert_eq!(items[0].audio, Some(Audio::Bytes(b"RIFF".to_vec())));
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].index, 1);
    assert!(problems[0].reason.contains("neither bytes nor path"), "{problems:?}");
}

#[test]
fn truncated_and_damaged_parquet_never_ends_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.parquet");
    let long = vec![b'a'; 5000];
    let rows: Vec<(Option<&str>, Option<&[u8]>)> = (0..40).map(|_| (Some("question"), Some(&long[..]))).collect();
    write_parquet(&whole, &rows, 10);
    let bytes = fs::read(&whole).unwrap();
    let other = dir.path().join("b.jsonl");
    fs::write(&other, "{\"prompt\": \"after\"}\n").unwrap();
    let mut damages: Vec<Vec<u8>> =
        [0, 3, 100, bytes.len() / 2, bytes.len() - 1].iter().map(|&n| bytes[..n].to_vec()).collect();
    for at in (8..bytes.len() - 8).step_by(bytes.len() / 50) {
        let mut damaged = bytes.clone();
        for byte in &mut damaged[at..at + 8] {
            *byte ^= 0xff;
        }
        damages.push(damaged);
    }
    for (i, damaged) in damages.iter().enumerate() {
        let path = dir.path().join("damaged.parquet");
        fs::write(&path, damaged).unwrap();
        let entries: Vec<Entry> = Reader::new(vec![path, other.clone()]).take(1000).collect();
        assert!(entries.len() < 1000, "damage {i} never ends");
        let last = entries.last().unwrap().as_ref().unwrap();
        assert_eq!(last.fields.text("prompt"), Some("after"), "damage {i}");
        if i < 5 {
            assert!(entries[0].as_ref().unwrap_err().reason.contains("not a whole parquet file"), "{:?}", entries[0]);
        }
    }
}

#[test]
fn lines_tables_and_arrays() {
    let dir = tempfile::tempdir().unwrap();
    let check = |name: &str, text: &str, expected: &[Result<&str, &str>]| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        let entries: Vec<Entry> = Reader::new(vec![path]).collect();
        assert_eq!(entries.len(), expected.len(), "{name}: {entries:?}");
        for (entry, expected) in entries.iter().zip(expected) {
            match (entry, expected) {
                (Ok(item), Ok(fields)) => assert_eq!(item.fields.to_string(), *fields, "{name}"),
                (Err(problem), Err(part)) => assert!(problem.reason.contains(part), "{name}: {problem:?}"),
                _ => panic!("{name}: {entry:?} where {expected:?} was expected"),
            }
        }
    };
    let twice = "{\"id\": 1, \"prompt\": \"a\"}\n{\"id\": 1, \"prompt\": \"b\"}\n{\"id\": 1, \"prompt\": \"b\"}\n";
    check("twice.jsonl", twice, &[Ok(r#"{"id": 1, "prompt": "a"}"#), Ok(r#"{"id": 1, "prompt": "b"}"#), Err("twice")]);
    check(
        "wrong.jsonl",
        "\u{feff}{\"a\": 1}\n\n{\"a\": }\n[2]\n\"text\"\n{\"audio\": 5}\n{\"a\": 3}",
        &[
            Ok(r#"{"a": 1}"#),
            Err("line 3: wrong JSON"),
            Err("line 4: a JSON object"),
            Err("line 5"),
            Err("neither a file name"),
            Ok(r#"{"a": 3}"#),
        ],
    );
    check("array.json", "[{\"a\": 1}, 2]", &[Ok(r#"{"a": 1}"#), Err("a JSON object")]);
    check("broken.json", "[{\"a\": 1}, ", &[Err("EOF")]);
    check(
        "two.tsv",
        "How many?\t18\n只有一列\n",
        &[Ok(r#"{"question": "How many?", "answer": "18"}"#), Err("columns")],
    );
    check("named.tsv", "id\tprompt\n1\thello\n", &[Ok(r#"{"id": "1", "prompt": "hello"}"#)]);
    check("empty.jsonl", "", &[]);
    let deep = "[".repeat(100_000);
    check("deep.jsonl", &format!("{{\"a\": {deep}"), &[Err("wrong JSON")]);
}

#[test]
fn audio_beside_lines_is_found_from_where_the_lines_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("set.jsonl");
    fs::write(&path, "{\"audio\": \"wav/1.wav\", \"a\": 1}\n{\"audio\": {\"path\": \"2.flac\"}}\n").unwrap();
    let (items, _) = read(&path);
    assert_eq!(items[0].audio, Some(Audio::File(dir.path().join("wav/1.wav"))));
    assert_eq!(items[1].audio, Some(Audio::File(dir.path().join("2.flac"))));
    assert_eq!(items[0].fields.to_string(), "{\"a\": 1}");
}

#[test]
fn files_of_a_split_are_found_in_order() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sd-qa")).unwrap();
    for name in ["usa-00001-of-00002.parquet", "usa-00000-of-00002.parquet", "aus-00000-of-00001.parquet"] {
        fs::write(dir.path().join("sd-qa").join(name), "").unwrap();
    }
    fs::write(dir.path().join("bbh.jsonl"), "").unwrap();
    let names = |subset, split| -> Vec<String> {
        let found = files(dir.path(), subset, split).unwrap_or_default();
        found.iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names("sd-qa", "usa"), ["usa-00000-of-00002.parquet", "usa-00001-of-00002.parquet"]);
    assert_eq!(names("bbh", "test"), ["bbh.jsonl"]);
    assert_eq!(splits(dir.path(), "sd-qa"), ["aus", "usa"]);
    assert!(files(dir.path(), "ifeval", "test").unwrap_err().to_string().contains("ifeval/test-*.parquet"));
}
