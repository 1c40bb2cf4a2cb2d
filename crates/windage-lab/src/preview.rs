//! What a run of a plan would launch, and what this machine lacks for it. Nothing is launched.

use std::ffi::OsString;
use std::path::Path;

use nix::unistd::{AccessFlags, access};
use windage_keeper::find_program;
use windage_model::{ArmId, ArmIndex};
use windage_plan::{Arm, Origin, Plan, Service, Value};

use crate::instance::{Part, services_of};
use crate::names::Names;
use crate::preparation::{command, locate};
use crate::process_set::beside;
use crate::rig::sets_of;
use crate::{LabError, user, variables};

/// A program that a run launches in each round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The service or agent.
    pub service: String,
    /// Whether it is an agent.
    pub is_agent: bool,
    /// The arms that have one with this command; empty if all arms share it.
    pub arms: Vec<ArmId>,
    /// Program and arguments, with the placeholders that only a launch fills.
    pub command: Vec<String>,
    /// The environment variables that the plan sets. Values may be secret.
    pub variables: Vec<String>,
    /// The user, if the plan names one.
    pub user: Option<String>,
    /// The cores, if the plan names some.
    pub cpus: Option<Vec<u32>>,
    /// Where a program without `/` is looked up.
    path: Option<OsString>,
}

/// All programs that a run launches, each once for all arms with the same command and variables.
#[must_use]
pub fn programs(plan: &Plan, executable: &Path) -> Vec<Program> {
    let names = Names::of_run(&plan.folder, executable);
    let mut programs: Vec<Program> = Vec::new();
    let mut add = |part, arms: &[ArmIndex]| {
        for service in services_of(plan, part, arms.first().copied()) {
            if service.pod.is_none() && matches!(service.origin, Origin::Command(_)) {
                let arms: Vec<&Arm> = arms.iter().map(|arm| &plan.arms[arm.get()]).collect();
                let program = program(service, part, &arms, &names);
                let is_same = |known: &&mut Program| {
                    Program {
                        arms: known.arms.clone(),
                        ..program.clone()
                    } == **known
                };
                match programs.iter_mut().find(is_same) {
                    Some(known) => known.arms.extend(program.arms),
                    None => programs.push(program),
                }
            }
        }
    };
    add(Part::Shared, &[]);
    for set in sets_of(plan) {
        add(Part::Own, &set);
    }
    for arm in (0u16..).map(ArmIndex).take(plan.arms.len()) {
        add(Part::Agents, &[arm]);
    }
    let in_plan = |id: &ArmId| plan.arms.iter().position(|arm| arm.id == *id);
    for program in &mut programs {
        program.arms.sort_by_key(in_plan);
    }
    programs
}

fn program(service: &Service, part: Part, arms: &[&Arm], names: &Names) -> Program {
    // All arms of a set have the same processes.
    let arm = arms.first().copied();
    let names = match arm {
        Some(arm) => names.clone().with_arm(arm),
        None => names.clone(),
    };
    let is_agent = part == Part::Agents;
    // What an arm adds to the environment is for its services, not for its agents.
    let of_arm = arm
        .filter(|_| !is_agent)
        .into_iter()
        .flat_map(|arm| &arm.env);
    let mut variables: Vec<String> = Vec::new();
    let mut path = std::env::var_os("PATH");
    for (name, value) in service.env.iter().chain(of_arm) {
        if name == "PATH" {
            path = match value {
                Value::Literal(template) => Some(names.fill_known(template).into()),
                Value::Environment { variable } => std::env::var_os(variable),
            };
        }
        if !variables.contains(name) {
            variables.push(name.clone());
        }
    }
    Program {
        service: service.name.to_string(),
        is_agent,
        arms: arms.iter().map(|arm| arm.id.clone()).collect(),
        command: command(service, arm)
            .map(|word| names.fill_known(word))
            .collect(),
        variables,
        user: service.user.clone(),
        cpus: service.cpus.clone(),
        path,
    }
}

/// What this machine lacks to launch a plan's programs: values of the environment, users, programs.
/// What agents need of the kernel is not among it.
#[must_use]
pub fn lacks(plan: &Plan, executable: &Path) -> Vec<LabError> {
    let programs = programs(plan, executable);
    let programs = programs.iter().filter_map(|of| lacking_program(plan, of));
    variables::lacking(plan)
        .chain(user::lacking(plan))
        .chain(programs)
        .collect()
}

fn lacking_program(plan: &Plan, of: &Program) -> Option<LabError> {
    // Only a launch knows the program.
    let word = of.command.first().filter(|word| !word.contains('{'))?;
    let file = locate(word, &plan.folder);
    let why = if !word.contains('/') {
        let path = of.path.iter().map(|path| ("PATH".into(), path.clone()));
        let found = find_program(&file, &path.collect::<Vec<_>>(), &plan.folder);
        found.err()?.to_string()
    } else if file.is_file() {
        access(&file, AccessFlags::X_OK).err()?;
        format!(
            "{} can't be executed; `chmod +x` makes it executable",
            file.display()
        )
    } else if plan.build.commands.is_empty() {
        format!(
            "there is no program {}; build or install it, or change `command`",
            file.display()
        )
    } else {
        // The plan's own commands may build it.
        return None;
    };
    let arms: Vec<String> = of.arms.iter().map(|arm| format!("`{arm}`")).collect();
    Some(LabError::Program {
        service: of.service.clone(),
        whose: match &of.arms[..] {
            [] => "that all arms share".to_owned(),
            [arm] if of.is_agent => beside(arm.as_str()),
            [arm] => format!("of arm `{arm}`"),
            _ => format!("of arms {}", arms.join(", ")),
        },
        why,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A plan with this program, in a folder where `bin/plain` is no program and `bin/app` is one.
    fn lacks_of(program: &str, more: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        fs::write(dir.path().join("bin/plain"), "x").unwrap();
        fs::copy("/bin/sh", dir.path().join("bin/app")).unwrap();
        let text = format!(
            "name = 'p'\n{more}\n[[service]]\nname = 'app'\ncommand = ['{program}', '{{listen}}']\n\
             [load]\nmodel = 'closed'\nrequest = 'GET http://{{app}}/'\n\
             [[arm]]\nname = 'off'\nbaseline = true\n[[arm]]\nname = 'on'\n"
        );
        let plan = Plan::parse(&text, "plan.toml", dir.path()).unwrap();
        let found = lacks(&plan, Path::new("/bin/windage"));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn missing_programs_are_named_with_their_arms_and_a_remedy() {
        let table = [
            ("sh", "", &[][..]),
            ("bin/app", "", &[]),
            ("{plan}/bin/app", "", &[]),
            (
                "no-such-program",
                "",
                &[
                    "service `app` of arms `off`,",
                    "not found in PATH",
                    "install it",
                ],
            ),
            ("bin/missing", "", &["/bin/missing", "build or install it"]),
            ("bin/missing", "[build]\ncommands = ['make']", &[]),
            ("bin/plain", "", &["/bin/plain", "chmod +x"]),
            ("bin", "", &["not found in PATH"]),
        ];
        for (program, more, parts) in table {
            let found = lacks_of(program, more);
            assert_eq!(
                found.len(),
                usize::from(!parts.is_empty()),
                "{program}: {found:?}"
            );
            for part in parts {
                assert!(found[0].contains(part), "{program}: {found:?} lacks {part}");
            }
        }
    }
}
