//! Switching an instance from one arm to another: the plan's `switch`.

use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;
use windage_model::{ArmIndex, Warning, WarningCode};
use windage_plan::Switch;

use super::{Live, RealRig};
use crate::LabError;
use crate::command_line::run_shell;
use crate::control_request::Message;
use crate::log_tail::log_tail;
use crate::names::Names;

/// The time limit of each command.
const COMMAND_WITHIN: Duration = Duration::from_secs(30);

impl RealRig<'_> {
    /// Takes the arm's steps, unless its instance is already switched to it. Returns a warning when
    /// a step fails.
    pub(super) fn switch(
        &mut self,
        live: &mut Live,
        arm: ArmIndex,
    ) -> Result<Option<Warning>, LabError> {
        let instance = self.setting.set_of(arm);
        let planned = &self.setting.plan.arms[arm.get()];
        if live.switched[instance] == Some(arm) {
            return Ok(None);
        }
        // Until all steps have succeeded, the instance is in no known state.
        live.switched[instance] = None;
        if let Some(receiving) = &self.receiving {
            receiving.switch(instance, planned);
        }
        let mut names = live.instances[instance].names.clone().with_arm(planned);
        if let Some(dir) = self
            .setting
            .socket_dir(live.number, &live.instances[instance])?
        {
            names.set("dir", dir.display().to_string());
        }
        for step in &planned.switch {
            if let Some(why) = self.take_step(step, live, instance, &names)? {
                return Ok(Some(Warning::new(WarningCode::SwitchFailed, why)));
            }
        }
        live.switched[instance] = Some(arm);
        Ok(None)
    }

    /// A sentence that says how a step failed, or `None`.
    fn take_step(
        &mut self,
        step: &Switch,
        live: &Live,
        instance: usize,
        names: &Names,
    ) -> Result<Option<String>, LabError> {
        let of = live.instances[instance].name.as_str();
        let fill = |template| names.fill(template, "switch", of);
        let message = match step {
            Switch::Command(command) => {
                let log = self.setting.run.log_path(live.number, of, "switch");
                return self.run_command(&fill(command)?, log);
            }
            Switch::Line { to, send, .. } => {
                Message::line(&fill(to)?, fill(send)?, &self.setting.plan.folder)
            }
            Switch::Http { method, url, .. } => Message::request(method, fill(url)?),
        };
        let answer = step.answer().map(Regex::new).transpose();
        let answer = answer.map_err(|error| LabError::Unsupported(format!("`switch`: {error}")))?;
        Ok(match message {
            Ok(message) => message
                .say(answer.as_ref(), &self.setting.interrupted)?
                .map(|how| format!("The switch {message} {how}")),
            Err(why) => Some(format!("A switch could not be sent: {why}")),
        })
    }

    fn run_command(&mut self, command: &str, log: PathBuf) -> Result<Option<String>, LabError> {
        // The message must quote this attempt's output only.
        let _ = std::fs::remove_file(&log);
        let failed = run_shell(
            &mut self.keeper,
            command,
            &self.setting.plan.folder,
            log.clone(),
            COMMAND_WITHIN,
            &self.setting.interrupted,
        )?;
        Ok(failed.map(|how| {
            let tail = log_tail(&log);
            format!("The switch command `{command}` {how}; its last lines:\n{tail}")
        }))
    }
}
