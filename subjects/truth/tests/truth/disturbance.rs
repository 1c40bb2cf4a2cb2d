//! How long threads waited for a core, as counted by the kernel.

use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use crate::server::Server;

/// Nothing to do with how long the threads ran or slept: the time they were ready and did not run.
pub(crate) struct Disturbance {
    files: [String; 2],
    before: Duration,
}

impl Disturbance {
    /// Of the calling thread and of the server, from now on.
    pub(crate) fn watch(server: &Server) -> Disturbance {
        let files = [
            "/proc/thread-self/schedstat".to_owned(),
            format!("/proc/{}/schedstat", server.pid()),
        ];
        let before = waited(&files);
        Disturbance { files, before }
    }

    pub(crate) fn so_far(&self) -> Duration {
        waited(&self.files) - self.before
    }
}

/// The second figure of `schedstat`, in nanoseconds; nothing where the kernel keeps none.
fn waited(files: &[String]) -> Duration {
    let waited_ns = |file: &String| -> Option<u64> {
        let text = fs::read_to_string(file).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    };
    Duration::from_nanos(files.iter().filter_map(waited_ns).sum())
}

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
