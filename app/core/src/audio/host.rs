//! The seam between the pipeline and whatever brings and plays audio.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::Receiver;

use super::{Result, SamplePos, Speaker};

/// What the loudspeaker will be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoiceFormat {
    /// Samples per second of the synthetic voice.
    pub sample_rate: u32,
}

/// A source of what the user says and a sink for what the assistant says.
pub trait AudioHost: Send {
    /// Opens both ends and starts the clock; position 0 is the first sample the microphone delivers.
    ///
    /// # Errors
    /// A file or device that cannot be opened, named, with what to do about it.
    fn open(self: Box<Self>, voice: VoiceFormat) -> Result<Streams>;

    /// Whether the microphone can hear the loudspeaker. Where it cannot, there is nothing to cancel, and an echo canceller
    /// that looks for an echo takes the user's voice for it at times.
    fn hears_itself(&self) -> bool {
        true
    }
}

/// The open ends of a host. Each goes to the actor that owns it.
#[derive(Debug)]
pub struct Streams {
    /// What the user says.
    pub microphone: Microphone,
    /// What the assistant says.
    pub speaker: Speaker,
    /// What left the speaker and when. Bounded: [`PlaybackEvent::Progress`] is dropped when nobody reads, others are kept
    /// as long as 4,096 events suffice.
    pub playback: Receiver<PlaybackEvent>,
    /// Devices that went away or came back.
    pub devices: Receiver<DeviceEvent>,
    /// Stops the host, waits for it, and tells how it went.
    pub handle: HostHandle,
}

/// One block of what the microphone heard, with what the speaker played during the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    /// Position of the first sample. Blocks follow each other without gaps: lost audio is replaced by silence.
    pub at: SamplePos,
    /// What was heard: mono at 16 kHz, [`super::BLOCK`] samples.
    pub near: Vec<f32>,
    /// What was played at these positions, for echo cancelling: mono at 16 kHz, as long as `near`, or empty for silence.
    pub far: Vec<f32>,
}

impl Captured {
    /// Position one past the last sample.
    pub fn end(&self) -> SamplePos {
        self.at + self.near.len() as SamplePos
    }
}

/// The receiving end of a microphone.
#[derive(Debug)]
pub struct Microphone {
    pub(crate) blocks: Receiver<Captured>,
}

impl Microphone {
    /// Waits for the next block; `None` once the host was stopped and all blocks were delivered.
    pub fn read(&mut self) -> Option<Captured> {
        self.blocks.recv().ok()
    }

    /// The channel behind it, for a `select!`; disconnected once the host was stopped.
    pub fn receiver(&self) -> &Receiver<Captured> {
        &self.blocks
    }
}

/// What happened at the loudspeaker. Positions are on the microphone's clock, `played` counts samples of the turn at the
/// voice's rate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum PlaybackEvent {
    /// The first sample of a turn left the sink.
    Started {
        /// The turn.
        turn: u64,
        /// When.
        at: SamplePos,
    },
    /// The first sample of a turn above -50 dB of full scale left the sink.
    FirstAudio {
        /// The turn.
        turn: u64,
        /// When.
        at: SamplePos,
    },
    /// So much of a turn has left the sink by now.
    Progress {
        /// The turn.
        turn: u64,
        /// Samples of the turn that left.
        played: u64,
        /// When the last of them left.
        at: SamplePos,
    },
    /// A turn's gain reached what was asked for.
    GainReached {
        /// The turn.
        turn: u64,
        /// The gain, 0 to 1.
        gain: f32,
        /// When.
        at: SamplePos,
    },
    /// A turn was paused and is silent now.
    Paused {
        /// The turn.
        turn: u64,
        /// Samples of the turn that left.
        played: u64,
        /// First silent position.
        at: SamplePos,
    },
    /// A paused turn goes on.
    Resumed {
        /// The turn.
        turn: u64,
        /// Where in the turn it goes on.
        played: u64,
        /// When.
        at: SamplePos,
    },
    /// A turn was cancelled and is silent now; nothing of it will be played any more.
    Cancelled {
        /// The turn.
        turn: u64,
        /// Samples of the turn that left, the fade-out included; 0 when it never started.
        played: u64,
        /// First silent position.
        at: SamplePos,
    },
    /// A turn was finished by its producer and all of it left the sink.
    Drained {
        /// The turn.
        turn: u64,
        /// Samples of the turn.
        played: u64,
        /// Position after its last sample.
        at: SamplePos,
    },
    /// There was a hole in a turn, because its audio came too late.
    Underrun {
        /// The turn.
        turn: u64,
        /// Where in the turn.
        played: u64,
        /// Where the hole began.
        at: SamplePos,
        /// How long it was, in samples of the microphone's clock.
        len: u64,
    },
}

/// What happened to a device.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DeviceEvent {
    /// A device stopped working; the host is looking for it and for a replacement.
    Lost {
        /// "microphone" or "loudspeaker".
        kind: &'static str,
        /// Its name.
        name: String,
        /// What the system said.
        why: String,
    },
    /// A device is (again) in use.
    Opened {
        /// "microphone" or "loudspeaker".
        kind: &'static str,
        /// Its name.
        name: String,
        /// Whether it is a stand-in for the one asked for.
        fallback: bool,
    },
    /// The pipeline took blocks too slowly and samples were lost.
    Overrun {
        /// Where the hole begins.
        at: SamplePos,
        /// How many samples were replaced by silence.
        len: u64,
    },
    /// No microphone delivered these samples; silence stands in for them.
    Hole {
        /// Where the hole begins.
        at: SamplePos,
        /// How many samples are missing.
        len: u64,
    },
    /// The recorded input is over; silence follows.
    InputEnded {
        /// Position one past the last recorded sample.
        at: SamplePos,
    },
}

/// How a host went, known when it has stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostReport {
    /// Samples delivered by the microphone.
    pub captured: u64,
    /// Holes in the assistant's speech.
    pub underruns: u64,
    /// Microphone samples that the pipeline was too slow to take.
    pub overrun_samples: u64,
    /// Samples that no microphone delivered.
    pub missing_samples: u64,
    /// How late the host itself was at worst against the wall clock, in milliseconds.
    pub worst_lag_ms: u64,
}

/// Stops a host. Dropping it stops the host and waits, too.
#[derive(Debug)]
pub struct HostHandle {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) thread: Option<JoinHandle<Result<HostReport>>>,
}

impl HostHandle {
    /// Asks the host to stop; returns at once. The microphone ends, the output file is completed.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Stops the host, waits until it has, and tells how it went.
    ///
    /// # Errors
    /// What made the host fail, for example a full disk under the output file.
    pub fn join(mut self) -> Result<HostReport> {
        self.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(HostReport::default()),
        }
    }
}

impl Drop for HostHandle {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // A failure was for `join` to report; who drops the handle does not ask.
            let _ = thread.join();
        }
    }
}
