//! Verbs that measure nothing.

use crate::workshop::Workshop;

#[test]
fn every_verb_has_help() {
    let shop = Workshop::new();
    let help = shop.windage(&["--help"]).code(0);
    assert_eq!(help.stderr, "");
    assert!(help.stdout.contains("Exit codes"), "{}", help.stdout);
    for verb in ["demo", "run", "report", "load", "completions"] {
        assert!(
            help.stdout.contains(&format!("\n  {verb} ")),
            "{verb} is not named"
        );
        let help = shop.windage(&[verb, "--help"]).code(0);
        assert!(help.stdout.contains("Usage: windage"), "{}", help.stdout);
        assert_eq!(help.stderr, "");
    }
    // Windage's own helpers are nobody's business.
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
