//! The conversation so far, holding only what was said and what was heard.

/// One question and the part of its answer that left the loudspeaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// What the user said.
    pub user: String,
    /// What the user heard; empty when nothing was.
    pub assistant: String,
}

/// Who speaks in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub speaker: Speaker,
    /// What is said.
    pub text: String,
}

/// System prompt and exchanges, oldest first.
///
/// Nothing synthetic ever enters: no "interrupted" note, no apology. Two questions in a row, the first of which was
/// never answered, become one user message, since chat templates want the speakers to alternate.
#[derive(Debug, Clone)]
pub struct History {
    system: String,
    exchanges: Vec<Exchange>,
}

impl History {
    /// An empty conversation under `system`, which may be empty.
    #[must_use]
    pub fn new(system: impl Into<String>) -> Self {
        Self { system: system.into(), exchanges: Vec::new() }
    }

    /// Exchanges, oldest first.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Records a question and what was heard of its answer.
    pub fn push(&mut self, user: impl Into<String>, heard: impl Into<String>) {
        self.exchanges.push(Exchange { user: user.into(), assistant: heard.into() });
    }

    /// Drops the oldest `n` exchanges, for when the context is full. The system prompt stays.
    pub fn forget_oldest(&mut self, n: usize) {
        self.exchanges.drain(..n.min(self.exchanges.len()));
    }

    /// The prompt that asks `user` next.
    #[must_use]
    pub fn prompt(&self, user: &str) -> Vec<Message> {
        let mut messages = Vec::with_capacity(2 * self.exchanges.len() + 2);
        let mut push = |speaker: Speaker, text: &str| {
            if text.is_empty() {
                return;
            }
            match messages.last_mut() {
                Some(Message { speaker: last, text: before }) if *last == speaker => {
                    before.push(' ');
                    before.push_str(text);
                }
                _ => messages.push(Message { speaker, text: text.to_owned() }),
            }
        };
        push(Speaker::System, &self.system);
        for exchange in &self.exchanges {
            push(Speaker::User, &exchange.user);
            push(Speaker::Assistant, &exchange.assistant);
        }
        push(Speaker::User, user);
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(exchanges: &[(&str, &str)], next: &str, expected: &[(Speaker, &str)]) {
        let mut history = History::new("Be brief.");
        for (user, heard) in exchanges {
            history.push(*user, *heard);
        }
        let prompt = history.prompt(next);
        let got: Vec<_> = prompt.iter().map(|m| (m.speaker, m.text.as_str())).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn speakers_alternate_and_only_heard_words_stay() {
        use Speaker::{Assistant, System, User};
        check(&[], "Hi", &[(System, "Be brief."), (User, "Hi")]);
        check(
            &[("Hi", "Hello")],
            "Time?",
            &[(System, "Be brief."), (User, "Hi"), (Assistant, "Hello"), (User, "Time?")],
        );
        check(&[("Tell me", "")], "a story", &[(System, "Be brief."), (User, "Tell me a story")]);
    }

    #[test]
    fn forgetting_keeps_the_system_prompt() {
        let mut history = History::new("Be brief.");
        for i in 0..5 {
            history.push(format!("q{i}"), "a");
        }
        history.forget_oldest(3);
        assert_eq!(history.exchanges()[0].user, "q3");
        assert_eq!(history.prompt("x")[0].text, "Be brief.");
        history.forget_oldest(99);
        assert!(history.exchanges().is_empty());
    }
}
