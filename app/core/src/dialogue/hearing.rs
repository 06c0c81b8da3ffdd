//! The user's side of the dialogue: onsets, pauses, transcripts, and when a turn is over.

use turn_detect::Decision;
use vad::VadEvent;

use super::utterance::{Decoded, Utterance};
use super::{Dialogue, Output, Purpose, Reply};
use crate::audio::{SamplePos, from_ms, to_ms};
use crate::barge_in::Certainty;
use crate::message::Event;
use crate::words::{Overlap, normalised, overlap};

impl Dialogue {
    pub(super) fn on_vad(&mut self, event: VadEvent) {
        match event {
            VadEvent::SpeechStart { at } => {
                if self.utterance.is_none() {
                    self.open_utterance(at.0);
                }
            }
            VadEvent::SpeechEnd { .. } => {}
            VadEvent::Frame { end, is_speech, .. } => {
                let start = self.now;
                self.now = end.0;
                self.watch_gate(is_speech);
                match &self.utterance {
                    Some(_) if is_speech => self.hear_speech(start),
                    Some(_) => self.hear_silence(),
                    None => self.watch_onset(start, is_speech),
                }
            }
        }
    }

    /// Opens an utterance on speech frames alone, for when a turn was committed inside the VAD's hangover.
    fn watch_onset(&mut self, start: SamplePos, is_speech: bool) {
        if !is_speech {
            self.onset = None;
            return;
        }
        let (first, speech) = self.onset.unwrap_or((start, 0));
        let speech = speech + self.now.saturating_sub(start);
        if speech >= from_ms(self.config.onset_ms.into()) {
            self.open_utterance(first);
        } else {
            self.onset = Some((first, speech));
        }
    }

    fn open_utterance(&mut self, speech_start: SamplePos) {
        self.onset = None;
        let from = speech_start.saturating_sub(from_ms(self.config.pre_roll_ms.into()));
        let mut utterance = Utterance::new(self.next_utterance, from, speech_start, self.now.max(speech_start));
        self.next_utterance += 1;
        utterance.over_reply = self.reply.is_some();
        self.utterance = Some(utterance);
        self.tell(Event::SpeechStarted { at: speech_start });
        self.speech_over_reply(speech_start);
    }

    fn hear_speech(&mut self, frame_start: SamplePos) {
        let now = self.now;
        let resume = from_ms(self.config.resume_ms.into());
        let Some(u) = &mut self.utterance else { return };
        if u.in_pause {
            u.resumed += now.saturating_sub(frame_start);
            if u.resumed < resume {
                return;
            }
            u.in_pause = false;
            u.p_complete = None;
            u.vad_end = None;
            if let Some(speculation) = &u.speculation {
                // Often it was a breath or a click; the next transcript tells whether the answer still fits.
                u.suspended = true;
                self.out.push(Output::Suspend(speculation.turn));
            }
        }
        u.resumed = 0;
        if u.capped {
            return;
        }
        u.speech_end = now;
        self.ask_partial();
        self.cap_utterance();
    }

    /// Asks for a hypothesis where one is due and nothing is being decoded.
    pub(super) fn ask_partial(&mut self) {
        let now = self.now;
        let urgent = self.reply.as_ref().is_some_and(|r| r.gate.is_disturbed());
        let Some(u) = &mut self.utterance else { return };
        let every = if urgent { self.config.urgent_partial_every_ms } else { self.config.partial_every_ms };
        let due = u.partial_asked + from_ms(every.into());
        if u.in_pause || u.partial_pending || u.decoding.is_some() || now < due {
            return;
        }
        u.partial_pending = true;
        u.partial_asked = now;
        let purpose = Purpose::Partial;
        self.out.push(Output::Recognize { utterance: u.id, from: u.from, to: now, speech_end: u.speech_end, purpose });
    }

    /// An utterance without end (a radio, a crowd) is answered as it stands rather than held for ever.
    fn cap_utterance(&mut self) {
        let Some(u) = &mut self.utterance else { return };
        if self.now.saturating_sub(u.from) >= from_ms(self.config.max_utterance_ms.into()) {
            u.capped = true;
            self.ask_final();
        }
    }

    fn hear_silence(&mut self) {
        let now = self.now;
        let Some(u) = &mut self.utterance else { return };
        u.resumed = 0;
        u.vad_end.get_or_insert(now);
        if !u.in_pause && u.silence_ms(now) >= self.config.first_pause_ms {
            u.in_pause = true;
            u.score_at_ms = 0;
            self.ask_final();
        }
        self.ask_score();
        self.consider();
    }

    fn ask_final(&mut self) {
        let now = self.now;
        let Some(u) = &mut self.utterance else { return };
        if u.decoding == Some(u.speech_end) || u.final_text().is_some() {
            return;
        }
        u.decoding = Some(u.speech_end);
        u.partial_pending = false;
        let purpose = Purpose::Final;
        self.out.push(Output::Recognize { utterance: u.id, from: u.from, to: now, speech_end: u.speech_end, purpose });
    }

    fn ask_score(&mut self) {
        let now = self.now;
        let Some(u) = &mut self.utterance else { return };
        let silence = u.silence_ms(now);
        if !u.in_pause || silence < u.score_at_ms {
            return;
        }
        u.score_at_ms = self.endpointing.next_checkpoint_ms(silence).unwrap_or(u32::MAX);
        self.out.push(Output::Score { utterance: u.id, from: u.from, to: now, speech_end: u.speech_end });
    }

    pub(super) fn on_scored(&mut self, utterance: u64, speech_end: SamplePos, p_complete: f32) {
        if let Some(u) = &mut self.utterance
            && u.id == utterance
            && u.speech_end == speech_end
            && u.in_pause
        {
            u.p_complete = Some(p_complete);
            self.consider();
        }
    }

    pub(super) fn on_partial(&mut self, utterance: u64, text: String) {
        let Some(u) = &mut self.utterance else { return };
        if u.id != utterance || !u.partial_pending {
            return;
        }
        u.partial_pending = false;
        if text.is_empty() {
            return;
        }
        self.judge(&text, Certainty::Partial);
        self.tell(Event::PartialTranscript { text });
        self.ask_partial();
    }

    pub(super) fn on_final(&mut self, utterance: u64, speech_end: SamplePos, text: String, at: SamplePos) {
        let Some(u) = &mut self.utterance else { return };
        if u.id != utterance || u.decoding != Some(speech_end) {
            return;
        }
        u.decoding = None;
        u.decoded = Some(Decoded { speech_end, text: text.clone(), at });
        let settled = u.speech_end == speech_end;
        if settled {
            self.judge(&text, Certainty::Final);
        }
        if !text.is_empty() {
            self.tell(Event::PartialTranscript { text });
        }
        self.consider();
    }

    /// Decides, in a pause, what to do about the utterance.
    fn consider(&mut self) {
        let now = self.now;
        let Some(u) = &self.utterance else { return };
        let capped = u.capped;
        if !u.in_pause && !capped {
            return;
        }
        let silence = u.silence_ms(now);
        let Some(decoded) = u.final_text() else {
            return;
        };
        let text = decoded.text.clone();

        if normalised(&text).is_empty() {
            if capped || silence >= self.config.dismiss_after_ms {
                self.dismiss();
            }
            return;
        }
        if self.reply.is_some() {
            // The gate judged these words and let the answer go on: they were a backchannel.
            if capped || silence >= self.config.dismiss_after_ms {
                self.dismiss();
            }
            return;
        }
        let decision = if capped { Decision::Commit } else { self.endpointing.decide(silence, u.p_complete, &text) };
        if u.over_reply && matches!(overlap(&text), Overlap::Stop | Overlap::Backchannel) {
            if decision == Decision::Commit {
                self.dismiss();
            }
            return;
        }
        match decision {
            Decision::Wait => {}
            Decision::Speculate => self.speculate(text),
            Decision::Commit => self.commit_utterance(text),
        }
    }

    fn speculate(&mut self, text: String) {
        let Some(u) = &mut self.utterance else { return };
        if let Some(kept) = u.speculation.as_ref().filter(|s| normalised(&s.user) == normalised(&text)) {
            if std::mem::take(&mut u.suspended) {
                self.out.push(Output::Continue(kept.turn));
            }
            return;
        }
        let (from, spent) = (u.from, u.speculations >= self.config.max_speculations);
        self.cancel_speculation();
        if spent {
            return;
        }
        let reply = self.think(text, from);
        if let Some(u) = &mut self.utterance {
            u.speculation = Some(reply);
            u.speculations += 1;
        }
    }

    fn commit_utterance(&mut self, text: String) {
        if self.utterance.as_ref().is_some_and(|u| u.suspended) {
            self.speculate(text.clone());
        }
        let Some(mut u) = self.utterance.take() else {
            return;
        };
        let kept = u.speculation.take();
        let mut reply = match kept {
            Some(reply) if normalised(&reply.user) == normalised(&text) => reply,
            stale => {
                if let Some(stale) = stale {
                    self.out.push(Output::Cancel(stale.turn));
                }
                u.speculations += 1;
                self.think(text, u.from)
            }
        };
        reply.speculations = u.speculations;
        reply.events.speech_start = Some(to_ms(u.speech_start));
        reply.events.speech_end = Some(to_ms(u.speech_end));
        reply.events.vad_end = u.vad_end.map(to_ms);
        reply.events.transcript_final = u.decoded.as_ref().map(|d| to_ms(d.at));
        self.commit(reply);
    }

    /// Forgets an utterance that asks for no answer.
    fn dismiss(&mut self) {
        self.drop_utterance();
        self.dismiss_gate();
        self.tell(Event::Dismissed);
    }

    pub(super) fn drop_utterance(&mut self) {
        self.cancel_speculation();
        self.utterance = None;
        self.onset = None;
    }

    fn cancel_speculation(&mut self) {
        let Some(u) = &mut self.utterance else { return };
        u.suspended = false;
        if let Some(speculation) = u.speculation.take() {
            self.out.push(Output::Cancel(speculation.turn));
        }
    }

    /// Starts the model on `user`; the audio is held.
    pub(super) fn think(&mut self, user: String, utterance_from: SamplePos) -> Reply {
        self.settle_ending();
        let turn = self.raise_turn();
        self.out.push(Output::Think { turn, prompt: self.history.prompt(&user) });
        Reply::new(turn, user, utterance_from, crate::barge_in::Gate::new(self.config.barge_in.clone()))
    }
}
