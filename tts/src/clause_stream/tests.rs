//! Clauses out of streams: where they are cut, what they point at, and what no stream can do to them.

use super::*;

fn clauses(pieces: &[&str]) -> Vec<Clause> {
    let mut stream = ClauseStream::default();
    let mut clauses: Vec<Clause> = pieces.iter().flat_map(|p| stream.push(p)).collect();
    clauses.extend(stream.finish());
    clauses
}

fn spoken(pieces: &[&str]) -> Vec<String> {
    clauses(pieces).into_iter().map(|c| c.spoken).collect()
}

#[test]
fn the_first_clause_comes_before_its_sentence_is_complete() {
    for (pieces, first, after) in [
        (vec!["Sure", ",", " I", " can"], "Sure,", 3),
        (vec!["Yes", ".", " I", " can"], "Yes.", 3),
        (vec!["The", " capital", " of", " France", " is", " Paris"], "The capital", 4),
        (vec!["No", "!", " Not", " at"], "No!", 3),
        (vec!["当然", "可以", "，", "我们"], "当然可以，", 3),
    ] {
        let mut stream = ClauseStream::default();
        let mut pushed = 0;
        let clause = pieces.iter().find_map(|piece| {
            pushed += 1;
            stream.push(piece).into_iter().next()
        });
        assert_eq!(clause.map(|c| c.spoken).as_deref(), Some(first), "{pieces:?}");
        assert_eq!(pushed, after, "{pieces:?}");
    }
}

#[test]
fn nothing_that_belongs_together_is_cut_apart() {
    for (text, together) in [
        ("It happened on May 5, 2024, in Paris.", "May fifth, twenty twenty-four"),
        ("We met Dr. Smith at the station today.", "doctor Smith"),
        ("The price went up to $1,299.99 in one day.", "dollars and ninety-nine cents"),
        ("About 5 km of the road to the north is closed.", "five kilometers"),
        ("J. R. R. Tolkien wrote the book.", "J. R. R. Tolkien"),
    ] {
        let spoken = spoken(&[text]);
        assert!(spoken.iter().any(|s| s.contains(together)), "{spoken:?}");
    }
}

#[test]
fn chunks_grow_with_the_queue() {
    let text = "one two three four five six seven eight nine ten ".repeat(20);
    let lengths = |queued_ms: u32| {
        let mut stream = ClauseStream::default();
        stream.audio_queued(queued_ms);
        stream.push(&text)[0].spoken.len()
    };
    assert!(lengths(0) < 40, "{}", lengths(0));
    assert!(lengths(3_000) > 100, "{}", lengths(3_000));
    let slow = StreamConfig { plan: ClausePlan::KOKORO, ..StreamConfig::default() };
    let mut stream = ClauseStream::new(slow);
    stream.audio_queued(1_000);
    assert!(stream.push(&text)[0].spoken.len() < lengths(1_000).max(60));
}

#[test]
fn sources_say_what_was_written() {
    let text = "**Sure!** <think>hm</think>It costs $50, Dr. Smith.";
    let read: Vec<&str> = clauses(&[text]).iter().flat_map(|c| c.words.clone()).map(|w| &text[w.source]).collect();
    assert_eq!(read, ["Sure", "It", "costs", "$50", "$50", "Dr.", "Smith"]);
    // Positions go on after the end of a text.
    let mut stream = ClauseStream::default();
    stream.push("One. ");
    stream.finish();
    let clauses = [stream.push("Two."), stream.finish()].concat();
    assert_eq!(clauses[0].source, 5..9);
}

#[test]
fn pauses_follow_the_punctuation() {
    let pauses = |text: &str| clauses(&[text]).iter().map(|c| (c.pause_ms, c.ends_sentence)).collect::<Vec<_>>();
    assert_eq!(pauses("Well, yes."), [(130, false), (320, true)]);
    assert_eq!(pauses("First line\nSecond line"), [(360, true), (320, true)]);
    assert_eq!(pauses("First one.\n\nSecond one."), [(520, true), (320, true)]);
}

#[test]
fn hidden_text_is_never_spoken_in_any_split() {
    for text in [
        "<think>do not say</think>Hello",
        "```\ndo not say\n```\nHello",
        "<think></think>Hello",
        "[Hello](http://do.not/say)",
        "<|do_not|>Hello",
    ] {
        for at in 0..=text.len() {
            assert_eq!(spoken(&[&text[..at], &text[at..]]), ["Hello"], "{text:?} at {at}");
        }
        let single: Vec<&str> = text.split_inclusive(|_: char| true).collect();
        assert_eq!(spoken(&single), ["Hello"], "{text:?}");
    }
    // What is opened and never closed stays hidden.
    assert!(spoken(&["<think>do not say"]).is_empty());
    assert!(spoken(&["```\ndo not say"]).is_empty());
}

#[test]
fn text_without_end_stays_bounded() {
    for endless in [
        "x",
        "1",
        "好",
        "*",
        "`",
        "<",
        "[",
        "(",
        "https://a",
        "<think>",
        "<a b=",
        ".",
        " ",
        "\n",
        "|",
        "-",
        "#",
        "&am",
        "1.",
        "你a",
        "\u{202e}",
        "﷽",
    ] {
        let mut stream = ClauseStream::default();
        for _ in 0..30_000 {
            for clause in stream.push(endless) {
                assert!(clause.words.len() <= 2 * MAX_CHARS, "{endless:?}");
            }
        }
        let waiting = stream.cleaner.waiting() + stream.clean.len();
        assert!(waiting < 8 * MAX_CHARS, "{endless:?}: {waiting} bytes wait");
        stream.finish();
    }
    let word = "a".repeat(100_000);
    let clauses = clauses(&[&word]);
    assert!(clauses.iter().all(|c| c.spoken.len() <= 4 * MAX_CHARS));
    assert_eq!(clauses.iter().map(|c| c.spoken.len()).sum::<usize>(), word.len());
}

#[test]
fn bytes_may_be_split_inside_characters() {
    let text = "你好，Zoë. 😀 Fine!";
    let whole = spoken(&[text]);
    for at in 0..text.len() {
        let mut stream = ClauseStream::default();
        let (a, b) = text.as_bytes().split_at(at);
        let mut clauses = [stream.push_bytes(a), stream.push_bytes(b)].concat();
        clauses.extend(stream.finish());
        assert_eq!(clauses.iter().map(|c| c.spoken.clone()).collect::<Vec<_>>(), whole, "split at {at}");
    }
    let mut stream = ClauseStream::default();
    stream.push_bytes(b"ok \xFF\xFE\x80 fine");
    assert_eq!(stream.finish()[0].spoken, "ok fine");
}
