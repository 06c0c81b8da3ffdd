//! `bench`: measurements, each of which says what it measured against.

use std::path::Path;

use anyhow::bail;
use assets::Store;
use pocket_voice::simulation::{Surroundings, read_clips};
use pocket_voice::{Models, alone, bench, report};

use crate::args::{Bench, BenchClips, BenchOptions, BenchTurns, Common, WrongUsage};
use crate::output::{self, Out};
use crate::{interrupt, settings};

pub(crate) fn run(common: &Common, what: &Bench, out: &Out) -> anyhow::Result<()> {
    match what {
        Bench::Llm(options) => llm(common, options, out),
        Bench::Turns(options) => turns(common, options, out),
        Bench::Tts(options) => tts(common, options, out),
        Bench::Asr(options) => asr(common, options, out),
    }
}

fn llm(common: &Common, options: &BenchOptions, out: &Out) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    at_least_one(options.runs)?;
    let measured = alone::bench::llm(&config, &Store::open()?, options.runs)?;
    print(common, &measured, out)
}

fn turns(common: &Common, options: &BenchTurns, out: &Out) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    at_least_one(options.turns)?;
    let mut clips = read_clips(&options.clips)?;
    clips.truncate(options.turns);
    if clips.is_empty() {
        bail!("{} lists no clips", options.clips.display());
    }
    out.remark("loading the models");
    let models = Models::load(&config, &Store::open()?)?;
    let measuring = bench::TurnsConfig { surroundings: Surroundings::default() };
    let report = bench::turns(&config, models, &clips, &measuring, |progress| {
        out.remark(format_args!("{} of {} utterances", progress.done, progress.of));
        if interrupt::happened() {
            // Nothing to complete: a measurement that was cut short is no measurement.
            std::process::exit(1);
        }
    })?;
    if let Some(path) = &common.json {
        output::json(path, &report, out)?;
    }
    out.text(report::table(&report))
}

fn tts(common: &Common, options: &BenchOptions, out: &Out) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    at_least_one(options.runs)?;
    print(common, &alone::bench::tts(&config, &Store::open()?, options.runs, interrupt::flag())?, out)
}

fn asr(common: &Common, options: &BenchClips, out: &Out) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    let clips = read_clips(&options.clips)?;
    if clips.is_empty() {
        bail!("{} lists no clips", options.clips.display());
    }
    print(common, &alone::bench::asr(&config, &Store::open()?, &clips, interrupt::flag())?, out)
}

fn at_least_one(times: usize) -> anyhow::Result<()> {
    if times == 0 {
        return Err(WrongUsage("measuring zero times gives no figure; ask for at least one".into()).into());
    }
    Ok(())
}

/// Prints a report as JSON, and writes it where it was asked for.
fn print(common: &Common, report: &impl serde::Serialize, out: &Out) -> anyhow::Result<()> {
    if let Some(path) = common.json.as_deref().filter(|path| *path != Path::new("-")) {
        output::json(path, report, out)?;
    }
    output::json(Path::new("-"), report, out)
}
