//! VoiceBench: its subsets, its files from step to step, and its composite.
//!
//! Chen et al., arXiv 2410.17196; github.com/MatthewCYM/VoiceBench @5338154.

mod composite;
mod file;

pub use composite::{Composite, JUDGE_FREE, composite, judge_free};
pub use file::{file_name, read, result_name, write};

use serde::{Deserialize, Serialize};

/// The system prompt of the original's cascade of Whisper and a chat model.
pub const SYSTEM_SPEECH: &str = "You are a helpful assistant who tries to help answer the user's question. Please note \
that the user's query is transcribed from speech, and the transcription may contain errors.";

/// The system prompt of the original's text mode.
pub const SYSTEM_TEXT: &str = "You are a helpful assistant who tries to help answer the user's question.";

/// What the question is given as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    /// Spoken: through VAD and ASR.
    #[default]
    Audio,
    /// Written: the column `prompt`.
    Text,
}

impl Modality {
    /// As file names have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Text => "text",
        }
    }
}

/// The nine tasks of the board, in its order.
pub const BOARD: [&str; 9] =
    ["alpacaeval_full", "commoneval", "wildvoice", "sd-qa", "mmsu", "openbookqa", "bbh", "ifeval", "advbench"];

/// Splits of mmsu with their items, 3,074 together.
pub const MMSU_SPLITS: [(&str, usize); 12] = [
    ("law", 51),
    ("engineering", 107),
    ("other", 546),
    ("biology", 172),
    ("business", 236),
    ("economics", 280),
    ("health", 406),
    ("philosophy", 305),
    ("psychology", 317),
    ("history", 104),
    ("chemistry", 167),
    ("physics", 383),
];

/// The accent of sd-qa that published numbers use where they say so.
pub const SDQA_ACCENT: &str = "usa";

/// The split that the board uses of a subset; mmsu has twelve.
#[must_use]
pub fn default_splits(subset: &str) -> Vec<String> {
    match subset {
        "sd-qa" => vec![SDQA_ACCENT.to_owned()],
        "mmsu" => MMSU_SPLITS.iter().map(|(split, _)| (*split).to_owned()).collect(),
        _ => vec!["test".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mmsu_adds_up() {
        assert_eq!(MMSU_SPLITS.iter().map(|(_, items)| items).sum::<usize>(), 3074);
    }
}
