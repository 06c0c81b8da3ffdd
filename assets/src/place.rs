//! Where the models directory lies.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::{Error, Result};

/// `POCKET_VOICE_MODELS`, else `pocket-voice/models` in the user's data directory.
///
/// # Errors
/// When neither is set.
pub fn models_dir() -> Result<PathBuf> {
    models_dir_from(std::env::consts::OS, |name| std::env::var_os(name), std::env::home_dir())
}

/// The data directory by each system's own rule: the XDG base directories, Application Support, or Local AppData.
fn models_dir_from(os: &str, var: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Result<PathBuf> {
    let set = |name| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(directory) = set("POCKET_VOICE_MODELS") {
        return std::path::absolute(&directory).map_err(|e| Error::io("resolve", &directory, e));
    }
    let home = home.filter(|home| !home.as_os_str().is_empty());
    let data = match os {
        "windows" => set("LOCALAPPDATA").or(home.map(|home| home.join("AppData").join("Local"))),
        "macos" | "ios" => home.map(|home| home.join("Library").join("Application Support")),
        // The base directory specification says to ignore relative paths.
        _ => set("XDG_DATA_HOME")
            .filter(|path| path.is_absolute())
            .or(home.map(|home| home.join(".local").join("share"))),
    };
    data.map(|data| data.join("pocket-voice").join("models")).ok_or(Error::NoDataDir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(os: &str, vars: &[(&str, &str)], home: Option<&str>, expected: Option<&str>) {
        let var = |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        let found = models_dir_from(os, var, home.map(PathBuf::from)).ok();
        assert_eq!(found, expected.map(PathBuf::from), "{os} {vars:?} {home:?}");
    }

    #[test]
    #[cfg(unix)]
    fn each_system_has_its_place() {
        let models = ("POCKET_VOICE_MODELS", "/m");
        check("linux", &[models, ("XDG_DATA_HOME", "/x")], Some("/h"), Some("/m"));
        check("linux", &[("XDG_DATA_HOME", "/x")], Some("/h"), Some("/x/pocket-voice/models"));
        check("linux", &[("XDG_DATA_HOME", "x")], Some("/h"), Some("/h/.local/share/pocket-voice/models"));
        check("linux", &[("POCKET_VOICE_MODELS", "")], Some("/h"), Some("/h/.local/share/pocket-voice/models"));
        check("macos", &[], Some("/h"), Some("/h/Library/Application Support/pocket-voice/models"));
        check("windows", &[("LOCALAPPDATA", "/l")], Some("/h"), Some("/l/pocket-voice/models"));
        check("windows", &[], Some("/h"), Some("/h/AppData/Local/pocket-voice/models"));
        check("linux", &[], None, None);
        check("linux", &[], Some(""), None);
    }
}
