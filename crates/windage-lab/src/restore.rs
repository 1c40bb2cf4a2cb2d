//! Switches a service that runs on back to the baseline at the end of a run.
//!
//! The keeper starts a process for that, so that it happens however Windage ends. Only when the keeper
//! has not come to it, because it was killed, Windage does it itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windage_keeper::{Containment, Keeper, KeeperOptions, Spawn};
use windage_plan::{Arm, Origin, Plan, Switch, Template};
use windage_record::{Restored, RunDir};

use crate::LabError;
use crate::attached::attached;
use crate::command_line::{COMMAND_WITHIN, run_alone};
use crate::names::Names;
use crate::switch_step::Step;

/// The first argument with which Windage executes itself to switch a service back.
pub const RESTORE_VERB: &str = "__restore";

/// The variable with the orders.
const ORDERS: &str = "WINDAGE_RESTORE";

/// More than a step takes that has a limit of its own.
const STEP_WITHIN: Duration = COMMAND_WITHIN.saturating_add(Duration::from_secs(10));

/// What brings a service back into the baseline's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Orders {
    run: PathBuf,
    service: String,
    folder: PathBuf,
    steps: Vec<Step>,
}

impl Orders {
    /// The steps of a plan's baseline; `None` for a plan whose services end with the run, or that
    /// switches nothing. `names` are the baseline's.
    pub(crate) fn of(plan: &Plan, run: &Path, names: &Names) -> Result<Option<Orders>, LabError> {
        let Some(((service, _), baseline)) = attached(plan).zip(plan.arms.first()) else {
            return Ok(None);
        };
        if plan.arms.iter().all(|arm| arm.switch.is_empty()) {
            return Ok(None);
        }
        let fill = |template: &Template| names.fill(template, "restore", baseline.id.as_str());
        let steps = steps(plan, baseline).map(|step| Step::filled(step, fill));
        let steps: Vec<Step> = steps.collect::<Result<_, _>>()?;
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|source| LabError::Write {
                path: path.to_owned(),
                source,
            })
        };
        let is_known = !(baseline.switch.is_empty() && baseline.restore.is_empty());
        if steps.is_empty() && is_known {
            return Ok(None);
        }
        Ok(Some(Orders {
            run: absolute(run)?,
            service: service.name.to_string(),
            folder: plan.folder.clone(),
            steps,
        }))
    }

    /// Makes the keeper carry them out at the end.
    pub(crate) fn leave_to(&self, keeper: &mut Keeper, executable: &Path) -> Result<(), LabError> {
        let text = serde_json::to_string(self)
            .map_err(|error| LabError::Unsupported(format!("`restore`: {error}")))?;
        // Everybody may read arguments, and steps may have secrets.
        let orders = (ORDERS.into(), text.into());
        // Without a step there is a record to write.
        let steps = u32::try_from(self.steps.len().max(1)).unwrap_or(u32::MAX);
        let spawn = Spawn {
            program: executable.to_owned(),
            args: vec![RESTORE_VERB.into()],
            env: std::env::vars_os().chain([orders]).collect(),
            cwd: self.folder.clone(),
            log: self.log(),
            cgroups: Vec::new(),
            cpus: None,
            inherit: None,
            user: None,
            no_new_privs: false,
        };
        Ok(keeper.run_at_end(spawn, STEP_WITHIN.saturating_mul(steps))?)
    }

    /// How the service was left, after the keeper's end. If the keeper did not come to it, it is
    /// switched back now.
    pub(crate) fn conclude(&self, run: &RunDir) -> Result<Restored, LabError> {
        Ok(match run.restored()? {
            Some(restored) => restored,
            None => self.carry_out(),
        })
    }

    /// Takes the steps until one fails, and records how it went.
    fn carry_out(&self) -> Restored {
        let failed = self.take_steps();
        let restored = Restored {
            service: self.service.clone(),
            failed: failed.unwrap_or_else(|error| Some(error.to_string())),
        };
        // The run directory may be gone or on a full disk; the service is what matters.
        let _ = RunDir::open(&self.run).and_then(|run| run.note_restored(&restored));
        restored
    }

    /// How a step failed, or `None`.
    fn take_steps(&self) -> Result<Option<String>, LabError> {
        if self.steps.is_empty() {
            return Ok(Some(
                "The baseline has neither `switch` nor `restore`".to_owned(),
            ));
        }
        // The run's keeper is ending, or has ended.
        let mut keeper = Keeper::start(KeeperOptions {
            executable: "/proc/self/exe".into(),
            containment: Some(Containment::Subreaper),
            run_id: "restore".to_owned(),
        })?;
        let (folder, log, never) = (&self.folder, self.log(), AtomicBool::new(false));
        for step in &self.steps {
            let failed = step.take(folder, &never, |command| {
                run_alone(&mut keeper, command, folder, &log, &never)
            })?;
            if failed.is_some() {
                return Ok(failed);
            }
        }
        Ok(None)
    }

    fn log(&self) -> PathBuf {
        self.run.join("logs").join("restore.log")
    }
}

/// Steps that reach nothing but services that Windage launches are left out: these have ended.
fn steps<'p>(plan: &'p Plan, baseline: &'p Arm) -> impl Iterator<Item = &'p Switch> {
    let steps = match baseline.restore.as_slice() {
        [] => &baseline.switch,
        given => given,
    };
    let has_ended = |placeholder: &str| {
        let name = placeholder.split('.').next();
        let mut launched = plan
            .services
            .iter()
            .filter(|of| matches!(of.origin, Origin::Command(_)));
        launched.any(|of| Some(of.name.as_str()) == name)
    };
    let reaches_one = move |step: &&Switch| {
        let mut placeholders = step.templates().flat_map(Template::placeholders);
        placeholders.any(has_ended)
    };
    steps.iter().filter(move |step| !reaches_one(step))
}

/// Carries out the orders in the environment of a process with [`RESTORE_VERB`].
#[must_use]
pub fn restore_from_environment() -> ExitCode {
    let text = std::env::var(ORDERS).unwrap_or_default();
    match serde_json::from_str::<Orders>(&text) {
        Ok(orders) if orders.carry_out().failed.is_none() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
