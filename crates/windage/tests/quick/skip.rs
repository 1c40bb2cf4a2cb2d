//! Tests that can't be made on this machine say so.

use std::fs::File;
use std::io::Write;

/// Tells `cargo xtask test` that a test could not be made here.
pub(crate) fn skip(test: &str, reason: &str) {
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
