//! The environment of a service, padded to a fixed size.
//!
//! The kernel copies arguments and environment to the beginning of a process's stack, so their size
//! decides the address of everything on it. That alone can make a program several percent slower or
//! faster (Mytkowicz et al., *Producing wrong data without doing anything obviously wrong!*, ASPLOS
//! 2009), and arms usually differ in their environment. So the environments of all arms are padded
//! to whole pages.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use windage_keeper::Spawn;
use windage_plan::{Arm, Service, Value};

use crate::LabError;
use crate::names::Names;
use crate::resident::self_report::About;
use crate::user::Account;
use crate::variables::missing;

/// The variable that holds the padding.
const PAD: &str = "WINDAGE_PAD";
/// Environments are padded to a multiple of this.
const PAGE_BYTES: usize = 4096;
/// The stack also holds a pointer to each string.
const POINTER_BYTES: usize = size_of::<usize>();

/// The variables of Windage's environment that a service with a clean one gets; also all `LC_*`.
const KEPT: [&str; 4] = ["HOME", "LANG", "PATH", "TMPDIR"];

/// Windage's own environment, then the service's, then the arm's; later values win. What an arm
/// adds is for its services, not for its agents.
pub(crate) fn environment(
    service: &Service,
    user: Option<&Account>,
    arm: Option<&Arm>,
    names: &Names,
    of: &str,
) -> Result<Vec<(OsString, OsString)>, LabError> {
    let users = user.map(Account::variables).unwrap_or_default();
    let inherited = std::env::vars_os().chain(users);
    let is_kept = |(name, _): &(OsString, OsString)| !service.clean_env || is_kept(name);
    let mut environment: BTreeMap<OsString, OsString> = inherited.filter(is_kept).collect();
    let is_agent = |arm: &&Arm| arm.agents.contains(&service.name);
    let of_arm = arm.into_iter().filter(|arm| !is_agent(arm));
    let of_arm = of_arm.flat_map(|arm| &arm.env);
    for (key, value) in service.env.iter().chain(of_arm) {
        let value = match value {
            Value::Literal(template) => names.fill(template, service.name.as_str(), of)?.into(),
            Value::Environment { variable } => std::env::var_os(variable)
                .ok_or_else(|| missing(format!("`env.{key}` of {of}"), variable))?,
        };
        environment.insert(key.into(), value);
    }
    Ok(environment.into_iter().collect())
}

fn is_kept(name: &OsStr) -> bool {
    KEPT.iter().any(|kept| name == *kept) || name.as_bytes().starts_with(b"LC_")
}

/// The size of a process's environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Padded {
    /// The program's name, arguments and environment with their terminators and pointers, padded.
    bytes: usize,
}

/// Pads the environment. What the keeper adds is the same for all arms of a run.
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
    /// The entry in the record, where arms are compared. It is equal for all arms unless their
    /// environments differ by whole pages. `of` names the service where there are several.
    pub(crate) fn said(self, of: Option<&str>) -> About {
        let of = of.map_or_else(String::new, |of| format!(" of {of}"));
        About {
            name: format!("environment bytes{of}"),
            text: format!("{} with padding", self.bytes),
        }
    }
}

/// The size of a string of this length, with its terminator and its pointer.
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
            user: None,
            no_new_privs: false,
        }
    }

    fn counted(spawn: &Spawn) -> usize {
        let words = spawn.args.iter().map(|a| a.len() + 9).sum::<usize>();
        let variables = spawn.env.iter().map(|(n, v)| n.len() + v.len() + 10);
        spawn.program.as_os_str().len() + 9 + words + variables.sum::<usize>()
    }

    #[test]
    fn windages_own_padding_is_not_passed_on() {
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
            prop_assert!(filling < PAGE_BYTES, "at most one page: {}", filling);
        }
    }
}
