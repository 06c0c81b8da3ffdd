//! `eval`: VoiceBench, text tasks and review extraction, with the same library as a conversation.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use ::eval::evaluate::{Plan, evaluate, score_file};
use ::eval::judge::{Choice, LocalJudge};
use ::eval::respond::{self, Way};
use ::eval::run::{Progress, Settings};
use ::eval::sandbox::{Limits, Sandbox};
use ::eval::score::Rules;
use ::eval::score::qa::Pedants;
use ::eval::scores::Scores;
use ::eval::task::Task;
use ::eval::voicebench::{BOARD, Modality, default_splits};
use ::eval::{report, speak};
use anyhow::Context as _;
use assets::Store;
use clap::ValueEnum;

use crate::args::{Common, WrongUsage};
use crate::output::{self, Out};
use crate::{interrupt, settings};

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Eval {
    /// VoiceBench: spoken questions through VAD, ASR and the language model
    Voicebench(VoiceBench),
    /// Written tasks: ifeval, ifeval-zh, gsm8k, mgsm-zh, math, mmlu, ceval, openbookqa-choice, humaneval, reviews
    Text(Text),
    /// Score a file of responses in VoiceBench's layout, ours or its own scripts'
    Score {
        /// The file; one that begins with result- is scored by the judgements in it
        file: PathBuf,
        /// The task that the responses belong to
        #[arg(long)]
        task: String,
        #[command(flatten)]
        scoring: Scoring,
    },
    /// Make a spoken data set from a written one
    Speak {
        /// The task
        #[arg(long)]
        task: String,
        /// Its part
        #[arg(long, default_value = "test")]
        split: String,
        /// The written set: a folder or a file
        #[arg(long)]
        data: PathBuf,
        /// The folder for the spoken set
        #[arg(long)]
        out: PathBuf,
        /// Voices that take turns, separated by commas
        #[arg(long, value_delimiter = ',')]
        voices: Vec<String>,
        /// How many items
        #[arg(long)]
        limit: Option<usize>,
        /// Which items a limit picks
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Compare runs
    Report {
        /// Folders of runs
        #[arg(required = true)]
        runs: Vec<PathBuf>,
        /// Write a page with charts
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Write Markdown
        #[arg(long, value_name = "FILE")]
        markdown: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct VoiceBench {
    /// Subsets, separated by commas; the nine of the board without
    #[arg(long, value_delimiter = ',')]
    subset: Vec<String>,
    /// Splits, separated by commas; those of the board without (sd-qa: usa, mmsu: all twelve)
    #[arg(long, value_delimiter = ',')]
    split: Vec<String>,
    /// Spoken or written questions
    #[arg(long, default_value = "audio")]
    modality: Questions,
    /// Run the whole conversation in real time and speak the answers: slow, and the delays are a user's
    #[arg(long)]
    speak: bool,
    #[command(flatten)]
    running: Running,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Text {
    /// Tasks, separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    task: Vec<String>,
    /// Their part
    #[arg(long, default_value = "test")]
    split: String,
    /// Run generated programs, shut in: humaneval has no score without
    #[arg(long)]
    run_code: bool,
    #[command(flatten)]
    running: Running,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Running {
    /// The data set: a folder of parquet or JSON Lines files, or one file
    #[arg(long)]
    data: PathBuf,
    /// The run's folder; one that was stopped goes on
    #[arg(long)]
    out: PathBuf,
    /// More language models to run over the same items and compare, separated by commas
    #[arg(long, value_name = "PATH,...", value_delimiter = ',')]
    compare: Vec<String>,
    /// How many items of each split
    #[arg(long)]
    limit: Option<usize>,
    /// Which items a limit picks
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Longest answer in tokens
    #[arg(long, default_value_t = 512)]
    max_tokens: usize,
    /// none, file, local:MODEL or local-sampled:MODEL
    #[arg(long, default_value = "none")]
    judge: String,
    #[command(flatten)]
    scoring: Scoring,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Scoring {
    /// Read answers as VoiceBench does, faults included, or without its faults
    #[arg(long, default_value = "parity")]
    rules: Reading,
    /// PEDANTS' table, for sd-qa
    #[arg(long, value_name = "FILE")]
    pedants: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Questions {
    /// Through VAD and ASR
    Audio,
    /// To the language model alone
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reading {
    /// As the original
    Parity,
    /// Without its faults
    Fixed,
}

impl Scoring {
    fn rules(&self) -> Rules {
        match self.rules {
            Reading::Parity => Rules::Parity,
            Reading::Fixed => Rules::Fixed,
        }
    }

    fn pedants(&self) -> anyhow::Result<Option<Pedants>> {
        Ok(self.pedants.as_deref().map(Pedants::open).transpose()?)
    }
}

pub(crate) fn run(common: &Common, what: &Eval, out: &Out) -> anyhow::Result<()> {
    match what {
        Eval::Voicebench(bench) => {
            let subsets =
                if bench.subset.is_empty() { BOARD.map(str::to_owned).to_vec() } else { bench.subset.clone() };
            let splits =
                |subset: &str| if bench.split.is_empty() { default_splits(subset) } else { bench.split.clone() };
            let tasks = subsets.iter().map(|subset| (subset.clone(), splits(subset))).collect();
            let way = match (bench.modality, bench.speak) {
                (Questions::Text, true) => {
                    return Err(WrongUsage("--speak needs spoken questions; leave --modality text out".into()).into());
                }
                (Questions::Text, false) => Way::Written,
                (Questions::Audio, false) => Way::Heard,
                (Questions::Audio, true) => Way::Live,
            };
            measure(common, &bench.running, tasks, way, None, out)
        }
        Eval::Text(text) => {
            let tasks = text.task.iter().map(|task| (task.clone(), vec![text.split.clone()])).collect();
            let sandbox = text.run_code.then(|| Sandbox::new(Path::new("python3"), Limits::default())).transpose()?;
            measure(common, &text.running, tasks, Way::Written, sandbox, out)
        }
        Eval::Score { file, task, scoring } => {
            let task = Task::new(task, "test")?;
            let score = score_file(file, &task, scoring.rules(), scoring.pedants()?.as_ref())?;
            let number = |value: f64| format!("{value:.4}");
            out.line(format_args!("{}: {}", task.name, score.score.map_or("no score".into(), number)))?;
            for (name, value) in &score.metrics {
                out.line(format_args!("  {name}: {value:.4}"))?;
            }
            out.line(format_args!("  items: {}, failed: {}, empty: {}", score.items, score.failed, score.empty))?;
            for note in &score.notes {
                out.remark(note);
            }
            match &common.json {
                Some(path) => output::json(path, &score, out),
                None => Ok(()),
            }
        }
        Eval::Speak { task, split, data, out: folder, voices, limit, seed } => {
            let config = settings::config(common)?;
            let store = Store::open()?;
            let names = if voices.is_empty() { vec![config.voice.clone()] } else { voices.clone() };
            let mut opened = speak::open_voices(&config, &store, &names)?;
            let order = speak::Order {
                task: Task::new(task, split)?,
                data: data.clone(),
                out: folder.clone(),
                limit: *limit,
                seed: *seed,
            };
            let mut shown = |done: usize, all: usize| show(out, &format!("{}: {done} of {all}", order.task.name));
            let made = speak::speak(&order, &mut opened, &mut shown, interrupt::flag())?;
            show(out, "");
            for (index, problem) in &made.problems {
                out.remark(format_args!("item {index}: {problem}"));
            }
            out.line(format_args!(
                "{} items spoken, {} left out, {:.0} s made",
                made.spoken,
                made.problems.len(),
                made.seconds
            ))
        }
        Eval::Report { runs, html, markdown } => {
            let runs: Vec<Scores> = runs.iter().map(|run| Scores::read(run)).collect::<::eval::Result<_>>()?;
            present(common, &runs, html.as_deref(), markdown.as_deref(), out)
        }
    }
}

/// Runs the tasks with one or more language models.
fn measure(
    common: &Common,
    running: &Running,
    tasks: Vec<(String, Vec<String>)>,
    way: Way,
    sandbox: Option<Sandbox>,
    out: &Out,
) -> anyhow::Result<()> {
    let config = settings::config(common)?;
    let store = Store::open()?;
    let judge: Choice = running.judge.parse().map_err(|e: ::eval::Error| WrongUsage(e.to_string()))?;
    let mut runs = Vec::new();
    let models = std::iter::once(config.llm.clone()).chain(running.compare.iter().cloned());
    for llm in models {
        let config = pocket_voice::Config { llm, ..config.clone() };
        let mut opened = respond::open(&config, &store, way)?;
        let several = !running.compare.is_empty();
        let plan = Plan {
            out: if several { running.out.join(&opened.name) } else { running.out.clone() },
            name: opened.name.clone(),
            tasks: tasks.clone(),
            settings: Settings {
                data: running.data.clone(),
                modality: if way == Way::Written { Modality::Text } else { Modality::Audio },
                limit: running.limit,
                seed: running.seed,
                max_tokens: running.max_tokens,
                ..Settings::default()
            },
            rules: running.scoring.rules(),
            pedants: running.scoring.pedants()?,
            sandbox: sandbox.clone(),
            threads: config.threads,
            weight_bytes: opened.weight_bytes,
        };
        let mut local = match &judge {
            Choice::Local(path, method) => Some(LocalJudge::open(path, *method, config.context, config.threads)?),
            Choice::None | Choice::File => None,
        };
        let judge = local.as_mut().map(|judge| judge as &mut dyn ::eval::judge::Judge);
        let mut shown = |progress: Progress<'_>| show(out, &line(&opened.name, &progress));
        runs.push(evaluate(&plan, &mut *opened.responder, judge, &mut shown, interrupt::flag())?);
        show(out, "");
        out.remark(format_args!("written to {}", plan.out.display()));
    }
    if judge == Choice::File {
        out.remark("the .jsonl files beside scores.json are what a judge elsewhere takes; score its result- files with `eval score`");
    }
    let html = running.out.join("report.html");
    let markdown = running.out.join("report.md");
    present(common, &runs, Some(&html), Some(&markdown), out)?;
    let rejected = runs.iter().find_map(|run| run.rejected.as_ref());
    rejected.map_or(Ok(()), |why| Err(anyhow::anyhow!("this is no result: {why}")))
}

fn present(
    common: &Common,
    runs: &[Scores],
    html: Option<&Path>,
    markdown: Option<&Path>,
    out: &Out,
) -> anyhow::Result<()> {
    if common.json.as_deref() != Some("-".as_ref()) {
        out.text(report::table(runs))?;
        for note in runs.iter().flat_map(|run| &run.tasks).flat_map(|task| &task.notes) {
            out.remark(note);
        }
    }
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(path) = html {
        write(path, report::html(runs))?;
    }
    if let Some(path) = markdown {
        write(path, report::markdown(runs))?;
    }
    match &common.json {
        Some(path) => output::json(path, &runs, out),
        None => Ok(()),
    }
}

fn line(name: &str, progress: &Progress<'_>) -> String {
    let left = progress.left.map_or(String::new(), |left| {
        let seconds = left.as_secs();
        match seconds {
            0..90 => format!(", {seconds} s left"),
            90..5400 => format!(", {} min left", seconds.div_ceil(60)),
            _ => format!(", {:.1} h left", seconds as f64 / 3600.0),
        }
    });
    format!("{name} {} {}: {} of {}{left}", progress.task.name, progress.task.split, progress.done, progress.all)
}

/// One line that is written over; only where somebody watches.
fn show(out: &Out, line: &str) {
    let mut stderr = std::io::stderr();
    if !out.quiet() && stderr.is_terminal() {
        let _ = write!(stderr, "\r\x1b[K{line}");
        let _ = stderr.flush();
    }
}
