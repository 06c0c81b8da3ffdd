//! From what the user typed to the settings of a conversation.

use std::io::Read as _;

use anyhow::Context as _;
use pocket_voice::Config;
use pocket_voice::config::Language;

use crate::args::{Common, Lang, WrongUsage};

/// Longest text that is read from standard input or taken from the command line, in bytes.
const LONGEST_TEXT: u64 = 1 << 20;

/// The configuration file, if any, with the flags over it.
pub(crate) fn config(common: &Common) -> anyhow::Result<Config> {
    let mut config = match &common.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    let set = |to: &mut String, from: &Option<String>| {
        if let Some(from) = from {
            to.clone_from(from);
        }
    };
    set(&mut config.llm, &common.llm);
    set(&mut config.asr, &common.asr);
    set(&mut config.voice, &common.voice);
    if let Some(lang) = common.lang {
        config.language = match lang {
            Lang::Auto => Language::Auto,
            Lang::En => Language::En,
            Lang::Zh => Language::Zh,
        };
    }
    if let Some(threads) = common.threads {
        if !(1..=256).contains(&threads) {
            return Err(WrongUsage(format!("--threads {threads} is not between 1 and 256")).into());
        }
        config.threads = threads;
    }
    Ok(config)
}

/// A text argument, or standard input for `-`.
pub(crate) fn text(argument: &str, what: &str) -> anyhow::Result<String> {
    let text = if argument == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().take(LONGEST_TEXT + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        argument.to_owned()
    };
    anyhow::ensure!(text.len() as u64 <= LONGEST_TEXT, "the {what} is longer than 1 MB; give a shorter one");
    if text.trim().is_empty() {
        return Err(WrongUsage(format!("the {what} is empty; write something to work with")).into());
    }
    Ok(text)
}
