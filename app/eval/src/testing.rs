//! What tests share.

use std::path::PathBuf;

/// A folder of the measuring material beside the project; where it is absent a word is printed and the test has nothing
/// to compare with.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: there is no ../shared/{folder} beside the project");
    None
}
