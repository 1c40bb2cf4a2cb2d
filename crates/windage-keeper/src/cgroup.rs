//! The run's own cgroup: created, entered, killed, removed.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

/// How long a v1 freezer may take before its processes are killed unfrozen.
const FREEZE_WITHIN: Duration = Duration::from_millis(200);

/// A cgroup that all of the run's processes start in.
#[derive(Debug)]
pub(crate) struct RunCgroup {
    dir: PathBuf,
    version: Version,
}

/// The cgroup interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// The v1 freezer.
    V1,
    /// The unified hierarchy.
    V2,
}

impl RunCgroup {
    /// Creates the cgroup below this process's own, in the first hierarchy where that works. The v1
    /// freezer comes first: a process is in only one v2 cgroup, so a v2 cgroup that
    /// [`crate::Spawn`] names would take the process out of the run's.
    ///
    /// Forks, so this process must have a single thread. The error is a sentence.
    pub(crate) fn create(run_id: &str) -> Result<RunCgroup, String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut failures = Vec::new();
        for (version, parent) in hierarchies(&mounts, &own) {
            match RunCgroup::create_in(&parent, version, run_id) {
                Ok(cgroup) => return Ok(cgroup),
                Err(error) => failures.push(format!("{}: {error}", parent.display())),
            }
        }
        if failures.is_empty() {
            failures.push("no freezer (v1) or unified (v2) hierarchy is mounted".to_owned());
        }
        Err(failures.join(", "))
    }

    fn create_in(parent: &Path, version: Version, run_id: &str) -> io::Result<RunCgroup> {
        let dir = parent.join(format!("windage-{run_id}"));
        fs::create_dir(&dir)?;
        let cgroup = RunCgroup { dir, version };
        match cgroup.check() {
            Ok(()) => Ok(cgroup),
            Err(error) => {
                let _ = cgroup.remove();
                Err(error)
            }
        }
    }

    /// Opens the file through which a process enters by writing `0`.
    pub(crate) fn entrance(&self) -> io::Result<OwnedFd> {
        Ok(File::options()
            .write(true)
            .open(self.dir.join("cgroup.procs"))?
            .into())
    }

    /// Sends SIGKILL to all processes inside, so that none can escape by forking. Returns before
    /// they have ended.
    pub(crate) fn kill(&self) {
        match self.version {
            Version::V1 => self.kill_frozen(),
            // One write, atomic with regard to forks (Linux 5.14). If it fails, the tree walk kills
            // them.
            Version::V2 => drop(fs::write(self.dir.join("cgroup.kill"), "1")),
        }
    }

    /// Removes the cgroup and those below it, after all processes inside have ended.
    pub(crate) fn remove(&self) -> io::Result<()> {
        remove_tree(&self.dir)
    }

    fn kill_frozen(&self) {
        let state = self.dir.join("freezer.state");
        let deadline = Instant::now() + FREEZE_WITHIN;
        let frozen = || fs::read_to_string(&state).is_ok_and(|s| s.trim() == "FROZEN");
        // The kernel's documentation says to write again when freezing takes time.
        while fs::write(&state, "FROZEN").is_ok() && !frozen() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        for pid in pids_below(&self.dir) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let _ = fs::write(&state, "THAWED");
    }

    /// Checks that a process can enter and be killed here, with a process that does nothing.
    fn check(&self) -> io::Result<()> {
        let killer = match self.version {
            Version::V1 => "freezer.state",
            Version::V2 => "cgroup.kill",
        };
        File::options().write(true).open(self.dir.join(killer))?;
        let entrance = self.entrance()?;
        // SAFETY: this process has a single thread; the child only writes and exits.
        match unsafe { fork() }? {
            ForkResult::Child => {
                let entered = nix::unistd::write(&entrance, b"0");
                // SAFETY: ends the child without running anything of the parent's.
                unsafe { libc::_exit(entered.err().map_or(0, |errno| errno as i32)) }
            }
            ForkResult::Parent { child } => match waitpid(child, None)? {
                WaitStatus::Exited(_, 0) => Ok(()),
                WaitStatus::Exited(_, errno) => Err(io::Error::from_raw_os_error(errno)),
                _ => Err(io::Error::other("a process that tried to enter was killed")),
            },
        }
    }
}

/// Removes a cgroup directory and those below it. Never removes a file, so a directory that is not
/// a cgroup stays. A missing directory counts as removed. The kernel frees a cgroup a moment after
/// its last process, so this tries for a second.
pub(crate) fn remove_tree(dir: &Path) -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(1);
    loop {
        match remove_tree_once(dir) {
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

fn remove_tree_once(dir: &Path) -> io::Result<()> {
    for below in directories(dir) {
        remove_tree_once(&below)?;
    }
    match fs::remove_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

fn directories(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries
        .flatten()
        .filter(is_dir)
        .map(|entry| entry.path())
        .collect()
}

fn pids_below(dir: &Path) -> Vec<i32> {
    let procs = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    // A process of a foreign pid namespace shows as 0, and kill(0) would signal ourselves.
    let mut pids: Vec<i32> = procs
        .lines()
        .filter_map(|line| line.parse().ok())
        .filter(|pid| *pid > 1)
        .collect();
    for below in directories(dir) {
        pids.extend(pids_below(&below));
    }
    pids
}

/// The directories of this process's own cgroups in the hierarchies that can kill, from
/// `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn hierarchies(mounts: &str, own: &str) -> Vec<(Version, PathBuf)> {
    let mut found: Vec<(Version, PathBuf)> = mounts
        .lines()
        .filter_map(|line| hierarchy(line, own))
        .collect();
    found.sort_by_key(|(version, _)| *version == Version::V2);
    found
}

fn hierarchy(mount: &str, own: &str) -> Option<(Version, PathBuf)> {
    let (place, kind) = mount.split_once(" - ")?;
    let place: Vec<&str> = place.split(' ').collect();
    let kind: Vec<&str> = kind.split(' ').collect();
    let (root, mounted_at) = (*place.get(3)?, *place.get(4)?);
    let version = match *kind.first()? {
        "cgroup" if kind.get(2)?.split(',').any(|option| option == "freezer") => Version::V1,
        "cgroup2" => Version::V2,
        _ => return None,
    };
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let mine = match version {
            Version::V1 => controllers.split(',').any(|c| c == "freezer"),
            Version::V2 => number == "0",
        };
        mine.then_some(path)
    })?;
    // A cgroup outside the mount (a container's) can't be reached: start at the mount.
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
    let outside = below
        .components()
        .any(|part| part == std::path::Component::ParentDir);
    Some((
        version,
        Path::new(mounted_at).join(if outside { Path::new("") } else { below }),
    ))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::skip::skip;

    #[test]
    fn own_cgroups_are_found_v1_first() {
        let v2 = "30 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        let v1 = "31 20 0:28 / /sys/fs/cgroup/freezer rw,nosuid - cgroup cgroup rw,freezer";
        let cpu = "32 20 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
        let part = "33 20 0:28 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup rw";
        let table: [(&[&str], &str, &[&str]); 6] = [
            (
                &[v2, v1],
                "6:freezer:/a\n0::/b",
                &["/sys/fs/cgroup/freezer/a", "/sys/fs/cgroup/unified/b"],
            ),
            (
                &[v2],
                "0::/user.slice/me",
                &["/sys/fs/cgroup/unified/user.slice/me"],
            ),
            (&[part], "0::/docker/ab/x", &["/sys/fs/cgroup/x"]),
            (&[part], "0::/elsewhere", &["/sys/fs/cgroup"]),
            (&[v2], "0::/../up", &["/sys/fs/cgroup/unified"]),
            (&[cpu, "garbage"], "1:cpu:/", &[]),
        ];
        for (mounts, own, expected) in table {
            let found = hierarchies(&mounts.join("\n"), own);
            // The mount point ends in a slash if nothing is below it; paths compare by component.
            let found: Vec<&Path> = found.iter().map(|(_, dir)| dir.as_path()).collect();
            assert_eq!(
                found,
                expected.iter().map(Path::new).collect::<Vec<_>>(),
                "{own}"
            );
        }
    }

    /// Tests the interfaces that this machine has.
    #[test]
    fn all_inside_are_killed_and_the_cgroup_is_removed() {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let test = "all_inside_are_killed_and_the_cgroup_is_removed";
        let hierarchies = hierarchies(&mounts, &own);
        if hierarchies.is_empty() {
            skip(test, "no control groups are mounted");
        }
        for (version, parent) in hierarchies {
            let name = format!("test-{}", std::process::id());
            let dir = parent.join(format!("windage-{name}"));
            if fs::create_dir(&dir).is_err() {
                skip(test, &format!("cannot create {}", dir.display()));
                continue;
            }
            fs::create_dir(dir.join("below")).unwrap();
            let cgroup = RunCgroup {
                dir: dir.clone(),
                version,
            };
            let mut sleepers: Vec<_> = (0..3)
                .map(|_| Command::new("sleep").arg("600").spawn().unwrap())
                .collect();
            for (sleeper, at) in sleepers.iter().zip(["", "below", "below"]) {
                fs::write(dir.join(at).join("cgroup.procs"), sleeper.id().to_string()).unwrap();
            }
            assert!(
                remove_tree_once(&dir).is_err(),
                "a cgroup with processes must not be removed"
            );
            cgroup.kill();
            for sleeper in &mut sleepers {
                use std::os::unix::process::ExitStatusExt;
                assert_eq!(
                    sleeper.wait().unwrap().signal(),
                    Some(libc::SIGKILL),
                    "{version:?}"
                );
            }
            cgroup.remove().unwrap();
            assert!(!dir.exists());
        }
    }

    #[test]
    fn files_are_never_removed() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("below")).unwrap();
        fs::write(root.path().join("below/kept"), "").unwrap();
        assert!(remove_tree(root.path()).is_err());
        assert!(root.path().join("below/kept").exists());
        assert!(remove_tree(&root.path().join("never-there")).is_ok());
    }
}
