//! `manifest.json` and its neighbouring files.

use std::fs;

use proptest::prelude::*;
use windage_model::{ArmIndex, LevelValue, LoadModel, Order};
use windage_record::{RecordError, RunDir};

use crate::samples;

#[test]
fn a_run_opens_as_it_was_created() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("runs/7");
    let made = samples::create(&path);
    let run = RunDir::open(&path).unwrap();
    assert_eq!(run.manifest(), &samples::manifest());
    assert_eq!(run.manifest(), made.manifest());
    assert_eq!(
        fs::read_to_string(path.join("plan.toml")).unwrap(),
        "name = \"go-http\"\n"
    );
    assert_eq!(run.resolved_text().unwrap(), "seed = 1\n");
    assert_eq!(run.host().unwrap(), serde_json::json!({ "cores": 2 }));
    assert_eq!(
        run.log_path(0, "otel-1.0", "app"),
        path.join("logs/0+otel-1.0+app.log")
    );
    assert_eq!(run.work_dir(1, "off", "app"), path.join("work/1+off+app"));
    assert!(path.join("logs").is_dir() && path.join("work").is_dir());

    run.write_whole("analysis.json", b"{}").unwrap();
    assert_eq!(fs::read(path.join("analysis.json")).unwrap(), b"{}");
}

proptest! {
    #[test]
    fn manifests_round_trip(
        seed: u64,
        started_unix_ns: u64,
        rate in prop::option::of(0.0..1e9_f64),
        level in prop::num::f64::NORMAL,
        text in "\\PC{0,20}",
        model in prop::sample::select(vec![LoadModel::Open, LoadModel::Closed, LoadModel::Batch]),
        order in prop::sample::select(vec![Order::Mirrored, Order::Sequential]),
    ) {
        let mut manifest = samples::manifest();
        manifest.seed = seed;
        manifest.started_unix_ns = started_unix_ns;
        manifest.command = text.clone();
        manifest.load.model = model;
        manifest.load.rate_per_s = rate;
        manifest.design.order = order;
        let levels = &mut manifest.arms[2].levels;
        levels.insert("number".to_owned(), LevelValue::Number(level));
        levels.insert("text".to_owned(), LevelValue::Text(text.clone()));
        manifest.arms[2].agents = vec![text, "otel".to_owned()];
        manifest.arms[1].bystander_of = Some(ArmIndex(2));
        let dir = tempfile::tempdir().unwrap();
        RunDir::create(dir.path(), &manifest, "", "", &serde_json::Value::Null).unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        prop_assert_eq!(run.manifest(), &manifest);
    }
}

#[test]
fn a_file_of_another_version_is_read_or_named() {
    let dir = tempfile::tempdir().unwrap();
    samples::create(dir.path());
    let path = dir.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let table: [(&str, &str, &str, Option<&str>); 10] = [
        (
            "a field was added",
            "\"seed\"",
            "\"moon\": 4, \"seed\"",
            None,
        ),
        (
            "the format before, which only lacks records",
            "\"format\": 7",
            "\"format\": 6",
            None,
        ),
        (
            "the one before that",
            "\"format\": 7",
            "\"format\": 5",
            None,
        ),
        (
            "an older format",
            "\"format\": 7",
            "\"format\": 2",
            Some("is in format 2, as windage 0.1.0 wrote it"),
        ),
        (
            "a newer format",
            "\"format\": 7",
            "\"format\": 8",
            Some("use that version, or measure again"),
        ),
        ("not JSON", "{", "<", Some("is damaged")),
        (
            "not a time",
            "2025-11-20T",
            "yesterday ",
            Some("`started` is not a time"),
        ),
        (
            "not a metric",
            "\"cpu_per_request\"",
            "\"luck\"",
            Some("`luck` is not a metric"),
        ),
        (
            "not a backend",
            "\"slow 200ms\"",
            "\"asleep\"",
            Some("`asleep` is not a backend"),
        ),
        (
            "not an id",
            "\"off\"",
            "\"OFF,\"",
            Some("`OFF,` is not an arm id"),
        ),
    ];
    for (what, from, to, expected) in table {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{what}");
        fs::write(&path, changed).unwrap();
        let outcome = RunDir::open(dir.path()).map_err(|error| error.to_string());
        match (&outcome, expected) {
            (Ok(run), None) => assert_eq!(run.manifest(), &samples::manifest(), "{what}"),
            (Err(error), Some(part)) => {
                assert!(
                    error.contains(part) && error.contains("manifest.json"),
                    "{what}: {error}"
                );
            }
            _ => panic!("{what}: {outcome:?}"),
        }
    }
}

#[test]
fn several_loads_round_trip() {
    let mut made = samples::manifest();
    made.load.regime = Some("first".to_owned());
    let mut half = made.load.clone();
    (half.regime, half.rate_per_s) = (Some("half".to_owned()), Some(1000.0));
    made.other_loads = vec![half.clone()];
    made.design.rounds = 6;
    let dir = tempfile::tempdir().unwrap();
    let host = serde_json::json!({});
    RunDir::create(dir.path(), &made, "", "", &host).unwrap();
    let read = RunDir::open(dir.path()).unwrap();
    assert_eq!(read.manifest(), &made);

    let under_half = read.manifest().under_load(1);
    assert_eq!((under_half.load, under_half.design.rounds), (half, 3));
    assert_eq!(read.manifest().under_load(0).load, made.load);
}

#[test]
fn figures_that_json_cannot_hold_are_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut manifest = samples::manifest();
    manifest.arms[2]
        .levels
        .insert("sampling".to_owned(), LevelValue::Number(f64::NAN));
    let error = RunDir::create(&path, &manifest, "", "", &serde_json::Value::Null).unwrap_err();
    assert!(matches!(error, RecordError::NotFinite { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("the level of sampling in arm otel-sampling-0.1 ")
    );
    assert!(!path.exists());
}
