//! All settings of a conversation, with defaults that need no file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::dialogue::DialogueConfig;
use crate::echo::HearingConfig;
use crate::{Error, Result};

/// The default instructions. Short answers in plain words are what can be listened to.
pub const SYSTEM_PROMPT: &str = include_str!("../../../assets/prompts/system.en.txt");

/// Languages that are listened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Found from the speech.
    #[default]
    Auto,
    /// English.
    En,
    /// Mandarin.
    Zh,
}

/// Which program recognises speech. Both read the same Whisper models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AsrEngine {
    /// Ours, on the language model's 8-bit kernels.
    #[default]
    Native,
    /// whisper.cpp through whisper-rs.
    WhisperCpp,
}

/// How the model chooses its words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// 0 takes the most likely token always.
    pub temperature: f32,
    /// Smallest set of tokens with this probability.
    pub top_p: f32,
    /// Above 1, recent tokens become less likely.
    pub repetition_penalty: f32,
    /// Same seed, same conversation: same answers.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        // Temperature and top-p as SmolLM2's authors recommend; the penalty keeps a 0.1B model out of loops.
        Self { temperature: 0.2, top_p: 0.9, repetition_penalty: 1.1, seed: 0 }
    }
}

/// The settings; the TOML file has the same names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Speech recognition model: an id of `models list`.
    pub asr: String,
    /// Which program runs it.
    pub asr_engine: AsrEngine,
    /// Language model: an id of `models list`, or a path to a GGUF file.
    pub llm: String,
    /// Voice: an id of `models list`, a Kokoro speaker (`af_heart`, `zf_xiaoxiao`), or a path to a Piper `.onnx` file.
    pub voice: String,
    /// What is listened for.
    pub language: Language,
    /// Threads for each stage.
    pub threads: usize,
    /// Instructions to the model.
    pub system_prompt: String,
    /// Tokens that the conversation may hold; the oldest exchanges are forgotten beyond that.
    pub context: usize,
    /// Longest answer in tokens.
    pub max_tokens: usize,
    /// How the model chooses its words.
    pub sampling: Sampling,
    /// What is done to the microphone's signal.
    pub hearing: HearingConfig,
    /// Turn-taking.
    pub dialogue: DialogueConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            asr: "whisper-tiny.en".into(),
            asr_engine: AsrEngine::default(),
            llm: "smollm2-135m-instruct".into(),
            voice: "piper-en-us-joe".into(),
            language: Language::Auto,
            threads: std::thread::available_parallelism().map_or(2, |n| n.get().min(4)),
            system_prompt: SYSTEM_PROMPT.trim().into(),
            context: 2048,
            max_tokens: 256,
            sampling: Sampling::default(),
            hearing: HearingConfig::default(),
            dialogue: DialogueConfig::default(),
        }
    }
}

impl Config {
    /// Reads a TOML file; what it does not name keeps its default.
    ///
    /// # Errors
    /// Names the file and what is wrong in it.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).map_err(|source| Error::ConfigFile { path: path.to_owned(), source })?;
        let config: Self = toml::from_str(&text)
            .map_err(|source| Error::ConfigSyntax { path: path.to_owned(), source: Box::new(source) })?;
        config.check()?;
        Ok(config)
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// Names the setting.
    pub fn check(&self) -> Result<()> {
        let refuse = |setting, reason: &str| Err(Error::Setting { setting, reason: reason.into() });
        if self.threads == 0 || self.threads > 256 {
            return refuse("threads", "must be between 1 and 256");
        }
        if self.max_tokens == 0 {
            return refuse("max_tokens", "must be at least 1, or nothing is ever answered");
        }
        if self.context < 256 {
            return refuse("context", "must be at least 256 tokens for the instructions, a question and an answer");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changes_only_what_it_names() {
        let config: Config = toml::from_str("threads = 1\n[dialogue]\nfirst_pause_ms = 200\n").unwrap();
        assert_eq!(config.threads, 1);
        assert_eq!(config.dialogue.first_pause_ms, 200);
        assert_eq!(config.dialogue.pre_roll_ms, 500);
        assert_eq!(config.llm, Config::default().llm);
        let written = toml::to_string(&Config::default()).unwrap();
        assert_eq!(toml::from_str::<Config>(&written).unwrap(), Config::default());
    }

    #[test]
    fn mistakes_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        for (text, expected) in [
            ("thread = 1", "thread"),
            ("threads = 0", "threads"),
            ("context = 10", "context"),
            ("language = \"fr\"", "fr"),
        ] {
            std::fs::write(&path, text).unwrap();
            let message = Config::read(&path).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let missing = Config::read(&dir.path().join("none.toml")).unwrap_err().to_string();
        assert!(missing.contains("none.toml"), "{missing}");
    }
}
