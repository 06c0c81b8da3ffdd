//! Reading chosen members of a package; nothing is ever unpacked under a name that a package chose.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use assets::{Client, StagedFile};

use crate::{Error, Result};

/// An open package.
pub(crate) struct Archive {
    path: PathBuf,
    content: Content,
}

enum Content {
    Zip(Box<zip::ZipArchive<BufReader<File>>>),
    /// A compressed tar file has no index, so one pass takes all members that are wanted.
    Tar(HashMap<String, Vec<u8>>),
}

impl Archive {
    /// Opens the package file at `path`; `wanted` lists the members that will be asked for, with the most bytes that each
    /// may have.
    pub(crate) fn open(client: Client, path: &Path, wanted: &HashMap<&str, u64>) -> Result<Self> {
        let file = File::open(path).map_err(|e| assets::Error::io("read", path, e))?;
        let refused = |problem: String| Error::Archive { path: path.to_owned(), problem };
        let content = match client {
            Client::Pip => {
                let archive = zip::ZipArchive::new(BufReader::new(file)).map_err(|e| refused(e.to_string()))?;
                Content::Zip(Box::new(archive))
            }
            Client::Npm => Content::Tar(read_tar(file, wanted).map_err(refused)?),
        };
        Ok(Self { path: path.to_owned(), content })
    }

    /// Appends the bytes of `member` to `file`, which knows how many it may take.
    pub(crate) fn copy(&mut self, member: &str, file: &mut StagedFile) -> Result<()> {
        let refused = |problem: String| Error::Archive { path: self.path.clone(), problem };
        match &mut self.content {
            Content::Zip(archive) => {
                let mut entry = archive.by_name(member).map_err(|e| refused(format!("{member}: {e}")))?;
                if !entry.is_file() {
                    return Err(refused(format!("{member} is no file")));
                }
                file.append(&mut entry, &self.path)?;
            }
            Content::Tar(members) => {
                let bytes = members.get(member).ok_or_else(|| refused(format!("{member} is not in it")))?;
                file.append(&mut bytes.as_slice(), &self.path)?;
            }
        }
        Ok(())
    }
}

fn read_tar(file: File, wanted: &HashMap<&str, u64>) -> std::result::Result<HashMap<String, Vec<u8>>, String> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(BufReader::new(file)));
    let mut members = HashMap::new();
    for entry in archive.entries().map_err(|e| e.to_string())? {
        let entry = entry.map_err(|e| e.to_string())?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let Ok(name) = String::from_utf8(entry.path_bytes().into_owned()) else {
            continue;
        };
        let Some(&limit) = wanted.get(name.as_str()) else {
            continue;
        };
        let mut bytes = Vec::new();
        // One byte more than allowed, so that the excess is noticed when the file is written.
        entry.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        members.insert(name, bytes);
        if members.len() == wanted.len() {
            break;
        }
    }
    Ok(members)
}
