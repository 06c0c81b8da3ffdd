//! The `pocket-voice` command.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed with one sentence on
//! standard error, 2 wrong usage.

mod args;
mod bench;
mod conversation;
mod devices;
mod eval;
mod generate;
mod interrupt;
mod labels;
mod models;
mod output;
mod say;
mod settings;
mod transcribe;
mod view;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, Command};
use output::Out;

fn main() -> ExitCode {
    let args = Args::parse();
    log_to_stderr(args.common.verbose);
    let outcome = interrupt::watch().and_then(|()| run(args));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough of it.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let code = if error.is::<args::WrongUsage>() { 2 } else { 1 };
            let sentence = if interrupt::happened() { "interrupted".into() } else { output::sentence(&error) };
            let _ = writeln!(std::io::stderr(), "pocket-voice: {sentence}");
            ExitCode::from(code)
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let common = &args.common;
    let out = Out::new(common.quiet);
    match &args.command {
        Command::Talk(talk) => conversation::talk(common, talk, &out),
        Command::Ask(ask) => conversation::ask(common, ask, &out),
        Command::Say(say) => say::run(common, say, &out),
        Command::Transcribe(transcribe) => transcribe::run(common, transcribe, &out),
        Command::Generate(generate) => generate::run(common, generate, &out),
        Command::Models { action } => models::run(common, action, &out),
        Command::Devices => devices::run(common, &out),
        Command::Bench { what } => bench::run(common, what, &out),
        Command::Eval { what } => eval::run(common, what, &out),
    }
}

/// What `-v` shows: warnings of the libraries at 1, information at 2, everything at 3, which includes what was said.
fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => tracing::Level::WARN,
        2 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).without_time().init();
}
