//! Tracing programs that run though no process holds them: an agent that was killed has left them.

use std::path::PathBuf;

use super::{Bpf, Held, Objects, Pin, Program};
use crate::ProbeError;

/// The types of programs that trace. Programs of other types are normally held by what they are
/// attached to, such as a cgroup or a network device.
const TRACING: [&str; 6] = [
    "kprobe",
    "tracepoint",
    "raw_tracepoint",
    "raw_tracepoint_writable",
    "perf_event",
    "tracing",
];

/// A program that stays in the kernel without a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBehind {
    /// The program.
    pub program: Program,
    /// The ids of its links.
    pub links: Vec<u32>,
    /// Where it or its links are pinned, among the file systems that this process sees.
    pub pins: Vec<PathBuf>,
}

impl LeftBehind {
    /// It in words: `program 17 (count, kprobe), link 3, pinned at /sys/fs/bpf/count`.
    #[must_use]
    pub fn describe(&self) -> String {
        let links = self.links.iter().map(|link| format!(", link {link}"));
        let pins = self.pins.iter();
        let pins = pins.map(|pin| format!(", pinned at {}", pin.display()));
        self.program.describe() + &links.chain(pins).collect::<String>()
    }

    /// The commands that remove it.
    #[must_use]
    pub fn removal(&self) -> Vec<String> {
        if self.pins.is_empty() {
            let links = self.links.iter();
            return links
                .map(|link| format!("bpftool link detach id {link}"))
                .collect();
        }
        let pins = self.pins.iter();
        pins.map(|pin| format!("rm {}", pin.display())).collect()
    }
}

/// Tracing programs with a link or a pin that no process holds.
///
/// Misses programs that perf events or program arrays alone hold: those of living agents look the
/// same.
///
/// # Errors
/// When the kernel's objects can't be listed.
pub fn left_behind(
    bpf: &dyn Bpf,
    held: impl FnOnce() -> Held,
) -> Result<Vec<LeftBehind>, ProbeError> {
    let before = bpf.objects()?;
    let (held, pins) = (held(), bpf.pins());
    // A process may have ended meanwhile, and its programs with it.
    let stayed = bpf.objects()?.among(&before);
    Ok(stayed.without_holder(&held, &pins))
}

impl Objects {
    fn without_holder(self, held: &Held, pins: &[Pin]) -> Vec<LeftBehind> {
        let Objects {
            programs, links, ..
        } = self;
        let of_program = |program: Program| {
            let pins = pins
                .iter()
                .filter(|pin| pin.holds.programs.contains(&program.id));
            // An iterator runs when its pin is read.
            let is_iterator = pins.clone().any(|pin| pin.is_iterator);
            let links = links.iter().filter(|link| link.program == program.id);
            let found = LeftBehind {
                links: links.map(|link| link.id).collect(),
                pins: pins.map(|pin| pin.path.clone()).collect(),
                program,
            };
            let stays = !found.links.is_empty() || !found.pins.is_empty();
            (stays && !is_iterator).then_some(found)
        };
        let is_tracing = |program: &Program| TRACING.contains(&program.kind.as_str());
        programs
            .into_iter()
            .filter(|program| is_tracing(program) && !held.programs.contains(&program.id))
            .filter_map(of_program)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bpf::{FakeBpf, Link};

    fn program(id: u32, kind: &str) -> Program {
        Program {
            id,
            name: "count".to_owned(),
            kind: kind.to_owned(),
            ..Program::default()
        }
    }

    fn pin(path: &str, program: u32, is_iterator: bool) -> Pin {
        Pin {
            path: path.into(),
            holds: Held {
                programs: BTreeSet::from([program]),
                links: BTreeSet::new(),
            },
            is_iterator,
        }
    }

    #[test]
    fn programs_without_a_process_are_named_with_what_removes_them() {
        let objects = Objects {
            programs: vec![
                program(10, "kprobe"),
                program(11, "tracing"),
                program(12, "tracepoint"),
                program(13, "raw_tracepoint"),
                program(14, "cgroup_device"),
                program(15, "perf_event"),
                program(16, "tracing"),
            ],
            links: [(3, 10), (4, 12), (5, 13), (6, 16)]
                .map(|(id, program)| Link { id, program })
                .to_vec(),
            maps: Vec::new(),
        };
        let bpf = FakeBpf::new();
        bpf.set(objects);
        bpf.set_pins(vec![
            pin("/sys/fs/bpf/count", 10, false),
            pin("/sys/fs/bpf/link", 10, false),
            pin("/sys/fs/bpf/traced", 11, false),
            pin("/sys/fs/bpf/device", 14, false),
            pin("/sys/fs/bpf/progs.debug", 16, true),
        ]);
        let held = Held {
            programs: BTreeSet::from([12]),
            links: BTreeSet::new(),
        };
        let found = left_behind(&bpf, || held).unwrap();
        let found: Vec<(String, Vec<String>)> = found
            .iter()
            .map(|of| (of.describe(), of.removal()))
            .collect();
        let expected: [(&str, &[&str]); 3] = [
            (
                "program 10 (count, kprobe), link 3, pinned at /sys/fs/bpf/count, pinned at \
                 /sys/fs/bpf/link",
                &["rm /sys/fs/bpf/count", "rm /sys/fs/bpf/link"],
            ),
            (
                "program 11 (count, tracing), pinned at /sys/fs/bpf/traced",
                &["rm /sys/fs/bpf/traced"],
            ),
            (
                "program 13 (count, raw_tracepoint), link 5",
                &["bpftool link detach id 5"],
            ),
        ];
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let expected = expected.map(|(what, how)| (what.to_owned(), owned(how)));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_vanishes_meanwhile_was_not_left() {
        let there = Objects {
            programs: vec![program(10, "kprobe")],
            links: vec![Link { id: 3, program: 10 }],
            maps: Vec::new(),
        };
        let bpf = FakeBpf::new();
        bpf.script([there, Objects::default()]);
        assert_eq!(left_behind(&bpf, Held::default).unwrap(), []);
        bpf.fail(libc::EPERM);
        assert!(left_behind(&bpf, Held::default).is_err());
    }
}
