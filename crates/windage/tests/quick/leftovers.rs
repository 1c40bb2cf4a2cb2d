//! What a run might leave behind: processes and control groups.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Waits until no process of the run is left.
pub(crate) fn assert_none(dir: &Path, run: &str, within: Duration) {
    let deadline = Instant::now() + within;
    loop {
        let left = processes(dir, run);
        if left.is_empty() {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "left after {within:?}:\n{}",
            left.join("\n")
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The processes of a run, recognized by the marker in their environment or, because some overwrite
/// it to set their title, by the test's directory in their command line or working directory.
pub(crate) fn processes(dir: &Path, run: &str) -> Vec<String> {
    let marker = format!("WINDAGE_RUN={run}");
    let place = dir.display().to_string();
    let belongs = |process: &Path| {
        let text = |name| {
            String::from_utf8_lossy(&fs::read(process.join(name)).unwrap_or_default()).into_owned()
        };
        let link = |name| fs::read_link(process.join(name)).unwrap_or_default();
        text("environ")
            .split('\0')
            .any(|variable| variable == marker)
            || text("cmdline").contains(&place)
            || ["cwd", "exe"]
                .iter()
                .any(|name| link(name).starts_with(dir))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|process| is_number(process) && belongs(process) && !is_zombie(process))
        .map(|process| {
            let words = fs::read(process.join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            format!("{}: {words}", process.display())
        })
        .collect()
}

fn is_number(process: &Path) -> bool {
    process
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
}

/// A zombie, or already reaped: it holds nothing any more.
fn is_zombie(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// The control groups made by the Windage process `pid`.
pub(crate) fn cgroups_of(pid: u32) -> Vec<PathBuf> {
    cgroups_named(&format!("windage-{pid}-"))
}

/// The control groups whose names begin like this.
pub(crate) fn cgroups_named(prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    below(Path::new("/sys/fs/cgroup"), prefix, &mut found);
    found
}

fn below(dir: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
    let directories = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for entry in directories {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path());
        } else {
            below(&entry.path(), prefix, found);
        }
    }
}
