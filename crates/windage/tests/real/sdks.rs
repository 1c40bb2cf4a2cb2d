//! Tracers within a program: `experiments/python-sqlite`, shortened, programs that break the
//! protocol of batch programs, and the environments that Python programs need.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use windage_analysis::wire::{self, AnalysisWire, ArmWire, EvidenceWire};

use crate::measurements::{arm, fidelity};
use crate::workshop::{Ended, Workshop};
use crate::{alone, experiment};

/// The root folder of the project.
pub(crate) fn root() -> PathBuf {
    experiment("..").canonicalize().unwrap()
}

/// Runs one of the plans of `experiments/python-sqlite` from elsewhere, cut off where `cut` begins;
/// the environment is the one beside the plan.
fn measured(name: &str, cut: &str) -> AnalysisWire {
    let _alone = alone();
    let shop = Workshop::new();
    let folder = experiment("python-sqlite").canonicalize().unwrap();
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let (kept, _) = text.split_once(cut).unwrap_or((&text, ""));
    let plan = without_claims(kept)
        .replace("../../", &format!("{}/", root().display()))
        .replace(".venv", &folder.join(".venv").display().to_string())
        // A sink that stalls for a moment must not cost spans.
        .replace(
            "[service.env]",
            "[service.env]\nOTEL_BSP_MAX_QUEUE_SIZE = '65536'\nOTEL_BLRP_MAX_QUEUE_SIZE = '65536'",
        )
        // Launches take longer than everything else.
        .replace("[1.0, 0.5, 0.1, 0.05, 0.0]", "[1.0, 0.0]");
    shop.write("plan.toml", &plan);
    let args = ["run", "plan.toml", "--for", "4s", "--rounds", "1"];
    let to = ["--out", &shop.run, "--json"];
    let ended = shop.windage(&[&args[..], &to].concat());
    ended.code(0).analysis()
}

/// A plan without its claims, which stand before the design: some are about levels that are left out.
fn without_claims(plan: &str) -> String {
    let (before, claims) = plan.split_once("[[claim]]").unwrap();
    let (_, design) = claims.split_once("[design]").unwrap();
    format!("{before}[design]{design}")
}

fn us_an_iteration(arm: &ArmWire) -> f64 {
    arm.metrics["cpu_per_iteration"].arm.unwrap()
}

/// Checks that everything expected arrived, and that it was not close to nothing.
fn assert_whole(arm: &ArmWire) {
    let fidelity = fidelity(arm);
    assert_eq!(fidelity.of, "spans", "{fidelity:?}");
    let delivered = fidelity.delivered as f64;
    assert_eq!(Some(delivered), fidelity.expected, "{fidelity:?}");
    assert!(delivered > 1000.0, "{fidelity:?}");
}

#[test]
fn tracers_of_python_deliver_every_span_and_cost() {
    // Profiles take long, however little is measured.
    let analysis = measured("tracers.toml", "[profile]");
    let none = us_an_iteration(arm(&analysis, "none"));
    for id in ["otel-otlp-http", "otel-otlp-grpc", "ddtrace-agent"] {
        assert_whole(arm(&analysis, id));
    }
    for arm in &analysis.under_first_load.arms {
        let (id, us) = (arm.id.as_str(), us_an_iteration(arm));
        if id == "none" || id == "control" {
            assert!((10.0..1000.0).contains(&us), "{id}: {us} µs");
        } else {
            // 23 spans of at least 10 µs for 22 statements of 3 µs.
            assert!(us > 2.0 * none, "{id}: {us} µs, {none} without");
        }
    }
}

#[test]
fn events_and_log_records_of_python_are_counted() {
    let analysis = measured("events.toml", "[profile]");
    assert_whole(arm(&analysis, "spans"));
    let events = |id: &str| fidelity(arm(&analysis, id)).events.as_ref().unwrap();
    let all = events("events-sampling-1.0");
    assert_eq!(Some(all.delivered as f64), all.expected);
    assert!(all.delivered > 1000, "{all:?}");
    let none = events("events-sampling-0.0");
    assert_eq!(none.delivered, 0, "{none:?}");
    let records = fidelity(arm(&analysis, "records"))
        .records
        .as_ref()
        .unwrap();
    assert_eq!(Some(records.delivered as f64), records.expected);
    assert!(records.delivered > 1000, "{records:?}");
}

const LANGUAGES: &str = r#"
name = 'languages'

[build]
commands = ['go build -o batch-go BATCH/batch.go', 'javac -d . BATCH/Batch.java']

[[service]]
name    = 'program'
command = ['python3', 'BATCH/batch.py']

[load]
model      = 'batch'
batch      = 'resident'
iterations = 20

[[arm]]
name     = 'python'
baseline = true

[[arm]]
name    = 'sh'
command = { program = ['sh', 'BATCH/batch.sh'] }

[[arm]]
name    = 'node'
command = { program = ['node', 'BATCH/batch.mjs'] }

[[arm]]
name    = 'go'
command = { program = ['./batch-go'] }

[[arm]]
name    = 'java'
command = { program = ['sh', '-c', 'exec java -cp . Batch <&"$WINDAGE_CONTROL_FD" >&"$WINDAGE_CONTROL_FD"'] }

[design]
rounds = 1
blocks = 2
drain  = '10ms'
idle   = '10ms'
"#;

#[test]
fn the_protocol_is_spoken_in_every_language() {
    let _alone = alone();
    let shop = Workshop::new();
    let batch = root().join("subjects/batch").display().to_string();
    shop.write("plan.toml", &LANGUAGES.replace("BATCH", &batch));
    let args = ["run", "plan.toml", "--out", &shop.run, "--json"];
    let analysis = shop.windage(&args).code(0).analysis();
    for id in ["python", "sh", "node", "go", "java"] {
        let us = us_an_iteration(arm(&analysis, id));
        assert!(us > 0.0, "{id}: {us} µs");
    }
    let against = ["protocol_violation", "flush_incomplete", "arm_died"];
    for reason in &analysis.under_first_load.validity.reasons {
        assert!(!against.contains(&reason.code.as_str()), "{reason:?}");
    }
}

/// A program that keeps to the protocol except for what is inserted into `run` and `flush`.
const BREAKING: &str = r#"
import os, sys, time
sys.path.append(sys.argv[1])
import control

def run(count):
    for _ in range(count):
        sum(i * i for i in range(1000))
    if "run" in sys.argv: RUN

def flush():
    if "flush" in sys.argv: FLUSH

if "start" in sys.argv: START
control.serve(run, flush)
"#;

const BREAKING_PLAN: &str = r#"
name = 'breaking'

[[service]]
name    = 'program'
command = ['python3', 'program.py', 'BATCH']
stop    = { within = '1s' }

[load]
model      = 'batch'
batch      = 'resident'
iterations = 10
timeout    = '2s'

[[arm]]
name     = 'sound'
baseline = true

[[arm]]
name = 'broken'
args = { program = ['WHERE'] }

[design]
# A program that hangs takes no turns.
isolated = '100%'
rounds = 1
blocks = 2
drain  = '10ms'
idle   = '10ms'
"#;

#[test]
fn a_python_program_that_hangs_in_its_flush_is_only_a_warning() {
    let (ended, shop) = broken("flush", "time.sleep(60)");
    ended.code(0);
    let analysis = fs::read_to_string(shop.of_run("analysis.json")).unwrap();
    let analysis = wire::read(&analysis).unwrap().remove(0);
    let reasons = &analysis.under_first_load.validity.reasons;
    let reason = reasons.iter().find(|why| why.code == "flush_incomplete");
    let reason = reason.unwrap_or_else(|| panic!("{reasons:?}"));
    let broken = EvidenceWire::Text("broken".to_owned());
    assert_eq!(reason.evidence["arm"], broken, "{reason:?}");
}

/// Runs a plan in which one arm's program does `what` at its start, in its iterations or in its
/// flush.
fn broken(location: &str, what: &str) -> (Ended, Workshop) {
    let _alone = alone();
    let shop = Workshop::new();
    let batch = root().join("subjects/batch").display().to_string();
    let mut program = BREAKING.to_owned();
    for place in ["START", "RUN", "FLUSH"] {
        let does = if place.eq_ignore_ascii_case(location) {
            what
        } else {
            "pass"
        };
        program = program.replace(place, does);
    }
    shop.write("program.py", &program);
    let plan = BREAKING_PLAN
        .replace("BATCH", &batch)
        .replace("WHERE", location);
    let ended = shop.start_plan(&plan).end();
    (ended, shop)
}

#[test]
fn a_python_program_that_breaks_the_protocol_is_reported_with_its_arm() {
    let table = [
        ("start", "sys.exit(3)", &["broken", "code 3"][..]),
        ("run", "sys.exit('no more')", &["broken", "no more"]),
        (
            "run",
            "os.write(int(os.environ['WINDAGE_CONTROL_FD']), b'done %d\\n' % count)",
            &["broken", "done"],
        ),
    ];
    for (location, what, words) in table {
        let (ended, _shop) = broken(location, what);
        ended.code(5).says(words);
    }
}

/// Runs `environment.py` in a folder.
fn environment(folder: &Path, requirements: &str, env: &[(&str, &str)]) -> Output {
    fs::write(folder.join("requirements.txt"), requirements).unwrap();
    Command::new("python3")
        .arg(root().join("subjects/python/environment.py"))
        .args(["requirements.txt", "environment"])
        .envs(env.iter().copied())
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn a_failed_environment_says_why_and_what_to_do() {
    let locked = format!("idna==3.20 --hash=sha256:{}\n", "0".repeat(64));
    let nowhere: &[_] = &[
        ("PIP_INDEX_URL", "http://127.0.0.1:9"),
        ("PIP_FIND_LINKS", ""),
        ("PIP_NO_CACHE_DIR", "1"),
    ];
    let table = [
        (
            "# For Python 3.98 to 3.99\n",
            &[][..],
            &["is Python 3.", "Python 3.98 to 3.99", "PATH"][..],
        ),
        (
            &locked,
            nowhere,
            &["can't reach the index", "PIP_INDEX_URL", "idna==3.20"],
        ),
        (
            &locked,
            &[("PYTHONPATH", "without-ensurepip")],
            &["no module ensurepip", "python3-venv"],
        ),
    ];
    for (requirements, env, words) in table {
        let folder = tempfile::tempdir().unwrap();
        let without = folder.path().join("without-ensurepip");
        fs::create_dir(&without).unwrap();
        let absent = "raise ImportError('no ensurepip', name='ensurepip')";
        fs::write(without.join("ensurepip.py"), absent).unwrap();
        let output = environment(folder.path(), requirements, env);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{requirements}");
        for word in words {
            assert!(text.contains(word), "no `{word}` in: {text}");
        }
        assert!(!text.contains("Traceback"), "{text}");
    }
}

#[test]
fn an_environment_is_made_once_and_remade_if_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("environment");
    let junk = made.join("junk");
    // As a killed run leaves it.
    fs::create_dir(&made).unwrap();
    fs::write(made.join("made-from"), "").unwrap();
    fs::write(&junk, "").unwrap();
    let make = |requirements| {
        let output = environment(folder.path(), requirements, &[]);
        assert!(output.status.success(), "{output:?}");
    };
    make("# empty\n");
    assert!(made.join("bin/python").exists());
    assert!(!junk.exists(), "the incomplete environment was not removed");
    fs::write(&junk, "").unwrap();
    make("# empty\n");
    assert!(junk.exists(), "it was made again although it was complete");
    make("# another\n");
    assert!(
        !junk.exists(),
        "it was kept although the requirements changed"
    );
}

#[test]
fn other_folders_are_never_removed() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("environment/precious");
    fs::create_dir(precious.parent().unwrap()).unwrap();
    fs::write(&precious, "").unwrap();
    let output = environment(folder.path(), "# empty\n", &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("is in the way"), "{text}");
    assert!(precious.exists());
}
