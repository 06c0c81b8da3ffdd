//! Writes answers with the language model.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crossbeam_channel::{Receiver, Sender};
use llm::{Sampler, SamplerConfig, Session, TextStream, TokenId};

use super::voice::Say;
use crate::budget::Budget;
use crate::clock::Clock;
use crate::dialogue::Input;
use crate::history::{Message, Speaker};
use crate::message::TurnId;

/// One request.
#[derive(Debug)]
pub(crate) struct Think {
    pub(crate) turn: TurnId,
    pub(crate) prompt: Vec<Message>,
    pub(crate) cancel: Arc<AtomicBool>,
}

/// What thinks.
pub(crate) struct Thinker {
    pub(crate) session: Session,
    pub(crate) sampler: SamplerConfig,
    /// Longest answer in tokens.
    pub(crate) max_tokens: usize,
    pub(crate) requests: Receiver<Think>,
    pub(crate) dialogue: Sender<Input>,
    pub(crate) voice: Sender<Say>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) clock: Arc<Clock>,
}

/// Why an answer did not come about.
enum Stop {
    /// Nobody wants it any more.
    Cancelled,
    /// Nobody listens any more.
    Gone,
    /// The engine refused.
    Failed(llm::Error),
}

impl From<llm::Error> for Stop {
    fn from(error: llm::Error) -> Self {
        if matches!(error, llm::Error::Cancelled) { Self::Cancelled } else { Self::Failed(error) }
    }
}

impl<T> From<crossbeam_channel::SendError<T>> for Stop {
    fn from(_: crossbeam_channel::SendError<T>) -> Self {
        Self::Gone
    }
}

impl Thinker {
    /// Runs until nobody asks any more.
    pub(crate) fn run(mut self) {
        while let Ok(request) = self.requests.recv() {
            match self.answer(&request) {
                Ok(()) | Err(Stop::Cancelled) => {}
                Err(Stop::Gone) => return,
                Err(Stop::Failed(error)) => {
                    let message = format!("the answer could not be written: {error}");
                    let input = Input::Failed { turn: Some(request.turn), utterance: None, message };
                    if self.dialogue.send(input).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Computes the beginning of every prompt, so that the first answer does not wait for it.
    pub(crate) fn warm_up(session: &mut Session, system_prompt: &[Message]) -> llm::Result<()> {
        if system_prompt.is_empty() {
            return Ok(());
        }
        let tokens = session.model().chat().render(&messages(system_prompt), false)?;
        session.advance_to(&tokens, &AtomicBool::new(false)).map(drop)
    }

    fn answer(&mut self, request: &Think) -> Result<(), Stop> {
        let Think { turn, prompt, cancel } = request;
        let (turn, cancel) = (*turn, cancel.clone());
        let tokens = self.fit(prompt)?;
        let prefill = self.session.advance_to(&tokens, &cancel)?;
        let (computed, reused) = (prefill.computed, prefill.reused);
        self.dialogue.send(Input::Prefilled { turn, computed, reused, at: self.clock.now() })?;

        let model = self.session.model().clone();
        let mut text = TextStream::new(&model);
        let mut sampler = Sampler::new(self.sampler.clone())?;
        let room = self.session.context().saturating_sub(tokens.len() + 1);
        for token in self.session.generate(&mut sampler, &cancel).take(self.max_tokens.min(room)) {
            let piece = text.push(token?);
            let at = self.clock.now();
            if !piece.is_empty() {
                self.voice.send(Say::Text { turn, text: piece.clone(), cancel: cancel.clone() })?;
            }
            self.dialogue.send(Input::Token { turn, text: piece, at })?;
            self.budget.wait_to_think(&cancel);
        }
        let rest = text.finish();
        if !rest.is_empty() {
            self.voice.send(Say::Text { turn, text: rest.clone(), cancel: cancel.clone() })?;
            self.dialogue.send(Input::Token { turn, text: rest, at: self.clock.now() })?;
        }
        self.voice.send(Say::End { turn, cancel })?;
        Ok(())
    }

    /// The prompt as tokens, without its oldest exchanges where it would not leave room for an answer.
    ///
    /// Once it does not fit, more than needed is dropped: each cut moves everything behind it, and whatever moves
    /// must be computed again, so cuts should be rare.
    fn fit(&self, prompt: &[Message]) -> llm::Result<Vec<TokenId>> {
        let chat = self.session.model().chat();
        let context = self.session.context();
        let reserve = self.max_tokens.min(context / 2);
        let mut messages = messages(prompt);
        let mut tokens = chat.render(&messages, true)?;
        if tokens.len() + reserve <= context {
            return Ok(tokens);
        }
        let first = usize::from(prompt.first().is_some_and(|m| m.speaker == Speaker::System));
        while tokens.len() + reserve > context * 3 / 5 + reserve / 2 && messages.len() > first + 1 {
            let exchange = 2.min(messages.len() - first - 1);
            messages.drain(first..first + exchange);
            tokens = chat.render(&messages, true)?;
        }
        Ok(tokens)
    }
}

/// A prompt in the model's own words.
pub(crate) fn messages(prompt: &[Message]) -> Vec<llm::Message> {
    prompt
        .iter()
        .map(|m| match m.speaker {
            Speaker::System => llm::Message::system(&m.text),
            Speaker::User => llm::Message::user(&m.text),
            Speaker::Assistant => llm::Message::assistant(&m.text),
        })
        .collect()
}
