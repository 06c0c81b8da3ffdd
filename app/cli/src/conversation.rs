//! `talk` and `ask`: a whole conversation, live or with a recorded user.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use assets::Store;
use crossbeam_channel::{never, select};
use pocket_voice::audio::{AudioHost, FileHost, LiveHost};
use pocket_voice::report::{self, Report};
use pocket_voice::{Assistant, Command, Config, Event, Models};

use crate::args::{Ask, Common, Talk, WrongUsage};
use crate::output::{self, Out};
use crate::view::View;
use crate::{interrupt, labels, settings};

pub(crate) fn talk(common: &Common, talk: &Talk, out: &Out) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    let host = LiveHost { microphone: talk.microphone.clone(), loudspeaker: talk.loudspeaker.clone() };
    // Loading takes seconds; what is missing is better said at once.
    host.check()?;
    let report = converse(&config, Box::new(host), "listening; Ctrl-C ends the conversation", false, out)?;
    finish(&report, common, out)
}

pub(crate) fn ask(common: &Common, ask: &Ask, out: &Out) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    refuse_overwriting(common, ask)?;
    let spans = labels::read(ask.labels.as_deref(), &ask.input)?;
    let mut host = FileHost::open(&ask.input)?;
    if let Some(path) = &ask.out {
        host = host.output(path);
    }
    let what = format!("{} speaks", ask.input.display());
    let mut report = converse(&config, Box::new(host), &what, true, out)?;
    if let Some(spans) = spans {
        report.use_labels(&spans);
    }
    finish(&report, common, out)?;
    if interrupt::happened() {
        bail!("interrupted");
    }
    if report.turns.is_empty() {
        bail!("nothing in {} was understood as a question or request", ask.input.display());
    }
    Ok(())
}

/// What is asked for must not replace what it is made from.
fn refuse_overwriting(common: &Common, ask: &Ask) -> anyhow::Result<()> {
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    let labels = ask.labels.clone().unwrap_or_else(|| labels::beside(&ask.input));
    let written = ask.out.iter().chain(&common.json);
    for path in written {
        for (source, what) in [(&ask.input, "the recording"), (&labels, "the labels")] {
            let is_labels = what == "the labels" && labels::read(Some(source), &ask.input).is_err();
            if same(path, source) && !is_labels {
                return Err(
                    WrongUsage(format!("{} would overwrite {what}; choose another name", path.display())).into()
                );
            }
        }
    }
    Ok(())
}

/// Loads the models, holds the conversation, draws it.
fn converse(
    config: &Config,
    host: Box<dyn AudioHost>,
    ready: &str,
    waterfalls: bool,
    out: &Out,
) -> anyhow::Result<Report> {
    let start = Instant::now();
    out.remark("loading the models");
    let models = Models::load(config, &Store::open()?)?;
    if interrupt::happened() {
        bail!("interrupted");
    }
    let assistant = Assistant::start(config, models, host)?;
    let mut view = View::new(out, waterfalls);
    let mut interrupts = interrupt::channel();
    let mut shown = Ok(());
    loop {
        let event = select! {
            recv(assistant.events()) -> event => match event {
                Ok(event) => event,
                Err(_) => break,
            },
            recv(interrupts) -> _ => {
                interrupts = never();
                assistant.command(Command::Shutdown);
                continue;
            }
        };
        match &event {
            Event::Ready => out.remark(format_args!("ready after {:.1} s: {ready}", start.elapsed().as_secs_f64())),
            Event::Ended => break,
            event if shown.is_ok() => {
                shown = view.show(event);
                if shown.is_err() {
                    // Nobody reads what is printed; what is written to files is still completed.
                    assistant.command(Command::Shutdown);
                }
            }
            _ => {}
        }
    }
    let report = assistant.join().context("the conversation could not be completed")?;
    shown.and_then(|()| view.settle())?;
    Ok(report)
}

fn finish(report: &Report, common: &Common, out: &Out) -> anyhow::Result<()> {
    if let Some(path) = &common.json {
        output::json(path, report, out)?;
    }
    if !out.quiet() && !report.turns.is_empty() {
        out.text(format_args!("\n{}", report::table(report)))?;
    }
    Ok(())
}
