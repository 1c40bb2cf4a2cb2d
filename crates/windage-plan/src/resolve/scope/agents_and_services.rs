//! Agents and services: which placeholders of the other each may use.

use super::{Misuse, Scope};
use crate::plan::{Attach, Origin};
use crate::problem::choices;
use crate::resolve::load;
use crate::resolve::site::{Site, Use};

impl Scope<'_> {
    /// Only the agent itself, and agents that are never attached without it, may use its address.
    pub(super) fn agent_is_there(
        &self,
        used: &Use,
        name: &str,
        agent: usize,
    ) -> Result<(), Misuse> {
        let named = self.services[agent].name();
        let Some(by) = used.agent(self.services) else {
            return Err(Misuse::new(
                format!("`{{{name}}}` names the agent `{named}`, which is detached for some arms"),
                "only for agents",
                format!(
                    "make `{named}` a [[service]] if programs that run for all arms connect to it"
                ),
            ));
        };
        let alone = self.arms.iter().enumerate().find(|(index, arm)| {
            used.reaches(*index, arm, self.services) && !arm.agents.contains(&agent)
        });
        match alone {
            Some((index, _)) if by != agent => {
                let arm = self.file.arm[index].name.get_ref();
                let by = self.services[by].name();
                Err(Misuse::new(
                    format!("the arm `{arm}` attaches `{by}` without `{named}`"),
                    "not attached for this arm",
                    format!("add `{named}` to its `agents`"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// `{NAME.pid}`: the process of a service, for programs that start once it is up.
    pub(super) fn pid(&self, used: &Use, name: &str, service: &str) -> Result<Vec<usize>, Misuse> {
        let Some(index) = self.services.iter().position(|s| s.name() == service) else {
            let message = format!("no service is named `{service}`");
            let mut misuse = self.not_a_pid(name, message);
            misuse.help += &format!("; write `{{{{{name}}}}}` for a literal `{{{name}}}`");
            return Err(misuse);
        };
        let is_later = matches!(used.site, Site::ArmSwitch { .. } | Site::ArmSocket { .. })
            || used.agent(self.services).is_some() && !matches!(used.site, Site::Metrics { .. });
        if !is_later {
            return Err(Misuse::new(
                format!(
                    "`{{{name}}}` is known only once `{service}` is up, in agents and in `switch`"
                ),
                "not known here",
                "use it in an agent's keys, or in an arm's `args` and `command` for agents",
            ));
        }
        let target = &self.services[index];
        if target.is_agent {
            let message = format!("`{service}` is an agent: its process is not known to others");
            return Err(self.not_a_pid(name, message));
        }
        if target.is_of_a_set() && load::is_by_process(self.file) {
            return Err(Misuse::new(
                format!(
                    "`{service}` is launched for each window: its process is not known beforehand"
                ),
                "not known here",
                "keep the program running: batch = \"resident\" in [load]",
            ));
        }
        match &target.service.origin {
            Origin::Command(_) | Origin::Attach(Attach::Pid(_)) => Ok(Vec::new()),
            Origin::Attach(_) => Err(Misuse::new(
                format!("`{service}` is not attached by its process"),
                "which process?",
                "use attach = { pid = 4711 }, or write the process's number itself",
            )),
        }
    }

    fn not_a_pid(&self, name: &str, message: String) -> Misuse {
        let services = self.services.iter().filter(|s| !s.is_agent);
        let known: Vec<String> = services.map(|s| format!("{}.pid", s.name())).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        Misuse::new(message, "whose process?", choices(name, &known))
    }
}
