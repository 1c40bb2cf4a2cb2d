//! What a keeper does for Windage, with each containment.

// clippy.toml allows it in functions marked `#[test]`; shared helpers need this attribute.
#![allow(clippy::unwrap_used)]

mod ground;
#[path = "../../windage/tests/quick/skip.rs"]
mod skip;

use std::fs;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ground::{assert_gone, containments, eventually, keeper, living, log, marker, service};
use windage_keeper::{
    Child, Containment, Credentials, ExitStatusKind, Keeper, KeeperError, KeeperOptions,
    MAX_CHILDREN, Spawn,
};

use crate::skip::skip;

const LONG: Duration = Duration::from_secs(30);

/// Runs the case with each containment that works here, in a directory of its own.
fn each(case: impl Fn(&mut Keeper, &Path)) {
    for containment in containments() {
        let dir = tempfile::tempdir().unwrap();
        let mut keeper = keeper(containment, &marker());
        assert_eq!(keeper.containment(), containment);
        case(&mut keeper, dir.path());
        keeper.shut_down().unwrap();
    }
}

/// A shell with this script.
fn shell(dir: &Path, script: &str) -> Spawn {
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    Spawn {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env,
        ..service(dir, &[])
    }
}

fn run(keeper: &mut Keeper, spawn: Spawn) -> ExitStatusKind {
    let child = keeper.spawn(spawn).unwrap();
    keeper.wait(&child, LONG).unwrap().expect("an end").status
}

#[test]
fn output_is_appended_and_the_exit_code_is_reported() {
    each(|keeper, dir| {
        fs::write(dir.join("log"), "before\n").unwrap();
        let ended = run(keeper, shell(dir, "echo out; echo err >&2; pwd; exit 7"));
        assert_eq!(ended, ExitStatusKind::Code(7));
        let cwd = dir.canonicalize().unwrap();
        assert_eq!(log(dir), format!("before\nout\nerr\n{}\n", cwd.display()));
    });
}

#[test]
fn the_environment_is_the_given_one() {
    each(|keeper, dir| {
        let mut spawn = shell(
            dir,
            "env | grep -v ^_= | grep -v ^PWD= | grep -v ^SHLVL= | sort",
        );
        spawn.env.push(("GREETING".into(), "hello µ".into()));
        spawn.env.push(("WINDAGE_RUN".into(), "forged".into()));
        run(keeper, spawn);
        let text = log(dir);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[..2], ["GREETING=hello µ", "PATH=/usr/bin:/bin"]);
        assert!(lines[2].starts_with("WINDAGE_RUN=mark-"), "{text}");
    });
}

#[test]
fn a_process_becomes_its_user_and_is_killed_before_the_keeper() {
    const NOBODY: Credentials = Credentials {
        uid: 65534,
        gid: 65533,
        groups: Vec::new(),
    };
    if !nix::unistd::geteuid().is_root() {
        skip(
            "windage-keeper users",
            "not root: can't become another user",
        );
        return;
    }
    let score = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let own: i32 = score.trim().parse().unwrap();
    let higher = format!("score {}\n", (own + 500).min(1000));
    let print = "cat /proc/self/status; echo score $(cat /proc/self/oom_score_adj)";
    each(|keeper, dir| {
        let may_enter = |mode| fs::set_permissions(dir, Permissions::from_mode(mode)).unwrap();
        may_enter(0o711);
        let user = Credentials {
            groups: vec![65533, 4711],
            ..NOBODY
        };
        let of_user = ["\t65534"; 4].concat();
        let of_group = ["\t65533"; 4].concat();
        let table = [
            (
                Some(user),
                true,
                format!("Uid:{of_user}\nGid:{of_group}\n"),
                "Groups:\t4711 65533",
                "CapPrm:\t0000000000000000",
                "NoNewPrivs:\t1",
            ),
            (
                None,
                false,
                "Uid:\t0\t0\t0\t0\n".to_owned(),
                "Groups:\t",
                "CapPrm:\t",
                "NoNewPrivs:\t0",
            ),
        ];
        for (user, no_new_privs, ids, groups, capabilities, privileges) in table {
            fs::write(dir.join("log"), "").unwrap();
            let spawn = Spawn {
                user,
                no_new_privs,
                ..shell(dir, print)
            };
            assert_eq!(run(keeper, spawn), ExitStatusKind::Code(0));
            let status = log(dir);
            for part in [&ids, groups, capabilities, privileges, &higher] {
                assert!(status.contains(part), "{status} lacks {part:?}");
            }
        }
        may_enter(0o700);
        let spawn = Spawn {
            user: Some(NOBODY),
            ..shell(dir, print)
        };
        let error = keeper.spawn(spawn).unwrap_err().to_string();
        for part in ["working directory", "Permission denied", "`user`"] {
            assert!(error.contains(part), "{error}");
        }
    });
}

#[test]
fn failed_starts_say_why() {
    each(|keeper, dir| {
        fs::write(dir.join("text"), "no program").unwrap();
        let sh = || shell(dir, "true");
        let table: [(Spawn, &[&str]); 9] = [
            (
                Spawn {
                    program: "no-such-tool".into(),
                    ..sh()
                },
                &["no-such-tool", "/usr/bin, /bin"],
            ),
            (
                Spawn {
                    program: "/no/such/tool".into(),
                    ..sh()
                },
                &["/no/such/tool", "No such file", "interpreter"],
            ),
            (
                Spawn {
                    program: dir.join("text"),
                    ..sh()
                },
                &["Permission denied", "chmod +x"],
            ),
            (
                Spawn {
                    cwd: "/no/such/place".into(),
                    ..sh()
                },
                &["`sh`", "working directory /no/such/place", "No such"],
            ),
            (
                Spawn {
                    log: "/no/such/log".into(),
                    ..sh()
                },
                &["log /no/such/log", "No such file"],
            ),
            (
                Spawn {
                    cgroups: vec!["/no/cgroup".into()],
                    ..sh()
                },
                &["cgroup /no/cgroup", "No such", "mkdir"],
            ),
            (
                Spawn {
                    cpus: Some(vec![1000]),
                    ..sh()
                },
                &["cores", "Invalid argument", "nproc"],
            ),
            (
                Spawn {
                    cpus: Some(vec![u32::MAX]),
                    ..sh()
                },
                &["cores", "Invalid argument"],
            ),
            (
                Spawn {
                    args: vec!["a\0b".into()],
                    ..sh()
                },
                &["arguments", "NUL"],
            ),
        ];
        for (spawn, parts) in table {
            let error = keeper.spawn(spawn).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{error:?} lacks {part:?}");
            }
        }
        // None of these failures affects the next start.
        assert_eq!(run(keeper, sh()), ExitStatusKind::Code(0));
    });
}

#[test]
fn used_resources_are_reported() {
    each(|keeper, dir| {
        let child = keeper.spawn(service(dir, &["burn", "200"])).unwrap();
        let exit = keeper.wait(&child, LONG).unwrap().unwrap();
        assert_eq!(
            (exit.child, exit.status),
            (child.id, ExitStatusKind::Code(7))
        );
        // It spins for 200 ms. A busy machine gives it less than that; a broken counter shows
        // nothing.
        assert!(
            (1_000_000..10_000_000_000).contains(&exit.cpu_ns()),
            "{exit:?}"
        );
        assert!(
            (64 << 20..1 << 30).contains(&exit.max_rss_bytes),
            "{exit:?}"
        );
    });
}

#[test]
fn pids_are_those_of_windages_namespace() {
    each(|keeper, dir| {
        let marker = marker();
        let child = keeper.spawn(service(dir, &["pause", &marker])).unwrap();
        // While it is executed it has no arguments for a moment.
        eventually("found", || living(&marker, None).len() == 1);
        let found = living(&marker, None);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(&format!("{}: ", child.pid)),
            "{child:?}: {found:?}"
        );
        let words = fs::read_to_string(format!("/proc/{}/cmdline", keeper.keeper_pid())).unwrap();
        assert!(words.contains(keeper.containment().as_str()), "{words:?}");
    });
}

#[test]
fn signals_reach_children_with_default_dispositions() {
    each(|keeper, dir| {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGKILL] {
            let child = keeper.spawn(service(dir, &["pause", "x"])).unwrap();
            assert_eq!(keeper.wait(&child, Duration::ZERO).unwrap(), None);
            keeper.signal(&child, signal).unwrap();
            let exit = keeper.wait(&child, LONG).unwrap().unwrap();
            assert_eq!(exit.status, ExitStatusKind::Signal(signal));
            let again = keeper.signal(&child, signal);
            assert!(matches!(again, Err(KeeperError::Ended { .. })), "{again:?}");
        }
        let child = keeper.spawn(service(dir, &["pause", "x"])).unwrap();
        let error = keeper.signal(&child, 99).unwrap_err().to_string();
        assert!(
            error.contains("signal 99") && error.contains("Invalid argument"),
            "{error}"
        );

        run(
            keeper,
            shell(dir, "grep -E 'Sig(Blk|Ign)' /proc/self/status"),
        );
        // The C library reserves signals 32 and 33 and leaves them as they were.
        let kept = 0b11 << 31;
        for line in log(dir).lines() {
            let (name, mask) = line.split_once(":\t").unwrap();
            assert_eq!(
                u64::from_str_radix(mask, 16).unwrap() & !kept,
                0,
                "{name}: {mask}"
            );
        }
        assert_eq!(log(dir).lines().count(), 2);
    });
}

#[test]
fn stopping_signals_first_and_then_kills() {
    each(|keeper, dir| {
        let polite = keeper.spawn(service(dir, &["pause", "x"])).unwrap();
        let exit = keeper.stop(&polite, libc::SIGTERM, LONG).unwrap();
        assert_eq!(exit.status, ExitStatusKind::Signal(libc::SIGTERM));

        let deaf = keeper.spawn(service(dir, &["ignore-term"])).unwrap();
        eventually("ignores TERM", || log(dir).contains("up"));
        let exit = keeper
            .stop(&deaf, libc::SIGTERM, Duration::from_millis(50))
            .unwrap();
        assert_eq!(exit.status, ExitStatusKind::Signal(libc::SIGKILL));
        // A second call gives the same answer, and the exit is not reported again.
        assert_eq!(keeper.stop(&deaf, libc::SIGTERM, LONG).unwrap(), exit);
        assert_eq!(keeper.poll().unwrap(), []);
    });
}

#[test]
fn killing_a_deaf_child_takes_its_group_along() {
    each(|keeper, dir| {
        let marker = marker();
        let script = format!(
            "trap '' TERM; sh -c 'sleep 600 # {marker}; true' & echo up; while :; do wait; done"
        );
        let child = keeper.spawn(shell(dir, &script)).unwrap();
        eventually("up", || {
            log(dir).contains("up") && !living(&marker, Some(child.pid)).is_empty()
        });
        keeper
            .stop(&child, libc::SIGTERM, Duration::from_millis(50))
            .unwrap();
        assert_gone(&marker, None, "group");
    });
}

#[test]
fn exits_are_reported_once() {
    each(|keeper, dir| {
        let children: Vec<Child> = (0..20)
            .map(|n| keeper.spawn(shell(dir, &format!("exit {n}"))).unwrap())
            .collect();
        let mut seen = Vec::new();
        eventually("all exits", || {
            seen.extend(keeper.poll().unwrap());
            seen.len() >= children.len()
        });
        seen.sort_by_key(|exit| exit.child);
        let codes: Vec<ExitStatusKind> = seen.iter().map(|exit| exit.status).collect();
        assert_eq!(codes, (0..20).map(ExitStatusKind::Code).collect::<Vec<_>>());
        assert_eq!(keeper.poll().unwrap(), []);
        let stranger = Child { id: 9999, pid: 1 };
        let error = keeper.wait(&stranger, LONG);
        assert!(
            matches!(error, Err(KeeperError::UnknownChild { child: 9999 })),
            "{error:?}"
        );
    });
}

#[test]
fn descriptor_three_talks() {
    each(|keeper, dir| {
        let (mut near, far) = UnixStream::pair().unwrap();
        let child = keeper
            .spawn(Spawn {
                inherit: Some(far.into()),
                ..service(dir, &["talk"])
            })
            .unwrap();
        near.write_all(b"hello").unwrap();
        let mut answer = String::new();
        near.read_to_string(&mut answer).unwrap();
        let (text, pid) = answer.split_once(' ').unwrap();
        assert_eq!(text, "HELLO");
        // In a namespace the child has another number.
        let same = pid == child.pid.to_string();
        assert_eq!(
            same,
            keeper.containment() != Containment::PidNamespace,
            "{answer} {child:?}"
        );
        assert_eq!(
            keeper.wait(&child, LONG).unwrap().unwrap().status,
            ExitStatusKind::Code(0)
        );
    });
}

#[test]
fn no_descriptor_leaks() {
    each(|keeper, dir| {
        // As a library in Windage might: opened without close-on-exec.
        let leaky = fs::File::open("/dev/null").unwrap();
        nix::fcntl::fcntl(
            &leaky,
            nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()),
        )
        .unwrap();
        run(keeper, shell(dir, "ls /proc/self/fd"));
        // Apart from the three standard ones, `ls` has the directory that it lists open.
        assert_eq!(log(dir), "0\n1\n2\n3\n");
    });
}

#[test]
fn cores_are_kept_to() {
    each(|keeper, dir| {
        let allowed = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
        let last = (0..1024)
            .rev()
            .find(|cpu| allowed.is_set(*cpu).unwrap())
            .unwrap();
        let cpus = Some(vec![u32::try_from(last).unwrap()]);
        run(
            keeper,
            Spawn {
                cpus,
                ..shell(dir, "grep Cpus_allowed_list /proc/self/status")
            },
        );
        assert_eq!(log(dir), format!("Cpus_allowed_list:\t{last}\n"));
    });
}

#[test]
fn cgroups_are_entered_and_removed_at_the_end() {
    let parent = Path::new("/sys/fs/cgroup/cpuacct");
    let name = format!("windage-test-{}", marker());
    let dir = parent.join(&name);
    for containment in containments() {
        if !parent.exists() || fs::create_dir_all(dir.join("arm")).is_err() {
            return skip(
                "cgroups_are_entered_and_removed_at_the_end",
                &format!("cannot create {}", dir.display()),
            );
        }
        let work = tempfile::tempdir().unwrap();
        let mut keeper = keeper(containment, &marker());
        keeper.remove_at_end(dir.clone()).unwrap();
        let cgroups = vec![dir.join("arm")];
        let script = "grep cpuacct /proc/self/cgroup; sleep 600";
        let child = keeper
            .spawn(Spawn {
                cgroups,
                ..shell(work.path(), script)
            })
            .unwrap();
        eventually("in the cgroup", || {
            log(work.path()).contains(&format!("/{name}/arm\n"))
        });
        let procs = fs::read_to_string(dir.join("arm/cgroup.procs")).unwrap();
        assert!(
            procs.lines().any(|pid| pid == child.pid.to_string()),
            "{procs:?} lacks {child:?}"
        );
        keeper.shut_down().unwrap();
        assert!(!dir.exists(), "{containment:?} left {}", dir.display());
    }
}

#[test]
fn a_last_process_runs_when_all_others_have_ended() {
    for containment in containments() {
        let dir = tempfile::tempdir().unwrap();
        let marker = marker();
        let mut keeper = keeper(containment, &marker);
        let at_end = |text: &str| shell(dir.path(), &format!("echo {text} >> last; sleep 600 &"));
        keeper.run_at_end(at_end("first"), LONG).unwrap();
        keeper.run_at_end(at_end("second"), LONG).unwrap();
        keeper
            .spawn(service(dir.path(), &["pause", &marker]))
            .unwrap();
        assert!(!dir.path().join("last").exists(), "before the end");
        keeper.shut_down().unwrap();
        let last = fs::read_to_string(dir.path().join("last")).unwrap();
        assert_eq!(last, "second\n", "{containment:?}");
        assert_gone(&marker, None, "what it left behind");
    }
}

#[test]
fn a_last_process_is_killed_when_its_time_is_over() {
    each(|keeper, dir| {
        let forever = shell(dir, "exec sleep 600");
        keeper
            .run_at_end(forever, Duration::from_millis(100))
            .unwrap();
    });
}

#[test]
fn the_keeper_works_on_after_killing_all() {
    each(|keeper, dir| {
        let marker = marker();
        let child = keeper.spawn(service(dir, &["tree", "3", &marker])).unwrap();
        eventually("all up", || log(dir).lines().count() == 4);
        // The innermost executes itself again after its line, and has no arguments for that moment.
        eventually("all found", || living(&marker, None).len() >= 4);
        keeper.kill_all().unwrap();
        assert_eq!(living(&marker, None), Vec::<String>::new());
        let exits = keeper.poll().unwrap();
        assert_eq!(
            exits.iter().map(|exit| exit.child).collect::<Vec<_>>(),
            [child.id]
        );
        assert_eq!(run(keeper, shell(dir, "exit 3")), ExitStatusKind::Code(3));
    });
}

#[test]
fn the_bounds_hold() {
    each(|keeper, dir| {
        let huge = Spawn {
            args: vec!["x".repeat(2 << 20).into()],
            ..shell(dir, "")
        };
        let error = keeper.spawn(huge);
        assert!(
            matches!(error, Err(KeeperError::TooLarge { .. })),
            "{error:?}"
        );
    });
    // Once is enough: the limit is the same with each containment.
    let dir = tempfile::tempdir().unwrap();
    let mut keeper = keeper(containments()[0], &marker());
    for _ in 0..MAX_CHILDREN {
        keeper
            .spawn(Spawn {
                program: "/bin/sleep".into(),
                args: vec!["600".into()],
                ..shell(dir.path(), "")
            })
            .unwrap();
    }
    let error = keeper.spawn(shell(dir.path(), "true"));
    assert!(
        matches!(error, Err(KeeperError::TooManyChildren)),
        "{error:?}"
    );
    // More exits than the socket holds, and nothing reads them meanwhile.
    keeper.kill_all().unwrap();
    assert_eq!(keeper.poll().unwrap().len(), MAX_CHILDREN);
    assert_eq!(
        run(&mut keeper, shell(dir.path(), "exit 1")),
        ExitStatusKind::Code(1)
    );
}

#[test]
fn bad_starts_are_reported() {
    let start = |executable: &str, run_id: &str| {
        let options = KeeperOptions {
            executable: executable.into(),
            containment: Some(Containment::Subreaper),
            run_id: run_id.to_owned(),
        };
        Keeper::start(options)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let table = [
        ("/no/such/windage", "run", "No such file"),
        // A program that is not a keeper just ends.
        ("/bin/true", "run", "the keeper died"),
        ("/bin/true", "", "run id"),
        ("/bin/true", "../run", "run id"),
        ("/bin/true", "..", "run id"),
    ];
    for (executable, run_id, expected) in table {
        let error = start(executable, run_id);
        assert!(
            error.contains(expected),
            "{executable} {run_id:?}: {error:?}"
        );
    }
}
