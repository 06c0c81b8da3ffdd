//! What the header of a WAV file says, and samples decoded by it.

use super::super::resample::{MAX_RATE, MIN_RATE};

/// Most channels that are mixed down.
const MAX_CHANNELS: u16 = 64;

/// How one sample is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Unsigned 8-bit, 128 is zero.
    U8,
    /// Signed little-endian, two bytes.
    S16,
    /// Signed little-endian, three bytes.
    S24,
    /// Signed little-endian, four bytes.
    S32,
    /// IEEE 754, four bytes.
    F32,
    /// IEEE 754, eight bytes.
    F64,
}

impl Coding {
    /// Bytes of one sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::S16 => 2,
            Self::S24 => 3,
            Self::S32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// One sample as a number in [-1, 1]; what is no number counts as silence.
    fn decode(self, bytes: &[u8]) -> f32 {
        let value = match (self, bytes) {
            (Self::U8, &[a]) => (f32::from(a) - 128.0) / 128.0,
            (Self::S16, &[a, b]) => f32::from(i16::from_le_bytes([a, b])) / 32_768.0,
            (Self::S24, &[a, b, c]) => i32::from_le_bytes([0, a, b, c]) as f32 / 2_147_483_648.0,
            (Self::S32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]) as f32 / 2_147_483_648.0,
            (Self::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (Self::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32,
            _ => 0.0,
        };
        if value.is_finite() { value.clamp(-1.0, 1.0) } else { 0.0 }
    }
}

/// The shape of the samples in a WAV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Frames per second.
    pub sample_rate: u32,
    /// Samples per frame.
    pub channels: u16,
    /// How a sample is stored.
    pub coding: Coding,
}

impl Format {
    /// Bytes of one frame.
    pub fn frame_bytes(&self) -> usize {
        usize::from(self.channels) * self.coding.bytes()
    }

    /// Appends the mean of the channels of each whole frame in `bytes`.
    pub(super) fn mix_down(&self, bytes: &[u8], out: &mut Vec<f32>) {
        let (size, share) = (self.coding.bytes(), 1.0 / f32::from(self.channels));
        out.extend(
            bytes
                .chunks_exact(self.frame_bytes())
                .map(|frame| frame.chunks_exact(size).map(|sample| self.coding.decode(sample)).sum::<f32>() * share),
        );
    }

    /// Reads a `fmt ` chunk; the error says what is wrong with it.
    pub(super) fn parse(chunk: &[u8]) -> Result<Self, String> {
        let Some((head, tail)) = chunk.split_first_chunk::<16>() else {
            return Err(format!("its format chunk has {} bytes instead of at least 16", chunk.len()));
        };
        let word = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let [tag, channels, block_align, bits] = [word(0), word(2), word(12), word(14)];
        let sample_rate = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        // WAVE_FORMAT_EXTENSIBLE: the real tag opens the GUID behind size, valid bits and channel mask.
        let tag = match (tag, tail) {
            (0xfffe, [_, _, _, _, _, _, _, _, low, high, ..]) => u16::from_le_bytes([*low, *high]),
            (0xfffe, _) => return Err("its extensible format chunk is cut short".into()),
            _ => tag,
        };
        if channels == 0 || channels > MAX_CHANNELS {
            return Err(format!("it has {channels} channels (1 to {MAX_CHANNELS} are supported)"));
        }
        if !(MIN_RATE..=MAX_RATE).contains(&sample_rate) {
            return Err(format!("its sample rate is {sample_rate} Hz ({MIN_RATE} to {MAX_RATE} Hz are supported)"));
        }
        let coding = match (tag, bits) {
            // Odd depths such as 12 or 20 bits fill the upper bits of whole bytes.
            (1, 1..=8) => Coding::U8,
            (1, 9..=16) => Coding::S16,
            (1, 17..=24) if block_align == channels * 4 => Coding::S32,
            (1, 17..=24) => Coding::S24,
            (1, 25..=32) => Coding::S32,
            (3, 32) => Coding::F32,
            (3, 64) => Coding::F64,
            (1, _) => {
                return Err(format!("it has {bits} bits per sample (8 to 32 are supported)"));
            }
            (3, _) => {
                return Err(format!("it has {bits}-bit floating point samples (32 and 64 are supported)"));
            }
            _ => return Err(format!("its audio is compressed as {}", compression(tag))),
        };
        let format = Self { sample_rate, channels, coding };
        if format.frame_bytes() != usize::from(block_align) {
            return Err(format!(
                "its header contradicts itself: {channels} channels of {bits} bits do not make frames of {block_align} bytes"
            ));
        }
        Ok(format)
    }
}

fn compression(tag: u16) -> String {
    match tag {
        0x02 => "Microsoft ADPCM".into(),
        0x06 => "A-law".into(),
        0x07 => "mu-law".into(),
        0x11 => "IMA ADPCM".into(),
        0x31 => "GSM 6.10".into(),
        0x50 | 0x55 => "MPEG audio".into(),
        0xff => "AAC".into(),
        other => format!("format {other:#06x}"),
    }
}
