//! Verbs that measure nothing.

use std::fs;

use crate::plans::Plan;
use crate::workshop::Workshop;

/// The verbs of `windage`, in the order of its help.
const VERBS: [&str; 17] = [
    "demo",
    "run",
    "check",
    "bisect",
    "report",
    "compare",
    "history",
    "serve",
    "init",
    "load",
    "sink",
    "calibrate",
    "doctor",
    "clean",
    "completions",
    "schema",
    "man",
];

#[test]
fn every_verb_has_help() {
    let shop = Workshop::new();
    let help = shop.windage(&["--help"]).code(0);
    assert_eq!(help.stderr, "");
    assert!(help.stdout.contains("Exit codes"), "{}", help.stdout);
    let (_, verbs) = help.stdout.split_once("\nCommands:\n").unwrap();
    let (verbs, _) = verbs.split_once("\n\n").unwrap();
    let verbs: Vec<&str> = verbs
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|verb| !["", "help"].contains(verb))
        .collect();
    assert_eq!(verbs, VERBS);
    for verb in VERBS {
        let help = shop.windage(&[verb, "--help"]).code(0);
        assert!(help.stdout.contains("Usage: windage"), "{}", help.stdout);
        assert_eq!(help.stderr, "");
    }
    // Hidden helper verbs are not shown.
    assert!(!help.stdout.contains("__"), "{}", help.stdout);
    let version = shop.windage(&["-V"]).code(0).stdout;
    let expected = format!("windage {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version, expected);
    let built = shop.windage(&["--version"]).code(0).stdout;
    let words = built.strip_prefix(&expected).unwrap();
    assert!(
        words.starts_with("commit ") && words.contains("\ntarget "),
        "{built}"
    );
}

#[test]
fn completions_are_printed_for_shells() {
    let shop = Workshop::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = shop.windage(&["completions", shell]).code(0).stdout;
        assert!(script.contains("windage"), "{shell}");
    }
}

#[test]
fn the_schemas_of_plans_and_results_are_printed() {
    let shop = Workshop::new();
    let schema = shop.windage(&["schema"]).code(0).json();
    assert!(schema["properties"]["arm"].is_object(), "{schema}");
    let schema = shop.windage(&["schema", "analysis"]).code(0).json();
    let verdict = &schema["definitions"]["Metric"]["properties"]["verdict"];
    assert_eq!(verdict["type"], serde_json::json!(["string", "null"]));
}

#[test]
fn each_verb_has_a_manual_page() {
    let shop = Workshop::new();
    fs::create_dir(shop.dir().join("man1")).unwrap();
    assert_eq!(shop.windage(&["man", "man1"]).code(0).stdout, "");
    let page = |name: &str| fs::read_to_string(shop.dir().join("man1").join(name)).unwrap();
    assert!(page("windage.1").contains("Exit codes"));
    for verb in VERBS {
        assert!(
            page(&format!("windage-{verb}.1")).contains("SYNOPSIS"),
            "{verb}"
        );
    }
    let missing = shop.windage(&["man", "nowhere"]).code(5);
    missing.says(&["can't write manual pages into nowhere"]);
}

#[test]
fn a_dry_run_launches_and_writes_nothing() {
    let shop = Workshop::new();
    let plan = Plan {
        service: "name = 'app'\ncommand = ['/bin/sh', '-c', 'touch launched', '{listen}']\n\
            env = { TOKEN = '$WINDAGE_TEST_ABSENT' }",
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let args = ["run", "plan.toml", "--dry-run", "--rounds", "7"];
    let shown = shop.windage(&args).code(0).stdout;
    for part in [
        "service `app`",
        "{listen}",
        "TOKEN",
        "rounds: 7",
        "closed loop",
    ] {
        assert!(shown.contains(part), "{shown} lacks {part}");
    }
    assert!(!shop.dir().join("windage-runs").exists());
    assert!(!shop.dir().join("launched").exists());
    shop.write("plan.toml", "name = 'p'");
    shop.windage(&args).code(2);
}
