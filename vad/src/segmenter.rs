//! From frame probabilities to speech segments with exact beginnings and ends.
//!
//! Silero decides *whether* there is speech, on frames of 32 ms; *where* it begins and ends is read off the levels of
//! 8 ms blocks around that decision, because its probability rises late on unvoiced beginnings and falls late at ends.

use std::collections::VecDeque;

use crate::config::VadConfig;
use crate::level::{BLOCK, BLOCKS, Dbfs, NoiseFloor};
use crate::{FRAME, FRAME_MS, SamplePos, VadEvent};

/// A block this far above the background belongs to the speech beside it, in decibels.
const ABOVE_FLOOR: f32 = 9.0;
/// A block this far below the loudest one around is a tail that nobody hears, in decibels.
const BELOW_PEAK: f32 = 35.0;
/// How far before the last confident frame's end the true end may lie: Silero's probability decays over some frames.
const END_LOOK_BACK: u64 = 6 * FRAME as u64;
/// How far behind the last confident frame an unvoiced end may reach.
const END_LOOK_AHEAD: u64 = 2 * FRAME as u64;
/// Blocks remembered: the slowest onset and the farthest back-dating that the configuration allows, 500 + 400 ms.
const REMEMBERED: usize = 128;

#[derive(Clone, Copy, Debug)]
enum State {
    /// No segment, though frames of speech may be adding up to one.
    Silence(Option<Run>),
    /// In a segment. `quiet` frames in a row without speech; the last frame with speech ended at `confident`.
    Speech { quiet: u32, confident: SamplePos },
}

/// Frames of speech in a row that are not a segment yet.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where the first of them began.
    first: SamplePos,
    frames: u32,
    /// The highest probability among them.
    peak: f32,
}

impl Run {
    fn is_onset(&self, config: &VadConfig) -> bool {
        let ms = self.frames * FRAME_MS;
        let sure = self.peak >= config.confirm_threshold;
        ms >= if sure { config.onset_ms } else { config.slow_onset_ms }
    }
}

#[derive(Debug)]
pub(crate) struct Segmenter {
    config: VadConfig,
    state: State,
    /// The verdict on the newest frame.
    is_speech: bool,
    /// One past the newest frame.
    end: SamplePos,
    /// No segment begins before this: the end of the one before.
    taken: SamplePos,
    floor: NoiseFloor,
    /// Levels of the newest blocks, oldest first; the last ends at `end`.
    levels: VecDeque<Dbfs>,
}

impl Segmenter {
    pub(crate) fn new(config: VadConfig) -> Self {
        Self {
            config,
            state: State::Silence(None),
            is_speech: false,
            end: SamplePos(0),
            taken: SamplePos(0),
            floor: NoiseFloor::unknown(),
            levels: VecDeque::with_capacity(REMEMBERED + BLOCKS),
        }
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.config.clone());
    }

    /// Whether a segment is on, or a confident frame may be beginning one: then no frame may be left unjudged.
    pub(crate) fn is_busy(&self) -> bool {
        !matches!(self.state, State::Silence(None))
    }

    /// Whether a segment is on.
    pub(crate) fn in_speech(&self) -> bool {
        matches!(self.state, State::Speech { .. })
    }

    /// One past the last speech sample so far: of the segment that is on, else of the one before.
    pub(crate) fn last_speech(&self) -> Option<SamplePos> {
        match self.state {
            State::Speech { confident, .. } => Some(self.date_end(confident)),
            State::Silence(_) if self.taken > SamplePos(0) => Some(self.taken),
            State::Silence(_) => None,
        }
    }

    /// Takes the next frame and appends what follows from it: its own event, then a start or an end.
    pub(crate) fn step(&mut self, speech_prob: f32, levels: &[Dbfs; BLOCKS], events: &mut Vec<VadEvent>) {
        let begin = self.end;
        self.end = begin + FRAME as u64;
        self.levels.extend(levels);
        self.levels.drain(..self.levels.len().saturating_sub(REMEMBERED));
        if speech_prob >= self.config.start_threshold {
            self.is_speech = true;
        } else if speech_prob < self.config.end_threshold {
            self.is_speech = false;
        }
        for &level in levels {
            self.floor.update(level, self.is_speech);
        }
        events.push(VadEvent::Frame { end: self.end, speech_prob, is_speech: self.is_speech });
        self.state = match self.state {
            State::Silence(_) if !self.is_speech => State::Silence(None),
            State::Silence(run) => {
                let run = Run {
                    first: run.map_or(begin, |run| run.first),
                    frames: run.map_or(0, |run| run.frames) + 1,
                    peak: run.map_or(0.0, |run| run.peak).max(speech_prob),
                };
                if run.is_onset(&self.config) {
                    let at = self.date_start(run.first);
                    events.push(VadEvent::SpeechStart { at });
                    self.taken = at;
                    State::Speech { quiet: 0, confident: self.end }
                } else {
                    State::Silence(Some(run))
                }
            }
            State::Speech { .. } if self.is_speech => State::Speech { quiet: 0, confident: self.end },
            State::Speech { quiet, confident } => {
                let quiet = quiet + 1;
                if quiet * FRAME_MS >= self.config.hangover_ms {
                    self.close(confident, events)
                } else {
                    State::Speech { quiet, confident }
                }
            }
        };
    }

    /// Ends a segment that is on, because the stream ends.
    pub(crate) fn finish(&mut self, events: &mut Vec<VadEvent>) {
        if let State::Speech { confident, .. } = self.state {
            self.state = self.close(confident, events);
        }
        self.is_speech = false;
    }

    fn close(&mut self, confident: SamplePos, events: &mut Vec<VadEvent>) -> State {
        let at = self.date_end(confident);
        events.push(VadEvent::SpeechEnd { at });
        self.taken = at;
        State::Silence(None)
    }

    /// The first speech sample, given where the first confident frame began: as long as the blocks before it stand out
    /// of the background they belong to it; if none does, the first block of the frame that stands out is the onset.
    fn date_start(&self, first: SamplePos) -> SamplePos {
        let bar = self.bar(first, self.end);
        let earliest = first.before(u64::from(self.config.back_date_ms) * 16).max(self.taken);
        let mut at = first;
        while at > earliest && self.level_before(at).is_some_and(|level| level > bar) {
            at = at.before(BLOCK as u64);
        }
        if at < first {
            return at.max(earliest);
        }
        while at < first + FRAME as u64 && self.level_before(at + BLOCK as u64).is_some_and(|level| level <= bar) {
            at = at + BLOCK as u64;
        }
        // A frame of which no block stands out, in loud noise: its beginning is the best guess.
        if at < first + FRAME as u64 { at.max(self.taken) } else { first.max(self.taken) }
    }

    /// One past the last speech sample, given where the last confident frame ended.
    fn date_end(&self, confident: SamplePos) -> SamplePos {
        let earliest = confident.before(END_LOOK_BACK).max(self.taken);
        let latest = (confident + END_LOOK_AHEAD).min(self.end);
        let bar = self.bar(earliest, latest);
        let mut at = confident;
        // An unvoiced end goes on without a gap behind the confident frame.
        while at < latest && self.level_before(at + BLOCK as u64).is_some_and(|level| level > bar) {
            at = at + BLOCK as u64;
        }
        if at > confident {
            return at.min(latest);
        }
        while at > earliest && self.level_before(at).is_some_and(|level| level <= bar) {
            at = at.before(BLOCK as u64);
        }
        if at > earliest { at } else { confident }
    }

    /// The level above which a block within `from..to` is part of the speech there.
    fn bar(&self, from: SamplePos, to: SamplePos) -> Dbfs {
        let mut peak = Dbfs::SILENCE;
        let mut at = from;
        while at < to {
            at = at + BLOCK as u64;
            if let Some(level) = self.level_before(at) {
                peak = if level > peak { level } else { peak };
            }
        }
        Dbfs((self.floor.get().0 + ABOVE_FLOOR).max(peak.0 - BELOW_PEAK))
    }

    /// The level of the block that ends at or just behind `at`, if it is remembered.
    fn level_before(&self, at: SamplePos) -> Option<Dbfs> {
        if at > self.end {
            return None;
        }
        let back = usize::try_from((self.end - at) / BLOCK as u64).ok()?;
        let index = self.levels.len().checked_sub(back + 1)?;
        self.levels.get(index).copied()
    }
}

#[cfg(test)]
mod tests;
