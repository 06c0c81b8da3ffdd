//! A Kokoro voice: one style vector for each length of clause.

use std::path::{Path, PathBuf};

use crate::{Error, Language, Result};

/// Clause lengths that a voice has a style for.
const LENGTHS: usize = 510;
/// Numbers in a style vector.
const STYLE: usize = 256;

/// A voice that was read.
pub(super) struct Voice {
    pub(super) id: String,
    // [LENGTHS, STYLE]
    styles: Vec<f32>,
}

impl Voice {
    pub(super) fn read(path: &Path) -> Result<Voice> {
        let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let refused = |reason: String| Error::Voice { path: path.to_owned(), reason };
        let expected = LENGTHS * STYLE * size_of::<f32>();
        if bytes.len() != expected {
            return Err(refused(format!("a Kokoro voice has {expected} bytes, this file has {}", bytes.len())));
        }
        let styles: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        if !styles.iter().all(|s| s.is_finite() && s.abs() < 1_000.0) {
            return Err(refused("its numbers are no style vectors".to_owned()));
        }
        Ok(Voice { id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), styles })
    }

    /// The style for a clause of so many tokens.
    pub(super) fn style(&self, tokens: usize) -> &[f32] {
        let row = tokens.min(LENGTHS - 1);
        &self.styles[row * STYLE..(row + 1) * STYLE]
    }

    pub(super) fn is_native(&self, language: Language) -> bool {
        native_language(&self.id) == Some(language)
    }

    /// Mandarin voices read English too, as the words in their own texts; the others know no Mandarin.
    pub(super) fn speaks(&self, language: Language) -> bool {
        self.is_native(language) || language == Language::English
    }
}

fn native_language(id: &str) -> Option<Language> {
    match id.chars().next()? {
        'a' | 'b' => Some(Language::English),
        'z' => Some(Language::Mandarin),
        _ => None,
    }
}

/// A Kokoro voice on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KokoroVoice {
    /// Its id, "zf_xiaobei".
    pub id: String,
    /// The language it was trained on.
    pub language: &'static str,
    /// Whether the speaker is a woman.
    pub female: bool,
    /// Whether the text front end can read that language.
    pub readable: bool,
    /// The file.
    pub path: PathBuf,
}

/// The voices in a folder, by id.
///
/// # Errors
/// When the folder cannot be read.
pub fn voices(folder: &Path) -> Result<Vec<KokoroVoice>> {
    let failed = |source| Error::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_none_or(|e| e != "bin") {
            continue;
        }
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut letters = id.chars();
        let language = match letters.next() {
            Some('a') => "English (US)",
            Some('b') => "English (UK)",
            Some('z') => "Mandarin",
            Some('j') => "Japanese",
            Some('e') => "Spanish",
            Some('f') => "French",
            Some('h') => "Hindi",
            Some('i') => "Italian",
            Some('p') => "Portuguese",
            _ => continue,
        };
        let female = letters.next() == Some('f');
        found.push(KokoroVoice { readable: native_language(&id).is_some(), id, language, female, path });
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}
