//! Switching an instance from one arm to another: the plan's `switch`.

use std::path::Path;
use std::time::Duration;

use regex_lite::Regex;
use windage_keeper::Keeper;
use windage_model::{ArmIndex, Warning};
use windage_plan::{Switch, Template};

use super::setting::Setting;
use crate::LabError;
use crate::command_line::run_shell;
use crate::control_request::Message;
use crate::log_tail::log_tail;
use crate::process_set::Instance;

/// The time limit of each command.
const COMMAND_WITHIN: Duration = Duration::from_secs(30);

/// Takes an arm's steps. Returns a warning when one fails.
pub(super) fn take_steps(
    setting: &Setting,
    keeper: &mut Keeper,
    launch: u32,
    instance: &Instance,
    arm: ArmIndex,
) -> Result<Option<Warning>, LabError> {
    let planned = &setting.plan.arms[arm.get()];
    let names = setting.names_of(launch, instance, arm)?;
    let of = instance.name.as_str();
    let log = setting.run.log_path(launch, of, "switch");
    for step in &planned.switch {
        let fill = |template: &Template| names.fill(template, "switch", of);
        if let Some(why) = take_step(setting, keeper, step, &fill, &log)? {
            return Ok(Some(Warning::SwitchFailed { how: why }));
        }
    }
    Ok(None)
}

/// A sentence that says how a step failed, or `None`.
fn take_step(
    setting: &Setting,
    keeper: &mut Keeper,
    step: &Switch,
    fill: &dyn Fn(&Template) -> Result<String, LabError>,
    log: &Path,
) -> Result<Option<String>, LabError> {
    let (folder, interrupted) = (&setting.plan.folder, &setting.interrupted);
    let message = match step {
        Switch::Command(command) => {
            let (command, log_of_it) = (fill(command)?, log.to_owned());
            // The message must quote this attempt's output only.
            let _ = std::fs::remove_file(log);
            let within = COMMAND_WITHIN;
            let failed = run_shell(keeper, &command, folder, log_of_it, within, interrupted)?;
            return Ok(failed.map(|how| {
                let tail = log_tail(log);
                format!("The switch command `{command}` {how}; its last lines:\n{tail}")
            }));
        }
        Switch::Line { to, send, .. } => Message::line(&fill(to)?, fill(send)?, folder),
        Switch::Http { method, url, .. } => Message::request(method, fill(url)?),
    };
    let answer = step.answer().map(Regex::new).transpose();
    let answer = answer.map_err(|error| LabError::Unsupported(format!("`switch`: {error}")))?;
    Ok(match message {
        Ok(message) => message
            .say(answer.as_ref(), interrupted)?
            .map(|how| format!("The switch {message} {how}")),
        Err(why) => Some(format!("A switch could not be sent: {why}")),
    })
}
