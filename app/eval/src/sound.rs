//! A recording of any container and rate to mono at 16 kHz, as the ears of the pipeline take it.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use pocket_voice::audio::Resampler;
use pocket_voice::audio::wav;
use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error as SymphoniaError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;

use crate::item::Audio;
use crate::{Error, Result};

/// The rate of the pipeline's ears.
pub const RATE: u32 = 16_000;

/// Longest recording of one question. The benchmark's last up to some 30 s.
pub const LIMIT: Duration = Duration::from_secs(600);

/// Decodes a recording. `[samples]` at 16 kHz
///
/// # Errors
/// [`Error::Audio`] for what is no audio, holds no sample, or lasts longer than `limit`.
pub fn decode(audio: &Audio, limit: Duration) -> Result<Vec<f32>> {
    let samples = match audio {
        Audio::Bytes(bytes) => sniff(Cursor::new(bytes.clone()), Path::new("recording"), limit)?,
        Audio::File(path) => sniff(File::open(path).map_err(Error::io(path))?, path, limit)?,
    };
    if samples.is_empty() { Err(Error::Audio("there is no sample in it".into())) } else { Ok(samples) }
}

trait Source: Read + Seek + Send + Sync + 'static {}
impl<T: Read + Seek + Send + Sync + 'static> Source for T {}

/// WAV goes to our own reader, everything else to symphonia, by their first bytes.
fn sniff(mut source: impl Source + symphonia::core::io::MediaSource, path: &Path, limit: Duration) -> Result<Vec<f32>> {
    let mut magic = Vec::new();
    (&mut source).take(4).read_to_end(&mut magic).map_err(Error::io(path))?;
    source.seek(SeekFrom::Start(0)).map_err(Error::io(path))?;
    match magic.as_slice() {
        [] => Err(Error::Audio("it is empty".into())),
        b"RIFF" | b"RF64" => wav(source, path, limit),
        _ => other(source, limit),
    }
}

fn audio_error(e: impl std::fmt::Display) -> Error {
    Error::Audio(e.to_string())
}

fn too_long(limit: Duration) -> Error {
    Error::Audio(format!("it is longer than {} s", limit.as_secs()))
}

fn samples_in(limit: Duration) -> usize {
    (limit.as_secs_f64() * f64::from(RATE)) as usize
}

fn wav(source: impl Source, path: &Path, limit: Duration) -> Result<Vec<f32>> {
    let reader = wav::Reader::new(path, Box::new(std::io::BufReader::new(source))).map_err(audio_error)?;
    let mut recording = wav::Recording::new(reader).map_err(audio_error)?;
    let mut samples = Vec::new();
    let mut block = [0.0; 4096];
    loop {
        let got = recording.read(&mut block).map_err(audio_error)?;
        samples.extend_from_slice(&block[..got]);
        if samples.len() > samples_in(limit) {
            return Err(too_long(limit));
        }
        if got < block.len() {
            return Ok(samples);
        }
    }
}

fn other(source: impl symphonia::core::io::MediaSource + 'static, limit: Duration) -> Result<Vec<f32>> {
    let stream = MediaSourceStream::new(Box::new(source), MediaSourceStreamOptions::default());
    let probe = symphonia::default::get_probe();
    let mut format = probe
        .probe(&Hint::new(), stream, FormatOptions::default(), MetadataOptions::default())
        .map_err(|e| Error::Audio(format!("neither WAV, FLAC, MP3 nor OGG Vorbis: {e}")))?;
    let track = format.default_track(TrackType::Audio).ok_or_else(|| Error::Audio("there is no audio in it".into()))?;
    let id = track.id;
    let parameters = track.codec_params.as_ref().and_then(|p| p.audio());
    let parameters = parameters.ok_or_else(|| Error::Audio("its coding is unknown".into()))?;
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(parameters, &AudioDecoderOptions::default())
        .map_err(audio_error)?;
    let mut resampler: Option<Resampler> = None;
    let (mut samples, mut interleaved, mut mono) = (Vec::new(), Vec::<f32>::new(), Vec::new());
    let mut refused = 0;
    loop {
        let packet = match format.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) | Err(SymphoniaError::ResetRequired) => break,
            // A file that was cut off ends like this; what came before is worth hearing.
            Err(SymphoniaError::IoError(e)) if e.kind() == std::io::ErrorKind::UnexpectedEof => break,
            Err(e) => return Err(audio_error(e)),
        };
        if packet.track_id != id {
            continue;
        }
        let decoded = match decoder.decode(&packet) {
            Ok(decoded) => decoded,
            // Single damaged packets are skipped, as every player does.
            Err(SymphoniaError::DecodeError(_) | SymphoniaError::IoError(_)) if refused < 100 => {
                refused += 1;
                continue;
            }
            Err(e) => return Err(audio_error(e)),
        };
        let (rate, channels) = (decoded.spec().rate(), decoded.num_planes().max(1));
        decoded.copy_to_vec_interleaved(&mut interleaved);
        mono.clear();
        mono.extend(interleaved.chunks(channels).map(|frame| frame.iter().sum::<f32>() / channels as f32));
        if resampler.is_none() {
            resampler = Some(Resampler::new(rate, RATE).map_err(audio_error)?);
        }
        if let Some(resampler) = &mut resampler {
            if resampler.from() != rate {
                return Err(Error::Audio("its rate changes half way".into()));
            }
            resampler.push(&mono, &mut samples).map_err(audio_error)?;
        }
        if samples.len() > samples_in(limit) {
            return Err(too_long(limit));
        }
    }
    if let Some(resampler) = resampler {
        resampler.finish(&mut samples).map_err(audio_error)?;
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> Vec<u8> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        std::fs::read(path).unwrap()
    }

    fn pitch(samples: &[f32]) -> f64 {
        let middle = &samples[samples.len() / 4..samples.len() * 3 / 4];
        let rises = middle.windows(2).filter(|w| w[0] <= 0.0 && w[1] > 0.0).count();
        rises as f64 * f64::from(RATE) / middle.len() as f64
    }

    #[test]
    fn every_container_gives_the_same_tone() {
        for name in ["tone_440hz.flac", "tone_440hz.mp3", "tone_440hz.ogg"] {
            let samples = decode(&Audio::Bytes(fixture(name)), LIMIT).unwrap();
            let seconds = samples.len() as f64 / f64::from(RATE);
            assert!((0.49..0.60).contains(&seconds), "{name}: {seconds} s");
            assert!((pitch(&samples) - 440.0).abs() < 10.0, "{name}: {} Hz", pitch(&samples));
            let peak = samples.iter().fold(0.0f32, |peak, s| peak.max(s.abs()));
            assert!((0.05..=1.0).contains(&peak), "{name}: {peak}");
        }
    }

    #[test]
    fn wav_of_another_rate() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tone.wav");
        let tone: Vec<f32> =
            (0..24_000).map(|i| (i as f32 * 440.0 * std::f32::consts::TAU / 48_000.0).sin() * 0.5).collect();
        wav::write(&path, 48_000, &tone).unwrap();
        let samples = decode(&Audio::File(path.clone()), LIMIT).unwrap();
        assert_eq!(samples.len(), 8_000);
        assert!((pitch(&samples) - 440.0).abs() < 10.0);
        let message = decode(&Audio::File(path), Duration::from_millis(100)).unwrap_err().to_string();
        assert!(message.contains("longer than"), "{message}");
    }

    #[test]
    fn what_is_no_audio_is_refused() {
        let empty_wav = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\0\0\0";
        let mut cut = fixture("tone_440hz.flac");
        cut.truncate(30);
        for bytes in [&b""[..], b"RIFF", b"hello, this is text and no audio at all", empty_wav, &cut, &[0xff; 4000]] {
            let result = decode(&Audio::Bytes(bytes.to_vec()), LIMIT);
            assert!(matches!(result, Err(Error::Audio(_))), "{:?}", result.map(|s| s.len()));
        }
        assert!(decode(&Audio::File("/no/such.wav".into()), LIMIT).is_err());
    }

    /// Every cut and a sweep of damaged bytes end, and none panics.
    #[test]
    fn damaged_recordings_end() {
        for name in ["tone_440hz.flac", "tone_440hz.mp3", "tone_440hz.ogg"] {
            let whole = fixture(name);
            for step in 0..60 {
                let mut bytes = whole.clone();
                let at = whole.len() * step / 60;
                bytes[at] ^= 0xff;
                let _ = decode(&Audio::Bytes(bytes.clone()), LIMIT);
                bytes.truncate(at);
                let _ = decode(&Audio::Bytes(bytes), LIMIT);
            }
        }
    }
}
