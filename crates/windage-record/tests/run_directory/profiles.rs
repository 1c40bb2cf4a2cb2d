//! Profiles in a run directory.

use std::fs;

use windage_model::ArmId;
use windage_record::{ProfileFailure, Profiled, RecordError, RecordedProfile, RunDir};

use crate::samples::manifest;

fn profile(arm: &str, regime: Option<&str>) -> RecordedProfile {
    RecordedProfile {
        regime: regime.map(str::to_owned),
        arm: ArmId::from_text(arm).unwrap(),
        profiler: "py-spy".to_owned(),
        version: Some("py-spy 0.4.3".to_owned()),
        rate_hz: 250,
        outcome: Ok(Profiled {
            lasts_ns: 5_000_000_000,
            iterations: 4000,
            cpu_ns: Some(4_900_000_000),
            malformed_lines: 1,
            beyond_limit: 0,
            collapsed: "main;span 7\nmain;work 90\n".to_owned(),
        }),
    }
}

fn failed(arm: &str) -> RecordedProfile {
    RecordedProfile {
        version: None,
        outcome: Err(ProfileFailure {
            text: "py-spy may not attach".to_owned(),
            remedy: "run windage as root".to_owned(),
        }),
        ..profile(arm, None)
    }
}

fn run() -> (tempfile::TempDir, RunDir) {
    let dir = tempfile::tempdir().unwrap();
    let host = serde_json::Value::Null;
    let run = RunDir::create(dir.path().join("run"), &manifest(), "", "", &host).unwrap();
    (dir, run)
}

#[test]
fn profiles_round_trip() {
    let (_dir, run) = run();
    assert_eq!(run.profiles().unwrap(), [], "a run may have none");
    let written = [
        failed("baseline"),
        profile("otel", None),
        profile("otel", Some("at 90 %")),
    ];
    for profile in written.iter().rev() {
        run.write_profile(profile).unwrap();
    }
    let mut found = run.profiles().unwrap();
    found.sort_by_key(|profile| (profile.arm.clone(), profile.regime.clone()));
    assert_eq!(found, written);
    assert!(!run.path().join("profiles/baseline.collapsed").exists());
    assert!(
        run.path()
            .join("profiles/at~2090~20~25+otel.collapsed")
            .exists()
    );
}

#[test]
fn a_profile_can_be_replaced_and_have_a_picture() {
    let (_dir, run) = run();
    run.write_profile(&failed("otel")).unwrap();
    let taken = profile("otel", None);
    run.write_profile(&taken).unwrap();
    let picture = run.write_beside_profile(&taken, "svg", b"<svg/>").unwrap();
    assert_eq!(run.profiles().unwrap(), [taken]);
    assert_eq!(fs::read(picture).unwrap(), b"<svg/>");
    assert_eq!(
        fs::read_dir(run.path().join("profiles")).unwrap().count(),
        3
    );
}

#[test]
fn invalid_profiles_are_reported_with_their_file() {
    let whole = r#"{"format":1,"windage":"0.1.0","regime":null,"arm":"otel","profiler":"perf",
        "version":null,"rate_hz":99,"profiled":null,"failure":{"text":"t","remedy":"r"}}"#;
    let table = [
        ("{", "EOF"),
        ("{\"format\":1}", "windage"),
        (&whole.replace("\"otel\"", "\"O tel\""), "is not an arm id"),
        (
            &whole.replace("{\"text\":\"t\",\"remedy\":\"r\"}", "null"),
            "exactly one of",
        ),
    ];
    for (json, why) in table {
        let (_dir, run) = run();
        fs::create_dir(run.path().join("profiles")).unwrap();
        fs::write(run.path().join("profiles/otel.json"), json).unwrap();
        let error = run.profiles().unwrap_err().to_string();
        assert!(
            error.contains("profiles/otel.json") && error.contains(why),
            "{error}"
        );
    }
    let (_dir, run) = run();
    fs::create_dir(run.path().join("profiles")).unwrap();
    let newer = whole.replace("\"format\":1", "\"format\":2,\"more\":true");
    fs::write(run.path().join("profiles/otel.json"), newer).unwrap();
    let error = run.profiles().unwrap_err();
    assert!(
        matches!(
            error,
            RecordError::OtherFormat {
                found: 2,
                known: "format 1",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn missing_stacks_are_reported() {
    let (_dir, run) = run();
    run.write_profile(&profile("otel", None)).unwrap();
    fs::remove_file(run.path().join("profiles/otel.collapsed")).unwrap();
    let error = run.profiles().unwrap_err().to_string();
    assert!(error.contains("profiles/otel.collapsed"), "{error}");
}
