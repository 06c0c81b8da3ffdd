//! The forms that a constrained answer may have: a JSON array of flat objects with fixed keys.

/// What the value of a key may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Any text of at most this many bytes.
    Text(usize),
    /// One of these texts.
    OneOf(Vec<String>),
}

/// An array of at most `most` objects, each with the same keys in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    keys: Vec<(String, Value)>,
    most: usize,
}

/// How far an answer has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Objects begun.
    objects: usize,
    at: At,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    /// Before the first object or after one: `]` or the next object, after a comma and a space.
    Between,
    /// After the comma between two objects.
    Comma,
    /// In the fixed text before the value of a key.
    Before { key: usize, written: usize },
    /// In a free text; after a backslash where `escape`.
    Text { key: usize, written: usize, escape: bool },
    /// In one of the fixed texts.
    Choice { key: usize, written: Vec<u8> },
    /// After the value of the last key.
    After,
    /// The array is closed.
    Done,
    /// Nothing was written.
    Start,
}

impl Grammar {
    /// A form with these keys.
    #[must_use]
    pub fn new(keys: Vec<(String, Value)>, most: usize) -> Self {
        Self { keys, most }
    }

    /// Nothing is written.
    #[must_use]
    pub fn start(&self) -> State {
        State { objects: 0, at: At::Start }
    }

    /// Whether the answer is complete.
    #[must_use]
    pub fn is_done(&self, state: &State) -> bool {
        state.at == At::Done
    }

    /// The state after `bytes`; `None` where they do not fit.
    #[must_use]
    pub fn advance(&self, state: &State, bytes: &[u8]) -> Option<State> {
        let mut state = state.clone();
        for &byte in bytes {
            self.step(&mut state, byte)?;
        }
        Some(state)
    }

    /// The text between two values: `{"key": "` at first, `, "key": "` then.
    fn lead(&self, key: usize) -> String {
        let name = self.keys.get(key).map(|(name, _)| name.as_str()).unwrap_or_default();
        format!("{}\"{name}\": \"", if key == 0 { "{" } else { ", " })
    }

    fn value(&self, key: usize) -> At {
        match self.keys.get(key).map(|(_, value)| value) {
            Some(Value::OneOf(_)) => At::Choice { key, written: Vec::new() },
            _ => At::Text { key, written: 0, escape: false },
        }
    }

    fn next_key(&self, key: usize) -> At {
        if key + 1 < self.keys.len() { At::Before { key: key + 1, written: 0 } } else { At::After }
    }

    fn step(&self, state: &mut State, byte: u8) -> Option<()> {
        let objects = state.objects;
        match &mut state.at {
            At::Start if byte == b'[' => state.at = At::Between,
            At::Between => match byte {
                b'{' if objects == 0 && self.most > 0 => {
                    *state = State { objects: 1, at: At::Before { key: 0, written: 1 } };
                }
                b',' if objects > 0 && objects < self.most => state.at = At::Comma,
                b']' => state.at = At::Done,
                _ => return None,
            },
            At::Comma if byte == b' ' => *state = State { objects: objects + 1, at: At::Before { key: 0, written: 0 } },
            At::Before { key, written } => {
                let lead = self.lead(*key);
                if lead.as_bytes().get(*written) != Some(&byte) {
                    return None;
                }
                *written += 1;
                if *written == lead.len() {
                    state.at = self.value(*key);
                }
            }
            At::Text { key, written, escape } => match byte {
                b'"' if !*escape => state.at = self.next_key(*key),
                0..=0x1f => return None,
                // Only what a JSON string may escape with one letter.
                _ if *escape && !matches!(byte, b'"' | b'\\' | b'/' | b'n' | b't') => return None,
                _ => {
                    let most = match self.keys.get(*key) {
                        Some((_, Value::Text(most))) => *most,
                        _ => 0,
                    };
                    if *written >= most && !(*escape || byte & 0xc0 == 0x80) {
                        return None;
                    }
                    *escape = byte == b'\\' && !*escape;
                    *written += 1;
                }
            },
            At::Choice { key, written } => {
                let Some((_, Value::OneOf(options))) = self.keys.get(*key) else { return None };
                if byte == b'"' && options.iter().any(|option| option.as_bytes() == written.as_slice()) {
                    state.at = self.next_key(*key);
                } else {
                    written.push(byte);
                    if !options.iter().any(|option| option.as_bytes().starts_with(written)) {
                        return None;
                    }
                }
            }
            At::After if byte == b'}' => state.at = At::Between,
            At::Start | At::Comma | At::After | At::Done => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn grammar() -> Grammar {
        let polarity = Value::OneOf(vec!["good".into(), "bad".into()]);
        Grammar::new(vec![("aspect".into(), Value::Text(8)), ("polarity".into(), polarity)], 2)
    }

    #[test]
    fn answers_of_the_form_are_json() {
        for (text, done) in [
            ("[]", true),
            ("[", false),
            (r#"[{"aspect": "价格", "polarity": "good"}]"#, true),
            (r#"[{"aspect": "a\"b", "polarity": "bad"}, {"aspect": "", "polarity": "good"}]"#, true),
            (r#"[{"aspect": "a", "pola"#, false),
        ] {
            let grammar = grammar();
            let state = grammar.advance(&grammar.start(), text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(grammar.is_done(&state), done, "{text}");
            assert_eq!(Json::parse(text).is_ok(), done, "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "{",
            "[]]",
            "[,",
            r#"[{"aspect": "a", "polarity": "neutral"#,
            r#"[{"aspect": "a", "polarity": "goo""#,
            r#"[{"polarity": "good""#,
            r#"[{"aspect": "ninebytes"#,
            "[{\"aspect\": \"a\n",
            r#"[{"aspect": "\u"#,
            r#"[{"aspect": "", "polarity": "bad"},]"#,
            r#"[{"aspect": "", "polarity": "bad"}, {"aspect": "", "polarity": "bad"}, "#,
        ] {
            let grammar = grammar();
            assert_eq!(grammar.advance(&grammar.start(), text.as_bytes()), None, "{text}");
        }
    }
}
