//! Reports tests that can't run on this machine.

use std::fs::File;
use std::io::Write;

/// Says on standard error that a test could not run here, past what `cargo test` captures, and in
/// the file of skipped tests when there is one.
pub(crate) fn skip(test: &str, reason: &str) {
    // `eprintln!` would be captured.
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    let Some(path) = std::env::var_os("WINDAGE_TEST_SKIPS").filter(|path| !path.is_empty()) else {
        return;
    };
    let mut file = File::options()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    writeln!(file, "{test}: {reason}").unwrap();
}
