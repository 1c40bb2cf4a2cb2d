//! The dependencies allowed between the crates, as drawn in ARCHITECTURE.md.

use std::process::Command;

use serde_json::Value;

/// A crate and the workspace crates that it may depend on. Test dependencies are not checked.
/// `windage`, the binary, may use all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("windage-model", &[]),
    ("windage-files", &[]),
    // For tests alone.
    ("windage-schema", &[]),
    ("windage-cluster", &["windage-files"]),
    ("windage-keeper", &["windage-files", "windage-model"]),
    ("windage-load", &["windage-model"]),
    ("windage-plan", &["windage-model"]),
    ("windage-probe", &["windage-model"]),
    ("windage-profile", &[]),
    ("windage-record", &["windage-files", "windage-model"]),
    ("windage-sink", &["windage-files", "windage-model"]),
    ("windage-stats", &["windage-model"]),
    (
        "windage-analysis",
        &[
            "windage-model",
            "windage-profile",
            "windage-record",
            "windage-stats",
        ],
    ),
    (
        "windage-lab",
        &[
            "windage-cluster",
            "windage-files",
            "windage-model",
            "windage-keeper",
            "windage-load",
            "windage-plan",
            "windage-probe",
            "windage-profile",
            "windage-record",
            "windage-sink",
        ],
    ),
    // Raw records as tables: it computes nothing, so it needs no analysis.
    ("windage-export", &["windage-model", "windage-record"]),
    ("windage-report", &["windage-model", "windage-analysis"]),
    // Reads analysis.json like any other program.
    ("windage-history", &["windage-stats"]),
    (
        "windage-serve",
        &[
            "windage-model",
            "windage-analysis",
            "windage-history",
            "windage-record",
            "windage-report",
        ],
    ),
    // Whatever parses what others wrote.
    (
        "windage-fuzz-targets",
        &[
            "windage-load",
            "windage-plan",
            "windage-probe",
            "windage-profile",
            "windage-record",
            "windage-serve",
            "windage-sink",
        ],
    ),
    // The demo and calibration services are subjects like any other and do not use Windage.
    ("windage-demo", &[]),
    ("windage-calibration", &[]),
    // Nor do the truth servers and the floor loop (references for the generator), the receiver
    // (reference for the sink), and the origin behind the proxies.
    ("truth", &[]),
    ("floor", &[]),
    ("discard", &[]),
    ("origin", &[]),
    // Reads what `windage report --json` prints, pools what `windage calibrate --json` does, and
    // looks for what killed runs have left and lost.
    (
        "xtask",
        &[
            "windage-analysis",
            "windage-keeper",
            "windage-model",
            "windage-probe",
            "windage-record",
            "windage-stats",
        ],
    ),
];

#[test]
fn crates_use_only_the_crates_below_them() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 5, "cargo metadata lists too few packages");
    let wrong: Vec<String> = packages.iter().flat_map(wrong_arrows).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_forbidden_dependency_is_found() {
    let dependency = |name: &str, kind: Value| serde_json::json!({ "name": name, "kind": kind });
    let table = [
        ("windage-model", dependency("serde", Value::Null), 0),
        ("windage-stats", dependency("windage-model", Value::Null), 0),
        ("windage-stats", dependency("windage-load", Value::Null), 1),
        ("windage-stats", dependency("windage-load", "dev".into()), 0),
        (
            "windage-stats",
            dependency("windage-load", "build".into()),
            1,
        ),
        ("windage-lab", dependency("windage-report", Value::Null), 1),
        ("windage", dependency("windage-report", Value::Null), 0),
        ("windage-unheard-of", dependency("serde", Value::Null), 1),
    ];
    for (package, dependency, expected) in table {
        let package = serde_json::json!({ "name": package, "dependencies": [dependency] });
        assert_eq!(wrong_arrows(&package).len(), expected, "{package}");
    }
}

fn wrong_arrows(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap();
    if name == "windage" {
        return Vec::new();
    }
    let Some((_, allowed)) = MAY_USE.iter().find(|(user, _)| *user == name) else {
        return vec![format!(
            "{name} has no row in MAY_USE; add one with the crates that it may use"
        )];
    };
    let dependencies = package["dependencies"].as_array().unwrap();
    dependencies
        .iter()
        .filter(|dependency| dependency["kind"] != "dev")
        .map(|dependency| dependency["name"].as_str().unwrap())
        .filter(|used| used.starts_with("windage") && !allowed.contains(used))
        .map(|used| format!("{name} must not use {used}"))
        .collect()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--locked",
            "--no-deps",
            "--format-version=1",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}
