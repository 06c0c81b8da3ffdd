//! Opens devices and keeps them open: one that is lost is looked for, replaced by the default, and taken back when it returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use super::super::devices::{self, Kind};
use super::super::host::DeviceEvent;
use super::super::{Error, Result};
use super::capture::{self, Captured, Input};
use super::playback::{self, Output, Slot};
use super::{LiveHost, Trouble};

/// A device that says nothing for so long is taken for lost, whether it reports an error or not.
const SILENT_NS: u64 = 600_000_000;

/// How often devices are looked after.
const LOOK: Duration = Duration::from_millis(100);

/// Waits between attempts to open a lost device: the first, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// How often a stand-in is compared with what was asked for.
const RETURN: Duration = Duration::from_secs(2);

/// What the pumping thread and the keeper know of each other.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// When the microphone last delivered; written by the pump.
    pub(super) heard_ns: AtomicU64,
    pub(super) stop: Arc<AtomicBool>,
}

/// One device that should be open.
struct Place<T> {
    kind: Kind,
    wanted: Option<String>,
    open: Option<T>,
    fallback: bool,
    next_try: Instant,
    wait: Duration,
}

impl<T> Place<T> {
    fn new(kind: Kind, wanted: Option<String>) -> Self {
        Self {
            kind,
            wanted,
            open: None,
            fallback: false,
            next_try: Instant::now(),
            wait: RETRY.0,
        }
    }

    /// Opens the device asked for, else the default.
    fn open(&mut self, open: impl Fn(Option<&str>) -> Result<T>) -> Result<()> {
        let (device, fallback) = match (open(self.wanted.as_deref()), &self.wanted) {
            (Ok(device), _) => (device, false),
            (Err(_), Some(_)) => (open(None)?, true),
            (Err(error), None) => return Err(error),
        };
        self.open = Some(device);
        self.fallback = fallback;
        self.wait = RETRY.0;
        self.next_try = Instant::now() + RETURN;
        Ok(())
    }

    /// Sets the time of the next attempt after a failed one.
    fn retry_later(&mut self) {
        self.next_try = Instant::now() + self.wait;
        self.wait = (self.wait * 2).min(RETRY.1);
    }
}

pub(super) struct Keeper {
    input: Place<Input>,
    output: Place<Output>,
    slot: Arc<Slot>,
    pulse: Arc<Pulse>,
    trouble: Trouble,
    troubles: Receiver<(Kind, String)>,
    captured: Sender<Captured>,
    events: Sender<DeviceEvent>,
    epoch: Instant,
}

impl Keeper {
    pub(super) fn new(
        host: &LiveHost,
        slot: Arc<Slot>,
        pulse: Arc<Pulse>,
        captured: Sender<Captured>,
        events: Sender<DeviceEvent>,
        epoch: Instant,
    ) -> Self {
        let (trouble, troubles) = Trouble::new();
        Self {
            input: Place::new(Kind::Microphone, host.microphone.clone()),
            output: Place::new(Kind::Loudspeaker, host.loudspeaker.clone()),
            slot,
            pulse,
            trouble,
            troubles,
            captured,
            events,
            epoch,
        }
    }

    /// Opens both devices for the first time. A name that does not exist is an error here: nobody would notice otherwise.
    pub(super) fn start(&mut self) -> Result<()> {
        let _quiet = devices::quiet();
        self.open_input()?;
        self.open_output()?;
        let missing = |kind: Kind, name: &Option<String>| {
            Err(Error::NoDevice {
                kind: kind.word(),
                name: name.clone(),
            })
        };
        if self.input.fallback {
            return missing(Kind::Microphone, &self.input.wanted);
        }
        if self.output.fallback {
            return missing(Kind::Loudspeaker, &self.output.wanted);
        }
        Ok(())
    }

    /// Looks after the devices until the host stops.
    pub(super) fn run(mut self) {
        let _quiet = devices::quiet();
        while !self.pulse.stop.load(Ordering::Acquire) {
            let reported = self.troubles.recv_timeout(LOOK).ok();
            let now_ns = self.epoch.elapsed().as_nanos() as u64;
            let silent = |since: u64| now_ns.saturating_sub(since) > SILENT_NS;
            let mut lost: Vec<(Kind, String)> = reported
                .into_iter()
                .chain(self.troubles.try_iter())
                .collect();
            if self.input.open.is_some() && silent(self.pulse.heard_ns.load(Ordering::Acquire)) {
                lost.push((Kind::Microphone, "it delivers nothing any more".into()));
            }
            if self.output.open.is_some() && silent(self.slot.rendered_ns.load(Ordering::Acquire)) {
                lost.push((Kind::Loudspeaker, "it takes nothing any more".into()));
            }
            for (kind, why) in lost {
                self.lose(kind, why);
            }
            self.reopen();
            self.take_back();
        }
    }

    fn lose(&mut self, kind: Kind, why: String) {
        let name = match kind {
            Kind::Microphone => self.input.open.take().map(|input| {
                let name = input.name.clone();
                retire(input);
                self.input.next_try = Instant::now();
                name
            }),
            Kind::Loudspeaker => self.output.open.take().map(|output| {
                self.slot.revoke();
                let name = output.name.clone();
                retire(output);
                self.output.next_try = Instant::now();
                name
            }),
        };
        if let Some(name) = name {
            tracing::warn!(kind = kind.word(), name, why, "device lost");
            let _ = self.events.try_send(DeviceEvent::Lost {
                kind: kind.word(),
                name,
                why,
            });
        }
    }

    fn reopen(&mut self) {
        let now = Instant::now();
        if self.input.open.is_none() && now >= self.input.next_try && self.open_input().is_err() {
            self.input.retry_later();
        }
        if self.output.open.is_none() && now >= self.output.next_try && self.open_output().is_err()
        {
            self.output.retry_later();
        }
    }

    /// Leaves a stand-in when the device that was asked for is there again.
    fn take_back(&mut self) {
        let now = Instant::now();
        let back = |place_kind: Kind, wanted: &Option<String>| {
            wanted
                .as_deref()
                .is_some_and(|name| devices::find(place_kind, Some(name)).is_ok())
        };
        if self.input.fallback && self.input.open.is_some() && now >= self.input.next_try {
            self.input.next_try = now + RETURN;
            if back(self.input.kind, &self.input.wanted) {
                self.input.open.take().map(retire);
                let _ = self.open_input();
            }
        }
        if self.output.fallback && self.output.open.is_some() && now >= self.output.next_try {
            self.output.next_try = now + RETURN;
            if back(self.output.kind, &self.output.wanted) {
                self.slot.revoke();
                self.output.open.take().map(retire);
                let _ = self.open_output();
            }
        }
    }

    fn open_input(&mut self) -> Result<()> {
        let (epoch, trouble) = (self.epoch, self.trouble.clone());
        let captured = self.captured.clone();
        self.input.open(|name| {
            let (input, samples) = capture::open(name, epoch, &trouble)?;
            // The pump lives as long as the keeper, or the host is stopping and nobody listens.
            let _ = captured.send(samples);
            Ok(input)
        })?;
        self.pulse
            .heard_ns
            .store(self.epoch.elapsed().as_nanos() as u64, Ordering::Release);
        let name = self
            .input
            .open
            .as_ref()
            .map(|input| input.name.clone())
            .unwrap_or_default();
        self.announce(Kind::Microphone, name, self.input.fallback);
        Ok(())
    }

    fn open_output(&mut self) -> Result<()> {
        let (slot, trouble) = (self.slot.clone(), self.trouble.clone());
        self.output
            .open(|name| playback::open(name, &slot, &trouble))?;
        let name = self
            .output
            .open
            .as_ref()
            .map(|output| output.name.clone())
            .unwrap_or_default();
        self.announce(Kind::Loudspeaker, name, self.output.fallback);
        Ok(())
    }

    fn announce(&self, kind: Kind, name: String, fallback: bool) {
        tracing::debug!(kind = kind.word(), name, fallback, "device opened");
        let _ = self.events.try_send(DeviceEvent::Opened {
            kind: kind.word(),
            name,
            fallback,
        });
    }
}

/// Closes a device on a thread of its own: some systems let nobody go from a device that is gone.
fn retire(device: impl Send + 'static) {
    let closing = std::thread::Builder::new()
        .name("audio-close".into())
        .spawn(move || drop(device));
    if let Err(error) = closing {
        tracing::warn!(%error, "a device had to be closed in place");
    }
}
