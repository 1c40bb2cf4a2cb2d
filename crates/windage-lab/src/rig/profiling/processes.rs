//! The processes that a profiler records, by the process ids that the profiler sees.

use std::fs;
use std::path::{Path, PathBuf};

use windage_keeper::Containment;

/// A process's own entries in `/proc/PID/status`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Status {
    parent: u32,
    /// Its id in each pid namespace, Windage's own first.
    numbers: Vec<u32>,
}

/// The processes of an arm, by the ids that the keeper's children see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Processes {
    /// Processes whose parent is not among them.
    pub(super) roots: Vec<u32>,
    pub(super) all: Vec<u32>,
    /// Those that are Java VMs.
    pub(super) java: Vec<JavaMachine>,
}

/// A Java VM, and the `jcmd` that talks to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JavaMachine {
    pub(super) number: u32,
    /// The `jcmd` of its own JDK, or that of `PATH`.
    pub(super) jcmd: PathBuf,
}

/// Looks processes up; those that have ended since they were listed are left out.
pub(super) fn look_up(listed: &[u32], containment: Containment) -> Processes {
    let status = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some((*pid, parse(&text)?))
    };
    let found: Vec<(u32, Status)> = listed.iter().filter_map(status).collect();
    let depth = depth(containment);
    let java = found.iter().filter_map(|(pid, status)| {
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        Some(JavaMachine {
            number: *status.numbers.get(depth)?,
            jcmd: jcmd_of(&program)?,
        })
    });
    Processes {
        java: java.collect(),
        ..translated(&found, depth)
    }
}

/// `None` if the program is not a Java VM.
fn jcmd_of(program: &Path) -> Option<PathBuf> {
    if program.file_name()? != "java" {
        return None;
    }
    let beside = program.with_file_name("jcmd");
    Some(if beside.exists() {
        beside
    } else {
        "jcmd".into()
    })
}

/// How many pid namespaces lie between Windage and the keeper's children.
fn depth(containment: Containment) -> usize {
    usize::from(containment == Containment::PidNamespace)
}

fn parse(status: &str) -> Option<Status> {
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    };
    let numbers = field("NSpid")?.split_whitespace().map(str::parse);
    Some(Status {
        parent: field("PPid")?.trim().parse().ok()?,
        numbers: numbers.collect::<Result<_, _>>().ok()?,
    })
}

fn translated(found: &[(u32, Status)], depth: usize) -> Processes {
    let is_listed = |pid: u32| found.iter().any(|(listed, _)| *listed == pid);
    let mut processes = Processes::default();
    for (_, status) in found {
        // A process outside the keeper's namespace has no id there.
        let Some(&number) = status.numbers.get(depth) else {
            continue;
        };
        processes.all.push(number);
        if !is_listed(status.parent) {
            processes.roots.push(number);
        }
    }
    processes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(parent: u32, numbers: &[u32]) -> Status {
        Status {
            parent,
            numbers: numbers.to_vec(),
        }
    }

    #[test]
    fn a_status_is_read() {
        let text = "Name:\tsh\nUmask:\t0022\nPid:\t712\nPPid:\t3\nNSpid:\t712\t5\nVmRSS:\t4 kB\n";
        let table = [
            (text.to_owned(), Some(status(3, &[712, 5])), "nested"),
            (
                text.replace("\t5\n", "\n"),
                Some(status(3, &[712])),
                "not nested",
            ),
            (text.replace("NSpid", "Nspid"), None, "a kernel before 4.1"),
            (text.replace("712", "x"), None, "no number"),
        ];
        for (text, expected, why) in table {
            assert_eq!(parse(&text), expected, "{why}");
        }
    }

    #[test]
    fn roots_are_processes_that_no_other_started() {
        let found = [
            (712, status(700, &[712, 5])),
            (713, status(712, &[713, 6])),
            (720, status(700, &[720, 9])),
            (900, status(1, &[900])),
        ];
        let inside = translated(&found, depth(Containment::PidNamespace));
        assert_eq!(inside.roots, [5, 9]);
        assert_eq!(inside.all, [5, 6, 9], "one is outside");
        let plain = translated(&found, depth(Containment::Subreaper));
        assert_eq!(plain.roots, [712, 720, 900]);
    }

    #[test]
    fn a_java_vm_is_recognised_by_its_program() {
        let table = [
            ("/nowhere/bin/java", Some("jcmd")),
            ("/nowhere/bin/javac", None),
            ("/", None),
        ];
        for (program, jcmd) in table {
            assert_eq!(
                jcmd_of(Path::new(program)),
                jcmd.map(PathBuf::from),
                "{program}"
            );
        }
    }

    #[test]
    fn this_process_is_its_own_root() {
        let own = std::process::id();
        let found = look_up(&[own, u32::MAX], Containment::Subreaper);
        assert_eq!((found.roots, found.all), (vec![own], vec![own]));
    }
}
