//! Opens devices and keeps them open: one that is lost is looked for, replaced by the default, and taken back when it returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::super::Result;
use super::super::devices::{self, Kind};
use super::super::host::DeviceEvent;
use super::capture::{self, Captured, Input};
use super::playback::{self, Output, Slot};
use super::{LiveHost, Report, Trouble};

/// A device that says nothing for so long is taken for lost, whether it reports an error or not.
const SILENT_NS: u64 = 1_000_000_000;

/// A device that was just opened may take so much longer.
const START_NS: u64 = 1_000_000_000;

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

/// A device that is back after less than this was not worth a word.
const HICCUP: Duration = Duration::from_millis(400);

/// A device with a name for people.
trait Named {
    fn name(&self) -> &str;
}

impl Named for Input {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for Output {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Since when a device is missing.
struct Loss {
    since: Instant,
    name: String,
    why: String,
    told: bool,
}

/// One device that should be open.
struct Place<T> {
    kind: Kind,
    wanted: Option<String>,
    open: Option<T>,
    fallback: bool,
    /// How often it was opened; reports of earlier times are stale.
    opening: u64,
    loss: Option<Loss>,
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
            opening: 0,
            loss: None,
            next_try: Instant::now(),
            wait: RETRY.0,
        }
    }

    /// Opens the device asked for, else the default.
    fn open(&mut self, reports: &Sender<Report>, open: impl Fn(Option<&str>, &Trouble) -> Result<T>) -> Result<()> {
        self.opening += 1;
        let trouble = Trouble { reports: reports.clone(), kind: self.kind, opening: self.opening };
        let (device, fallback) = match (open(self.wanted.as_deref(), &trouble), &self.wanted) {
            (Ok(device), _) => (device, false),
            (Err(_), Some(_)) if self.opening > 1 => (open(None, &trouble)?, true),
            (Err(error), _) => return Err(error),
        };
        self.open = Some(device);
        self.fallback = fallback;
        self.wait = RETRY.0;
        self.next_try = Instant::now() + RETURN;
        Ok(())
    }

    /// Closes the device; it will be looked for at once.
    fn lose(&mut self, why: String)
    where
        T: Named + Send + 'static,
    {
        if let Some(device) = self.open.take() {
            tracing::debug!(kind = self.kind.word(), name = device.name(), why, "device lost");
            let name = device.name().to_string();
            self.loss.get_or_insert(Loss { since: Instant::now(), name, why, told: false });
            self.next_try = Instant::now();
            retire(device);
        }
    }

    /// Tells of a loss that lasts.
    fn tell_loss(&mut self, events: &Sender<DeviceEvent>) {
        if let Some(loss) = self.loss.as_mut().filter(|loss| !loss.told && loss.since.elapsed() > HICCUP) {
            loss.told = true;
            let (name, why) = (loss.name.clone(), loss.why.clone());
            let _ = events.try_send(DeviceEvent::Lost { kind: self.kind.word(), name, why });
        }
    }

    /// Tells of an opened device, unless it was away so shortly that nobody was told.
    fn tell_opened(&mut self, events: &Sender<DeviceEvent>)
    where
        T: Named,
    {
        let Some(device) = &self.open else { return };
        let name = device.name().to_string();
        tracing::debug!(kind = self.kind.word(), name, fallback = self.fallback, "device opened");
        let hiccup = self.loss.take().is_some_and(|loss| !loss.told && loss.name == name);
        if !hiccup {
            let _ = events.try_send(DeviceEvent::Opened { kind: self.kind.word(), name, fallback: self.fallback });
        }
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
    reports: Sender<Report>,
    reported: Receiver<Report>,
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
        let (reports, reported) = bounded(16);
        Self {
            input: Place::new(Kind::Microphone, host.microphone.clone()),
            output: Place::new(Kind::Loudspeaker, host.loudspeaker.clone()),
            slot,
            pulse,
            reports,
            reported,
            captured,
            events,
            epoch,
        }
    }

    /// Opens both devices for the first time. A name that does not exist is an error here: nobody would notice otherwise.
    pub(super) fn start(&mut self) -> Result<()> {
        let _quiet = devices::quiet();
        self.open_input()?;
        self.open_output()
    }

    /// Looks after the devices until the host stops.
    pub(super) fn run(mut self) {
        let _quiet = devices::quiet();
        while !self.pulse.stop.load(Ordering::Acquire) {
            let first = self.reported.recv_timeout(LOOK).ok();
            let now_ns = self.now_ns();
            let silent = |since: u64| now_ns.saturating_sub(since) > SILENT_NS;
            let mut lost: Vec<(Kind, String)> = first
                .into_iter()
                .chain(self.reported.try_iter())
                .filter(|report| {
                    report.opening
                        == match report.kind {
                            Kind::Microphone => self.input.opening,
                            Kind::Loudspeaker => self.output.opening,
                        }
                })
                .map(|report| (report.kind, report.why))
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
            self.input.tell_loss(&self.events);
            self.output.tell_loss(&self.events);
            self.take_back();
        }
    }

    fn lose(&mut self, kind: Kind, why: String) {
        match kind {
            Kind::Microphone => self.input.lose(why),
            Kind::Loudspeaker => {
                self.slot.revoke();
                self.output.lose(why);
            }
        }
    }

    fn reopen(&mut self) {
        let now = Instant::now();
        if self.input.open.is_none() && now >= self.input.next_try && self.open_input().is_err() {
            self.input.retry_later();
        }
        if self.output.open.is_none() && now >= self.output.next_try && self.open_output().is_err() {
            self.output.retry_later();
        }
    }

    /// Leaves a stand-in when the device that was asked for is there again.
    fn take_back(&mut self) {
        let now = Instant::now();
        let back = |place_kind: Kind, wanted: &Option<String>| {
            wanted.as_deref().is_some_and(|name| devices::find(place_kind, Some(name)).is_ok())
        };
        if self.input.fallback && self.input.open.is_some() && now >= self.input.next_try {
            self.input.next_try = now + RETURN;
            if back(self.input.kind, &self.input.wanted) {
                retire(self.input.open.take());
                let _ = self.open_input();
            }
        }
        if self.output.fallback && self.output.open.is_some() && now >= self.output.next_try {
            self.output.next_try = now + RETURN;
            if back(self.output.kind, &self.output.wanted) {
                self.slot.revoke();
                retire(self.output.open.take());
                let _ = self.open_output();
            }
        }
    }

    fn open_input(&mut self) -> Result<()> {
        let (epoch, captured) = (self.epoch, self.captured.clone());
        self.input.open(&self.reports, |name, trouble| {
            let (input, samples) = capture::open(name, epoch, trouble)?;
            // The pump lives as long as the keeper, or the host is stopping and nobody listens.
            let _ = captured.send(samples);
            Ok(input)
        })?;
        self.pulse.heard_ns.store(self.now_ns() + START_NS, Ordering::Release);
        self.input.tell_opened(&self.events);
        Ok(())
    }

    fn open_output(&mut self) -> Result<()> {
        let slot = self.slot.clone();
        self.output.open(&self.reports, |name, trouble| playback::open(name, &slot, trouble))?;
        self.slot.rendered_ns.fetch_max(self.now_ns() + START_NS, Ordering::AcqRel);
        self.output.tell_opened(&self.events);
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}

/// Closes a device on a thread of its own: some systems let nobody go from a device that is gone.
fn retire(device: impl Send + 'static) {
    let closing = std::thread::Builder::new().name("audio-close".into()).spawn(move || drop(device));
    if let Err(error) = closing {
        tracing::warn!(%error, "a device had to be closed in place");
    }
}
