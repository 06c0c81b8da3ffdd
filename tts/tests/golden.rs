//! What is said for what is written: a table of cases, whole and in every split.

use tts::ClauseStream;

/// Cases as (line number, written, said); `\n` in the table is a line break.
fn cases(table: &'static str) -> Vec<(usize, String, &'static str)> {
    let lines = table.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with("##"));
    lines
        .map(|(number, line)| {
            let (written, said) = line.split_once('\t').unwrap_or((line, ""));
            (number + 1, written.replace("\\n", "\n"), said)
        })
        .collect()
}

/// Every case of both languages.
fn golden() -> Vec<(usize, String, &'static str)> {
    let mut all = cases(include_str!("data/golden_en.tsv"));
    all.extend(cases(include_str!("data/golden_zh.tsv")));
    all
}

fn said(pieces: &[&str]) -> String {
    let mut stream = ClauseStream::default();
    let mut clauses: Vec<_> = pieces.iter().flat_map(|piece| stream.push(piece)).collect();
    clauses.extend(stream.finish());
    let spoken: Vec<&str> = clauses.iter().map(|c| c.spoken.as_str()).collect();
    spoken.join(" ")
}

#[test]
fn every_written_form_is_said_right() {
    let cases = golden();
    assert!(cases.len() >= 400, "{} cases", cases.len());
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(_, written, wanted)| said(&[written]) != *wanted)
        .map(|(line, written, wanted)| {
            format!("line {line}: {written:?}\n  wanted {wanted:?}\n  said   {:?}", said(&[written]))
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn splitting_the_text_anywhere_changes_no_word() {
    let mut wrong = Vec::new();
    for (line, written, _) in golden() {
        let whole = words(&said(&[&written]));
        let mut splits: Vec<Vec<&str>> =
            written.char_indices().skip(1).map(|(at, _)| vec![&written[..at], &written[at..]]).collect();
        splits.push(written.split_inclusive(|_: char| true).collect());
        let differing = splits.iter().find(|pieces| words(&said(pieces)) != whole);
        wrong.extend(
            differing.map(|pieces| {
                format!("line {line}: {pieces:?}\n  whole {whole:?}\n  split {:?}", words(&said(pieces)))
            }),
        );
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Where the text is cut depends on when it comes; marks at a cut may differ, words may not.
fn words(said: &str) -> Vec<String> {
    said.split_whitespace()
        .map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
        .filter(|w| !w.is_empty())
        .collect()
}

#[test]
fn sources_point_at_what_was_written() {
    for (line, written, _) in golden() {
        let mut stream = ClauseStream::default();
        let mut clauses = stream.push(&written);
        clauses.extend(stream.finish());
        let mut from = 0;
        for clause in &clauses {
            assert!(written.get(clause.source.clone()).is_some(), "line {line}: {:?}", clause.source);
            for word in &clause.words {
                assert!(word.source.start >= from, "line {line}: sources go back");
                assert!(clause.spoken.get(word.spoken.clone()).is_some_and(|w| w.chars().any(char::is_alphanumeric)));
                let source = written
                    .get(word.source.clone())
                    .unwrap_or_else(|| panic!("line {line}: {:?} is no text", word.source));
                let unchanged = &clause.spoken[word.spoken.clone()];
                if source.chars().all(char::is_alphabetic) && unchanged == source {
                    assert_eq!(written.get(word.source.clone()), Some(unchanged));
                }
                from = word.source.start;
            }
        }
    }
}
