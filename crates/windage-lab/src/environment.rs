//! What a service finds in its environment, and how much of it there is.
//!
//! The kernel copies arguments and environment to the beginning of a process's stack, so that their
//! size decides where everything on it lies. Programs have been seen to become several percent
//! slower or faster from that alone (Mytkowicz et al., *Producing wrong data without doing anything
//! obviously wrong!*, ASPLOS 2009), and an arm differs from its baseline by its environment more
//! often than by anything else. So all arms' are filled up to whole pages.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use windage_keeper::Spawn;
use windage_plan::{Arm, Service};

use crate::LabError;
use crate::names::Names;
use crate::resident::self_report::About;

/// The variable that fills up.
const PAD: &str = "WINDAGE_PAD";
/// To whole multiples of this it is filled up.
const PAGE_BYTES: usize = 4096;
/// Each string has a pointer beside it.
const POINTER_BYTES: usize = size_of::<usize>();

/// Windage's own environment, then the service's, then the arm's; the later wins. What an arm adds is
/// for its services, not for agents beside them.
pub(crate) fn environment(
    service: &Service,
    arm: Option<&Arm>,
    names: &Names,
    of: &str,
) -> Result<Vec<(OsString, OsString)>, LabError> {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let is_agent = |arm: &&Arm| arm.agents.contains(&service.name);
    let of_arm = arm.into_iter().filter(|arm| !is_agent(arm));
    let of_arm = of_arm.flat_map(|arm| &arm.env);
    for (variable, template) in service.env.iter().chain(of_arm) {
        let value = names.fill(template, service.name.as_str(), of)?;
        environment.insert(variable.into(), value.into());
    }
    Ok(environment.into_iter().collect())
}

/// How much environment a process was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Padded {
    /// The program's name, arguments and environment with their ends and pointers, filled up.
    bytes: usize,
}

/// Fills the environment up. What the keeper adds is the same for all arms of a run.
pub(crate) fn pad(spawn: &mut Spawn) -> Padded {
    spawn.env.retain(|(name, _)| name != PAD);
    let words =
        std::iter::once(spawn.program.as_os_str()).chain(spawn.args.iter().map(AsRef::as_ref));
    let words: usize = words.map(|word: &OsStr| bytes_of(word.len())).sum();
    let variable = |name: usize, value: usize| bytes_of(name + 1 + value);
    let variables = spawn
        .env
        .iter()
        .map(|(name, value)| variable(name.len(), value.len()));
    let bare = words + variables.sum::<usize>() + variable(PAD.len(), 0);
    let filling = bare.next_multiple_of(PAGE_BYTES) - bare;
    spawn.env.push((PAD.into(), "x".repeat(filling).into()));
    Padded {
        bytes: bare + filling,
    }
}

impl Padded {
    /// For the record, in which arms are held against each other: what is the same of all unless
    /// their environments differ by whole pages. `of` names the service where there are several.
    pub(crate) fn said(self, of: Option<&str>) -> About {
        let of = of.map_or_else(String::new, |of| format!(" of {of}"));
        About {
            name: format!("environment bytes{of}"),
            text: format!("{} with padding", self.bytes),
        }
    }
}

/// A string of so many bytes with its end and its pointer.
fn bytes_of(length: usize) -> usize {
    length + 1 + POINTER_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spawn(program: &str, args: &[String], env: &[(String, String)]) -> Spawn {
        Spawn {
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
            env: env.iter().map(|(n, v)| (n.into(), v.into())).collect(),
            cwd: "/".into(),
            log: "/dev/null".into(),
            cgroups: Vec::new(),
            cpus: None,
            inherit: None,
        }
    }

    fn counted(spawn: &Spawn) -> usize {
        let words = spawn.args.iter().map(|a| a.len() + 9).sum::<usize>();
        let variables = spawn.env.iter().map(|(n, v)| n.len() + v.len() + 10);
        spawn.program.as_os_str().len() + 9 + words + variables.sum::<usize>()
    }

    #[test]
    fn a_padding_of_windage_itself_is_not_handed_on() {
        let of_windage = [("WINDAGE_PAD".to_owned(), "y".repeat(5000))];
        let mut spawn = spawn("/bin/sh", &[], &of_windage);
        let padding = pad(&mut spawn);
        assert_eq!((padding.bytes, spawn.env.len()), (4096, 1));
        let said = padding.said(Some("app"));
        assert_eq!(
            (said.name.as_str(), said.text.as_str()),
            ("environment bytes of app", "4096 with padding")
        );
    }

    proptest! {
        #[test]
        fn whatever_an_arm_is_given_it_fills_whole_pages(
            program in "[a-z/]{1,40}",
            args in prop::collection::vec("[a-z]{0,80}", 0..20),
            env in prop::collection::vec(("[A-V]{1,30}", "[a-z]{0,600}"), 0..30),
        ) {
            let mut spawn = spawn(&program, &args, &env);
            let padding = pad(&mut spawn);
            prop_assert_eq!(padding.bytes % PAGE_BYTES, 0);
            prop_assert_eq!(counted(&spawn), padding.bytes);
            let filling = spawn.env.last().map_or(0, |(_, value)| value.len());
            prop_assert!(filling < PAGE_BYTES, "no page more than it takes: {}", filling);
        }
    }
}
