//! The file host: a recorded user in, the assistant's speech out as a file aligned with it.
//!
//! One thread plays both devices. Every 10 ms it renders what the speaker plays in that time and delivers what the
//! microphone heard. The speaker has a buffer like a real one: what is rendered at `p` sounds at `p` plus [`LATENCY`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{SendTimeoutError, Sender, TrySendError, bounded};

use super::host::{AudioHost, Captured, DeviceEvent, HostHandle, HostReport, Microphone, Streams, VoiceFormat};
use super::monitor::Monitor;
use super::wav::{Recording, Writer};
use super::{BLOCK, EAR_RATE, Error, NS_PER_SAMPLE, Player, Result, SamplePos};

/// Length of the simulated device's buffer: 10 ms.
pub const LATENCY: SamplePos = BLOCK as SamplePos;

/// Blocks that may wait for a pipeline that is slower than real time: 30 s.
const WAITING_BLOCKS: usize = 3000;

/// How fast the clock of a file host runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// As fast as a microphone would, whether the pipeline keeps up or not.
    #[default]
    RealTime,
    /// As fast as the pipeline takes blocks; for tests that measure no time.
    Fast,
}

/// Where the recorded user comes from.
pub trait Input: Send {
    /// Fills `out` with what is heard from `at` on; returns how much there was. Less than asked for is the end: silence
    /// follows. An input that knows no end fills with silence itself.
    ///
    /// # Errors
    /// The input cannot be read on.
    fn read(&mut self, at: SamplePos, out: &mut [f32]) -> Result<usize>;

    /// Tells what the speaker played from `at` on, mono at 16 kHz, for a room that returns it; called in order, not for
    /// silence. What is told lies before what is read next.
    fn played(&mut self, at: SamplePos, far: &[f32]) {
        let _ = (at, far);
    }
}

impl Input for Recording {
    fn read(&mut self, _at: SamplePos, out: &mut [f32]) -> Result<usize> {
        Recording::read(self, out)
    }
}

/// Samples in memory, mono at 16 kHz.
#[derive(Debug, Clone)]
pub struct Samples(std::vec::IntoIter<f32>);

impl From<Vec<f32>> for Samples {
    fn from(samples: Vec<f32>) -> Self {
        Self(samples.into_iter())
    }
}

impl Input for Samples {
    fn read(&mut self, _at: SamplePos, out: &mut [f32]) -> Result<usize> {
        let mut filled = 0;
        for (slot, sample) in out.iter_mut().zip(&mut self.0) {
            *slot = sample;
            filled += 1;
        }
        Ok(filled)
    }
}

/// A host that reads the user from a recording and writes the assistant to a WAV file.
pub struct FileHost {
    input: Box<dyn Input>,
    output: Option<PathBuf>,
    pace: Pace,
    hears_itself: bool,
}

impl std::fmt::Debug for FileHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileHost").field("output", &self.output).field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl FileHost {
    /// A host whose user is the WAV file `input`.
    ///
    /// # Errors
    /// A file that cannot be used as audio.
    pub fn open(input: &Path) -> Result<Self> {
        Ok(Self::new(Recording::open(input)?))
    }

    /// A host with any other input.
    pub fn new(input: impl Input + 'static) -> Self {
        Self { input: Box::new(input), output: None, pace: Pace::RealTime, hears_itself: false }
    }

    /// Writes what the speaker plays to `path`, at the voice's rate, aligned in time with the input.
    pub fn output(mut self, path: &Path) -> Self {
        self.output = Some(path.into());
        self
    }

    /// Says that the input returns what is played, as a simulated room does.
    pub fn hearing_itself(mut self, hears_itself: bool) -> Self {
        self.hears_itself = hears_itself;
        self
    }

    /// Sets how fast the clock runs.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }
}

impl AudioHost for FileHost {
    fn hears_itself(&self) -> bool {
        self.hears_itself
    }

    fn open(self: Box<Self>, voice: VoiceFormat) -> Result<Streams> {
        let (speaker, player, account) = Player::new(voice.sample_rate);
        let (monitor, playback) = Monitor::new(account, voice.sample_rate);
        let (blocks, blocks_out) = bounded(if self.pace == Pace::Fast { 0 } else { WAITING_BLOCKS });
        let (devices, devices_out) = bounded(64);
        let writer = match &self.output {
            Some(path) => Some(Writer::create(path, voice.sample_rate)?),
            None => None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut machine = Machine {
            input: Some(self.input),
            writer,
            player,
            monitor,
            blocks,
            devices,
            stop: stop.clone(),
            pace: self.pace,
            now: 0,
            rendered: 0,
            lost: 0,
            report: HostReport::default(),
            rendering: Vec::new(),
        };
        let thread = std::thread::Builder::new()
            .name("audio-file".into())
            .spawn(move || machine.run())
            .map_err(|source| Error::Thread { name: "audio-file", source })?;
        Ok(Streams {
            microphone: Microphone { blocks: blocks_out },
            speaker,
            playback,
            devices: devices_out,
            handle: HostHandle { stop, thread: Some(thread) },
        })
    }
}

/// Both simulated devices.
struct Machine {
    /// `None` once the recording is over.
    input: Option<Box<dyn Input>>,
    writer: Option<Writer>,
    player: Player,
    monitor: Monitor,
    blocks: Sender<Captured>,
    devices: Sender<DeviceEvent>,
    stop: Arc<AtomicBool>,
    pace: Pace,
    /// Position of the next block.
    now: SamplePos,
    /// Samples of the voice rendered so far.
    rendered: u64,
    /// Samples just before `now` that could not be delivered.
    lost: u64,
    report: HostReport,
    rendering: Vec<f32>,
}

impl Machine {
    fn run(&mut self) -> Result<HostReport> {
        let rate = u64::from(self.player.sample_rate());
        if let Some(writer) = self.writer.as_mut() {
            // What sounds before the first rendered sample reaches the end of the buffer.
            writer.write(&vec![0.0; (LATENCY * rate).div_ceil(u64::from(EAR_RATE)) as usize])?;
        }
        let start = Instant::now();
        while !self.stop.load(Ordering::Acquire) {
            let mut near = vec![0.0; BLOCK];
            self.hear(&mut near)?;
            let end = self.now + BLOCK as SamplePos;
            if self.pace == Pace::RealTime {
                let due = start + Duration::from_nanos(end * NS_PER_SAMPLE);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let lag = due.elapsed().as_millis() as u64;
                self.report.worst_lag_ms = self.report.worst_lag_ms.max(lag);
            }
            self.play_until(end)?;
            self.monitor.drain(|ns| ns / NS_PER_SAMPLE);
            let far = self.monitor.far(self.now, BLOCK);
            if let Some(input) = self.input.as_mut().filter(|_| !far.is_empty()) {
                input.played(self.now, &far);
            }
            if !self.deliver(near, far) {
                break;
            }
            self.now = end;
        }
        self.report.captured = self.now;
        self.report.underruns = self.monitor.underruns();
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
        }
        Ok(self.report.clone())
    }

    fn hear(&mut self, near: &mut [f32]) -> Result<()> {
        let Some(input) = self.input.as_mut() else {
            return Ok(());
        };
        let got = input.read(self.now, near)?;
        if got < near.len() {
            self.input = None;
            let _ = self.devices.try_send(DeviceEvent::InputEnded { at: self.now + got as SamplePos });
        }
        Ok(())
    }

    /// Renders the voice up to `end` of the microphone's clock; it sounds [`LATENCY`] later.
    fn play_until(&mut self, end: SamplePos) -> Result<()> {
        let rate = u64::from(self.player.sample_rate());
        let due = end * rate / u64::from(EAR_RATE);
        self.rendering.resize((due - self.rendered) as usize, 0.0);
        let at_ns = self.rendered * 1_000_000_000 / rate + LATENCY * NS_PER_SAMPLE;
        self.player.render(&mut self.rendering, at_ns);
        self.rendered = due;
        match self.writer.as_mut() {
            Some(writer) => writer.write(&self.rendering),
            None => Ok(()),
        }
    }

    /// Hands a block to the pipeline; `false` if there is no pipeline any more.
    fn deliver(&mut self, near: Vec<f32>, far: Vec<f32>) -> bool {
        let mut block = Captured { at: self.now, near, far };
        if self.lost > 0 {
            // Blocks follow each other without gaps: what was lost comes back as silence.
            block.at -= self.lost;
            block.near.splice(0..0, std::iter::repeat_n(0.0, self.lost as usize));
            block.far.clear();
        }
        if self.pace == Pace::Fast {
            loop {
                match self.blocks.send_timeout(block, Duration::from_millis(20)) {
                    Ok(()) => return true,
                    Err(SendTimeoutError::Disconnected(_)) => return false,
                    Err(SendTimeoutError::Timeout(_)) if self.stop.load(Ordering::Acquire) => {
                        return false;
                    }
                    Err(SendTimeoutError::Timeout(back)) => block = back,
                }
            }
        }
        match self.blocks.try_send(block) {
            Ok(()) => {
                if self.lost > 0 {
                    let at = self.now - self.lost;
                    let _ = self.devices.try_send(DeviceEvent::Overrun { at, len: self.lost });
                    self.report.overrun_samples += self.lost;
                    self.lost = 0;
                }
                true
            }
            Err(TrySendError::Full(_)) => {
                self.lost += BLOCK as u64;
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests;
