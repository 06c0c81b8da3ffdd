//! Who speaks when: a state machine from what is heard and done to what is to be done. It alone decides.
//!
//! It reads no clock and owns no thread. Time comes with its inputs, on the sample clock of the microphone, so a
//! recorded conversation replays to the same decisions.
//!
//! Two things may be under way at once: an *utterance* of the user and a *reply* of the assistant. A reply belongs to an
//! utterance while it is a speculation (its audio is held at the sink) and stands alone once its turn is committed.

mod config;
mod hearing;
mod reply;
mod replying;
mod utterance;

#[cfg(test)]
mod tests;

use turn_detect::Endpointing;

pub use config::DialogueConfig;
pub use reply::SpokenWord;

use crate::audio::{PlaybackEvent, SamplePos, from_ms, to_ms};
use crate::barge_in::Gate;
use crate::history::{History, Message};
use crate::message::{BargeInOutcome, Command, Event, TurnId};
use crate::report::{BargeIn, Turn};
use reply::Reply;
use utterance::Utterance;

/// How long after the end of a recorded input an utterance may still be found in it: the VAD's onset and a margin.
const END_MARGIN_MS: f64 = 300.0;

/// What the dialogue is told.
#[derive(Debug, Clone)]
pub enum Input {
    /// From the VAD, in order.
    Vad(vad::VadEvent),
    /// The audio of an utterance was scored: the probability that the turn is complete.
    Scored {
        /// Which utterance.
        utterance: u64,
        /// End of the speech that was scored.
        speech_end: SamplePos,
        /// 0 to 1.
        p_complete: f32,
    },
    /// A hypothesis for an utterance that goes on.
    Partial {
        /// Which utterance.
        utterance: u64,
        /// All words so far.
        text: String,
    },
    /// A transcript through the pause after `speech_end`.
    Final {
        /// Which utterance.
        utterance: u64,
        /// End of the speech that it covers.
        speech_end: SamplePos,
        /// The words; empty when there were none.
        text: String,
        /// When it was there.
        at: SamplePos,
    },
    /// The prompt of a reply is in the cache.
    Prefilled {
        /// Which reply.
        turn: TurnId,
        /// Tokens that had to be computed.
        computed: usize,
        /// Tokens that the cache held.
        reused: usize,
        /// When.
        at: SamplePos,
    },
    /// The model wrote something.
    Token {
        /// Which reply.
        turn: TurnId,
        /// Whole characters; may be empty while one is incomplete.
        text: String,
        /// When.
        at: SamplePos,
    },
    /// The first clause of a reply is complete.
    Clause {
        /// Which reply.
        turn: TurnId,
        /// When.
        at: SamplePos,
    },
    /// A chunk of a reply went to the sink.
    Chunk {
        /// Which reply.
        turn: TurnId,
        /// The words that begin in it.
        words: Vec<SpokenWord>,
        /// When.
        at: SamplePos,
    },
    /// From the sink.
    Playback(PlaybackEvent),
    /// From the shell.
    Command(Command),
    /// A stage failed.
    Failed {
        /// The reply that is lost with it, if one is.
        turn: Option<TurnId>,
        /// The utterance that is lost with it, if one is.
        utterance: Option<u64>,
        /// What happened and what to do.
        message: String,
    },
    /// The recorded input is over; only silence follows.
    InputEnded {
        /// One past its last sample.
        at: SamplePos,
    },
}

/// How much a decode is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A hypothesis while the user speaks; may be dropped.
    Partial,
    /// The transcript that may be answered.
    Final,
}

/// What the dialogue wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Decode the microphone's samples `from..to`.
    Recognize {
        /// Which utterance.
        utterance: u64,
        /// First sample.
        from: SamplePos,
        /// One past the last sample.
        to: SamplePos,
        /// End of the last speech in them.
        speech_end: SamplePos,
        /// What for.
        purpose: Purpose,
    },
    /// Score the microphone's samples `from..to` for the end of the turn.
    Score {
        /// Which utterance.
        utterance: u64,
        /// First sample.
        from: SamplePos,
        /// One past the last sample.
        to: SamplePos,
        /// End of the last speech in them.
        speech_end: SamplePos,
    },
    /// Write and speak an answer; its audio is held until [`Output::Release`].
    Think {
        /// The new reply.
        turn: TurnId,
        /// The conversation so far.
        prompt: Vec<Message>,
    },
    /// Speak this text as a reply of its own; its audio is held until [`Output::Release`].
    Speak {
        /// The new reply.
        turn: TurnId,
        /// The text.
        text: String,
    },
    /// The turn is committed: its audio may be heard.
    Release(TurnId),
    /// Stop everything about a reply.
    Cancel(TurnId),
    /// Play a reply at this gain.
    Gain(TurnId, f32),
    /// Hold a reply's audio where it is, and rest work on it.
    Hold(TurnId),
    /// Let a held reply go on.
    Unhold(TurnId),
    /// Rest work on a reply whose audio is held anyway: the user is speaking and needs the cores.
    Suspend(TurnId),
    /// Go on with a suspended reply.
    Continue(TurnId),
    /// Tell the shell.
    Tell(Event),
}

/// The state machine.
#[derive(Debug)]
pub struct Dialogue {
    config: DialogueConfig,
    endpointing: Endpointing,
    history: History,
    now: SamplePos,
    /// Speech samples in a row that no utterance accounts for, and where they began.
    onset: Option<(SamplePos, SamplePos)>,
    utterance: Option<Utterance>,
    reply: Option<Reply>,
    /// Cancelled; the sink has not yet said how much of it was played.
    ending: Option<Reply>,
    /// The user spoke over a reply and it is not yet known how that ends.
    barge_in: Option<BargeIn>,
    barge_ins: Vec<BargeIn>,
    turns: Vec<Turn>,
    committed: u64,
    next_turn: u64,
    next_utterance: u64,
    false_cutoffs: usize,
    underruns: u64,
    /// From here on the conversation ends as soon as it is idle.
    finish_from: Option<SamplePos>,
    ended: bool,
    out: Vec<Output>,
}

impl Dialogue {
    /// A conversation that has not begun.
    #[must_use]
    pub fn new(config: DialogueConfig, endpointing: Endpointing, history: History) -> Self {
        Self {
            config,
            endpointing,
            history,
            now: 0,
            onset: None,
            utterance: None,
            reply: None,
            ending: None,
            barge_in: None,
            barge_ins: Vec::new(),
            turns: Vec::new(),
            committed: 0,
            next_turn: 1,
            next_utterance: 1,
            false_cutoffs: 0,
            underruns: 0,
            finish_from: None,
            ended: false,
            out: Vec::new(),
        }
    }

    /// The conversation as the next prompt will show it.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Finished turns, barge-ins, false cut-offs and underruns so far.
    #[must_use]
    pub fn record(&self) -> (&[Turn], &[BargeIn], usize, u64) {
        (&self.turns, &self.barge_ins, self.false_cutoffs, self.underruns)
    }

    /// Whether the conversation is over and nothing more will come.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes one input and returns what is to be done, in order.
    pub fn on(&mut self, input: Input) -> Vec<Output> {
        match input {
            Input::Vad(event) => self.on_vad(event),
            Input::Scored { utterance, speech_end, p_complete } => self.on_scored(utterance, speech_end, p_complete),
            Input::Partial { utterance, text } => self.on_partial(utterance, text),
            Input::Final { utterance, speech_end, text, at } => self.on_final(utterance, speech_end, text, at),
            Input::Prefilled { turn, computed, reused, at } => {
                if let Some(reply) = self.reply_mut(turn) {
                    reply.prefill_tokens = computed;
                    reply.reused_tokens = reused;
                    Reply::mark(&mut reply.events.prefill_done, at);
                }
            }
            Input::Token { turn, text, at } => self.on_token(turn, text, at),
            Input::Clause { turn, at } => {
                if let Some(reply) = self.reply_mut(turn) {
                    Reply::mark(&mut reply.events.first_clause, at);
                }
            }
            Input::Chunk { turn, words, at } => {
                if let Some(reply) = self.reply_mut(turn) {
                    Reply::mark(&mut reply.events.first_chunk, at);
                    reply.words.extend(words);
                }
            }
            Input::Playback(event) => self.on_playback(event),
            Input::Command(command) => self.on_command(command),
            Input::Failed { turn, utterance, message } => self.on_failed(turn, utterance, message),
            Input::InputEnded { at } => {
                // Speech may reach to the very end, and the VAD takes some frames to see it.
                self.finish_from = Some(at + from_ms(END_MARGIN_MS));
            }
        }
        self.end_if_done();
        std::mem::take(&mut self.out)
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Interrupt => self.cancel_reply(),
            Command::Ask(text) => {
                self.cancel_reply();
                self.drop_utterance();
                let mut reply = self.think(text, self.now);
                reply.events.speech_end = Some(to_ms(self.now));
                self.commit(reply);
            }
            Command::Say(text) => {
                self.cancel_reply();
                let turn = self.raise_turn();
                let mut reply = Reply::new(turn, String::new(), self.now, Gate::new(self.config.barge_in.clone()));
                reply.text.clone_from(&text);
                self.out.push(Output::Speak { turn, text });
                self.commit(reply);
            }
            Command::Finish => self.finish_from = Some(self.now),
            Command::Shutdown => {
                self.cancel_reply();
                self.drop_utterance();
                self.finish_from = Some(self.now);
                if let Some(reply) = self.ending.take() {
                    self.finish(reply, true);
                }
            }
        }
    }

    fn on_failed(&mut self, turn: Option<TurnId>, utterance: Option<u64>, message: String) {
        self.tell(Event::Failed { message });
        if let Some(turn) = turn {
            if self.reply.as_ref().is_some_and(|r| r.turn == turn) {
                self.cancel_reply();
            } else if let Some(u) = &mut self.utterance
                && u.speculation.as_ref().is_some_and(|r| r.turn == turn)
            {
                u.speculation = None;
                self.out.push(Output::Cancel(turn));
            }
        }
        if utterance.is_some() && self.utterance.as_ref().map(|u| u.id) == utterance {
            self.drop_utterance();
            self.dismiss_gate();
        }
    }

    fn end_if_done(&mut self) {
        let busy = self.utterance.is_some() || self.reply.is_some() || self.ending.is_some() || self.onset.is_some();
        let due = self.finish_from.is_some_and(|from| self.now >= from);
        if due && !busy && !self.ended {
            self.ended = true;
            self.tell(Event::Ended);
        }
    }

    fn raise_turn(&mut self) -> TurnId {
        let turn = TurnId(self.next_turn);
        self.next_turn += 1;
        turn
    }

    /// The reply or speculation with this id, unless it is stale.
    fn reply_mut(&mut self, turn: TurnId) -> Option<&mut Reply> {
        let speculation = self.utterance.as_mut().and_then(|u| u.speculation.as_mut());
        self.reply.iter_mut().chain(speculation).find(|r| r.turn == turn)
    }

    fn tell(&mut self, event: Event) {
        self.out.push(Output::Tell(event));
    }

    fn settle_barge_in(&mut self, outcome: BargeInOutcome, silent_at: Option<SamplePos>) {
        if let Some(mut barge_in) = self.barge_in.take() {
            barge_in.outcome = outcome;
            barge_in.silent_ms = silent_at.map(to_ms);
            self.barge_ins.push(barge_in);
        }
    }
}
