//! The file host: blocks, alignment, events and the output file.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::super::host::PlaybackEvent;
use super::super::wav;
use super::*;

const VOICE: VoiceFormat = VoiceFormat { sample_rate: 22_050 };
static GO: AtomicBool = AtomicBool::new(false);

fn open(host: FileHost) -> Streams {
    Box::new(host).open(VOICE).unwrap()
}

/// Reads blocks up to position `end`.
fn listen(streams: &mut Streams, end: SamplePos) -> Vec<Captured> {
    let mut blocks = Vec::new();
    while blocks.last().is_none_or(|b: &Captured| b.end() < end) {
        blocks.push(streams.microphone.read().unwrap());
    }
    blocks
}

#[test]
fn the_recording_comes_first_and_silence_follows_until_stopped() {
    let samples: Vec<f32> = (0..1000).map(|i| i as f32 / 1000.0).collect();
    let mut streams = open(FileHost::new(Samples::from(samples.clone())).pace(Pace::Fast));
    let blocks = listen(&mut streams, 3200);
    for (i, block) in blocks.iter().enumerate() {
        assert_eq!((block.at, block.near.len()), (i as u64 * 160, 160));
        assert!(block.far.is_empty(), "nothing was played");
    }
    let heard: Vec<f32> = blocks.into_iter().flat_map(|b| b.near).collect();
    assert_eq!(heard[..1000], samples);
    assert!(heard[1000..].iter().all(|s| *s == 0.0));
    assert_eq!(streams.devices.try_recv(), Ok(DeviceEvent::InputEnded { at: 1000 }));
    streams.handle.stop();
    while streams.microphone.read().is_some() {}
    let report = streams.handle.join().unwrap();
    assert_eq!((report.underruns, report.overrun_samples), (0, 0));
}

#[test]
fn the_output_is_aligned_with_the_input_and_the_account() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.wav");
    let mut streams = open(FileHost::new(Samples::from(vec![0.0; 160])).pace(Pace::Fast).output(&path));
    listen(&mut streams, 8000);
    assert_eq!(streams.speaker.play(1, &[0.5; 22_050], &GO), super::super::Queued::Yes);
    assert_eq!(streams.speaker.finish(1, &GO), super::super::Queued::Yes);
    let far: Vec<f32> = listen(&mut streams, 40_000)
        .into_iter()
        .flat_map(|b| if b.far.is_empty() { vec![0.0; b.near.len()] } else { b.far })
        .collect();
    streams.handle.stop();
    while streams.microphone.read().is_some() {}
    streams.handle.join().unwrap();

    let events: Vec<_> = streams.playback.try_iter().filter(|e| !matches!(e, PlaybackEvent::Progress { .. })).collect();
    let [
        PlaybackEvent::Started { turn: 1, at: started },
        PlaybackEvent::FirstAudio { turn: 1, at: audible },
        PlaybackEvent::Drained { turn: 1, played: 22_050, at: drained },
    ] = events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(started, audible);
    assert!((8000..8640).contains(&started), "started at {started}");
    assert!(drained.abs_diff(started + 16_000) <= 1);

    let mut reader = wav::Reader::open(&path).unwrap();
    assert_eq!(reader.format().sample_rate, 22_050);
    let mut out = Vec::new();
    while reader.read(&mut out).unwrap() > 0 {}
    assert!(out.len() as u64 >= 40_000 * 22_050 / 16_000);
    let first = out.iter().position(|s| s.abs() > 0.01).unwrap() as f64 / 22_050.0;
    let last = out.iter().rposition(|s| s.abs() > 0.01).unwrap() as f64 / 22_050.0;
    assert!((first - started as f64 / 16_000.0).abs() < 1e-4, "{first} s in the file, {started} in the account");
    assert!((last - drained as f64 / 16_000.0).abs() < 1e-4, "{last} s in the file, {drained} in the account");

    // The reference for echo cancelling lies at the same place.
    let first = 8000 + far.iter().position(|s| s.abs() > 0.25).unwrap() as u64;
    assert!(first.abs_diff(started) <= 1, "reference at {first}, played at {started}");
    let last = 8000 + far.iter().rposition(|s| s.abs() > 0.25).unwrap() as u64;
    assert!(last.abs_diff(drained) <= 2, "reference ends at {last}, played until {drained}");
}

#[test]
fn a_slow_pipeline_loses_audio_but_not_the_clock() {
    // The whole channel and a second more: nobody reads while the clock runs as fast as it can be made to.
    let (blocks, blocks_out) = bounded(10);
    let (devices, devices_out) = bounded(64);
    let (_speaker, player, account) = Player::new(16_000);
    let (monitor, _playback) = Monitor::new(account, 16_000);
    let mut machine = Machine {
        input: None,
        writer: None,
        player,
        monitor,
        blocks,
        devices,
        stop: Arc::default(),
        pace: Pace::RealTime,
        now: 0,
        rendered: 0,
        lost: 0,
        report: HostReport::default(),
        rendering: Vec::new(),
    };
    for _ in 0..15 {
        assert!(machine.deliver(vec![0.5; BLOCK], Vec::new()));
        machine.now += BLOCK as u64;
    }
    let early: Vec<Captured> = blocks_out.try_iter().collect();
    assert_eq!(early.len(), 10);
    assert!(machine.deliver(vec![0.5; BLOCK], Vec::new()));
    let late = blocks_out.recv().unwrap();
    assert_eq!((late.at, late.end()), (1600, 2560));
    assert_eq!((&late.near[..800], &late.near[800..]), (&[0.0; 800][..], &[0.5; 160][..]));
    assert_eq!(devices_out.try_recv(), Ok(DeviceEvent::Overrun { at: 1600, len: 800 }));
    assert_eq!(machine.report.overrun_samples, 800);
    drop(blocks_out);
    assert!(!machine.deliver(vec![0.5; BLOCK], Vec::new()), "goes on without a pipeline");
}

#[test]
fn real_time_is_neither_faster_nor_stopped_by_a_pipeline_that_does_not_read() {
    let mut streams = open(FileHost::new(Samples::from(vec![0.1; 1600])));
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    streams.handle.stop();
    let mut blocks = 0;
    while streams.microphone.read().is_some() {
        blocks += 1;
    }
    let elapsed = start.elapsed().as_millis() as u64;
    assert!(blocks * 10 <= elapsed, "{blocks} blocks of 10 ms after {elapsed} ms");
    assert!(blocks > 0);
}

#[test]
fn dropping_the_streams_stops_the_host_and_completes_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.wav");
    for pace in [Pace::Fast, Pace::RealTime] {
        let mut streams = open(FileHost::new(Samples::from(vec![0.1; 160])).pace(pace).output(&path));
        listen(&mut streams, 320);
        assert!(!path.exists());
        drop(streams);
        assert!(wav::Reader::open(&path).unwrap().frames_left().unwrap() > 0);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn files_that_cannot_be_used_are_named_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("a.wav");
    std::fs::write(&text, "no audio").unwrap();
    assert!(FileHost::open(&text).unwrap_err().to_string().contains("not a WAV"));
    let host = FileHost::new(Samples::from(vec![])).output(&dir.path().join("missing/out.wav"));
    let error = Box::new(host).open(VOICE).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
}
