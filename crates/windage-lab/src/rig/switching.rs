//! Switching an instance from one arm to another: the plan's `switch`.

use windage_keeper::Keeper;
use windage_model::{ArmIndex, Warning};
use windage_plan::Template;

use super::setting::Setting;
use crate::LabError;
use crate::command_line::run_alone;
use crate::process_set::Instance;
use crate::switch_step::Step;

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
    let (folder, interrupted) = (planned.folder(setting.plan), &setting.interrupted);
    for step in &planned.switch {
        let fill = |template: &Template| names.fill(template, "switch", of);
        let step = Step::filled(step, fill)?;
        let failed = step.take(folder, interrupted, |command| {
            run_alone(keeper, command, folder, &log, interrupted)
        })?;
        if let Some(why) = failed {
            return Ok(Some(Warning::SwitchFailed { how: why }));
        }
    }
    Ok(None)
}
