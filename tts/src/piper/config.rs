//! The description beside a Piper voice, checked before anything is computed with it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Error, Result};

/// What `voice.onnx.json` says, as far as it is used.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PiperConfig {
    audio: Audio,
    #[serde(default)]
    pub(crate) inference: Inference,
    #[serde(default)]
    language: Option<LanguageCode>,
    #[serde(default)]
    espeak: Option<Espeak>,
    num_symbols: i64,
    #[serde(default = "one")]
    pub(crate) num_speakers: i64,
    #[serde(default)]
    pub(crate) speaker_id_map: HashMap<String, i64>,
    phoneme_id_map: HashMap<String, Vec<i64>>,
}

#[derive(Debug, Clone, Deserialize)]
struct Audio {
    sample_rate: u32,
}

/// How much the voice varies and how slowly it speaks.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct Inference {
    pub(crate) noise_scale: f32,
    pub(crate) length_scale: f32,
    pub(crate) noise_w: f32,
}

impl Default for Inference {
    /// The values that Piper itself falls back to.
    fn default() -> Self {
        Inference { noise_scale: 0.667, length_scale: 1.0, noise_w: 0.8 }
    }
}

#[derive(Debug, Clone, Deserialize)]
struct LanguageCode {
    code: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Espeak {
    voice: String,
}

fn one() -> i64 {
    1
}

/// Begins, separates and ends the phoneme ids of a clause.
const REQUIRED: [&str; 3] = ["^", "_", "$"];

impl PiperConfig {
    /// Where the description of a model lies: the model's path with `.json` added.
    pub(crate) fn path_for(model: &Path) -> PathBuf {
        let mut path = model.as_os_str().to_owned();
        path.push(".json");
        PathBuf::from(path)
    }

    pub(crate) fn read(path: &Path) -> Result<PiperConfig> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|reason| Error::Voice { path: path.to_owned(), reason })
    }

    fn parse(text: &str) -> std::result::Result<PiperConfig, String> {
        let config: PiperConfig =
            serde_json::from_str(text).map_err(|e| format!("it is no Piper voice description: {e}"))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let within = |name: &str, value: f32, min: f32, max: f32| {
            if (min..=max).contains(&value) {
                Ok(())
            } else {
                Err(format!("{name} is {value}, but must be between {min} and {max}"))
            }
        };
        within("audio.sample_rate", self.audio.sample_rate as f32, 8_000.0, 48_000.0)?;
        within("inference.noise_scale", self.inference.noise_scale, 0.0, 2.0)?;
        within("inference.noise_w", self.inference.noise_w, 0.0, 2.0)?;
        within("inference.length_scale", self.inference.length_scale, 0.1, 10.0)?;
        within("num_symbols", self.num_symbols as f32, 3.0, 10_000.0)?;
        within("num_speakers", self.num_speakers as f32, 1.0, 10_000.0)?;
        for symbol in REQUIRED {
            if self.phoneme_id_map.get(symbol).is_none_or(Vec::is_empty) {
                return Err(format!("phoneme_id_map has no id for \"{symbol}\""));
            }
        }
        for (symbol, ids) in &self.phoneme_id_map {
            if let Some(id) = ids.iter().find(|id| !(0..self.num_symbols).contains(id)) {
                return Err(format!(
                    "phoneme \"{symbol}\" has id {id}, but there are only {} symbols",
                    self.num_symbols
                ));
            }
        }
        if let Some((name, id)) = self.speaker_id_map.iter().find(|(_, id)| !(0..self.num_speakers).contains(id)) {
            return Err(format!("speaker \"{name}\" has id {id}, but there are only {} speakers", self.num_speakers));
        }
        Ok(())
    }

    pub(crate) fn sample_rate(&self) -> u32 {
        self.audio.sample_rate
    }

    /// The language's code, "en_US" or "en-us"; voices without one are taken for English.
    pub(crate) fn language_code(&self) -> &str {
        self.language
            .as_ref()
            .map(|l| l.code.as_str())
            .or(self.espeak.as_ref().map(|e| e.voice.as_str()))
            .unwrap_or("en")
    }

    pub(crate) fn ids(&self, symbol: char) -> Option<&[i64]> {
        self.phoneme_id_map.get(symbol.encode_utf8(&mut [0; 4]) as &str).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_are_told_apart_from_voices() {
        let voice = |extra: &str| {
            format!(
                r#"{{"audio":{{"sample_rate":22050}},"num_symbols":10,"num_speakers":2,
                     "phoneme_id_map":{{"^":[1],"_":[0],"$":[2],"a":[5]}}{extra}}}"#
            )
        };
        assert!(PiperConfig::parse(&voice("")).is_ok());
        for (lie, part) in [
            (voice("").replace("22050", "0"), "sample_rate"),
            (voice("").replace("22050", "4000000000"), "sample_rate"),
            (voice("").replace("[5]", "[10]"), "id 10"),
            (voice("").replace("[5]", "[-1]"), "id -1"),
            (voice("").replace("\"^\":[1],", ""), "\"^\""),
            (voice("").replace("\"_\":[0]", "\"_\":[]"), "\"_\""),
            (voice(r#","inference":{"length_scale":0}"#), "length_scale"),
            (voice(r#","inference":{"noise_scale":1e9}"#), "noise_scale"),
            (voice(r#","speaker_id_map":{"x":2}"#), "speaker"),
            ("{}".to_owned(), "no Piper voice"),
            (String::new(), "no Piper voice"),
        ] {
            let reason = PiperConfig::parse(&lie).expect_err(part);
            assert!(reason.contains(part), "{reason}");
        }
    }
}
