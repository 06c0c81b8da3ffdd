//! `{model}-{data}-{split}-{modality}.jsonl`, and `result-` before it once judged: byte for byte as the original's.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::Modality;
use crate::json::{Json, Object};
use crate::{Error, Result};

/// The name of a file of responses. What would change the folder or the name's parts is replaced in the model's name.
#[must_use]
pub fn file_name(model: &str, data: &str, split: &str, modality: Modality) -> String {
    let model: String =
        model.chars().map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' }).collect();
    format!("{model}-{data}-{split}-{}.jsonl", modality.name())
}

/// The name of the same file with a judge's scores in it.
#[must_use]
pub fn result_name(file: &str) -> String {
    format!("result-{file}")
}

/// Writes one object a line, aside and then renamed, so that a file is there whole or not at all.
///
/// # Errors
/// [`Error::Io`]
pub fn write<'a>(path: &Path, lines: impl IntoIterator<Item = &'a Object>) -> Result<()> {
    let aside = path.with_extension("jsonl.part");
    let mut file = std::io::BufWriter::new(fs::File::create(&aside).map_err(Error::io(&aside))?);
    for line in lines {
        writeln!(file, "{line}").map_err(Error::io(&aside))?;
    }
    let file = file.into_inner().map_err(|e| Error::io(&aside)(e.into_error()))?;
    file.sync_all().map_err(Error::io(&aside))?;
    fs::rename(&aside, path).map_err(Error::io(path))
}

/// Reads such a file, ours or the original's.
///
/// # Errors
/// [`Error::Io`]; [`Error::Format`] naming the line that is no JSON object.
pub fn read(path: &Path) -> Result<Vec<Object>> {
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| match Json::parse(line) {
            Ok(Json::Object(object)) => Ok(object),
            Ok(_) => Err(Error::format(path, format!("line {}: a JSON object was expected", number + 1))),
            Err(e) => Err(Error::format(path, format!("line {}: {e}", number + 1))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `json.dumps` of Python 3.11 made of two responses.
    const PYTHON: &str = concat!(
        r#"{"prompt": "Who wrote \u201cHamlet\u201d?", "reference": "Shakespeare", "response": "It was\nhim \ud83d\ude00."}"#,
        "\n",
        r#"{"prompt": "2+2", "key": 7, "kwargs": [{"relation": null, "n": 0.5}], "response": ""}"#,
        "\n",
    );

    #[test]
    fn the_originals_files_come_back_byte_for_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(file_name("a/b:c", "sd-qa", "usa", Modality::Audio));
        assert!(path.ends_with("a_b_c-sd-qa-usa-audio.jsonl"));
        fs::write(&path, PYTHON).unwrap();
        let mut lines = read(&path).unwrap();
        let copy = dir.path().join("copy.jsonl");
        write(&copy, &lines).unwrap();
        assert_eq!(fs::read_to_string(&copy).unwrap(), PYTHON);
        lines[0].set("score", vec!["Yes", "Yes", "No"]);
        write(&copy, &lines[..1]).unwrap();
        assert!(fs::read_to_string(&copy).unwrap().ends_with("\"score\": [\"Yes\", \"Yes\", \"No\"]}\n"));
    }

    #[test]
    fn a_line_that_is_no_object_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        for (text, expected) in [("{}\n[1]\n", "line 2"), ("{}\n\n{\"a\"\n", "line 3")] {
            fs::write(&path, text).unwrap();
            let message = read(&path).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
