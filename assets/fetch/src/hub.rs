//! A model of the user's own choice from Hugging Face, through its own client.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assets::{Kind, Placing, Store};

use crate::client::{self, RunError};
use crate::install::DOWNLOADS;
use crate::{Error, Options, Result};

const INSTALL_HF: &str =
    "install Hugging Face's client (python3 -m pip install huggingface_hub) and run the command again";

/// Downloads `hf:OWNER/REPOSITORY[/FILE]` and adds it to the store; returns the id of the new model.
///
/// # Errors
/// When the client is missing or fails, or what it brings is not one model.
pub fn hugging_face(store: &Store, spec: &str, options: &Options<'_>) -> Result<String> {
    let Spec { owner, repository, file } = Spec::parse(spec)?;
    // Named by the repository, because an id is made from it. The client keeps parts of files in it and goes on from them.
    let folder = store.root().join(DOWNLOADS).join("hf").join(owner).join(repository);
    {
        // Held while the folder is made and filled; `add` takes it again for itself.
        let _lock = store.lock()?;
        fs::create_dir_all(&folder).map_err(|e| assets::Error::io("create", &folder, e))?;
        download(&format!("{owner}/{repository}"), file, &folder, options)?;
    }
    let model = match file {
        Some(file) => folder.join(file),
        None => sole_model(spec, &folder)?,
    };
    let size = fs::metadata(&model).map_or(0, |metadata| metadata.len());
    let task = options.progress.task(format!("adding {repository}"), size);
    let id = store.add(&model, Placing::Copy, Some(spec), &mut |bytes| task.step(bytes))?;
    task.done();
    fs::remove_dir_all(&folder).map_err(|e| assets::Error::io("remove", &folder, e))?;
    Ok(id)
}

struct Spec<'a> {
    owner: &'a str,
    repository: &'a str,
    file: Option<&'a str>,
}

impl<'a> Spec<'a> {
    fn parse(spec: &'a str) -> Result<Self> {
        let refused = || Error::Spec { spec: spec.into() };
        let mut parts = spec.strip_prefix("hf:").ok_or_else(refused)?.splitn(3, '/');
        let (Some(owner), Some(repository), file) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refused());
        };
        // Parts become arguments and folders: none may look like an option or lead out of the folder.
        let is_part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-+ ".contains(c))
        };
        let all = [owner, repository].into_iter().chain(file.into_iter().flat_map(|file| file.split('/')));
        if !all.into_iter().all(is_part) {
            return Err(refused());
        }
        Ok(Self { owner, repository, file })
    }
}

fn download(repository: &str, file: Option<&str>, folder: &Path, options: &Options<'_>) -> Result<()> {
    let mut last = None;
    for program in &options.programs.hf {
        let mut command = Command::new(program);
        command.args(["download", repository]).args(file);
        command.arg("--local-dir").arg(folder).env("HF_HUB_DISABLE_TELEMETRY", "1");
        // The client shows its own progress, on the error stream.
        match client::run(&mut command, None, options.cancel, &mut || {}) {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => {
                return Err(Error::ClientFailed {
                    program: program.display().to_string(),
                    what: repository.into(),
                    said: format!("it ended with {status}; what it printed says why"),
                });
            }
            Err(RunError::Start(e)) => last = Some((program, e.to_string())),
            Err(RunError::Other(e)) => return Err(e),
        }
    }
    let (program, problem) = last.map_or(("hf".into(), "no client is named".into()), |(program, problem)| {
        (program.display().to_string(), problem)
    });
    Err(Error::ClientMissing { program, what: repository.into(), problem, install: INSTALL_HF })
}

/// The one thing in `folder` that can be added.
fn sole_model(spec: &str, folder: &Path) -> Result<PathBuf> {
    if Kind::of(folder).is_ok() {
        return Ok(folder.to_owned());
    }
    let failed = |e| assets::Error::io("list", folder, e);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "gguf" || ending == "onnx") {
            found.push(path);
        }
    }
    found.sort();
    let problem = match found.as_slice() {
        [only] => return Ok(only.clone()),
        [] => "holds neither MNN nor safetensors files nor a .gguf or .onnx file".into(),
        [first, ..] => {
            let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let names: Vec<String> = found.iter().map(name).collect();
            format!("holds several models ({}); name one, such as {spec}/{}", names.join(", "), name(first))
        }
    };
    Err(Error::Ambiguous { spec: spec.into(), problem })
}

#[cfg(test)]
mod tests {
    use super::Spec;

    #[test]
    fn only_owner_repository_and_file_are_taken() {
        for (spec, expected) in [
            ("hf:a/b", Some(("a", "b", None))),
            ("hf:a-x/b.c/d/e.gguf", Some(("a-x", "b.c", Some("d/e.gguf")))),
            ("a/b", None),
            ("hf:a", None),
            ("hf:a/", None),
            ("hf:/b", None),
            ("hf:--token/b", None),
            ("hf:a/b/../../c", None),
            ("hf:a/b/", None),
            ("hf:../b", None),
        ] {
            let parsed = Spec::parse(spec).ok().map(|s| (s.owner, s.repository, s.file));
            assert_eq!(parsed, expected, "{spec}");
        }
    }
}
