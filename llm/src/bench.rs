//! Speed and memory of a model on this machine, beside the limit that its memory sets.
//!
//! One warm-up, then medians; prefill and decode apart. The report's fields are those of `pocket-voice bench llm`.

use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::session::{Session, SessionConfig};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Threads to compute with.
    pub threads: usize,
    /// Runs of which the median counts; one more comes first to warm up.
    pub runs: usize,
    /// Lengths of prompts.
    pub prefill: Vec<usize>,
    /// Tokens of a decode run.
    pub decode: usize,
    /// Context lengths after which decoding is measured again.
    pub contexts: Vec<usize>,
}

impl Default for Plan {
    fn default() -> Self {
        let threads = SessionConfig::default().threads;
        Plan { threads, runs: 5, prefill: vec![16, 128, 512], decode: 128, contexts: vec![512, 2048] }
    }
}

/// What was measured. Rates are in tokens per second.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// File or directory name of the model.
    pub model: String,
    /// Threads that computed.
    pub threads: usize,
    /// Instruction set of the kernels.
    pub isa: &'static str,
    /// Bytes of all matrices as the file stores them.
    pub file_bytes: usize,
    /// Bytes of weights that a decode step reads.
    pub bytes_per_token: usize,
    /// Read bandwidth of these threads over a buffer of 192 MiB, in GB/s, best of ten.
    pub read_bandwidth_gbs: f64,
    /// From the call that opens the model to a session that is ready, in ms.
    pub load_ms: f64,
    /// The same for the first time in this process: fresh memory may have to be got from the system, or a host below it.
    pub first_load_ms: f64,
    /// From the call that opens the model to the first token after a prompt of 16, in ms.
    pub first_token_ms: f64,
    /// Peak resident memory of the process with the longest prompt and decode run up to 640 positions, in MB, where the
    /// system tells.
    pub peak_rss_mb: Option<f64>,
    /// The same less what the process had before the model was opened.
    pub peak_above_baseline_mb: Option<f64>,
    /// Prompts from an empty cache.
    pub prefill: Vec<Prefill>,
    /// 32 new tokens onto 500 cached ones.
    pub append: Prefill,
    /// Eight positions at once, as a draft is verified.
    pub verify: Verify,
    /// Tokens one after the other, after a prompt of 16.
    pub decode: Decode,
    /// Tokens one after the other, after longer contexts.
    pub decode_after: Vec<DecodeAfter>,
    /// Other engines on the same machine; filled in by `bench/`.
    pub peers: Vec<serde_json::Value>,
}

/// A prefill's length and rate.
#[derive(Debug, Clone, Serialize)]
pub struct Prefill {
    /// Tokens computed.
    pub tokens: usize,
    /// Rate.
    pub tokens_per_s: f64,
}

/// A verify batch beside a decode step.
#[derive(Debug, Clone, Serialize)]
pub struct Verify {
    /// Positions.
    pub tokens: usize,
    /// Time of the batch, in ms.
    pub ms: f64,
    /// The same as a multiple of a decode step.
    pub decode_steps: f64,
}

/// A decode run.
#[derive(Debug, Clone, Serialize)]
pub struct Decode {
    /// Tokens computed.
    pub tokens: usize,
    /// Rate.
    pub tokens_per_s: f64,
    /// Rate times bytes per token, as a part of the read bandwidth.
    pub of_bandwidth: f64,
}

/// A decode run after a longer context.
#[derive(Debug, Clone, Serialize)]
pub struct DecodeAfter {
    /// Positions cached when it began.
    pub context: usize,
    /// Rate.
    pub tokens_per_s: f64,
}

/// Positions in the verify batch.
const VERIFY: usize = 8;

/// Opens the model at `path` and measures it.
///
/// # Errors
/// As [`Model::open`] and [`Session::new`]; [`Error::Setting`] when the plan asks for no runs or no tokens.
pub fn run(path: &Path, plan: &Plan) -> Result<Report> {
    if plan.runs == 0 || plan.decode == 0 || plan.prefill.contains(&0) {
        return Err(Error::Setting { setting: "bench", reason: "needs at least one run and one token".to_owned() });
    }
    let setting = |e: kernels::Error| Error::Setting { setting: "bench", reason: e.to_string() };
    let baseline = memory("VmRSS:");
    let wanted = plan.contexts.iter().chain(&plan.prefill).max().copied().unwrap_or(0).max(640) + plan.decode;
    let mut opened = Vec::new();
    for _ in 0..=plan.runs.min(3) {
        opened.push(Opened::new(path, wanted, plan.threads)?);
        // One at a time in memory: the next run opens into what this one gave back.
        if opened.len() <= plan.runs.min(3) {
            opened.last_mut().map(|last| last.bench.take());
        }
    }
    let first_load_ms = opened[0].load_ms;
    let Some(mut bench) = opened.last_mut().and_then(|last| last.bench.take()) else {
        return Err(Error::Setting { setting: "bench", reason: "needs at least one run".to_owned() });
    };
    let middle = |f: fn(&Opened) -> f64| median(opened[1..].iter().map(f).collect());
    let (load_ms, first_token_ms) = (middle(|o| o.load_ms), middle(|o| o.first_token_ms));
    bench.runs = plan.runs;
    let (model, context) = (bench.session.model().clone(), bench.session.context());

    let rate = |tokens: usize, seconds: f64| Prefill { tokens, tokens_per_s: tokens as f64 / seconds };
    let mut prefill = Vec::new();
    for &n in plan.prefill.iter().filter(|&&n| n <= context) {
        prefill.push(rate(n, bench.prefill(0, n)?));
    }
    let append = rate(32, bench.prefill(500, 32)?);
    let step = bench.decode(16, plan.decode)?;
    let verify = bench.prefill(16, VERIFY)?;
    let peak = memory("VmHWM:");
    let mut decode_after = Vec::new();
    for &at in plan.contexts.iter().filter(|&&n| n + plan.decode <= context) {
        decode_after.push(DecodeAfter { context: at, tokens_per_s: 1.0 / bench.decode(at, plan.decode)? });
    }
    drop(bench);
    let bytes_per_token = model.bytes_per_token();
    let (file_bytes, name) = (model.weight_bytes(), path.file_name().unwrap_or(path.as_os_str()));
    drop(model);
    let pool = kernels::Pool::new(plan.threads.min(kernels::MAX_THREADS)).map_err(setting)?;
    let bandwidth = kernels::read_bandwidth(&pool).map_err(setting)?;
    Ok(Report {
        model: name.to_string_lossy().into_owned(),
        threads: plan.threads,
        isa: kernels::Isa::choose().map_err(setting)?.name(),
        file_bytes,
        bytes_per_token,
        read_bandwidth_gbs: bandwidth / 1e9,
        load_ms,
        first_load_ms,
        first_token_ms,
        peak_rss_mb: peak,
        peak_above_baseline_mb: peak.zip(baseline).map(|(peak, before)| peak - before),
        prefill,
        append,
        verify: Verify { tokens: VERIFY, ms: verify * 1e3, decode_steps: verify / step },
        decode: Decode {
            tokens: plan.decode,
            tokens_per_s: 1.0 / step,
            of_bandwidth: bytes_per_token as f64 / step / bandwidth,
        },
        decode_after,
        peers: Vec::new(),
    })
}

/// A model opened and its first token computed, with the time it took.
struct Opened {
    load_ms: f64,
    first_token_ms: f64,
    bench: Option<Bench>,
}

impl Opened {
    fn new(path: &Path, context: usize, threads: usize) -> Result<Self> {
        let start = Instant::now();
        let model = Model::open(path)?;
        let context = context.min(model.config().context);
        let vocab = model.config().vocab;
        let session = Session::new(model, SessionConfig { context, threads })?;
        let mut bench = Bench { session, runs: 1, vocab };
        let load_ms = start.elapsed().as_secs_f64() * 1e3;
        bench.session.append(&bench.prompt(16), &AtomicBool::new(false))?;
        let first_token_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(Self { load_ms, first_token_ms, bench: Some(bench) })
    }
}

struct Bench {
    session: Session,
    runs: usize,
    vocab: usize,
}

impl Bench {
    /// Tokens that mean nothing but touch many rows of the embedding.
    fn prompt(&self, n: usize) -> Vec<TokenId> {
        (0..n).map(|i| ((i * 7919 + 17) % self.vocab) as TokenId).collect()
    }

    /// Seconds for `n` tokens onto `cached` ones.
    fn prefill(&mut self, cached: usize, n: usize) -> Result<f64> {
        let (tokens, cancel) = (self.prompt(cached + n), AtomicBool::new(false));
        self.session.advance_to(&tokens[..cached], &cancel)?;
        self.median(|session| {
            session.truncate(cached);
            let start = Instant::now();
            session.append(&tokens[cached..], &cancel)?;
            Ok(start.elapsed().as_secs_f64())
        })
    }

    /// Seconds per token for `n` tokens after `cached` ones.
    fn decode(&mut self, cached: usize, n: usize) -> Result<f64> {
        let (tokens, cancel) = (self.prompt(cached), AtomicBool::new(false));
        self.session.advance_to(&tokens, &cancel)?;
        let first = largest(self.session.logits());
        self.median(|session| {
            session.truncate(cached);
            let mut token = first;
            let start = Instant::now();
            for _ in 0..n {
                session.append(&[token], &cancel)?;
                token = largest(session.logits());
            }
            Ok(start.elapsed().as_secs_f64() / n as f64)
        })
    }

    fn median(&mut self, mut run: impl FnMut(&mut Session) -> Result<f64>) -> Result<f64> {
        run(&mut self.session)?;
        Ok(median((0..self.runs).map(|_| run(&mut self.session)).collect::<Result<Vec<f64>>>()?))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The token with the largest logit.
fn largest(logits: &[f32]) -> TokenId {
    // The largest value first, which the compiler turns into vectors, then where it is.
    let best = logits.chunks(16).fold([f32::NEG_INFINITY; 16], |mut best, chunk| {
        best.iter_mut().zip(chunk).for_each(|(b, &v)| *b = if v > *b { v } else { *b });
        best
    });
    let best = best.into_iter().fold(f32::NEG_INFINITY, f32::max);
    logits.iter().position(|&v| v == best).unwrap_or(0) as TokenId
}

/// A line of the process's status in MB, where the system has one.
fn memory(field: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}
