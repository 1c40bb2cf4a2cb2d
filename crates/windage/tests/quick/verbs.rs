//! Verbs that measure nothing.

use crate::plans::Plan;
use crate::workshop::Workshop;

/// The verbs of `windage`, in the order of its help.
const VERBS: [&str; 15] = [
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
    let version = shop.windage(&["--version"]).code(0);
    let expected = format!("windage {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version.stdout, expected);
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
