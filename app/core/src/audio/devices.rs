//! Microphones and loudspeakers of this machine: listing them, and finding one by name.

use cpal::traits::{DeviceTrait as _, HostTrait as _};

use super::{Error, Result};

/// ALSA's converters and routings, which are no devices of their own.
const NO_DEVICES: [&str; 20] = [
    "null",
    "lavrate",
    "samplerate",
    "speexrate",
    "speex",
    "jack",
    "oss",
    "upmix",
    "vdownmix",
    "usbstream",
    "front",
    "rear",
    "center_lfe",
    "side",
    "surround",
    "iec958",
    "spdif",
    "dmix",
    "dsnoop",
    "plughw",
];

/// What a device is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It hears.
    Microphone,
    /// It plays.
    Loudspeaker,
}

impl Kind {
    /// The word for messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Microphone => "microphone",
            Self::Loudspeaker => "loudspeaker",
        }
    }
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// What it is for.
    pub kind: Kind,
    /// What to call it in a configuration; stays the same from run to run.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Whether it is used when none is named.
    pub default: bool,
    /// The rate it will be opened with, in Hz.
    pub sample_rate: u32,
    /// All rates it says it supports, lowest and highest.
    pub rates: (u32, u32),
    /// The channels it will be opened with.
    pub channels: u16,
    /// How its samples are stored, for example "i16".
    pub sample_format: String,
}

/// All devices that can be opened, microphones first.
///
/// # Errors
/// The system cannot list its devices.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    let _quiet = quiet();
    let host = cpal::default_host();
    let mut found = Vec::new();
    for kind in [Kind::Microphone, Kind::Loudspeaker] {
        let default = default_device(&host, kind).and_then(|device| device.id().ok()).map(|id| id.to_string());
        for device in all(&host, kind)? {
            let Some(info) = describe(&device, kind, default.as_deref()) else {
                continue;
            };
            if !found.contains(&info) {
                found.push(info);
            }
        }
    }
    Ok(found)
}

/// The device of this name (its id, its name, or a part of its name), or the default one.
pub(crate) fn find(kind: Kind, name: Option<&str>) -> Result<(cpal::Device, String)> {
    let host = cpal::default_host();
    let missing = || Error::NoDevice { kind: kind.word(), name: name.map(String::from) };
    let Some(wanted) = name else {
        let device = default_device(&host, kind).ok_or_else(missing)?;
        // ALSA has a default even where there is no sound card; what cannot say its format is not there.
        default_config(&device, kind).map_err(|_| missing())?;
        let label = label(&device);
        return Ok((device, label));
    };
    let lower = wanted.to_lowercase();
    let mut best: Option<(u8, cpal::Device)> = None;
    for device in all(&host, kind)? {
        let id = device.id().map(|id| id.to_string()).unwrap_or_default();
        let pcm = id.split_once(':').map_or(id.as_str(), |(_, rest)| rest);
        let label = label(&device);
        let rank = if id == wanted || pcm == wanted || label == wanted {
            0
        } else if label.to_lowercase().contains(&lower) {
            1
        } else {
            continue;
        };
        if best.as_ref().is_none_or(|(r, _)| rank < *r) && default_config(&device, kind).is_ok() {
            best = Some((rank, device));
        }
    }
    let (_, device) = best.ok_or_else(missing)?;
    let label = label(&device);
    Ok((device, label))
}

/// How the device wants to be opened.
pub(crate) fn default_config(device: &cpal::Device, kind: Kind) -> Result<cpal::SupportedStreamConfig, cpal::Error> {
    match kind {
        Kind::Microphone => device.default_input_config(),
        Kind::Loudspeaker => device.default_output_config(),
    }
}

/// Keeps alsa-lib from writing to the terminal what this thread makes it complain about, as long as the value lives.
#[cfg(target_os = "linux")]
pub(crate) fn quiet() -> impl Sized {
    alsa::Output::local_error_handler().ok()
}

/// Elsewhere the sound system is quiet by itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn quiet() -> impl Sized {}

fn default_device(host: &cpal::Host, kind: Kind) -> Option<cpal::Device> {
    match kind {
        Kind::Microphone => host.default_input_device(),
        Kind::Loudspeaker => host.default_output_device(),
    }
}

fn all(host: &cpal::Host, kind: Kind) -> Result<Vec<cpal::Device>> {
    let failed = |error: cpal::Error| Error::Device {
        kind: kind.word(),
        name: "any".into(),
        why: format!("the system cannot list its devices: {error}"),
    };
    let real = |device: &cpal::Device| {
        let id = device.id().map(|id| id.to_string()).unwrap_or_default();
        let pcm = id.split_once(':').map_or(id.as_str(), |(_, rest)| rest);
        let family = pcm.split([':', '=']).next().unwrap_or_default();
        let family = family.trim_end_matches(|c: char| c.is_ascii_digit());
        !cfg!(target_os = "linux") || !NO_DEVICES.contains(&family)
    };
    Ok(host.devices().map_err(failed)?.filter(real).collect())
}

fn describe(device: &cpal::Device, kind: Kind, default: Option<&str>) -> Option<DeviceInfo> {
    let config = default_config(device, kind).ok()?;
    let id = device.id().ok()?.to_string();
    let ranges: Vec<_> = match kind {
        Kind::Microphone => device.supported_input_configs().ok()?.collect(),
        Kind::Loudspeaker => device.supported_output_configs().ok()?.collect(),
    };
    let low = ranges.iter().map(|r| r.min_sample_rate()).min().unwrap_or(config.sample_rate());
    let high = ranges.iter().map(|r| r.max_sample_rate()).max().unwrap_or(config.sample_rate());
    Some(DeviceInfo {
        kind,
        name: label(device),
        default: default == Some(id.as_str()),
        id,
        sample_rate: config.sample_rate(),
        rates: (low, high),
        channels: config.channels(),
        sample_format: config.sample_format().to_string(),
    })
}

fn label(device: &cpal::Device) -> String {
    let name = device.description().map(|description| description.name().to_string()).unwrap_or_default();
    if name.is_empty() { device.id().map(|id| id.to_string()).unwrap_or_else(|_| "unnamed".into()) } else { name }
}
