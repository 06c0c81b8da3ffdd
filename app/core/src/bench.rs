//! Measurements of whole turns: a simulated user asks, the real pipeline answers in real time.

use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;

use crate::audio::{EAR_RATE, FileHost, to_ms};
use crate::report::{Report, Span};
use crate::simulation::{Clip, SimulatedUser, Surroundings};
use crate::{Assistant, Command, Config, Event, Models, Result};

/// Silence before each utterance, in ms: people do not answer at once.
const BREATH_MS: usize = 600;

/// An utterance that was not answered this long after its end is given up.
const PATIENCE: Duration = Duration::from_secs(8);

/// How [`turns`] measures.
#[derive(Debug, Clone, Default)]
pub struct TurnsConfig {
    /// What surrounds the user.
    pub surroundings: Surroundings,
}

/// How far a measurement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Utterances spoken and answered, or given up.
    pub done: usize,
    /// Utterances in all.
    pub of: usize,
}

/// Lets a simulated user speak each clip and wait for the end of the answer, as one conversation.
///
/// Speech ends come from the clips' labels. Turns are as many as were committed, which differs from the number of clips
/// where one was cut in two or not answered.
///
/// # Errors
/// As [`Assistant::start`] and [`Assistant::join`].
pub fn turns(
    config: &Config,
    models: Models,
    clips: &[Clip],
    options: &TurnsConfig,
    mut progress: impl FnMut(Progress),
) -> Result<Report> {
    let (user, mut director) = SimulatedUser::new(&options.surroundings);
    let assistant = Assistant::start(
        config,
        models,
        Box::new(FileHost::new(user).hearing_itself(options.surroundings.room.is_some())),
    )?;
    let breath = BREATH_MS * EAR_RATE as usize / 1000;
    for (done, clip) in clips.iter().enumerate() {
        progress(Progress { done, of: clips.len() });
        let mut samples = vec![0.0; breath];
        samples.extend_from_slice(&clip.samples);
        let spoken_s = samples.len() as f64 / f64::from(EAR_RATE);
        director.speak(samples);
        if !wait_for_answer(&assistant, Duration::from_secs_f64(spoken_s)) {
            break;
        }
    }
    progress(Progress { done: clips.len(), of: clips.len() });
    assistant.command(Command::Finish);
    let spans: Vec<Span> = director
        .spoken()
        .filter_map(|spoken| {
            let clip = clips.get(usize::try_from(spoken.clip).ok()?)?;
            let start = spoken.at + breath as u64;
            let ms = |offset: usize| to_ms(start + offset as u64);
            Some(Span { start_ms: ms(clip.speech_start), end_ms: ms(clip.speech_end) })
        })
        .collect();
    let mut report = assistant.join()?;
    report.use_labels(&spans);
    Ok(report)
}

/// Waits until the clip was spoken and no turn is open any more; `false` when the conversation is over.
fn wait_for_answer(assistant: &Assistant, spoken: Duration) -> bool {
    let begun = Instant::now();
    let mut open = false;
    let mut answered = false;
    loop {
        let waited = begun.elapsed();
        if waited >= spoken && answered && !open {
            return true;
        }
        if waited >= spoken + PATIENCE && !open {
            tracing::warn!("an utterance was not answered");
            return true;
        }
        match assistant.events().recv_timeout(Duration::from_millis(20)) {
            Ok(Event::TurnCommitted { .. }) => open = true,
            Ok(Event::TurnWithdrawn { .. }) => open = false,
            Ok(Event::TurnFinished(_)) => (open, answered) = (false, true),
            Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => return false,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
