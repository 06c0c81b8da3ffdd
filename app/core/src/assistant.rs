//! A running conversation: the actors wired together, and the handle that a shell holds.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, never, select};
use turn_detect::Endpointing;

use crate::actor::ears::Ears;
use crate::actor::recogniser::{Decode, Recogniser};
use crate::actor::thinker::{Think, Thinker};
use crate::actor::turn_judge::{Score, TurnJudge};
use crate::actor::voice::{Say, Voice};
use crate::actor::{INBOX, spawn};
use crate::audio::{AudioHost, DeviceEvent, HostHandle, PlaybackEvent, SpeakerControl, Streams, VoiceFormat};
use crate::budget::Budget;
use crate::clock::Clock;
use crate::config::Config;
use crate::dialogue::{Dialogue, Input, Output};
use crate::echo::EchoCanceller;
use crate::history::History;
use crate::message::{Command, Event, TurnId};
use crate::models::Models;
use crate::recording::Recording;
use crate::report::{Machine, Report, SpeechEndSource, Summary};
use crate::{Error, Result};

/// Events that may wait for the shell. A shell that does not read loses the newest beyond that, never the conversation.
const EVENTS: usize = 65_536;

/// How long ducking and unducking take: short enough to meet 120 ms from the onset, long enough not to click.
const GAIN_RAMP: Duration = Duration::from_millis(20);

/// Without a block from the microphone for this long the conversation says so.
const STALLED_AFTER: Duration = Duration::from_secs(3);

/// A conversation that is going on. Dropping it ends it and waits for its threads.
#[derive(Debug)]
pub struct Assistant {
    commands: Option<Sender<Command>>,
    events: Receiver<Event>,
    conductor: Option<JoinHandle<Result<Report>>>,
}

impl Assistant {
    /// Opens the host and starts listening.
    ///
    /// # Errors
    /// A device or file of the host that cannot be opened; no threads.
    pub fn start(config: &Config, models: Models, host: Box<dyn AudioHost>) -> Result<Self> {
        config.check()?;
        let mut config = config.clone();
        config.hearing.echo_cancelling &= host.hears_itself();
        let streams = host.open(VoiceFormat { sample_rate: models.voice.sample_rate() })?;
        let (commands, command_inbox) = bounded(INBOX);
        let (event_outbox, events) = bounded(EVENTS);
        let conductor = Conductor::wire(&config, models, streams, command_inbox, event_outbox)?;
        let conductor = std::thread::Builder::new().name("dialogue".into()).spawn(move || conductor.run())?;
        Ok(Self { commands: Some(commands), events, conductor: Some(conductor) })
    }

    /// What happens, in order; disconnected after [`Event::Ended`].
    #[must_use]
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// Asks for something. After the conversation has ended this does nothing.
    pub fn command(&self, command: Command) {
        if let Some(commands) = &self.commands {
            let _ = commands.send(command);
        }
    }

    /// Waits until the conversation has ended by itself (a recorded input is over, or a command ended it) and reports.
    ///
    /// # Errors
    /// What made the audio host fail, for example a full disk under the output file.
    pub fn join(mut self) -> Result<Report> {
        match self.conductor.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(Error::Setting { setting: "assistant", reason: "was joined before".into() }),
        }
    }
}

impl Drop for Assistant {
    fn drop(&mut self) {
        self.command(Command::Shutdown);
        self.commands = None;
        if let Some(conductor) = self.conductor.take() {
            // Whoever drops instead of joining does not ask how it went.
            let _ = conductor.join();
        }
    }
}

/// The dialogue's thread: gathers what the stages report, lets the dialogue decide, hands out the work.
struct Conductor {
    dialogue: Dialogue,
    inputs: Receiver<Input>,
    playback: Receiver<PlaybackEvent>,
    devices: Receiver<DeviceEvent>,
    commands: Receiver<Command>,
    events: Sender<Event>,
    recogniser: Sender<Decode>,
    judge: Sender<Score>,
    thinker: Sender<Think>,
    voice: Sender<Say>,
    speaker: SpeakerControl,
    budget: Arc<Budget>,
    host: HostHandle,
    actors: Vec<JoinHandle<()>>,
    /// Raised to stop the decode under way.
    decode_cancel: Arc<AtomicBool>,
    /// Raised to stop the work on a reply.
    reply_cancels: HashMap<TurnId, Arc<AtomicBool>>,
    report: Report,
    /// A stage is gone; nothing can go on.
    broken: bool,
}

impl Conductor {
    fn wire(
        config: &Config,
        models: Models,
        streams: Streams,
        commands: Receiver<Command>,
        events: Sender<Event>,
    ) -> Result<Self> {
        let (input_outbox, inputs) = bounded(INBOX);
        let (recogniser, decode_inbox) = bounded(INBOX);
        let (judge, score_inbox) = bounded(INBOX);
        let (thinker, think_inbox) = bounded(INBOX);
        let (voice, say_inbox) = bounded(INBOX);
        let clock = Arc::new(Clock::default());
        let recording = Arc::new(Recording::default());
        let budget = Arc::new(Budget::default());
        let speaker = streams.speaker.control();
        let report = Report {
            version: 1,
            machine: Machine::here(config.threads),
            models: models.names,
            speech_end_from: SpeechEndSource::Vad,
            turns: Vec::new(),
            barge_ins: Vec::new(),
            summary: Summary::default(),
        };

        let ears = Ears {
            microphone: streams.microphone,
            echo: EchoCanceller::new(config.hearing),
            vad: models.vad,
            clock: clock.clone(),
            recording: recording.clone(),
            dialogue: input_outbox.clone(),
        };
        let recogniser_actor = Recogniser {
            stream: asr::Stream::new(models.transcriber, models.asr_options),
            recording: recording.clone(),
            requests: decode_inbox,
            dialogue: input_outbox.clone(),
            clock: clock.clone(),
        };
        let judge_actor = TurnJudge {
            smart_turn: models.smart_turn,
            recording,
            requests: score_inbox,
            dialogue: input_outbox.clone(),
        };
        let thinker_actor = Thinker {
            session: models.session,
            sampler: llm::SamplerConfig {
                temperature: config.sampling.temperature,
                top_p: config.sampling.top_p,
                repetition_penalty: config.sampling.repetition_penalty,
                seed: config.sampling.seed,
                ..llm::SamplerConfig::default()
            },
            max_tokens: config.max_tokens,
            requests: think_inbox,
            dialogue: input_outbox.clone(),
            voice: voice.clone(),
            budget: budget.clone(),
            clock: clock.clone(),
        };
        let voice_actor = Voice {
            synthesizer: models.voice,
            plan: models.clause_plan,
            speaker: streams.speaker,
            requests: say_inbox,
            dialogue: input_outbox,
            budget: budget.clone(),
            clock,
        };
        let actors = vec![
            spawn("ears", move || ears.run())?,
            spawn("recogniser", move || recogniser_actor.run())?,
            spawn("turn-judge", move || judge_actor.run())?,
            spawn("thinker", move || thinker_actor.run())?,
            spawn("voice", move || voice_actor.run())?,
        ];
        let history = History::new(&config.system_prompt);
        Ok(Self {
            dialogue: Dialogue::new(config.dialogue.clone(), Endpointing::default(), history),
            inputs,
            playback: streams.playback,
            devices: streams.devices,
            commands,
            events,
            recogniser,
            judge,
            thinker,
            voice,
            speaker,
            budget,
            host: streams.handle,
            actors,
            decode_cancel: Arc::default(),
            reply_cancels: HashMap::new(),
            report,
            broken: false,
        })
    }

    fn run(mut self) -> Result<Report> {
        self.tell(Event::Ready);
        while !self.dialogue.has_ended() && !self.broken {
            let input = select! {
                recv(self.playback) -> event => match event {
                    Ok(event) => Some(Input::Playback(event)),
                    Err(_) => { self.playback = never(); None }
                },
                recv(self.inputs) -> input => match input {
                    Ok(input) => Some(input),
                    Err(_) => { self.broken = true; None }
                },
                recv(self.commands) -> command => match command {
                    Ok(command) => Some(Input::Command(command)),
                    Err(_) => { self.commands = never(); Some(Input::Command(Command::Shutdown)) }
                },
                recv(self.devices) -> event => match event {
                    Ok(event) => self.on_device(event),
                    Err(_) => { self.devices = never(); None }
                },
                default(STALLED_AFTER) => {
                    self.tell(Event::DeviceLost("no sound arrives from the microphone".into()));
                    None
                }
            };
            if let Some(input) = input {
                for output in self.dialogue.on(input) {
                    self.obey(output);
                }
            }
        }
        self.end()
    }

    fn on_device(&mut self, event: DeviceEvent) -> Option<Input> {
        match event {
            DeviceEvent::InputEnded { at } => return Some(Input::InputEnded { at }),
            DeviceEvent::Lost { kind, name, why } => self.tell(Event::DeviceLost(format!("{kind} {name}: {why}"))),
            DeviceEvent::Opened { kind, name, fallback } => {
                let stand_in = if fallback { " (stands in for the one asked for)" } else { "" };
                self.tell(Event::DeviceRecovered(format!("{kind} {name}{stand_in}")));
            }
            DeviceEvent::Hole { at, len } => tracing::warn!(at, len, "no microphone delivered these samples"),
            DeviceEvent::Overrun { at, len } => tracing::warn!(at, len, "samples were lost: the machine is too busy"),
        }
        None
    }

    fn obey(&mut self, output: Output) {
        match output {
            Output::Recognize { utterance, from, to, speech_end, purpose } => {
                // Whatever is being decoded is older than this.
                self.decode_cancel.store(true, Ordering::Release);
                self.decode_cancel = Arc::default();
                let cancel = self.decode_cancel.clone();
                let request = Decode { utterance, from, to, speech_end, purpose, cancel };
                let sent = self.recogniser.try_send(request).is_ok();
                self.check("the recogniser", sent);
            }
            Output::Score { utterance, from, to, speech_end } => {
                let sent = self.judge.try_send(Score { utterance, from, to, speech_end }).is_ok();
                self.check("the turn detector", sent);
            }
            Output::Think { turn, prompt } => {
                let cancel = self.open_reply(turn);
                let sent = self.thinker.try_send(Think { turn, prompt, cancel }).is_ok();
                self.check("the language model", sent);
            }
            Output::Speak { turn, text } => {
                let cancel = self.open_reply(turn);
                let say = Say::Text { turn, text, cancel: cancel.clone() };
                let sent =
                    self.voice.try_send(say).and_then(|()| self.voice.try_send(Say::End { turn, cancel })).is_ok();
                self.check("the voice", sent);
            }
            Output::Release(turn) => {
                self.budget.suspend(false);
                self.speaker.resume(turn.0);
            }
            Output::Cancel(turn) => {
                if let Some(cancel) = self.reply_cancels.remove(&turn) {
                    cancel.store(true, Ordering::Release);
                }
                self.budget.suspend(false);
                self.speaker.cancel(turn.0);
            }
            Output::Gain(turn, gain) => self.speaker.set_gain(turn.0, gain, GAIN_RAMP),
            Output::Hold(turn) => {
                self.speaker.pause(turn.0);
                self.budget.suspend(true);
            }
            Output::Unhold(turn) => {
                self.budget.suspend(false);
                self.speaker.resume(turn.0);
            }
            Output::Suspend(_) => self.budget.suspend(true),
            Output::Continue(_) => self.budget.suspend(false),
            Output::Tell(event) => {
                if let Event::TurnFinished(_) = event {
                    self.reply_cancels.clear();
                }
                self.tell(event);
            }
        }
    }

    /// Prepares for a reply whose audio is held until it is released.
    fn open_reply(&mut self, turn: TurnId) -> Arc<AtomicBool> {
        self.budget.suspend(false);
        self.speaker.pause(turn.0);
        let cancel: Arc<AtomicBool> = Arc::default();
        self.reply_cancels.insert(turn, cancel.clone());
        cancel
    }

    fn check(&mut self, stage: &str, sent: bool) {
        if !sent && !self.broken {
            self.broken = true;
            self.tell(Event::Failed { message: format!("{stage} has stopped; the conversation cannot go on") });
        }
    }

    fn tell(&self, event: Event) {
        if self.events.try_send(event).is_err() {
            tracing::debug!("nobody reads the events");
        }
    }

    /// Stops everything, in the order of the pipeline, and reports.
    fn end(mut self) -> Result<Report> {
        self.decode_cancel.store(true, Ordering::Release);
        for cancel in self.reply_cancels.values() {
            cancel.store(true, Ordering::Release);
        }
        self.budget.suspend(false);
        self.host.stop();
        // Actors stop when nobody can tell them anything or hear from them any more.
        drop((self.inputs, self.recogniser, self.judge, self.thinker, self.voice));
        for actor in self.actors {
            if actor.join().is_err() {
                tracing::error!("a stage panicked");
            }
        }
        let host = self.host.join()?;
        let (turns, barge_ins, false_cutoffs, underruns) = self.dialogue.record();
        self.report.turns = turns.to_vec();
        self.report.barge_ins = barge_ins.to_vec();
        self.report.summary.false_cutoffs = false_cutoffs;
        self.report.summary.underruns = underruns.max(host.underruns);
        self.report.summarise();
        Ok(self.report)
    }
}
