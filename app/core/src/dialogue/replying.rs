//! The assistant's side of the dialogue: an answer is committed, heard, ducked, held, resumed, cancelled, finished.

use super::{Dialogue, Output, Reply};
use crate::audio::{PlaybackEvent, SamplePos, from_ms, to_ms};
use crate::barge_in::{Certainty, Verdict};
use crate::message::{BargeInOutcome, Event, TurnId};
use crate::report::BargeIn;

/// Nobody reacts to a sound faster than this; speech that begins earlier after an answer became audible was the user
/// going on, and the answer a false cut-off.
const REACTION_MS: f64 = 200.0;

/// Utterances are merged with the unheard turn before them up to this length: Whisper's window less a margin.
const MERGE_LIMIT_MS: f64 = 28_000.0;

impl Dialogue {
    /// The turn is over: the answer may be heard.
    pub(super) fn commit(&mut self, mut reply: Reply) {
        self.committed += 1;
        Reply::mark(&mut reply.events.commit, self.now);
        self.out.push(Output::Release(reply.turn));
        self.tell(Event::TurnCommitted { turn: reply.turn, user: reply.user.clone() });
        if !reply.text.is_empty() {
            self.tell(Event::AssistantText { turn: reply.turn, text: reply.text.clone() });
        }
        self.reply = Some(reply);
    }

    pub(super) fn on_token(&mut self, turn: TurnId, text: String, at: SamplePos) {
        let Some(reply) = self.reply_mut(turn) else {
            return;
        };
        reply.generated_tokens += 1;
        Reply::mark(&mut reply.events.first_token, at);
        reply.text.push_str(&text);
        if !text.is_empty() && self.reply.as_ref().is_some_and(|r| r.turn == turn) {
            self.tell(Event::AssistantText { turn, text });
        }
    }

    pub(super) fn on_playback(&mut self, event: PlaybackEvent) {
        match event {
            PlaybackEvent::FirstAudio { turn, at } => {
                if let Some(reply) = self.reply_mut(TurnId(turn)) {
                    reply.audible = true;
                    Reply::mark(&mut reply.events.first_audio, at);
                    self.tell(Event::SpeakingStarted { turn: TurnId(turn) });
                }
            }
            PlaybackEvent::Progress { turn, played, .. } => self.note_played(turn, played),
            PlaybackEvent::GainReached { turn, gain, at } => {
                if gain < 1.0
                    && self.is_current(turn)
                    && let Some(barge_in) = &mut self.barge_in
                {
                    barge_in.duck_ms.get_or_insert(to_ms(at));
                }
            }
            PlaybackEvent::Paused { turn, played, at } => {
                self.note_played(turn, played);
                if self.is_current(turn)
                    && let Some(barge_in) = &mut self.barge_in
                {
                    barge_in.pause_ms.get_or_insert(to_ms(at));
                }
            }
            PlaybackEvent::Cancelled { turn, played, at } => {
                if let Some(mut reply) = self.ending.take_if(|r| r.turn.0 == turn) {
                    reply.played = reply.played.max(played);
                    self.settle_barge_in(BargeInOutcome::Cancelled, Some(at));
                    self.finish(reply, true);
                }
            }
            PlaybackEvent::Drained { turn, played, at } => {
                if let Some(mut reply) = self.reply.take_if(|r| r.turn.0 == turn) {
                    reply.played = played;
                    reply.events.drained = Some(to_ms(at));
                    // Speech over the last syllable interrupts nothing: it is the next turn.
                    self.settle_barge_in(BargeInOutcome::Resumed, None);
                    if let Some(u) = &mut self.utterance
                        && reply.text.trim_end().ends_with(['?', '？'])
                    {
                        // "Yes" to a question is an answer, even if it comes a little early.
                        u.over_reply = false;
                    }
                    self.finish(reply, false);
                }
            }
            PlaybackEvent::Underrun { .. } => self.underruns += 1,
            _ => {}
        }
    }

    fn note_played(&mut self, turn: u64, played: u64) {
        let ending = self.ending.iter_mut();
        for reply in self.reply.iter_mut().chain(ending).filter(|r| r.turn.0 == turn) {
            reply.played = reply.played.max(played);
        }
    }

    fn is_current(&self, turn: u64) -> bool {
        self.reply.as_ref().is_some_and(|r| r.turn.0 == turn)
    }

    /// Somebody began to speak while an answer is under way.
    pub(super) fn speech_over_reply(&mut self, onset: SamplePos) {
        let now = self.now;
        let Some(reply) = &mut self.reply else { return };
        let Some(verdict) = reply.gate.speech_started(now) else {
            return;
        };
        if reply.audible {
            let barge_in = BargeIn {
                turn: self.committed,
                onset_ms: to_ms(onset),
                duck_ms: None,
                pause_ms: None,
                silent_ms: None,
                outcome: BargeInOutcome::Resumed,
            };
            self.barge_in = Some(barge_in);
        }
        self.obey(verdict);
    }

    pub(super) fn watch_gate(&mut self, is_speech: bool) {
        let now = self.now;
        let Some(reply) = &mut self.reply else { return };
        let verdict = reply.gate.frame(now, is_speech).or_else(|| reply.gate.silence(now));
        if let Some(verdict) = verdict {
            self.obey(verdict);
        }
    }

    /// Lets the gate judge words said over the answer.
    pub(super) fn judge(&mut self, text: &str, certainty: Certainty) {
        let Some(reply) = &mut self.reply else { return };
        if let Some(verdict) = reply.gate.words(text, certainty) {
            self.obey(verdict);
        }
    }

    pub(super) fn dismiss_gate(&mut self) {
        let Some(reply) = &mut self.reply else { return };
        if let Some(verdict) = reply.gate.dismissed() {
            self.obey(verdict);
        }
    }

    fn obey(&mut self, verdict: Verdict) {
        let duck_gain = self.config.barge_in.duck_gain;
        let Some(reply) = &self.reply else { return };
        let (turn, audible) = (reply.turn, reply.audible);
        match verdict {
            // An answer that nobody has heard yet is not ducked but held back: it must not start over the user.
            Verdict::Duck if !audible => self.out.push(Output::Hold(turn)),
            Verdict::Duck => self.out.push(Output::Gain(turn, duck_gain)),
            Verdict::Pause => {
                self.out.push(Output::Hold(turn));
                if audible {
                    self.tell(Event::Paused { turn });
                }
                if let Some(u) = &mut self.utterance {
                    // Its first words decide; do not wait for the next partial to fall due.
                    u.partial_asked = 0;
                }
                self.ask_partial();
            }
            Verdict::Resume => {
                self.out.push(Output::Unhold(turn));
                self.out.push(Output::Gain(turn, 1.0));
                self.settle_barge_in(BargeInOutcome::Resumed, None);
                self.tell(Event::Resumed { turn });
            }
            Verdict::Cancel => {
                self.count_false_cutoff();
                self.cancel_reply();
                self.merge_unheard();
            }
        }
    }

    fn count_false_cutoff(&mut self) {
        let first_audio = self.reply.as_ref().and_then(|r| r.events.first_audio);
        if let (Some(audio), Some(u)) = (first_audio, &self.utterance)
            && to_ms(u.speech_start) < audio + REACTION_MS
        {
            self.false_cutoffs += 1;
        }
    }

    /// Ends the reply. What was heard of it is known when the sink reports; see [`PlaybackEvent::Cancelled`].
    pub(super) fn cancel_reply(&mut self) {
        if let Some(reply) = self.reply.take() {
            self.settle_ending();
            self.out.push(Output::Cancel(reply.turn));
            self.ending = Some(reply);
        }
    }

    /// An answer of which nothing was heard leaves no trace: the user was still speaking. Its question becomes the
    /// beginning of the utterance that goes on.
    fn merge_unheard(&mut self) {
        let now = self.now;
        let Some(u) = &mut self.utterance else { return };
        let Some(reply) = self.ending.take_if(|r| !r.audible && !r.user.is_empty()) else {
            return;
        };
        self.barge_in = None;
        self.committed -= 1;
        self.out.push(Output::Tell(Event::TurnWithdrawn { turn: reply.turn }));
        if now.saturating_sub(reply.utterance_from) <= from_ms(MERGE_LIMIT_MS) {
            u.from = reply.utterance_from;
            if let Some(start) = reply.events.speech_start {
                u.speech_start = from_ms(start);
            }
            // The same pause is decoded again, now with the words before it.
            u.decoded = None;
            u.in_pause = false;
        } else {
            self.history.push(reply.user, "");
        }
        u.over_reply = false;
    }

    /// A new answer cannot wait for the sink's word on the one before it: takes what is known.
    pub(super) fn settle_ending(&mut self) {
        if let Some(reply) = self.ending.take() {
            self.settle_barge_in(BargeInOutcome::Cancelled, None);
            self.finish(reply, true);
        }
    }

    /// Files a committed turn.
    pub(super) fn finish(&mut self, reply: Reply, interrupted: bool) {
        let turn = reply.into_turn(self.committed, interrupted);
        if !turn.user.is_empty() || !turn.heard.is_empty() {
            self.history.push(&turn.user, &turn.heard);
        }
        self.turns.push(turn.clone());
        self.tell(Event::TurnFinished(Box::new(turn)));
    }
}
