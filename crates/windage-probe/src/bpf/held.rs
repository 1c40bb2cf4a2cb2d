//! Which BPF programs and links processes hold by descriptors, from `/proc/PID/fdinfo`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::Objects;

/// Programs and links that processes hold by descriptors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Programs, by id.
    pub programs: BTreeSet<u32>,
    /// Links, by id.
    pub links: BTreeSet<u32>,
}

impl Held {
    /// What all processes hold, except those for which `leave_out` is true.
    ///
    /// Skips processes and descriptors that vanish meanwhile or may not be read. A process may hold
    /// a program for others as well; a program pinned in a file system needs no holder.
    #[must_use]
    pub fn by_others_than(leave_out: impl Fn(u32) -> bool) -> Held {
        let mut held = Held::default();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        for process in processes {
            let pid = process
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            if pid.is_some_and(|pid| !leave_out(pid)) {
                held.add(&process.path().join("fdinfo"));
            }
        }
        held
    }

    fn add(&mut self, descriptors: &Path) {
        let descriptors = fs::read_dir(descriptors).into_iter().flatten().flatten();
        for descriptor in descriptors {
            if let Ok(text) = fs::read_to_string(descriptor.path()) {
                self.note(&text);
            }
        }
    }

    /// Records the object of a descriptor.
    pub(super) fn note(&mut self, fdinfo: &str) {
        let number = |key: &str| {
            let value = fdinfo.lines().find_map(|line| line.strip_prefix(key))?;
            value.trim().parse::<u32>().ok()
        };
        self.programs.extend(number("prog_id:"));
        self.links.extend(number("link_id:"));
    }
}

impl Objects {
    /// The objects that these holders do not hold. Maps are kept: programs hold them.
    #[must_use]
    pub fn not_held(self, held: &Held) -> Objects {
        let keep = |link: &super::Link| {
            !held.links.contains(&link.id) && !held.programs.contains(&link.program)
        };
        Objects {
            links: self.links.into_iter().filter(keep).collect(),
            programs: self
                .programs
                .into_iter()
                .filter(|program| !held.programs.contains(&program.id))
                .collect(),
            maps: self.maps,
        }
    }

    /// The objects that are also in `known`, by id.
    #[must_use]
    pub fn among(self, known: &Objects) -> Objects {
        let beyond = self.since(known);
        self.since(&beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::{Link, Program};

    const PROGRAM: &str = "pos:\t0\nflags:\t02000002\nmnt_id:\t16\nino:\t1057\nprog_type:\t2\n\
        prog_jited:\t1\nprog_tag:\ta04f5eef06a7f555\nmemlock:\t4096\nprog_id:\t17\nrun_time_ns:\t0\n";
    const LINK: &str = "pos:\t0\nlink_type:\tperf\nlink_id:\t3\nprog_tag:\tcb\nprog_id:\t18\n";

    fn objects(programs: &[u32], links: &[(u32, u32)]) -> Objects {
        let program = |&id: &u32| Program {
            id,
            ..Program::default()
        };
        let link = |&(id, program): &(u32, u32)| Link { id, program };
        Objects {
            programs: programs.iter().map(program).collect(),
            links: links.iter().map(link).collect(),
            maps: Vec::new(),
        }
    }

    #[test]
    fn descriptors_name_their_objects() {
        let mut held = Held::default();
        held.note(PROGRAM);
        held.note(LINK);
        held.note("pos:\t0\nflags:\t0\n");
        assert_eq!(held.programs, BTreeSet::from([17, 18]));
        assert_eq!(held.links, BTreeSet::from([3]));
    }

    #[test]
    fn objects_of_other_holders_are_left_out() {
        let held = Held {
            programs: BTreeSet::from([17]),
            links: BTreeSet::from([5]),
        };
        let all = objects(&[17, 18], &[(3, 17), (4, 18), (5, 18)]);
        assert_eq!(all.not_held(&held), objects(&[18], &[(4, 18)]));
    }

    #[test]
    fn known_objects_are_found_again_by_id() {
        let known = objects(&[17, 18], &[(3, 17)]);
        let now = objects(&[18, 19], &[(3, 18), (4, 19)]);
        assert_eq!(now.among(&known), objects(&[18], &[(3, 18)]));
    }
}
