//! The kernel's BPF programs, links and maps, by id.
//!
//! An agent's programs are those that appeared with it ([`Objects::since`]) and that no other
//! process holds ([`Held`]). It has left nothing behind when none of them is listed any more. The
//! kernel assigns ids in a cycle, so an id is not reused soon. What agents of earlier runs left has no
//! holder at all ([`left_behind`]).

use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::OwnedFd;

use crate::ProbeError;

pub(crate) mod call;
mod fake;
mod held;
mod kernel;
mod left_behind;
mod pins;

pub use fake::FakeBpf;
pub use held::Held;
pub(crate) use kernel::Failed;
pub use kernel::KernelBpf;
pub use left_behind::{LeftBehind, left_behind};
pub use pins::Pin;

/// The kernel's `bpf()` call; [`KernelBpf`] is the real one, [`FakeBpf`] is for tests.
pub trait Bpf: fmt::Debug + Send + Sync {
    /// All programs, links and maps in the kernel, no matter which process loaded them.
    ///
    /// Objects that vanish meanwhile are left out.
    ///
    /// # Errors
    ///
    /// [`ProbeError::BpfNotPermitted`] without `CAP_SYS_ADMIN`, [`ProbeError::NoBpf`] on a kernel
    /// without BPF, [`ProbeError::Bpf`] for any other error of the call.
    fn objects(&self) -> Result<Objects, ProbeError>;

    /// Makes the kernel count and time every run of a BPF program until the returned value is
    /// dropped.
    ///
    /// This takes two clock reads per run. It does not change `kernel.bpf_stats_enabled`, and ends
    /// with this process at the latest.
    ///
    /// # Errors
    ///
    /// As [`objects`](Bpf::objects); [`ProbeError::Bpf`] before Linux 5.8, which lacks the command.
    fn enable_statistics(&self) -> Result<OwnedFd, ProbeError>;

    /// Programs and links that are pinned where this process sees it, in the order of paths.
    fn pins(&self) -> Vec<Pin>;
}

/// A BPF program in the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its id.
    pub id: u32,
    /// Its name, as the kernel keeps it (15 bytes); may be empty.
    pub name: String,
    /// Its type, in the kernel's words: `kprobe` (uprobes too), `tracepoint`, `raw_tracepoint`,
    /// `perf_event`, `tracing` (fentry and fexit).
    pub kind: String,
    /// Runs so far while statistics were enabled by any process.
    pub runs: u64,
    /// Time in those runs, in nanoseconds.
    pub run_ns: u64,
    /// The kernel memory that it uses, in bytes.
    pub memory_bytes: u64,
}

impl Program {
    /// The program in words: `program 17 (count_requests, kprobe)`.
    #[must_use]
    pub fn describe(&self) -> String {
        let Program { id, name, kind, .. } = self;
        if name.is_empty() {
            format!("program {id} ({kind})")
        } else {
            format!("program {id} ({name}, {kind})")
        }
    }
}

/// A BPF link: an attachment of a program that ends when nothing holds it.
///
/// Programs attached to perf events in the way before Linux 5.15 have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its id.
    pub id: u32,
    /// The id of the program it attaches.
    pub program: u32,
}

impl Link {
    /// The link in words: `link 3 (of program 17)`.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("link {} (of program {})", self.id, self.program)
    }
}

/// A BPF map: memory that programs share with each other and with the processes that loaded them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// Its id.
    pub id: u32,
    /// Its name, as the kernel keeps it (15 bytes); may be empty.
    pub name: String,
    /// The kernel memory that it uses, in bytes.
    pub memory_bytes: u64,
}

/// The kernel's objects, each kind in the order of ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// Programs.
    pub programs: Vec<Program>,
    /// Links; none before Linux 5.8, where they have no ids.
    pub links: Vec<Link>,
    /// Maps.
    pub maps: Vec<Map>,
}

impl Objects {
    /// The objects here that are not in `before`, by id.
    #[must_use]
    pub fn since(&self, before: &Objects) -> Objects {
        Objects {
            programs: not_in(&self.programs, &before.programs, |program| program.id),
            links: not_in(&self.links, &before.links, |link| link.id),
            maps: not_in(&self.maps, &before.maps, |map| map.id),
        }
    }

    /// The kernel memory of programs and maps, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let programs = self.programs.iter().map(|program| program.memory_bytes);
        let maps = self.maps.iter().map(|map| map.memory_bytes);
        programs.chain(maps).sum()
    }

    /// Programs and links, each in words. Maps go with the programs that use them.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let programs = self.programs.iter().map(Program::describe);
        programs
            .chain(self.links.iter().map(Link::describe))
            .collect()
    }
}

fn not_in<T: Clone>(now: &[T], before: &[T], id: impl Fn(&T) -> u32) -> Vec<T> {
    let known: BTreeSet<u32> = before.iter().map(&id).collect();
    now.iter()
        .filter(|object| !known.contains(&id(object)))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(id: u32, runs: u64) -> Program {
        Program {
            id,
            runs,
            memory_bytes: 4096,
            ..Program::default()
        }
    }

    fn objects(programs: &[u32], links: &[u32], maps: &[u32]) -> Objects {
        let map = |&id: &u32| Map {
            id,
            name: String::new(),
            memory_bytes: 1000,
        };
        Objects {
            programs: programs.iter().map(|&id| program(id, 0)).collect(),
            links: links.iter().map(|&id| Link { id, program: 1 }).collect(),
            maps: maps.iter().map(map).collect(),
        }
    }

    #[test]
    fn new_objects_are_found_by_id() {
        let nothing = Objects::default();
        let some = objects(&[3, 7], &[1], &[2]);
        let table = [
            (&some, &nothing, some.clone(), "all is new"),
            (&some, &some, nothing.clone(), "nothing is new"),
            (&nothing, &some, nothing.clone(), "what went is not new"),
            (
                &objects(&[3, 9], &[1, 4], &[5]),
                &some,
                objects(&[9], &[4], &[5]),
                "some of each kind",
            ),
            (
                &objects(&[1], &[], &[]),
                &objects(&[], &[1], &[1]),
                objects(&[1], &[], &[]),
                "each kind has ids of its own",
            ),
        ];
        for (now, before, expected, why) in table {
            assert_eq!(now.since(before), expected, "{why}");
        }
        let ran = Objects {
            programs: vec![program(3, 12)],
            ..Objects::default()
        };
        let before = objects(&[3], &[], &[]);
        assert_eq!(
            ran.since(&before),
            nothing,
            "a program that ran is the same"
        );
    }

    #[test]
    fn memory_is_the_sum_of_programs_and_maps() {
        assert_eq!(objects(&[1, 2], &[8, 9], &[4]).memory_bytes(), 9192);
        assert_eq!(Objects::default().memory_bytes(), 0);
    }

    #[test]
    fn objects_are_described_by_id_name_and_kind() {
        let kprobe = |id, name: &str| Program {
            id,
            name: name.to_owned(),
            kind: "kprobe".to_owned(),
            ..Program::default()
        };
        let here = Objects {
            programs: vec![kprobe(17, "count_requests"), kprobe(18, "")],
            links: vec![Link { id: 3, program: 17 }],
            maps: objects(&[], &[], &[5]).maps,
        };
        let expected = [
            "program 17 (count_requests, kprobe)",
            "program 18 (kprobe)",
            "link 3 (of program 17)",
        ];
        assert_eq!(here.describe(), expected);
    }
}
