//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// A request that cannot be meant; answered with exit code 2.
#[derive(Debug)]
pub(crate) struct WrongUsage(pub(crate) String);

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// A voice assistant that runs wholly on your own machine.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  pocket-voice models fetch              bring the models, once; nothing else needs a network\n  \
                  pocket-voice talk                      talk; interrupt it whenever you like; Ctrl-C ends\n  \
                  pocket-voice ask question.wav --out answer.wav --json report.json\n  \
                  pocket-voice say \"Good morning.\" --out morning.wav"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What every command understands.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Common {
    /// Settings as a TOML file; flags win over it
    #[arg(long, global = true, value_name = "FILE", help_heading = "Common")]
    pub(crate) config: Option<PathBuf>,
    /// Language model: an id of `models list`, or a path to a model
    #[arg(long, global = true, value_name = "PATH", help_heading = "Common")]
    pub(crate) llm: Option<String>,
    /// Speech recognition model: an id of `models list`
    #[arg(long, global = true, value_name = "ID", help_heading = "Common")]
    pub(crate) asr: Option<String>,
    /// Voice: an id of `models list`, or a path to a voice
    #[arg(long, global = true, value_name = "ID", help_heading = "Common")]
    pub(crate) voice: Option<String>,
    /// Language that is listened for
    #[arg(long, global = true, value_name = "LANG", help_heading = "Common")]
    pub(crate) lang: Option<Lang>,
    /// Threads for each stage
    #[arg(long, global = true, value_name = "N", help_heading = "Common")]
    pub(crate) threads: Option<usize>,
    /// Write the result as JSON to a file, or to standard output with `-`
    #[arg(long, global = true, value_name = "FILE", help_heading = "Common")]
    pub(crate) json: Option<PathBuf>,
    /// Print results only
    #[arg(long, short, global = true, help_heading = "Common")]
    pub(crate) quiet: bool,
    /// Log to standard error; twice or thrice for more (thrice logs what was said)
    #[arg(long, short, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet", help_heading = "Common")]
    pub(crate) verbose: u8,
}

/// Languages that are listened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    /// Found from the speech
    Auto,
    /// English
    En,
    /// Mandarin
    Zh,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk over microphone and loudspeaker; Ctrl-C ends the conversation
    Talk(Talk),
    /// Let a recorded user speak to the assistant, as fast as it was recorded
    #[command(
        after_help = "Example:\n  pocket-voice ask assets/audio/two-questions.wav --out answer.wav --json report.json"
    )]
    Ask(Ask),
    /// Speak a text into a WAV file
    #[command(after_help = "Examples:\n  pocket-voice say \"It is 5 o'clock.\" --out five.wav\n  \
                            echo \"A long text.\" | pocket-voice say - --out text.wav")]
    Say(Say),
    /// Write down what is said in a WAV file
    Transcribe(Transcribe),
    /// Answer a prompt in writing
    #[command(after_help = "Example:\n  pocket-voice generate \"Why is the sky blue?\" --llm my-model.gguf")]
    Generate(Generate),
    /// List, bring, check, add and remove models
    Models {
        #[command(subcommand)]
        action: Models,
    },
    /// List microphones and loudspeakers
    Devices,
    /// Measure
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
    /// Evaluate: VoiceBench, written tasks, reviews; make spoken sets; compare runs
    Eval {
        #[command(subcommand)]
        what: crate::eval::Eval,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Talk {
    /// Microphone: an id, a name or a part of its name, as `devices` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) microphone: Option<String>,
    /// Loudspeaker: an id, a name or a part of its name
    #[arg(long, value_name = "NAME")]
    pub(crate) loudspeaker: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Ask {
    /// A WAV file; any rate, any channel count; several utterances are turns of one conversation
    #[arg(value_name = "IN.wav")]
    pub(crate) input: PathBuf,
    /// Where to write what the loudspeaker would have played, aligned in time with IN.wav
    #[arg(long, value_name = "OUT.wav")]
    pub(crate) out: Option<PathBuf>,
    /// Where the utterances really end; the JSON file beside IN.wav if there is one
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Say {
    /// The text; `-` reads it from standard input
    pub(crate) text: String,
    /// The WAV file to write
    #[arg(long, value_name = "F.wav")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Transcribe {
    /// A WAV file; any rate, any channel count, any length
    #[arg(value_name = "IN.wav")]
    pub(crate) input: PathBuf,
    /// Show what is understood while the recording goes on
    #[arg(long)]
    pub(crate) partials: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// The prompt; `-` reads it from standard input
    pub(crate) prompt: String,
    /// Longest answer in tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    /// What is there, what is missing, from where, how large, under which licence
    List,
    /// Bring the models of a profile, or single ones; goes on where it was stopped
    Fetch {
        /// Models to bring instead of a profile
        ids: Vec<String>,
        /// The profile to bring
        #[arg(long, value_name = "NAME", conflicts_with = "ids")]
        profile: Option<String>,
    },
    /// Check all files that are there against their SHA-256
    Verify {
        /// Models to check; all that are there if none is named
        ids: Vec<String>,
    },
    /// Add a model of your own
    Add {
        /// A GGUF file, a folder of a model, a Piper voice, a whisper.cpp model; or hf:OWNER/NAME[/FILE] from Hugging Face
        #[arg(value_name = "PATH")]
        what: String,
        /// Point at the file where it is instead of copying it
        #[arg(long)]
        link: bool,
    },
    /// Remove a model from the models directory
    Remove {
        /// The model, as `models list` names it
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// The language model: prefill and decode, against the memory bandwidth
    Llm(BenchOptions),
    /// Whole turns: from the end of speech to first token and first audio
    Turns(BenchTurns),
    /// The voice: time to the first chunk, and speed against real time
    Tts(BenchOptions),
    /// Speech recognition: speed against real time, and errors
    Asr(BenchClips),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchOptions {
    /// How often to measure
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) runs: usize,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchTurns {
    /// A folder of clips with labels.tsv
    #[arg(long, value_name = "DIR", default_value = "assets/audio/questions")]
    pub(crate) clips: PathBuf,
    /// How many turns at most
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub(crate) turns: usize,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchClips {
    /// A folder of clips with labels.tsv
    #[arg(long, value_name = "DIR", default_value = "assets/audio/questions")]
    pub(crate) clips: PathBuf,
}
