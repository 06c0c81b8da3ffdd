//! Packing keeps codes exactly, checks lengths, and refuses damage.

use super::*;
use crate::testing::Random;

fn q4_1_block(rng: &mut Random) -> [u8; 20] {
    let mut block = [0; 20];
    block.fill_with(|| rng.next() as u8);
    block[..2].copy_from_slice(&f16::from_f32(rng.float()).to_le_bytes());
    block[2..4].copy_from_slice(&f16::from_f32(rng.float()).to_le_bytes());
    block
}

/// Packs and reads back every row.
fn round_trip(source: Source<'_>, format: Format, rows: usize, cols: usize) -> Result<Vec<f32>> {
    let pool = Pool::new(2)?;
    let mut packer = Packer::new(&mut Arena::default(), format, rows, cols)?;
    packer.append(source, rows, &pool)?;
    let matrix = packer.finish()?;
    let mut out = vec![f32::NAN; rows * cols];
    for (row, out) in out.chunks_mut(cols).enumerate() {
        matrix.dequantize_row(row, out)?;
    }
    Ok(out)
}

#[test]
fn q4_1_keeps_its_values() {
    let mut rng = Random(1);
    for (rows, cols) in [(1, 32), (15, 64), (16, 96), (17, 128), (33, 32)] {
        let blocks: Vec<[u8; 20]> = (0..rows * cols / 32).map(|_| q4_1_block(&mut rng)).collect();
        let expected: Vec<f32> = blocks
            .iter()
            .flat_map(|b| {
                let half = |i| f16::from_le_bytes([b[i], b[i + 1]]).to_f32();
                let low = (0..16).map(|j| b[4 + j] & 15);
                let high = (0..16).map(|j| b[4 + j] >> 4);
                low.chain(high).map(|c| half(0) * f32::from(c) + half(2)).collect::<Vec<_>>()
            })
            .collect();
        let packed = round_trip(Source::Q4_1(&blocks.concat()), Format::INT4_MIN_32, rows, cols).unwrap();
        assert_eq!(packed, expected, "{rows} x {cols}");
    }
}

#[test]
fn equal_neighbours_merge_to_groups_of_64() {
    let mut rng = Random(2);
    let mut bytes = Vec::new();
    for _ in 0..20 * 3 {
        let (mut a, b) = (q4_1_block(&mut rng), q4_1_block(&mut rng));
        a[..4].copy_from_slice(&b[..4]);
        bytes.extend_from_slice(&a);
        bytes.extend_from_slice(&b);
    }
    assert!(q4_1_has_groups_of_64(&bytes, 192));
    let merged = round_trip(Source::Q4_1(&bytes), Format::INT4_MIN_64, 20, 192).unwrap();
    assert_eq!(merged, round_trip(Source::Q4_1(&bytes), Format::INT4_MIN_32, 20, 192).unwrap());
    bytes[21] ^= 1;
    assert!(round_trip(Source::Q4_1(&bytes), Format::INT4_MIN_64, 20, 192).is_err());
    assert!(!q4_1_has_groups_of_64(&bytes[..40], 32));
}

#[test]
fn q4_0_and_q8_0_keep_their_values() {
    let mut rng = Random(3);
    let (rows, cols) = (18, 64);
    let mut q4 = vec![0; rows * cols / 32 * 18];
    let mut q8 = vec![0; rows * cols / 32 * 34];
    q4.fill_with(|| rng.next() as u8);
    q8.fill_with(|| rng.next() as u8);
    let mut expected = [Vec::new(), Vec::new()];
    for (b4, b8) in q4.chunks_mut(18).zip(q8.chunks_mut(34)) {
        let d = f16::from_f32(rng.float());
        b4[..2].copy_from_slice(&d.to_le_bytes());
        b8[..2].copy_from_slice(&d.to_le_bytes());
        let codes = b4[2..].iter().map(|b| b & 15).chain(b4[2..].iter().map(|b| b >> 4));
        expected[0].extend(codes.map(|c| d.to_f32() * (f32::from(c) - 8.0)));
        expected[1].extend(b8[2..].iter().map(|&c| d.to_f32() * f32::from(c as i8)));
    }
    assert_eq!(round_trip(Source::Q4_0(&q4), Format::INT4_SYM_32, rows, cols).unwrap(), expected[0]);
    assert_eq!(round_trip(Source::Q4_0(&q4), Format::INT4_MIN_32, rows, cols).unwrap(), expected[0]);
    assert_eq!(round_trip(Source::Q8_0(&q8), Format::INT8_32, rows, cols).unwrap(), expected[1]);
}

#[test]
fn codes_of_another_format_keep_their_values() {
    let mut rng = Random(4);
    for (format, most) in [(Format::INT4_MIN_64, 16), (Format::INT8_MIN_64, 256), (Format::INT4_MIN_32, 16)] {
        let (rows, cols) = (17usize, 100usize);
        let groups = cols.div_ceil(format.group);
        let codes: Vec<u8> = (0..rows * cols).map(|_| (rng.next() % most) as u8).collect();
        let half = |rng: &mut Random| f16::from_f32(rng.float()).to_f32();
        let scales: Vec<f32> = (0..rows * groups).map(|_| half(&mut rng)).collect();
        let minima: Vec<f32> = (0..rows * groups).map(|_| half(&mut rng)).collect();
        let source = Source::Codes { codes: &codes, scales: &scales, minima: &minima };
        let packed = round_trip(source, format, rows, cols).unwrap();
        for (i, &w) in packed.iter().enumerate() {
            let g = i / cols * groups + i % cols / format.group;
            assert_eq!(w, scales[g] * f32::from(codes[i]) + minima[g]);
        }
    }
}

#[test]
fn floats_round_to_within_half_a_step() {
    let mut rng = Random(5);
    for format in [Format::INT8_32, Format::INT8_64, Format::INT4_SYM_32, Format::INT4_MIN_32, Format::INT4_MIN_64] {
        for (rows, cols) in [(1, 1), (5, 31), (16, 80), (40, 129)] {
            let w: Vec<f32> = (0..rows * cols).map(|_| rng.float()).collect();
            let packed = round_trip(Source::F32(&w), format, rows, cols).unwrap();
            let steps = if format.minimum == Minimum::Stored { 2.0 * format.zero() - 1.0 } else { format.zero() - 1.0 };
            // Weights lie in [-1, 1]; scales are rounded to f16, hence a little more than half a step.
            let range = if format.minimum == Minimum::Stored { 2.0 } else { 1.0 };
            let tolerance = 0.52 * range / steps + 1e-3;
            for (a, b) in w.iter().zip(&packed) {
                assert!((a - b).abs() <= tolerance, "{format} {a} {b}");
            }
        }
    }
}

#[test]
fn wrong_lengths_and_damaged_weights_are_errors() {
    let pool = Pool::new(1).unwrap();
    let new = |rows, cols, format| Packer::new(&mut Arena::default(), format, rows, cols);
    assert!(new(0, 32, Format::INT8_32).is_err());
    assert!(new(1, 0, Format::INT8_32).is_err());
    assert!(new(1, 32, Format { group: 48, ..Format::INT8_32 }).is_err());
    assert!(new(2, 32, Format::INT8_32).unwrap().append(Source::F32(&[0.0; 63]), 2, &pool).is_err());
    assert!(new(2, 32, Format::INT8_32).unwrap().append(Source::F32(&[0.0; 96]), 3, &pool).is_err());
    assert!(new(2, 32, Format::INT8_32).unwrap().append(Source::F32(&[f32::NAN; 64]), 2, &pool).is_err());
    assert!(new(2, 32, Format::INT8_32).unwrap().append(Source::F32(&[f32::MAX; 64]), 2, &pool).is_err());
    assert!(new(1, 32, Format::INT4_MIN_32).unwrap().append(Source::Q4_1(&[0xff; 20]), 1, &pool).is_err());
    assert!(new(1, 48, Format::INT4_MIN_32).unwrap().append(Source::Q4_1(&[0; 30]), 1, &pool).is_err());
    assert!(new(1, 32, Format::INT4_SYM_32).unwrap().append(Source::Q4_1(&[0; 20]), 1, &pool).is_err());
    assert!(new(2, 32, Format::INT8_32).unwrap().finish().is_err());
    let codes = Source::Codes { codes: &[16; 32], scales: &[1.0], minima: &[0.0] };
    assert!(new(1, 32, Format::INT4_MIN_32).unwrap().append(codes, 1, &pool).is_err());
}
