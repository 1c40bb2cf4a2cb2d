//! Nothing outlives Windage: no matter which process is killed and when, nothing that was started
//! is left.

// clippy.toml allows both in functions marked `#[test]`; shared helpers need this attribute.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod ground;
#[path = "../../windage/tests/quick/skip.rs"]
mod skip;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use ground::{
    assert_gone, containments, eventually, fixture, keeper, living, log, marker, service,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windage_keeper::Containment;

use crate::skip::skip;

/// The process to kill.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Windage,
    Keeper,
    Guardian,
}

/// A process that holds a keeper, as Windage does.
struct Holder {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Holder {
    fn start(containment: &str, run_id: &str, dir: &Path, user: Option<u32>) -> Holder {
        let mut command = Command::new(fixture());
        command
            .args(["hold", containment, run_id])
            .arg(dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Holder { process, lines }
    }

    /// The keeper's pid and the containment, once it is running.
    fn keeper(&mut self) -> (i32, String) {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let (pid, containment) = line
            .trim()
            .split_once(' ')
            .unwrap_or_else(|| panic!("{line:?}"));
        (
            pid.parse().unwrap_or_else(|_| panic!("{line:?}")),
            containment.to_owned(),
        )
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn parent_of(pid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .unwrap();
    line.trim().parse().unwrap()
}

fn kill_9(pid: i32) {
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

/// Kills the victim at `point` of a script that starts daemons, and looks for what is left. At even
/// points a daemon is certainly running; odd points may come before the keeper runs.
fn kill_once(containment: Containment, victim: Victim, point: u64, delay: Duration) -> Duration {
    let case = format!("{containment:?}, {victim:?} killed at point {point} after {delay:?}");
    let (run_id, dir) = (marker(), tempfile::tempdir().unwrap());
    let mut holder = Holder::start(containment.as_str(), &run_id, dir.path(), None);
    let holder_pid = holder.process.id();
    let victim_pid = match victim {
        Victim::Windage => holder_pid.cast_signed(),
        Victim::Keeper => holder.keeper().0,
        Victim::Guardian => parent_of(holder.keeper().0),
    };
    if point.is_multiple_of(2) {
        eventually("a daemon is up", || log(dir.path()).contains("up"));
    }
    std::thread::sleep(delay);
    kill_9(victim_pid);
    // When the keeper is the victim, its holder lives on, to show that it plays no part.
    let except = (victim != Victim::Windage).then_some(holder_pid);
    let took = assert_gone(&run_id, except, &case);
    // A victim that is the keeper can't run it.
    if victim != Victim::Keeper && point.is_multiple_of(2) {
        eventually("the last process ran", || log(dir.path()).contains("last"));
    }
    let frozen = format!("/sys/fs/cgroup/freezer/windage-{run_id}");
    eventually("the run's cgroup is removed", || {
        !Path::new(&frozen).exists()
    });
    took
}

fn kill_at_random_points(containment: Containment, victim: Victim, points: u64) {
    if !containments().contains(&containment) {
        let test = format!("{victim:?} is killed under {containment:?}");
        return skip(&test, "not root");
    }
    let mut random = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let mut slowest = Duration::ZERO;
    for point in 0..points {
        // A linear congruential generator (Knuth's MMIX constants); its high bits are good enough.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let delay = Duration::from_micros((random >> 33) % 40_000);
        slowest = slowest.max(kill_once(containment, victim, point, delay));
    }
    eprintln!("{containment:?}, {victim:?}: {points} kills, the slowest end took {slowest:?}");
}

#[test]
fn windage_killed_in_a_pid_namespace() {
    kill_at_random_points(Containment::PidNamespace, Victim::Windage, 200);
}

#[test]
fn keeper_killed_in_a_pid_namespace() {
    kill_at_random_points(Containment::PidNamespace, Victim::Keeper, 200);
}

#[test]
fn windage_killed_with_a_cgroup() {
    kill_at_random_points(Containment::Cgroup, Victim::Windage, 100);
}

#[test]
fn keeper_killed_with_a_cgroup() {
    kill_at_random_points(Containment::Cgroup, Victim::Keeper, 100);
}

#[test]
fn guardian_killed_with_a_cgroup() {
    kill_at_random_points(Containment::Cgroup, Victim::Guardian, 20);
}

#[test]
fn windage_killed_with_a_subreaper() {
    kill_at_random_points(Containment::Subreaper, Victim::Windage, 100);
}

#[test]
fn keeper_killed_with_a_subreaper() {
    kill_at_random_points(Containment::Subreaper, Victim::Keeper, 100);
}

#[test]
fn guardian_killed_with_a_subreaper() {
    kill_at_random_points(Containment::Subreaper, Victim::Guardian, 20);
}

/// The search must be able to find something, or the tests above prove nothing.
#[test]
fn the_search_finds_daemons_without_a_keeper() {
    let (marker, dir) = (marker(), tempfile::tempdir().unwrap());
    let mut top = Command::new(fixture())
        .args(["tree", "2", &marker])
        .stdout(fs::File::create(dir.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    eventually("all up", || log(dir.path()).lines().count() == 3);
    // The processes between them may not have ended yet. The innermost executes itself again after
    // its line, and has no arguments for that moment.
    let mut daemons = Vec::new();
    eventually("the same three daemons are found twice", || {
        let before = std::mem::replace(&mut daemons, living(&marker, None));
        let has_innermost = daemons.iter().any(|daemon| daemon.contains(" pause "));
        daemons.len() == 3 && has_innermost && daemons == before
    });
    let is_top = format!("{}: ", top.id());
    let mut orphans = daemons;
    orphans.retain(|daemon| !daemon.starts_with(&is_top));
    assert_eq!(orphans.len(), 2, "{orphans:?}");
    top.kill().unwrap();
    top.wait().unwrap();
    eventually("the other two are found", || {
        living(&marker, None) == orphans
    });
    for orphan in orphans {
        kill_9(orphan.split(':').next().unwrap().parse().unwrap());
    }
    assert_gone(&marker, None, "killed one by one");
}

#[test]
fn daemons_die_when_the_keeper_is_shut_down_or_dropped() {
    for containment in containments() {
        for orderly in [true, false] {
            let (run_id, dir) = (marker(), tempfile::tempdir().unwrap());
            let mut keeper = keeper(containment, &run_id);
            keeper
                .spawn(service(dir.path(), &["tree", "3", &run_id]))
                .unwrap();
            eventually("all up", || log(dir.path()).lines().count() == 4);
            // The innermost executes itself again after its line, and has no arguments for that
            // moment.
            eventually("the keeper and four daemons are found", || {
                living(&run_id, None).len() > 4
            });
            match orderly {
                true => keeper.shut_down().unwrap(),
                false => drop(keeper),
            }
            // No retries: shutdown waits until they have ended.
            assert_eq!(
                living(&run_id, None),
                Vec::<String>::new(),
                "{containment:?}, {orderly}"
            );
        }
    }
}

#[test]
fn a_process_that_never_stays_is_caught() {
    for containment in containments() {
        let (run_id, dir) = (marker(), tempfile::tempdir().unwrap());
        let mut keeper = keeper(containment, &run_id);
        keeper
            .spawn(service(dir.path(), &["hop", &run_id]))
            .unwrap();
        eventually("up", || log(dir.path()).contains("up"));
        std::thread::sleep(Duration::from_millis(20));
        keeper.shut_down().unwrap();
        assert_eq!(
            living(&run_id, None),
            Vec::<String>::new(),
            "{containment:?}"
        );
    }
}

#[test]
fn a_killed_keeper_is_reported_and_its_cgroups_are_removed() {
    for containment in containments() {
        let (run_id, dir) = (marker(), tempfile::tempdir().unwrap());
        let mut keeper = keeper(containment, &run_id);
        let cgroup = Path::new("/sys/fs/cgroup/cpuacct").join(format!("windage-test-{run_id}"));
        let with_cgroup =
            cgroup.parent().is_some_and(Path::exists) && fs::create_dir(&cgroup).is_ok();
        keeper.remove_at_end(cgroup.clone()).unwrap();
        let mut spawn = service(dir.path(), &["pause", &run_id]);
        spawn.cgroups.extend(with_cgroup.then(|| cgroup.clone()));
        let child = keeper.spawn(spawn).unwrap();
        kill_9(keeper.keeper_pid().cast_signed());
        let error = keeper
            .wait(&child, Duration::from_secs(30))
            .unwrap_err()
            .to_string();
        assert!(error.contains("keeper died"), "{error}");
        let error = keeper
            .spawn(service(dir.path(), &["pause", &run_id]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("keeper died"), "{error}");
        keeper.shut_down().unwrap();
        assert_eq!(
            living(&run_id, None),
            Vec::<String>::new(),
            "{containment:?}"
        );
        assert!(
            !cgroup.exists(),
            "{containment:?} left {}",
            cgroup.display()
        );
    }
}

#[test]
fn a_keeper_ignores_a_terminals_signals() {
    for containment in containments() {
        let (run_id, dir) = (marker(), tempfile::tempdir().unwrap());
        let mut keeper = keeper(containment, &run_id);
        let child = keeper
            .spawn(service(dir.path(), &["pause", &run_id]))
            .unwrap();
        for signal in [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGPIPE,
            Signal::SIGTSTP,
        ] {
            kill(Pid::from_raw(keeper.keeper_pid().cast_signed()), signal).unwrap();
        }
        let session =
            |pid: u32| nix::unistd::getsid(Some(Pid::from_raw(pid.cast_signed()))).unwrap();
        let ours = nix::unistd::getsid(None).unwrap();
        assert_ne!(session(keeper.keeper_pid()), ours);
        assert_ne!(session(child.pid), ours);
        assert_eq!(
            keeper.wait(&child, Duration::from_millis(20)).unwrap(),
            None
        );
        keeper.shut_down().unwrap();
    }
}

/// With any user's privileges, some containment works and is chosen.
#[test]
fn a_containment_that_works_is_chosen_without_privilege() {
    const NOBODY: u32 = 65534;
    if !nix::unistd::geteuid().is_root() {
        return skip(
            "a_containment_that_works_is_chosen_without_privilege",
            "needs root to become someone else",
        );
    }
    let (run_id, dir) = (marker(), tempfile::tempdir().unwrap());
    std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    for (user, expected) in [(None, "pid-namespace"), (Some(NOBODY), "subreaper")] {
        let mut holder = Holder::start("any", &run_id, dir.path(), user);
        assert_eq!(holder.keeper().1, expected);
        eventually("a daemon is up", || log(dir.path()).contains("up"));
        drop(holder);
        assert_gone(&run_id, None, expected);
        fs::remove_file(dir.path().join("log")).unwrap();
    }
}
