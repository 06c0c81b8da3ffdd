//! Tables of frame probabilities and levels, and the segments they must give.

use super::*;

/// First frame of a segment, and one past its last if it ended.
type Frames = (u64, Option<u64>);

/// One character a frame: `#` loud and sure, `s` audible but unsure (an "s", a breath), `~` loud and undecided,
/// `o` loud and likely, but never sure, `.` silence.
fn segments(frames: &str, config: &VadConfig) -> Vec<Frames> {
    let mut segmenter = Segmenter::new(config.clone());
    let mut events = Vec::new();
    for kind in frames.chars() {
        let (prob, level) = match kind {
            '#' => (0.9, -20.0),
            's' => (0.2, -40.0),
            '~' => (0.4, -25.0),
            'o' => (0.6, -25.0),
            '.' => (0.02, -70.0),
            other => panic!("no frame kind {other}"),
        };
        segmenter.step(prob, &[Dbfs(level); BLOCKS], &mut events);
    }
    let mut segments = Vec::new();
    for event in events {
        match event {
            VadEvent::SpeechStart { at } => segments.push((at.0 / 512, None)),
            VadEvent::SpeechEnd { at } => segments.last_mut().expect("an end follows a start").1 = Some(at.0 / 512),
            VadEvent::Frame { .. } => {}
        }
    }
    segments
}

#[test]
fn finds_segments() {
    let config = VadConfig::default(); // onset 2 frames, hangover 3, back-dating 5
    let cases: [(&str, &str, &[Frames]); 13] = [
        ("silence", "............", &[]),
        ("one click is no speech", "....#.....", &[]),
        ("two frames are", "....##......", &[(4, Some(6))]),
        ("still on", "....#####.", &[(4, None)]),
        ("a gap below the hangover does not split", "..###..###....", &[(2, Some(10))]),
        ("a gap of the hangover does", "..###...###....", &[(2, Some(5)), (8, Some(11))]),
        ("an undecided frame stands for the last verdict", "..##~~##....", &[(2, Some(8))]),
        ("undecided frames alone are no speech", "..~~~~~~....", &[]),
        ("likely speech is no onset while it is short", "...oooo.....", &[]),
        ("but is one when it lasts", "...oooooooo.....", &[(3, Some(11))]),
        ("or when a sure frame is among it", "...oo#.....", &[(3, Some(6))]),
        ("unvoiced beginning and end are included", "....ss####s....", &[(4, Some(11))]),
        ("back-dating has an end", "..ssssssssss###....", &[(7, Some(15))]),
    ];
    for (name, frames, expected) in cases {
        assert_eq!(segments(frames, &config), expected, "{name}: {frames}");
    }
}

#[test]
fn dates_within_the_frame() {
    // The onset lies in the third block of the first confident frame, the end in the second of the last.
    let mut segmenter = Segmenter::new(VadConfig::default());
    let mut events = Vec::new();
    let (quiet, loud) = (Dbfs(-70.0), Dbfs(-20.0));
    for _ in 0..10 {
        segmenter.step(0.0, &[quiet; BLOCKS], &mut events);
    }
    segmenter.step(0.8, &[quiet, quiet, loud, loud], &mut events);
    segmenter.step(0.9, &[loud; BLOCKS], &mut events);
    segmenter.step(0.9, &[loud, loud, quiet, quiet], &mut events);
    // Silero's probability stays up for a frame behind the end.
    segmenter.step(0.6, &[quiet; BLOCKS], &mut events);
    assert_eq!(segmenter.last_speech(), Some(SamplePos(12 * 512 + 2 * 128)));
    for _ in 0..3 {
        segmenter.step(0.0, &[quiet; BLOCKS], &mut events);
    }
    let ends: Vec<_> = events.iter().filter(|e| !matches!(e, VadEvent::Frame { .. })).collect();
    let (at, end) = (SamplePos(10 * 512 + 2 * 128), SamplePos(12 * 512 + 2 * 128));
    assert_eq!(ends, [&VadEvent::SpeechStart { at }, &VadEvent::SpeechEnd { at: end }]);
    assert_eq!(segmenter.last_speech(), Some(end));
}

#[test]
fn segments_never_overlap_and_the_last_one_is_closed() {
    // Every sequence of six frames of three kinds, thrice in a row.
    for code in 0..3_u32.pow(6) {
        let mut segmenter = Segmenter::new(VadConfig::default());
        let mut events = Vec::new();
        for i in 0..18 {
            let (prob, level) = [(0.0, -70.0), (0.9, -20.0), (0.4, -30.0)][(code / 3_u32.pow(i % 6) % 3) as usize];
            segmenter.step(prob, &[Dbfs(level); BLOCKS], &mut events);
        }
        segmenter.finish(&mut events);
        let mut before = SamplePos(0);
        let mut open = false;
        for event in &events {
            let (at, starts) = match *event {
                VadEvent::Frame { .. } => continue,
                VadEvent::SpeechStart { at } => (at, true),
                VadEvent::SpeechEnd { at } => (at, false),
            };
            assert!(at >= before && starts != open, "{code}: {events:?}");
            assert!(at.0 <= 18 * 512, "{code}: {events:?}");
            (before, open) = (at, starts);
        }
        assert!(!open, "{code}");
    }
}
