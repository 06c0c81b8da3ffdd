//! Recorded utterances with the exact place of the speech in them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::audio::{self, EAR_RATE};

/// Longest clip that is read.
const LIMIT: Duration = Duration::from_secs(120);

/// One utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct Clip {
    /// Its file name.
    pub name: String,
    /// What is said.
    pub text: String,
    /// Mono at 16 kHz.
    pub samples: Vec<f32>,
    /// First sample with speech.
    pub speech_start: usize,
    /// One past the last sample with speech.
    pub speech_end: usize,
}

/// Why clips cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The labels cannot be read.
    #[error("cannot read the labels {path}: {source}")]
    Labels {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line of the labels makes no sense.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A clip cannot be read.
    #[error(transparent)]
    Audio(#[from] audio::Error),
}

/// Reads every clip that `folder/labels.tsv` lists.
///
/// The file has a header line with at least the columns `file`, `text`, `speech_start_ms` and `speech_end_ms`, in any
/// order, separated by tabs.
///
/// # Errors
/// Names the file and line that are wrong.
pub fn read_clips(folder: &Path) -> Result<Vec<Clip>, Error> {
    let path = folder.join("labels.tsv");
    let labels = std::fs::read_to_string(&path).map_err(|source| Error::Labels { path: path.clone(), source })?;
    let mut lines = labels.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let wrong = |line: usize, reason: String| Error::Line { path: path.clone(), line: line + 1, reason };
    let Some((_, header)) = lines.next() else { return Ok(Vec::new()) };
    let columns: Vec<&str> = header.split('\t').map(str::trim).collect();
    let column = |name: &str| {
        columns.iter().position(|c| *c == name).ok_or_else(|| wrong(0, format!("the header has no column {name}")))
    };
    let (file, text) = (column("file")?, column("text")?);
    let (start, end) = (column("speech_start_ms")?, column("speech_end_ms")?);
    lines
        .map(|(line, row)| {
            let cells: Vec<&str> = row.split('\t').map(str::trim).collect();
            let cell = |i: usize| cells.get(i).copied().ok_or_else(|| wrong(line, "too few columns".into()));
            let position = |i: usize| {
                let ms: f64 = cell(i)?.parse().map_err(|_| wrong(line, format!("{:?} is no time in ms", cells[i])))?;
                Ok::<_, Error>((ms.max(0.0) / 1000.0 * f64::from(EAR_RATE)).round() as usize)
            };
            let name = cell(file)?;
            let samples = audio::wav::read(&folder.join(name), LIMIT)?;
            let (speech_start, speech_end) = (position(start)?, position(end)?);
            if speech_start >= speech_end || speech_end > samples.len() {
                let reason = format!("the speech of {name} does not lie within its {} samples", samples.len());
                return Err(wrong(line, reason));
            }
            Ok(Clip { name: name.into(), text: cell(text)?.into(), samples, speech_start, speech_end })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(labels: &str, expected: Result<(usize, usize), &str>) {
        let dir = tempfile::tempdir().unwrap();
        audio::wav::write(&dir.path().join("a.wav"), EAR_RATE, &[0.1; 16_000]).unwrap();
        std::fs::write(dir.path().join("labels.tsv"), labels).unwrap();
        match (read_clips(dir.path()), expected) {
            (Ok(clips), Ok(speech)) => assert_eq!((clips[0].speech_start, clips[0].speech_end), speech),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn labels_are_checked() {
        let header = "text\tfile\tvoice\tspeech_start_ms\tspeech_end_ms\n";
        check(&format!("{header}Hi\ta.wav\tx\t100\t900.5\n"), Ok((1600, 14_408)));
        check(&format!("{header}Hi\ta.wav\tx\t100\t1900\n"), Err("does not lie within"));
        check(&format!("{header}Hi\ta.wav\tx\tsoon\t900\n"), Err("line 2"));
        check(&format!("{header}Hi\tb.wav\tx\t100\t900\n"), Err("b.wav"));
        check("file\ttext\n", Err("speech_start_ms"));
    }
}
