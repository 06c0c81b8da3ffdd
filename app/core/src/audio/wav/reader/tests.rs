//! WAV files of every kind, built byte by byte.

use std::io::Cursor;

use super::super::Coding;
use super::*;

/// A WAV file in memory, with every field that can lie.
#[derive(Clone)]
struct File {
    magic: [u8; 4],
    before_data: Vec<u8>,
    tag: u16,
    channels: u16,
    rate: u32,
    block_align: Option<u16>,
    bits: u16,
    extensible: bool,
    data: Vec<u8>,
    data_len: Option<u32>,
    riff_len: Option<u32>,
}

impl File {
    fn pcm(rate: u32, channels: u16, bits: u16, data: Vec<u8>) -> Self {
        Self {
            magic: *b"RIFF",
            before_data: Vec::new(),
            tag: 1,
            channels,
            rate,
            block_align: None,
            bits,
            extensible: false,
            data,
            data_len: None,
            riff_len: None,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let align = self.block_align.unwrap_or(self.channels.wrapping_mul(self.bits.div_ceil(8)));
        let mut format = Vec::new();
        format.extend(if self.extensible { 0xfffe } else { self.tag }.to_le_bytes());
        format.extend(self.channels.to_le_bytes());
        format.extend(self.rate.to_le_bytes());
        format.extend(self.rate.wrapping_mul(u32::from(align)).to_le_bytes());
        format.extend(align.to_le_bytes());
        format.extend(self.bits.to_le_bytes());
        if self.extensible {
            format.extend(22u16.to_le_bytes());
            format.extend(self.bits.to_le_bytes());
            format.extend(0u32.to_le_bytes());
            format.extend(self.tag.to_le_bytes());
            format.extend([0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71]);
        }
        let mut body = b"WAVE".to_vec();
        body.extend(&self.before_data);
        body.extend(chunk_bytes(b"fmt ", &format));
        body.extend(b"data");
        body.extend(self.data_len.unwrap_or(self.data.len() as u32).to_le_bytes());
        body.extend(&self.data);
        let mut file = self.magic.to_vec();
        file.extend(self.riff_len.unwrap_or(body.len() as u32).to_le_bytes());
        file.extend(body);
        file
    }
}

fn chunk_bytes(id: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut chunk = id.to_vec();
    chunk.extend((data.len() as u32).to_le_bytes());
    chunk.extend(data);
    chunk.resize(chunk.len().next_multiple_of(2), 0);
    chunk
}

fn open(bytes: Vec<u8>) -> Result<Reader> {
    Reader::new(Path::new("a.wav"), Box::new(Cursor::new(bytes)))
}

fn samples(bytes: Vec<u8>) -> Vec<f32> {
    let mut reader = open(bytes).unwrap();
    let mut out = Vec::new();
    while reader.read(&mut out).unwrap() > 0 {}
    out
}

fn message(bytes: Vec<u8>) -> String {
    open(bytes).and_then(Recording::new).unwrap_err().to_string()
}

/// `value` (-1, -0.5, 0, 0.5) in a coding.
fn encode(coding: Coding, value: f32) -> Vec<u8> {
    let whole = (f64::from(value) * 2_147_483_648.0) as i32;
    match coding {
        Coding::U8 => vec![(whole >> 24) as u8 ^ 0x80],
        Coding::S16 => whole.to_le_bytes()[2..].to_vec(),
        Coding::S24 => whole.to_le_bytes()[1..].to_vec(),
        Coding::S32 => whole.to_le_bytes().to_vec(),
        Coding::F32 => value.to_le_bytes().to_vec(),
        Coding::F64 => f64::from(value).to_le_bytes().to_vec(),
    }
}

const CODINGS: [(Coding, u16, u16); 6] = [
    (Coding::U8, 1, 8),
    (Coding::S16, 1, 16),
    (Coding::S24, 1, 24),
    (Coding::S32, 1, 32),
    (Coding::F32, 3, 32),
    (Coding::F64, 3, 64),
];

#[test]
fn every_coding_and_channel_count_reads_the_same() {
    let values = [0.0, 0.5, -0.5, -1.0, 0.25, 0.0];
    for (coding, tag, bits) in CODINGS {
        for channels in 1..=8u16 {
            for extensible in [false, true] {
                // All channels but the last carry the value, the last one silence.
                let frame = |v: f32| {
                    (0..channels).flat_map(move |c| encode(coding, if c > 0 && c + 1 == channels { 0.0 } else { v }))
                };
                let data = values.into_iter().flat_map(frame).collect();
                let mut file = File::pcm(16_000, channels, bits, data);
                (file.tag, file.extensible) = (tag, extensible);
                let share = f32::from((channels - 1).max(1)) / f32::from(channels);
                let got = samples(file.bytes());
                assert_eq!(got.len(), values.len(), "{coding:?}, {channels} channels");
                for (got, value) in got.iter().zip(values) {
                    assert!((got - value * share).abs() < 1e-6, "{coding:?}, {channels} channels: {got} for {value}");
                }
            }
        }
    }
}

#[test]
fn odd_depths_fill_the_upper_bits() {
    for (bits, align, data) in
        [(12, 2, vec![0, 0x40]), (20, 3, vec![0, 0, 0x40]), (24, 4, vec![0, 0, 0, 0x40]), (4, 1, vec![0xc0])]
    {
        let mut file = File::pcm(16_000, 1, bits, data);
        file.block_align = Some(align);
        assert_eq!(samples(file.bytes()), [0.5], "{bits} bits in {align} bytes");
    }
}

#[test]
fn numbers_beyond_range_are_tamed() {
    let data = [f32::NAN, f32::INFINITY, -7.5, 1e30, 0.5].into_iter().flat_map(f32::to_le_bytes).collect();
    let mut file = File::pcm(16_000, 1, 32, data);
    file.tag = 3;
    assert_eq!(samples(file.bytes()), [0.0, 0.0, -1.0, 1.0, 0.5]);
}

#[test]
fn chunks_before_the_audio_are_skipped() {
    let mut file = File::pcm(16_000, 1, 16, vec![0, 0x40, 0, 0x40]);
    file.before_data = [chunk_bytes(b"LIST", &[7; 13]), chunk_bytes(b"bext", &[0; 70_001])].concat();
    assert_eq!(samples(file.bytes()), [0.5, 0.5]);
    // Chunks behind the audio are not audio.
    let mut bytes = File::pcm(16_000, 1, 16, vec![0, 0x40, 0, 0x40]).bytes();
    bytes.extend(chunk_bytes(b"LIST", &[0x55; 100]));
    assert_eq!(samples(bytes), [0.5, 0.5]);
}

#[test]
fn a_lying_length_never_costs_audio_that_is_there() {
    let whole = File::pcm(16_000, 1, 16, vec![0, 0x40, 0, 0x40]);
    // (data length, RIFF length, samples read, said to be truncated)
    let cases = [
        (u32::MAX, None, 2, false),
        (u32::MAX, Some(u32::MAX), 2, false),
        (0, Some(0), 2, false),
        (0x7fff_0000, None, 2, true),
        (5, None, 2, true),
        (3, None, 1, false),
        (2, None, 1, false),
    ];
    for (data_len, riff_len, wanted, truncated) in cases {
        let mut file = whole.clone();
        (file.data_len, file.riff_len) = (Some(data_len), riff_len);
        let mut reader = open(file.bytes()).unwrap();
        let mut out = Vec::new();
        while reader.read(&mut out).unwrap() > 0 {}
        assert_eq!(out, vec![0.5; wanted], "length {data_len:#x} in the header");
        assert_eq!(reader.truncated(), truncated, "length {data_len:#x} in the header");
    }
}

#[test]
fn rf64_takes_its_length_from_ds64() {
    let mut file = File::pcm(16_000, 1, 16, vec![0, 0x40, 0, 0x40, 0x55, 0x55]);
    file.magic = *b"RF64";
    (file.data_len, file.riff_len) = (Some(u32::MAX), Some(u32::MAX));
    let ds64 = [100u64, 4, 2].into_iter().flat_map(u64::to_le_bytes).chain([0; 4]).collect::<Vec<_>>();
    file.before_data = chunk_bytes(b"ds64", &ds64);
    assert_eq!(samples(file.bytes()), [0.5, 0.5]);
}

#[test]
fn what_cannot_be_used_is_explained() {
    let pcm = |change: fn(&mut File)| {
        let mut file = File::pcm(16_000, 2, 16, vec![0; 64]);
        change(&mut file);
        file.bytes()
    };
    let cases: [(Vec<u8>, &str); 20] = [
        (vec![], "it is empty"),
        (b"RIFF".to_vec(), "not a WAV"),
        (b"hello, this is text\n".to_vec(), r#"it starts with "hello, this ""#),
        (b"ID3\x04\0\0\0\0\0\0\0\0\0".to_vec(), "MP3"),
        (b"OggS\0\0\0\0\0\0\0\0\0\0".to_vec(), "Ogg"),
        (b"fLaC\0\0\0\0\0\0\0\0\0\0".to_vec(), "FLAC"),
        (b"\0\0\0\x1cftypM4A \0\0".to_vec(), "MP4"),
        (b"RIFX\0\0\0\x24WAVEfmt ".to_vec(), "big-endian"),
        (b"RIFF\x24\0\0\0AVI LIST".to_vec(), "not a WAV"),
        (b"RIFF\x24\0\0\0WAVE".to_vec(), "ends before its audio"),
        (b"RIFF\x24\0\0\0WAVEdata\x04\0\0\0abcd".to_vec(), "no format chunk"),
        (b"RIFF\x24\0\0\0WAVEfmt \x04\0\0\0\x01\0\x01\0data\x04\0\0\0abcd".to_vec(), "4 bytes instead of"),
        (pcm(|f| f.channels = 0), "0 channels"),
        (pcm(|f| f.channels = 65), "65 channels"),
        (pcm(|f| f.rate = 0), "sample rate is 0 Hz"),
        (pcm(|f| f.rate = u32::MAX), "sample rate is 4294967295 Hz"),
        (pcm(|f| f.bits = 0), "0 bits"),
        (pcm(|f| f.block_align = Some(3)), "contradicts itself"),
        (pcm(|f| f.tag = 7), "mu-law"),
        (pcm(|f| f.data.clear()), "no audio"),
    ];
    for (bytes, wanted) in cases {
        let message = message(bytes);
        assert!(message.contains(wanted) && message.starts_with("a.wav "), "wanted \"{wanted}\", got: {message}");
        assert!(message.contains("ffmpeg"), "no next step in: {message}");
    }
}

#[test]
fn every_truncation_and_every_flipped_byte_ends_well() {
    let mut file = File::pcm(44_100, 2, 24, vec![0x11; 600]);
    file.before_data = chunk_bytes(b"LIST", &[1, 2, 3]);
    file.extensible = true;
    let whole = file.bytes();
    let drain = |bytes: Vec<u8>| {
        if let Ok(mut recording) = open(bytes).and_then(Recording::new) {
            let mut block = [0.0; 512];
            while recording.read(&mut block).unwrap() == block.len() {}
        }
    };
    for len in 0..whole.len() {
        drain(whole[..len].to_vec());
    }
    for at in 0..whole.len().min(100) {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            drain(bytes);
        }
    }
}

#[test]
fn rates_come_out_at_16_khz_with_their_length() {
    for rate in [8000, 11_025, 22_050, 44_100, 48_000, 96_000, 192_000] {
        let data = (0..rate).flat_map(|_| [0, 0x20]).collect();
        let recording = Recording::new(open(File::pcm(rate, 1, 16, data).bytes()).unwrap());
        let mut recording = recording.unwrap();
        let mut out = vec![0.0; 20_000];
        assert_eq!(recording.read(&mut out).unwrap(), 16_000, "{rate} Hz");
        let middle = &out[1000..15_000];
        assert!(middle.iter().all(|s| (s - 0.25).abs() < 1e-3), "{rate} Hz: level changed");
    }
}

#[test]
fn files_that_are_not_there_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().join("nothing.wav"), dir.path().to_path_buf()] {
        let message = Recording::open(&path).unwrap_err().to_string();
        assert!(message.starts_with(&format!("cannot read {}", path.display())), "{message}");
    }
}

#[test]
fn a_file_beyond_the_limit_is_refused_before_it_fills_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.wav");
    super::super::write(&path, 16_000, &vec![0.1; 48_000]).unwrap();
    assert_eq!(read(&path, Duration::from_secs(3)).unwrap().len(), 48_000);
    let message = read(&path, Duration::from_secs(2)).unwrap_err().to_string();
    assert!(message.contains("longer than 2 s"), "{message}");
}
