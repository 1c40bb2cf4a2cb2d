use std::fs;
use std::path::PathBuf;

use windage_model::DoubtCode;
use windage_record::{Entry, JournalWriter, Timing};

use super::*;
use crate::fixture::written::{Written, of_every_kind, times, under_loads, written};
use crate::fixture::{launch, window};
use crate::{Analysis, analyse, detail, keeping, of_run_directory};

const KEEPS: Leave = Leave::GatheredFrom(1);

fn file(run: &RunDir) -> PathBuf {
    run.path().join("quantiles.bin")
}

/// Not a number is not equal to itself.
fn shown(run: &RunDir, leave: Leave) -> [String; 2] {
    let analysis = analyse::concluded(run, leave).unwrap();
    let detailed = detail::detailed_of(run, leave).unwrap();
    [format!("{analysis:?}"), format!("{detailed:?}")]
}

#[test]
fn what_is_concluded_is_the_same_with_what_was_kept() {
    for (recorded, is_timed, why) in of_every_kind() {
        let Written { run, _folder } = written(&recorded, is_timed);
        let expected = shown(&run, Leave::AsItWas);
        assert!(!file(&run).exists(), "{why}: who reads leaves nothing");
        assert_eq!(shown(&run, KEEPS), expected, "{why}: as it is kept");
        assert!(found(&run).is_some(), "{why}");
        assert_eq!(
            shown(&run, Leave::AsItWas),
            expected,
            "{why}: as it is found"
        );
        assert_eq!(shown(&run, KEEPS), expected, "{why}: and again");
    }
}

/// Logs that can't be unpacked, under the checksums of those that could.
#[test]
fn what_was_kept_spares_the_logs() {
    let Written { run, _folder } = written(&under_loads(2), true);
    let expected = shown(&run, KEEPS);
    let kept = run.kept().unwrap();
    for timing in Timing::ALL {
        let path = run.path().join(timing.file_name());
        let log = fs::read_to_string(&path).unwrap();
        fs::write(&path, log.replace("HISTF", "GONE_")).unwrap();
    }
    assert!(found(&run).is_none(), "they are others");
    assert_ne!(shown(&run, Leave::AsItWas), expected);
    run.keep(kept).unwrap();
    assert_eq!(shown(&run, Leave::AsItWas), expected);
}

/// Whoever gathers otherwise has to say so: what the same version has kept is taken for what it would
/// gather now.
#[test]
fn what_is_gathered_is_what_its_format_says() {
    let [_, _, (void_windows, ..), ..] = of_every_kind();
    let Written { run, _folder } = written(&void_windows, true);
    shown(&run, KEEPS);
    let stored = fs::read(file(&run)).unwrap();
    let format = u32::from_le_bytes(stored[8..12].try_into().unwrap());
    let [response_times, _] = &run.kept().unwrap().loads[0];
    // Logarithms may differ in their last bits where the machine has others.
    let rounded = |(launch, ratios): &(u32, Vec<f64>)| {
        let ratios = ratios.iter().map(|ratio| format!("{ratio:.9}"));
        (*launch, ratios.collect::<Vec<_>>())
    };
    let of_track = |track: &windage_record::KeptTrack| {
        let ratios = track.ratios.iter();
        let ratios: Vec<Vec<_>> = ratios
            .map(|arm| arm.iter().map(rounded).collect())
            .collect();
        (track.quantile, ratios)
    };
    let tracks: Vec<_> = response_times.tracks.iter().map(of_track).collect();
    let gathered = format!("{tracks:?} {:?}", response_times.whole);
    assert_eq!(
        (format, crc32fast::hash(gathered.as_bytes())),
        (1, 0x817c_d81c),
        "what is gathered is another: raise FORMAT in windage-record's kept.rs, and put both here"
    );
}

#[test]
fn a_run_that_went_on_is_gathered_anew() {
    let Written { run, _folder } = written(&under_loads(1), true);
    let before = shown(&run, KEEPS);
    let kept = fs::read(file(&run)).unwrap();
    let (mut writer, _) = JournalWriter::append_to(&run).unwrap();
    let mut push = |entry| writer.push(&entry).unwrap();
    push(Entry::LaunchStarted(launch(4, &[0, 1, 2])));
    for (position, arm) in (0..).zip([0, 1, 2, 2, 1, 0]) {
        let mut window = window(4, 40, arm);
        window.place.position = position;
        let times = times(&window, 1_000);
        writer.window(&window, &times, &times).unwrap();
    }
    writer.commit_block(40).unwrap();
    let while_written = shown(&run, KEEPS);
    assert_ne!(while_written, before);
    let state = || keeping::concluded(&run).unwrap().0;
    assert_eq!(state(), RunState::GoingOn);
    assert_eq!(fs::read(file(&run)).unwrap(), kept, "more may come");
    drop(writer);
    assert_eq!(
        state(),
        RunState::BrokenOff,
        "no end is behind the new block"
    );
    let expected = shown(&run, Leave::AsItWas);
    assert_eq!(shown(&run, KEEPS), expected);
    assert_ne!(fs::read(file(&run)).unwrap(), kept);
    assert_eq!(shown(&run, Leave::AsItWas), expected);
}

#[test]
fn records_of_kinds_that_are_not_known_yet_are_told() {
    let Written { run, _folder } = written(&under_loads(2), false);
    let doubts = || {
        let analysis = of_run_directory(&run).unwrap();
        let of = |analysis: &Analysis| {
            let mut reasons = analysis.validity.reasons.iter();
            let found = reasons.find(|doubt| doubt.code == DoubtCode::RecordsUnknown);
            found.map(|doubt| doubt.evidence["records"].clone())
        };
        analysis.regimes().map(of).collect::<Vec<_>>()
    };
    assert_eq!(doubts(), [None, None]);
    let path = run.path().join("journal.bin");
    let mut journal = fs::read(&path).unwrap();
    for payload in [b"one", b"two"] {
        let mut newer = vec![3, 0, 0, 0, 99, 1];
        newer.extend(payload);
        newer.extend(crc32fast::hash(&newer).to_le_bytes());
        journal.extend(newer);
    }
    fs::write(&path, journal).unwrap();
    assert_eq!(doubts(), [(); 2].map(|()| Some(2.0.into())));
}

#[test]
fn what_is_kept_of_other_arms_or_quantiles_is_not_used() {
    let Written { run, _folder } = written(&under_loads(1), true);
    let expected = shown(&run, KEEPS);
    let sound = run.kept().unwrap();
    let table: [(fn(&mut windage_record::KeptTimes), _); 8] = [
        (|of| drop(of.tracks.pop()), "a quantile less"),
        (|of| of.tracks[3].quantile = 0.98, "another quantile"),
        (|of| drop(of.tracks[1].ratios.pop()), "an arm less"),
        (|of| drop(of.whole.pop()), "an arm without times"),
        (|of| of.whole[0][0].0 = 1 << 16, "a counter that is none"),
        (|of| of.whole[0].reverse(), "counters that fall"),
        (|of| of.tracks[0].ratios[2].reverse(), "launches that fall"),
        (|of| of.tracks[0].ratios[2][0].1[0] = f64::NAN, "no number"),
    ];
    for (damage, why) in table {
        let mut other = sound.clone();
        damage(&mut other.loads[0][1]);
        run.keep(other).unwrap();
        assert!(found(&run).is_none(), "{why}");
        assert_eq!(shown(&run, Leave::AsItWas), expected, "{why}");
    }
}

#[test]
fn short_runs_and_places_that_take_nothing_are_left_alone() {
    let Written { run, _folder } = written(&under_loads(1), true);
    let expected = of_run_directory(&run).unwrap();
    let short = keeping::of_run_directory(&run).unwrap();
    assert_eq!(format!("{short:?}"), format!("{expected:?}"));
    assert!(!file(&run).exists(), "240 windows");
    // A directory can't be replaced by a file.
    fs::create_dir(file(&run)).unwrap();
    let (_, unkept) = analyse::concluded(&run, KEEPS).unwrap();
    assert_eq!(format!("{unkept:?}"), format!("{expected:?}"));
    assert!(file(&run).is_dir());
}
