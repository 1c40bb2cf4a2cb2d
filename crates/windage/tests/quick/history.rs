//! The course of results over many runs.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::plans::Plan;
use crate::workshop::Workshop;

const ARM: &str = "same-again";
const METRIC: &str = "cpu_per_request";

/// A run of each day, made from a measured one; from the 20th the arm costs more.
fn runs_of_a_month(shop: &Workshop) {
    let file = "plan.toml";
    shop.write(file, &Plan::default().text());
    shop.windage(&["run", file, "--out", "measured", "--quiet"])
        .code(0);
    let measured = shop.dir().join("measured");
    let text = fs::read_to_string(measured.join("analysis.json")).unwrap();
    for day in 1..=28 {
        let mut analysis: Value = serde_json::from_str(&text).unwrap();
        analysis["run"] = format!("run-{day}").into();
        analysis["started"] = format!("2026-02-{day:02}T00:00:00Z").into();
        let arms = analysis["arms"].as_array_mut().unwrap();
        let arm = arms.iter_mut().find(|arm| arm["id"] == ARM).unwrap();
        arm["versions"]["commit"] = format!("c{day:02}").into();
        let estimate = if day < 20 { 0.05 } else { 0.09 } + f64::from(day % 3) / 1000.0;
        let metric = &mut arm["metrics"][METRIC];
        metric["validity"]["verdict"] = "valid".into();
        let (low, high) = (estimate - 0.01, estimate + 0.01);
        metric["relative"] = json!({"estimate": estimate, "low": low, "high": high});
        analysis["validity"]["verdict"] = "valid".into();
        let run = shop.dir().join("runs").join(format!("run-{day}"));
        fs::create_dir_all(&run).unwrap();
        fs::copy(measured.join("manifest.json"), run.join("manifest.json")).unwrap();
        fs::write(run.join("analysis.json"), analysis.to_string()).unwrap();
    }
}

#[test]
fn a_change_of_level_names_both_commits() {
    let shop = Workshop::new();
    runs_of_a_month(&shop);
    let history = |args: &[&str]| shop.windage(&[&["history", "runs"], args].concat());
    let arm = ["--metric", METRIC, "--arm", ARM];

    let text = history(&[&arm[..], &["--since", "c05"]].concat())
        .code(0)
        .stdout;
    for part in [
        "since c05",
        "+9.1 % (+8.1 to +10.1)",
        "+3.9 points (",
        "up from +5.1 % to +9.1 %",
        "windage check PLAN --base c19 --head c20",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let rows = history(&[&arm[..], &["--rows"]].concat()).code(0).stdout;
    let marked = rows.lines().find(|line| line.ends_with("change point"));
    assert!(
        marked.is_some_and(|line| line.contains("2026-02-20")),
        "{rows}"
    );

    let document = history(&[&arm[..], &["--json"]].concat()).code(0).json();
    let course = &document["courses"][0];
    assert_eq!(course["rows"].as_array().unwrap().len(), 28);
    let change = &course["changes"][0];
    assert_eq!(
        (&change["last_commit"], &change["commit"], &change["run"]),
        (&"c19".into(), &"c20".into(), &"run-20".into())
    );
    assert_eq!(document["runs"]["known"], 28, "{}", document["runs"]);
}

#[test]
fn results_outlive_their_runs_and_move_to_other_machines() {
    let shop = Workshop::new();
    runs_of_a_month(&shop);
    let csv = |args: &[&str], name: &str| {
        shop.windage(&[&["history"], args, &["--export", name]].concat())
            .code(0);
        fs::read_to_string(shop.dir().join(name)).unwrap()
    };
    let all = csv(&["runs"], "all.csv");
    let one = format!(",{ARM},{METRIC},2026-02-01T00:00:00Z,run-1,c01,");
    assert!(all.contains(&one), "{all}");
    fs::remove_dir_all(shop.dir().join("runs/run-1")).unwrap();
    assert_eq!(csv(&["runs"], "later.csv"), all);
    let elsewhere = ["--file", "elsewhere.sqlite", "--import", "all.csv"];
    assert_eq!(csv(&elsewhere, "moved.csv"), all);
}

#[test]
fn what_cannot_be_read_is_named() {
    let shop = Workshop::new();
    let refused = |args: &[&str], code: i32, part: &str| {
        let ended = shop.windage(&[&["history"], args].concat()).code(code);
        assert!(
            ended.stderr.contains(part),
            "{part:?} is not in {}",
            ended.stderr
        );
    };
    refused(&[], 2, "there is no windage-runs here");
    refused(&["nowhere"], 2, "nowhere");
    refused(&["--file", "h.sqlite", "--since", "v1"], 2, "--since v1");
    shop.write("odd.csv", "a,b\n1,2\n");
    refused(&["--file", "h.sqlite", "--import", "odd.csv"], 2, "odd.csv");
    shop.write("damaged.sqlite", &"garbage ".repeat(100));
    refused(
        &["--file", "damaged.sqlite"],
        5,
        "damaged.sqlite is damaged",
    );
    let run = shop.dir().join("runs/broken");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("manifest.json"), "{}").unwrap();
    fs::write(run.join("analysis.json"), "{").unwrap();
    refused(&["runs"], 0, "broken/analysis.json is left out");
}

#[test]
fn a_run_records_the_commit_of_its_plan() {
    let shop = Workshop::new();
    let git = |args: &[&str]| {
        let author = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let mut git = std::process::Command::new("git");
        git.current_dir(shop.dir()).args(author).args(args);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    shop.write("plan.toml", &Plan::default().text());
    git(&["init", "--quiet"]);
    git(&["add", "plan.toml"]);
    git(&["commit", "--quiet", "-m", "plan"]);
    let run = ["run", "plan.toml", "--out", "runs/one", "--quiet"];
    shop.windage(&run).code(0);
    let kept = Path::new("runs/one/analysis.json");
    let analysis = fs::read_to_string(shop.dir().join(kept)).unwrap();
    let analysis: Value = serde_json::from_str(&analysis).unwrap();
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    assert_eq!(analysis["arms"][0]["versions"]["commit"], commit);
}
