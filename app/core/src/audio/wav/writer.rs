//! Writing 16-bit PCM WAV files so that a file of the final name is always whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::super::{Error, Result};

const HEADER_LEN: u32 = 44;

/// A mono WAV file being written. Samples go to a file beside it, `NAME.part`, which [`Writer::finish`] renames; a writer
/// that is dropped before removes it. A path that is no regular file (a pipe, `/dev/null`) is written to directly.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    /// Where the samples go until the file is whole; `None` if straight to `path`.
    aside: Option<PathBuf>,
    file: Option<BufWriter<File>>,
    sample_rate: u32,
    samples: u32,
}

impl Writer {
    /// Starts a file of `sample_rate`.
    ///
    /// # Errors
    /// The file beside `path` cannot be created.
    pub fn create(path: &Path, sample_rate: u32) -> Result<Self> {
        // The file behind a link is what the user means.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        let special = fs::metadata(&path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        let aside = (!special).then(|| {
            let mut name = path.file_name().map(OsString::from).unwrap_or_default();
            name.push(".part");
            path.with_file_name(name)
        });
        let opened = match &aside {
            _ if path.is_dir() => Err(std::io::Error::from(std::io::ErrorKind::IsADirectory)),
            Some(aside) => File::create(aside),
            None => File::options().write(true).open(&path),
        };
        let mut this = Self { path, aside, file: None, sample_rate, samples: 0 };
        this.file = Some(BufWriter::new(opened.map_err(|source| this.error(source))?));
        // Readers take this length as "until the end", which is right for pipes; `finish` corrects it elsewhere.
        this.write_header(u32::MAX)?;
        Ok(this)
    }

    /// Samples written so far.
    pub fn len(&self) -> u64 {
        u64::from(self.samples)
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Appends samples; values beyond [-1, 1] are clipped.
    ///
    /// # Errors
    /// A full disk, or more samples than a WAV file can hold (27 hours at 22,050 Hz).
    pub fn write(&mut self, samples: &[f32]) -> Result<()> {
        let len = u32::try_from(samples.len()).ok().and_then(|len| self.samples.checked_add(len));
        let Some(len) = len.filter(|len| *len <= (u32::MAX - HEADER_LEN) / 2) else {
            return Err(self.error(std::io::Error::other("a WAV file holds at most 4 GB")));
        };
        self.samples = len;
        let written = samples.iter().try_for_each(|sample| {
            let value = (sample.clamp(-1.0, 1.0) * 32_767.0).round() as i16;
            match self.file.as_mut() {
                Some(file) => file.write_all(&value.to_le_bytes()),
                None => Ok(()),
            }
        });
        written.map_err(|source| self.error(source))
    }

    /// Completes the header and gives the file its name.
    ///
    /// # Errors
    /// A full disk; the unfinished file is removed then.
    pub fn finish(mut self) -> Result<()> {
        if let Some(aside) = self.aside.clone() {
            let rewound = self.file.as_mut().map_or(Ok(0), |file| file.seek(SeekFrom::Start(0)));
            rewound.map_err(|source| self.error(source))?;
            self.write_header(self.samples * 2)?;
            self.flush()?;
            if let Some(file) = &self.file {
                // The rename must not overtake the data, or a power cut leaves an empty file of the final name.
                file.get_ref().sync_all().map_err(|source| self.error(source))?;
            }
            fs::rename(&aside, &self.path).map_err(|source| self.error(source))?;
            self.aside = None;
        } else {
            self.flush()?;
        }
        self.file = None;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = self.file.as_mut().map_or(Ok(()), |file| file.flush());
        flushed.map_err(|source| self.error(source))
    }

    fn write_header(&mut self, data_len: u32) -> Result<()> {
        let mut header = Vec::with_capacity(HEADER_LEN as usize);
        header.extend_from_slice(b"RIFF");
        header.extend_from_slice(&data_len.saturating_add(HEADER_LEN - 8).to_le_bytes());
        header.extend_from_slice(b"WAVEfmt ");
        header.extend_from_slice(&16u32.to_le_bytes());
        for word in [1u16, 1] {
            header.extend_from_slice(&word.to_le_bytes()); // PCM, one channel
        }
        header.extend_from_slice(&self.sample_rate.to_le_bytes());
        header.extend_from_slice(&(self.sample_rate * 2).to_le_bytes());
        for word in [2u16, 16] {
            header.extend_from_slice(&word.to_le_bytes()); // bytes per frame, bits per sample
        }
        header.extend_from_slice(b"data");
        header.extend_from_slice(&data_len.to_le_bytes());
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(&header));
        written.map_err(|source| self.error(source))
    }

    fn error(&self, source: std::io::Error) -> Error {
        Error::Io { action: "write", path: self.path.clone(), source }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let (Some(_), Some(aside)) = (self.file.take(), &self.aside) {
            // Nothing is lost: it was never promised. Who wants the file calls `finish`.
            let _ = fs::remove_file(aside);
        }
    }
}

/// Writes a whole mono file.
///
/// # Errors
/// As [`Writer`].
pub fn write(path: &Path, sample_rate: u32, samples: &[f32]) -> Result<()> {
    let mut writer = Writer::create(path, sample_rate)?;
    writer.write(samples)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::super::super::wav;
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_only_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.wav");
        wav::write(&path, 16_000, &[0.25; 100]).unwrap();
        let old = fs::read(&path).unwrap();

        let mut writer = Writer::create(&path, 16_000).unwrap();
        writer.write(&[0.5; 100_000]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), old, "the old file was touched before the new one was whole");
        assert_eq!(names(dir.path()), ["out.wav", "out.wav.part"]);
        drop(writer);
        assert_eq!(names(dir.path()), ["out.wav"]);
        assert_eq!(fs::read(&path).unwrap(), old);

        let mut writer = Writer::create(&path, 16_000).unwrap();
        writer.write(&[-2.0, -1.0, 0.0, 1.0, 2.0, f32::NAN]).unwrap();
        writer.finish().unwrap();
        assert_eq!(names(dir.path()), ["out.wav"]);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 44 + 12);
        assert_eq!(&bytes[4..8], 48u32.to_le_bytes());
        assert_eq!(&bytes[40..44], 12u32.to_le_bytes());
        let samples: Vec<_> = bytes[44..].chunks(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect();
        assert_eq!(samples, [-32_767, -32_767, 0, 32_767, 32_767, 0]);
    }

    #[test]
    fn impossible_places_are_named() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().to_path_buf(), dir.path().join("missing/out.wav")] {
            let message = Writer::create(&path, 16_000).unwrap_err().to_string();
            assert!(message.starts_with(&format!("cannot write {}", path.display())), "{message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt as _;
        let null = Path::new("/dev/null");
        wav::write(null, 16_000, &[0.5; 1000]).unwrap();
        assert!(fs::metadata(null).unwrap().file_type().is_char_device());
        assert!(!Path::new("/dev/null.part").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported() {
        let mut writer = Writer::create(Path::new("/dev/full"), 16_000).unwrap();
        let result = writer.write(&[0.5; 100_000]).and_then(|()| writer.finish());
        let message = result.unwrap_err().to_string();
        assert!(message.contains("/dev/full") && message.contains("space"), "{message}");
    }
}
