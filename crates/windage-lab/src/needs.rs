//! Checks, before anything is launched, that the kernel has what a plan's agents need.

use std::fmt::Write as _;

use windage_plan::Plan;
use windage_probe::Linux;
use windage_probe::facility::{KernelTrials, Trials, lacking};

use crate::LabError;

/// # Errors
/// When this host lacks what an agent needs: the agent, the facility, the reason and the remedy.
pub(crate) fn look(plan: &Plan) -> Result<(), LabError> {
    look_with(plan, &KernelTrials)
}

fn look_with(plan: &Plan, trials: &dyn Trials) -> Result<(), LabError> {
    let mut text = String::new();
    for agent in &plan.agents {
        for lack in lacking(&agent.needs, &Linux, trials) {
            let (name, facility) = (&agent.service.name, lack.facility.as_str());
            // Writing to a string can't fail.
            let _ = write!(
                text,
                "\nagent `{name}` needs `{facility}`: {}; {}",
                lack.why, lack.remedy
            );
        }
    }
    if text.is_empty() {
        return Ok(());
    }
    Err(LabError::Lacking(format!(
        "this host lacks facilities that the plan's agents need (`needs`):{text}\nRun the plan on \
         a host that has them; `windage doctor` says more about this host"
    )))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use windage_probe::facility::{FakeTrials, ProgramType};

    use super::*;

    fn plan(needs: &str) -> Plan {
        let text = format!(
            r#"
            name = "agents"
            [[service]]
            name = "app"
            command = ["bin/app", "{{listen}}"]
            [[agent]]
            name = "watcher"
            command = ["bin/watcher"]
            needs = {needs}
            [load]
            model = "closed"
            request = "GET http://{{app}}/"
            [[arm]]
            name = "off"
            baseline = true
            [[arm]]
            name = "on"
            agents = ["watcher"]
            "#
        );
        Plan::parse(&text, "plan.toml", Path::new("/")).unwrap()
    }

    #[test]
    fn missing_facilities_are_named_with_their_agents() {
        let without = FakeTrials::new().without(ProgramType::RawTracepoint);
        assert!(look_with(&plan("[]"), &without).is_ok());
        let error = look_with(&plan("[\"raw_tracepoint\"]"), &without).unwrap_err();
        let text = error.to_string();
        for part in ["`watcher`", "`raw_tracepoint`", "windage doctor"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
