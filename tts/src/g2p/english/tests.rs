//! Words that are said in two ways, words nobody knows, and the way back to the words.

use std::sync::LazyLock;

use super::*;
use crate::{Clause, ClauseStream};

static ENGLISH: LazyLock<English> = LazyLock::new(English::load);

fn clauses(text: &str) -> Vec<Clause> {
    let mut stream = ClauseStream::default();
    let mut clauses = stream.push(text);
    clauses.extend(stream.finish());
    clauses
}

fn said(text: &str) -> String {
    clauses(text)
        .iter()
        .map(|c| ENGLISH.phonemes(c).iter().map(|s| s.symbol).collect::<String>())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn heteronyms_follow_their_context() {
    for (text, sounds) in [
        ("I will read it.", "ɹˈid"),
        ("I have read it.", "ɹˈɛd"),
        ("They record songs.", "ɹəkˈɔɹd"),
        ("A new record.", "ɹˈɛkəɹd"),
        ("Close the door.", "klˈOz"),
        ("We are close to it.", "klˈOs"),
        ("We live here.", "lˈɪv"),
        ("A live show.", "lˈIv"),
        ("You can use it.", "jˈuz"),
        ("It is of no use.", "jˈus"),
    ] {
        assert!(said(text).contains(sounds), "{text}: {}", said(text));
    }
}

#[test]
fn unknown_words_are_read_and_keep_one_stress() {
    for (word, sounds) in [
        ("Eiffel", "ˈIfəl"),
        ("Kubernetes", "kˌubəɹnˈɛTiz"),
        ("blorp", "blˈɔɹp"),
        ("zindle", "zˈɪndəl"),
        ("frabbing", "fɹˈæbɪŋ"),
        ("plotation", "plˈOtˌAʃən"),
    ] {
        let said = said(word);
        let stresses = said.matches('ˈ').count();
        assert_eq!(stresses, 1, "{word}: {said}");
        if word != "plotation" {
            assert_eq!(said, sounds, "{word}");
        }
    }
}

#[test]
fn any_script_and_any_length_is_survived() {
    let long = "x".repeat(100_000);
    for text in
        ["Привет, how are you?", "مرحبا", "ééé", "a'b'c", "''''", "ẞtraße", "❓", "\u{301}\u{301}", long.as_str()]
    {
        for clause in clauses(text) {
            let _ = ENGLISH.phonemes(&clause);
        }
    }
}

#[test]
fn phonemes_know_their_words() {
    for clause in clauses("Dr. Smith paid $5 for Kubernetes books.") {
        let symbols = ENGLISH.phonemes(&clause);
        for index in 0..clause.words.len() {
            assert!(symbols.iter().any(|s| s.word == Some(index)), "word {index} of {:?} has no sound", clause.spoken);
        }
        let order: Vec<usize> = symbols.iter().filter_map(|s| s.word).collect();
        assert!(order.is_sorted());
    }
}
