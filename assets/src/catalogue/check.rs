//! What a catalogue must keep to, so that the rest of the code can rely on it.

use std::collections::HashSet;

use super::{Catalogue, DEFAULT_PROFILE, FileEntry, ModelEntry};
use crate::manifest::MANIFEST;

/// The only layout this program reads.
const VERSION: u32 = 1;

/// Says the first thing that is wrong, if any.
pub(super) fn check(catalogue: &Catalogue) -> Result<(), String> {
    if catalogue.version != VERSION {
        return Err(format!("version {} is not {VERSION}", catalogue.version));
    }
    let mut keys = HashSet::new();
    for package in &catalogue.packages {
        let key = &package.key;
        if !keys.insert(key) {
            return Err(format!("package {key} is listed twice"));
        }
        // Names reach a command line and a directory: nothing that an option or a path could be made of.
        for text in [&package.name, &package.version, &package.file] {
            if !is_plain_name(text) {
                return Err(format!("package {key}: `{text}` is no plain name"));
            }
        }
        if package.size == 0 {
            return Err(format!("package {key} has no size"));
        }
    }
    let mut ids = HashSet::new();
    for model in &catalogue.models {
        if !ids.insert(&model.id) {
            return Err(format!("model {} is listed twice", model.id));
        }
        check_model(catalogue, model).map_err(|problem| format!("model {}: {problem}", model.id))?;
    }
    if catalogue.profile(DEFAULT_PROFILE).is_ok_and(|models| models.is_empty()) {
        return Err(format!("no model is in the profile {DEFAULT_PROFILE}"));
    }
    Ok(())
}

fn check_model(catalogue: &Catalogue, model: &ModelEntry) -> Result<(), String> {
    if !is_plain_name(&model.id) {
        return Err("the id is no plain name".into());
    }
    for (what, text) in [("about", &model.about), ("licence", &model.licence), ("notice", &model.notice)] {
        if text.trim().is_empty() {
            return Err(format!("`{what}` is empty"));
        }
    }
    if model.files.is_empty() {
        return Err("it has no files".into());
    }
    let mut names = HashSet::new();
    for file in &model.files {
        let platform = file.platform.as_ref().map(ToString::to_string);
        if !names.insert((file.name.as_str(), platform)) {
            return Err(format!("file {} is listed twice", file.name));
        }
        check_file(catalogue, file).map_err(|problem| format!("file {}: {problem}", file.name))?;
    }
    for derived in &model.derived {
        if !is_file_name(&derived.name) || !names.insert((&derived.name, None)) {
            return Err(format!("derived file {} is no new plain name", derived.name));
        }
        if !is_plain_name(&derived.recipe) {
            return Err(format!("recipe {} is no plain name", derived.recipe));
        }
    }
    Ok(())
}

fn check_file(catalogue: &Catalogue, file: &FileEntry) -> Result<(), String> {
    if !is_file_name(&file.name) {
        return Err("it has no plain name".into());
    }
    if file.size == 0 {
        return Err("it has no size".into());
    }
    if file.sources.is_empty() || file.sources.iter().any(Vec::is_empty) {
        return Err("it has no source".into());
    }
    for member in file.sources.iter().flatten() {
        if catalogue.package(&member.package).is_none() {
            return Err(format!("there is no package {}", member.package));
        }
    }
    Ok(())
}

fn is_file_name(name: &str) -> bool {
    is_plain_name(name) && name != MANIFEST
}

/// Letters, digits, `.`, `_`, `-` and `+`, the first of them a letter or digit: safe as an argument and as a file name.
pub(crate) fn is_plain_name(name: &str) -> bool {
    name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    const GOOD: &str = r#"
version = 1
[[package]]
key = "p"
client = "pip"
name = "pkg"
version = "1.0"
file = "pkg-1.0.whl"
size = 10
sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
[[model]]
id = "m"
role = "vad"
profiles = ["en"]
about = "a"
licence = "MIT"
notice = "n"
home = "h"
files = [{ name = "f", size = 1, sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", sources = [["p:a/b"]] }]
derived = [{ name = "d", recipe = "r" }]
"#;

    #[test]
    fn one_wrong_word_is_found_and_named() {
        Catalogue::parse(GOOD).unwrap();
        for (right, wrong, said) in [
            ("version = 1\n", "version = 2\n", "version 2"),
            ("name = \"pkg\"", "name = \"--upgrade\"", "plain name"),
            ("file = \"pkg-1.0.whl\"", "file = \"../pkg\"", "plain name"),
            ("size = 10", "size = 0", "no size"),
            ("id = \"m\"", "id = \"..\"", "plain name"),
            ("licence = \"MIT\"", "licence = \" \"", "licence"),
            ("name = \"f\"", "name = \"manifest.json\"", "plain name"),
            ("name = \"f\"", "name = \"a/f\"", "plain name"),
            ("name = \"d\"", "name = \"f\"", "derived file f"),
            ("p:a/b", "q:a/b", "no package q"),
            ("p:a/b", "a/b", "no source"),
            ("[[\"p:a/b\"]]", "[]", "no source"),
            ("[\"en\"]", "[\"zh-en\"]", "profile en"),
            ("852b855\"\n", "852b85\"\n", "64 lower-case"),
            ("role = \"vad\"", "role = \"ears\"", "ears"),
            ("home = ", "hom = ", "hom"),
            ("client = \"pip\"", "client = \"curl\"", "curl"),
        ] {
            assert!(GOOD.contains(right), "{right}");
            let problem = Catalogue::parse(&GOOD.replacen(right, wrong, 1)).unwrap_err().to_string();
            assert!(problem.contains(said), "{wrong}: {problem}");
        }
    }
}
