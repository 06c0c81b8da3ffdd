//! `devices`: microphones and loudspeakers.

use pocket_voice::audio::devices::{DeviceInfo, Kind, devices};

use crate::args::Common;
use crate::output::{self, Out};

pub(crate) fn run(common: &Common, out: &Out) -> anyhow::Result<()> {
    let found = devices()?;
    if let Some(path) = &common.json {
        let list: Vec<_> = found.iter().map(as_json).collect();
        output::json(path, &serde_json::json!({ "version": 1, "devices": list }), out)?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    for (kind, title) in [(Kind::Microphone, "Microphones"), (Kind::Loudspeaker, "Loudspeakers")] {
        out.line(title)?;
        let mut none = true;
        for device in found.iter().filter(|device| device.kind == kind) {
            none = false;
            out.line(format_args!(
                "  {} {}\n      {} Hz, {} channels, {} (supports {} to {} Hz); id {}",
                if device.default { "*" } else { " " },
                output::plain(&device.name),
                device.sample_rate,
                device.channels,
                device.sample_format,
                device.rates.0,
                device.rates.1,
                device.id
            ))?;
        }
        if none {
            out.line("    none")?;
        }
    }
    if found.iter().any(|device| device.default) {
        out.remark("* is used when none is named");
    }
    Ok(())
}

fn as_json(device: &DeviceInfo) -> serde_json::Value {
    serde_json::json!({
        "kind": device.kind.word(),
        "id": device.id,
        "name": device.name,
        "default": device.default,
        "sample_rate": device.sample_rate,
        "min_sample_rate": device.rates.0,
        "max_sample_rate": device.rates.1,
        "channels": device.channels,
        "sample_format": device.sample_format,
    })
}
