//! Transcripts, as a recogniser writes them, and how finished they read.

use super::{Closed, Open, TextCue, cue};

#[test]
fn reads_the_end_of_a_transcript() {
    use Closed::{Dictation, Question, Reply, Sentence};
    use Open::{Conjunction, Digits, Empty, Filler, Function, Punctuation, Spelling};
    use TextCue::{Finished, Undecided, Unfinished};
    let cases = [
        // Nothing yet.
        ("", Unfinished(Empty)),
        ("  ...", Unfinished(Empty)),
        // English: holding the floor.
        ("I want to book a, um", Unfinished(Filler)),
        ("Uh...", Unfinished(Filler)),
        ("I would like, you know,", Unfinished(Filler)),
        ("Well, let me think.", Unfinished(Filler)),
        // A clause or a noun must follow, even when the recogniser closes it with a full stop.
        ("I'd go there, but", Unfinished(Conjunction)),
        ("I can't come because.", Unfinished(Conjunction)),
        ("Yes. And then", Unfinished(Conjunction)),
        ("Turn on the lights and", Unfinished(Conjunction)),
        ("Please play the", Unfinished(Function)),
        ("Call my.", Unfinished(Function)),
        ("I want to fly to", Unfinished(Function)),
        ("I want to fly to.", Unfinished(Function)),
        ("And so my fellow Americans ask not what your country can do for", Unfinished(Function)),
        ("Can you", Unfinished(Function)),
        ("I’d like to", Unfinished(Function)),
        // Recognisers close what was merely interrupted, with a full stop or a question mark.
        ("Could you tell me the name of?", Unfinished(Function)),
        ("Can you?", Unfinished(Function)),
        ("How do I get from here to?", Unfinished(Function)),
        ("Who was the first person to?", Unfinished(Function)),
        ("Tell me a story about a dragon who?", Unfinished(Function)),
        ("So I was talking to my boss, and he said that.", Unfinished(Function)),
        ("Is it true that?", Unfinished(Function)),
        ("I think we should maybe.", Unfinished(Function)),
        ("What's 12 times?", Unfinished(Function)),
        ("He told me that the project was.", Unfinished(Function)),
        ("If it rains tomorrow.", Unfinished(Function)),
        ("Because I was late.", Unfinished(Function)),
        ("The thing is...", Unfinished(Filler)),
        ("My email address is john dot Smith.", Unfinished(Spelling)),
        // The same words where they may end.
        ("If it rains tomorrow, we stay at home.", Finished(Sentence)),
        ("When is the meeting?", Finished(Question)),
        ("What are you talking about?", Finished(Question)),
        ("Who are you talking to?", Finished(Question)),
        ("Can you do that?", Finished(Question)),
        ("I know where it is.", Undecided),
        ("How many times?", Finished(Question)),
        ("Yes, probably.", Undecided),
        ("Who?", Finished(Question)),
        ("Where are you from?", Finished(Question)),
        ("where are you from", Undecided),
        ("What is this for", Undecided),
        ("Yes I am", Undecided),
        ("I think so.", Undecided),
        // Punctuation.
        ("If the reader will excuse me,", Unfinished(Punctuation)),
        ("On the one hand —", Unfinished(Punctuation)),
        ("What time is it?", Finished(Question)),
        ("Go forward ten meters.", Finished(Sentence)),
        ("go forward ten meters", Undecided),
        // Complete by themselves.
        ("Yes.", Finished(Reply)),
        ("thank you", Finished(Reply)),
        ("Stop!", Finished(Reply)),
        ("Okay,", Undecided),
        // Numbers.
        ("My phone number is 555", Unfinished(Digits)),
        ("My phone number is 555 012.", Unfinished(Digits)),
        ("My phone number is 555-0123.", Undecided),
        ("What is water made of?", Undecided),
        ("How many legs does a spider have?", Undecided),
        ("My phone number is 415-555-0123.", Finished(Dictation)),
        ("the code is four one", Unfinished(Digits)),
        ("the code is four one seven two", Finished(Dictation)),
        ("four one five, five five five", Unfinished(Digits)),
        ("What is 3 plus 4?", Finished(Question)),
        ("Set a timer for ten minutes.", Finished(Sentence)),
        ("It was in 1984.", Finished(Sentence)),
        // Addresses and spelling.
        ("my email is john dot smith at", Unfinished(Spelling)),
        ("my email is john dot smith at example", Unfinished(Spelling)),
        ("my email is john dot smith at example dot com", Finished(Dictation)),
        ("It's jane@example", Unfinished(Spelling)),
        ("It's jane@example.org.", Finished(Dictation)),
        ("My name is S M I", Unfinished(Spelling)),
        // Mandarin: holding the floor.
        ("我想订一张嗯", Unfinished(Filler)),
        ("我要那个", Unfinished(Filler)),
        ("怎么说呢", Unfinished(Filler)),
        ("我昨天去了北京，然后", Unfinished(Conjunction)),
        ("因为", Unfinished(Conjunction)),
        ("如果明天下雨的话", Unfinished(Conjunction)),
        ("如果明天下雨的话，", Unfinished(Conjunction)),
        ("请帮我", Unfinished(Function)),
        ("我想把", Unfinished(Function)),
        ("这本书是", Unfinished(Function)),
        ("广州市房地产中介协会分析，", Unfinished(Punctuation)),
        // Mandarin: finished.
        ("今天天气怎么样", Finished(Question)),
        ("你吃饭了吗", Finished(Question)),
        ("几点了？", Finished(Question)),
        ("好的", Finished(Reply)),
        ("好的，谢谢", Finished(Reply)),
        ("我也是", Undecided),
        ("希望你以后能够做的比我还好呦。", Finished(Sentence)),
        ("砸自己的脚", Undecided),
        // Mandarin: numbers.
        ("我的电话是一三八", Unfinished(Digits)),
        ("我的电话是13800138000", Finished(Dictation)),
        ("我的密码是1234", Finished(Dictation)),
        ("现在八", Undecided),
        // Mixed: the script of the last word decides.
        ("我想听 Beatles and", Unfinished(Conjunction)),
        ("Please play 然后", Unfinished(Conjunction)),
    ];
    for (text, expected) in cases {
        assert_eq!(cue(text), expected, "{text:?}");
    }
}

#[test]
fn any_text_is_judged_without_panic_and_only_its_end_counts() {
    let long = "word ".repeat(100_000) + "and";
    assert_eq!(cue(&long), TextCue::Unfinished(Open::Conjunction));
    let odd = ["\u{0}", "🙂🙂🙂", "é", "ß.", "a\u{301}", "，，，", "@", "@.", "1.", "-1-", "İ", "\u{202e}abc"];
    for a in odd {
        for b in odd {
            let _ = cue(&format!("{a}{b}"));
            let _ = cue(&format!("{a} {b} 嗯{a}"));
        }
    }
}
