//! Preparation of a launch: render files, fill placeholders, check the configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::geteuid;
use windage_keeper::Spawn;
use windage_plan::{Arm, Origin, Service, Template};
use windage_probe::cgroup::ArmCgroup;

use crate::LabError;
use crate::command_line::see_through;
use crate::environment::{Padded, environment, pad};
use crate::error::CheckTrouble;
use crate::leftovers::end_its_group;
use crate::log_tail::{last_lines, read_end};
use crate::names::Names;
use crate::process_set::{Ground, Instance};
use crate::rendered::Rendered;
use crate::user::{Account, account};

/// How long a check may take.
const CHECK_WITHIN: Duration = Duration::from_secs(30);

/// Everything needed to launch a service.
pub(crate) struct Prepared {
    /// The process that the keeper starts.
    pub(crate) spawn: Spawn,
    pub(crate) rendered: Rendered,
    /// The padding of its environment; `None` for a service that all arms share.
    pub(crate) padding: Option<Padded>,
    check: Option<Spawn>,
}

/// Renders a service's files and fills its placeholders. `instance` knows the addresses.
pub(crate) fn prepare(
    ground: &Ground<'_>,
    instance: &Instance,
    service: &Service,
    arm: Option<&Arm>,
    group: Option<&ArmCgroup>,
    log: &Path,
) -> Result<Prepared, LabError> {
    let (service, folder) = match arm.filter(|_| !service.shared) {
        Some(arm) => (arm.at_its_revision(service), arm.folder(ground.plan)),
        None => (service, ground.plan.folder.as_path()),
    };
    let (name, of) = (service.name.as_str(), instance.name.as_str());
    let user = if instance.are_agents {
        None
    } else {
        account(service)?
    };
    let dir = ground.run.work_dir(ground.launch, of, name);
    let owner = user.as_ref().map(Account::owner);
    ground.run.make_work_dir(&dir, owner)?;
    // A service may have another working directory than Windage.
    let dir = std::path::absolute(&dir).map_err(|source| LabError::Write { path: dir, source })?;
    if let Some(parent) = log.parent() {
        make_dir(parent)?;
    }
    let names = instance.names.clone().for_service(name, &dir);
    for file in &service.files {
        let path = dir.join(&file.to);
        if let Some(parent) = path.parent() {
            make_dir(parent)?;
        }
        let text = names.fill(&file.text, name, of)?;
        windage_files::write(&path, text.as_bytes())
            .map_err(|source| LabError::Write { path, source })?;
    }
    let cwd = match &service.cwd {
        Some(template) => folder.join(names.fill(template, name, of)?),
        None => folder.to_owned(),
    };
    let env = environment(service, user.as_ref(), arm, &names, of)?;
    let is_root = user.is_none() && geteuid().is_root();
    let spawn = |words: Vec<String>, log: PathBuf, cgroups| {
        let (program, args) = words.split_first().ok_or_else(|| {
            LabError::Unsupported(format!("service `{name}` has an empty command"))
        })?;
        Ok::<Spawn, LabError>(Spawn {
            program: locate(program, folder),
            args: args.iter().map(OsString::from).collect(),
            env: env.clone(),
            cwd: cwd.clone(),
            log,
            cgroups,
            cpus: service.cpus.clone(),
            inherit: None,
            user: user.as_ref().map(|user| user.credentials.clone()),
            no_new_privs: !instance.are_agents && !is_root,
        })
    };
    let check = match service.check.as_slice() {
        [] => None,
        words => {
            let log = ground
                .run
                .log_path(ground.launch, of, &format!("{name}.check"));
            // The check's CPU is charged to no arm: the check ends before the launch.
            let words = filled(words, &names, name, of)?;
            Some(spawn(words, log, Vec::new())?)
        }
    };
    let cgroups = group.map(|g| g.dirs.clone()).unwrap_or_default();
    let mut spawn = spawn(words(service, arm, &names, of)?, log.to_owned(), cgroups)?;
    Ok(Prepared {
        padding: arm.map(|_| pad(&mut spawn)),
        spawn,
        rendered: Rendered {
            dir,
            files: service.files.iter().map(|file| file.to.clone()).collect(),
        },
        check,
    })
}

impl Prepared {
    /// The stand-in of a pod: nothing of it is padded or checked here.
    pub(crate) fn of_pod(spawn: Spawn, rendered: Rendered) -> Prepared {
        Prepared {
            spawn,
            rendered,
            padding: None,
            check: None,
        }
    }

    /// Makes the service's own program check its configuration, if the plan has a check.
    pub(crate) fn check(
        &mut self,
        ground: &mut Ground<'_>,
        instance: &Instance,
        service: &Service,
    ) -> Result<(), LabError> {
        let Some(spawn) = self.check.take() else {
            return Ok(());
        };
        let words = std::iter::once(spawn.program.display().to_string())
            .chain(spawn.args.iter().map(|arg| arg.display().to_string()));
        let command = words.collect::<Vec<_>>().join(" ");
        let log = spawn.log.clone();
        // A failed launch may have left the log of an earlier check.
        let _ = std::fs::remove_file(&log);
        let failed = match ground.keeper.spawn(spawn) {
            Ok(child) => {
                let failed = see_through(ground.keeper, &child, CHECK_WITHIN, ground.interrupted)?;
                end_its_group(child.pid);
                failed
            }
            Err(error) => Some(format!("could not be run: {error}")),
        };
        let Some(how) = failed else { return Ok(()) };
        let output = read_end(&log).unwrap_or_default();
        Err(LabError::Check(Box::new(CheckTrouble {
            service: service.name.to_string(),
            whose: instance.whose(),
            command,
            how,
            said: last_lines(&output) + &self.rendered.lines_named_in(&output),
            log,
        })))
    }
}

/// A program with a `/` is relative to the plan's folder; any other is looked up in `PATH`.
pub(crate) fn locate(program: &str, folder: &Path) -> PathBuf {
    if program.contains('/') {
        folder.join(program)
    } else {
        PathBuf::from(program)
    }
}

fn words(
    service: &Service,
    arm: Option<&Arm>,
    names: &Names,
    of: &str,
) -> Result<Vec<String>, LabError> {
    filled(command(service, arm), names, service.name.as_str(), of)
}

/// Program and arguments of a service for an arm.
pub(crate) fn command<'p>(
    service: &'p Service,
    arm: Option<&'p Arm>,
) -> impl Iterator<Item = &'p Template> {
    let replaced = arm.and_then(|arm| arm.command.get(&service.name));
    let own = match &service.origin {
        Origin::Command(words) => words.as_slice(),
        Origin::Attach(_) => &[],
    };
    let added = arm
        .and_then(|arm| arm.args.get(&service.name))
        .map_or(&[][..], Vec::as_slice);
    replaced.map_or(own, Vec::as_slice).iter().chain(added)
}

pub(crate) fn filled<'t>(
    templates: impl IntoIterator<Item = &'t Template>,
    names: &Names,
    service: &str,
    of: &str,
) -> Result<Vec<String>, LabError> {
    let templates = templates.into_iter();
    templates.map(|t| names.fill(t, service, of)).collect()
}

fn make_dir(dir: &Path) -> Result<(), LabError> {
    windage_files::create_dir_all(dir).map_err(|source| LabError::Write {
        path: dir.to_owned(),
        source,
    })
}
