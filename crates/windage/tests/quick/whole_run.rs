//! Complete runs without failures.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::contract;
use crate::files::names_in;
use crate::plans::Plan;
use crate::workshop::Workshop;

#[test]
fn a_run_is_measured_recorded_and_reported() {
    let shop = Workshop::new();
    shop.write("plan.toml", &Plan::default().text());
    let ended = shop
        .windage(&["run", "plan.toml", "--out", &shop.run, "--json"])
        .code(0)
        .says(&["round 1 of 2", "round 2 of 2"]);
    let analysis = ended.json();
    contract::check(&analysis);
    assert_eq!(analysis["plan"], "small");
    assert_eq!(analysis["run"], shop.run.as_str());
    assert_eq!(analysis["baseline"], "off");
    let read = ended.analysis();
    let versions = &contract::arm(&read, "same-again").versions;
    assert_eq!(versions["shell"], "shell 1.2");
    assert_eq!(versions["gone"], "unknown: `exit 7` exited with code 7");

    // These hold on any machine: the control and the arm were measured, in both rounds. Without a core
    // for the generator there are no other figures.
    let reasons = contract::reasons(&analysis);
    let of_load = match reasons.contains(&"generator_starved") {
        true => &[][..],
        false => &["throughput", "response_time_p50"],
    };
    for id in ["control", "same-again"] {
        for &name in ["cpu_per_request"].iter().chain(of_load) {
            let metric = &contract::arm(&read, id).metrics[name];
            assert!(metric.arm > Some(0.0), "{id} {metric:?}");
            assert!(metric.difference.is_some(), "{id} {metric:?}");
            assert_eq!(metric.rounds, 2, "{id} {metric:?}");
        }
    }

    let files = names_in(shop.of_run(""));
    let expected = [
        "analysis.json",
        "host.json",
        "journal.bin",
        "lock",
        "logs",
        "manifest.json",
        "plan.toml",
        "report.html",
        "resolved.toml",
        "response_time.hlog",
        "service_time.hlog",
        "work",
    ];
    assert_eq!(files, expected);
    let logs = names_in(shop.of_run("logs"));
    let of_services = logs.iter().filter(|log| log.contains("app")).count();
    assert_eq!(of_services, 3 * 2, "one log per arm and round: {logs:?}");

    let kept = fs::read_to_string(shop.of_run("analysis.json")).unwrap();
    assert_eq!(ended.stdout, kept);
    let again = shop.windage(&["report", &shop.run, "--json"]).code(0);
    assert_eq!(again.stdout, kept, "recomputed, byte for byte");
    assert_eq!(again.stderr, "");

    let page = fs::read_to_string(shop.of_run("report.html")).unwrap();
    let document = contract::document_in(&page);
    let page_json = shop.windage(&["report", &shop.run, "--format", "page"]);
    assert_eq!(
        page_json.code(0).json(),
        document,
        "the same as in the page"
    );
    assert_eq!(document["analysis"], ended.json());
    assert_eq!(document["state"], "ended");
    assert_eq!(document["directory"], shop.run);
    // As docs/FORMAT.md specifies it.
    let by_hand =
        "grep -o 'data-kind=\"run\">[^<]*' report.html | cut -d'>' -f2 | base64 -d | gunzip";
    let by_hand = Command::new("sh")
        .args(["-c", by_hand])
        .current_dir(shop.of_run(""))
        .output();
    let by_hand: Value = serde_json::from_slice(&by_hand.unwrap().stdout).unwrap();
    assert_eq!(by_hand, document);
}

#[test]
fn a_report_comes_in_every_format() {
    let shop = Workshop::new();
    let run = shop.start_plan(&Plan::default().text()).end().code(0);
    assert!(run.stdout.contains("CPU per request"), "{}", run.stdout);
    let table = [
        ("terminal", "CPU per request"),
        ("markdown", "| "),
        ("csv", "cpu_per_request"),
        ("html", "</html>"),
        ("page", "\"page\":1"),
        ("json", "\"cpu_per_request\""),
    ];
    for (format, mark) in table {
        let report = shop
            .windage(&["report", &shop.run, "--format", format])
            .code(0);
        assert!(report.stdout.contains(mark), "{format}: {}", report.stdout);
        assert!(report.stdout.contains("same-again") || report.stdout.contains("Same, again"));
        assert_eq!(report.stderr, "", "{format}");
        let args = ["report", &shop.run, "--format", format, "-o", "file"];
        assert_eq!(shop.windage(&args).code(0).stdout, "", "{format}");
        let file = fs::read_to_string(shop.dir().join("file")).unwrap();
        assert_eq!(file, report.stdout, "{format}");
    }
}

#[test]
fn quiet_is_silent_on_standard_error() {
    let shop = Workshop::new();
    shop.write("plan.toml", &Plan::default().text());
    let args = ["run", "plan.toml", "--out", &shop.run, "--quiet", "--json"];
    assert_eq!(shop.windage(&args).code(0).stderr, "");
    let args = ["run", "plan.toml", "--out", "second", "--quiet"];
    assert_eq!(shop.windage(&args).code(0).stderr, "");
}

#[test]
fn a_folder_of_plans_is_one_document() {
    let shop = Workshop::new();
    fs::create_dir(shop.dir().join("plans")).unwrap();
    for name in ["b", "a"] {
        let plan = Plan {
            name,
            rounds: 1,
            length: "200ms",
            ..Plan::default()
        };
        shop.write(&format!("plans/{name}.toml"), &plan.text());
    }
    shop.write("plans/notes.txt", "not a plan");
    let document = shop.windage(&["run", "plans", "--json"]).code(0).json();
    assert_eq!(document["schema"], 1);
    let runs = document["runs"].as_array().unwrap();
    let plans: Vec<&str> = runs
        .iter()
        .map(|run| run["plan"].as_str().unwrap())
        .collect();
    assert_eq!(plans, ["a", "b"], "sorted by file");
    runs.iter().for_each(contract::check);
    assert_eq!(names_in(shop.dir().join("windage-runs")).len(), 2);
}
