//! Test support: keepers of the fixture, and a search for processes left behind.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use windage_keeper::{Containment, Keeper, KeeperOptions, Spawn};

use crate::skip::skip;

/// How long after a death the last process may live.
pub(crate) const GONE_WITHIN: Duration = Duration::from_secs(5);

/// The program that is both keeper and service here.
pub(crate) fn fixture() -> PathBuf {
    env!("CARGO_BIN_EXE_keeper-fixture").into()
}

/// The containments that work for this user; the two strong ones need root.
pub(crate) fn containments() -> Vec<Containment> {
    if nix::unistd::geteuid().is_root() {
        Containment::ALL.to_vec()
    } else {
        skip("windage-keeper", "not root: only the subreaper is tested");
        vec![Containment::Subreaper]
    }
}

/// A name that no other process on this machine has.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    format!(
        "mark-{}-{}-{now}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

pub(crate) fn keeper(containment: Containment, run_id: &str) -> Keeper {
    let options = KeeperOptions {
        executable: fixture(),
        containment: Some(containment),
        run_id: run_id.to_owned(),
    };
    Keeper::start(options).unwrap_or_else(|error| panic!("{containment:?}: {error}"))
}

/// The fixture with these arguments, logging to `log` in `dir`.
pub(crate) fn service(dir: &Path, args: &[&str]) -> Spawn {
    Spawn {
        program: fixture(),
        args: args.iter().map(OsString::from).collect(),
        env: Vec::new(),
        cwd: dir.to_owned(),
        log: dir.join("log"),
        cgroups: Vec::new(),
        cpus: None,
        inherit: None,
        user: None,
        no_new_privs: false,
    }
}

pub(crate) fn log(dir: &Path) -> String {
    fs::read_to_string(dir.join("log")).unwrap_or_default()
}

/// Waits until `so` holds, long enough for a busy machine.
pub(crate) fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Processes with the marker in their arguments or environment; dead ones have neither.
pub(crate) fn living(marker: &str, except: Option<u32>) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let read = |file| fs::read(entry.path().join(file)).unwrap_or_default();
        let (arguments, environment) = (read("cmdline"), read("environ"));
        let marked = |text: &[u8]| {
            text.windows(marker.len())
                .any(|part| part == marker.as_bytes())
        };
        if Some(pid) != except && (marked(&arguments) || marked(&environment)) {
            found.push(format!(
                "{pid}: {}",
                String::from_utf8_lossy(&arguments).replace('\0', " ")
            ));
        }
    }
    found
}

/// Fails if a marked process lives longer than [`GONE_WITHIN`]. Returns how long it took.
pub(crate) fn assert_gone(marker: &str, except: Option<u32>, case: &str) -> Duration {
    let start = Instant::now();
    loop {
        let left = living(marker, except);
        if left.is_empty() {
            return start.elapsed();
        }
        assert!(
            start.elapsed() < GONE_WITHIN,
            "{case}: still alive: {left:#?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}
