//! Agents and services: what each may know of the other.

use super::{Misuse, Scope, Site, Use};
use crate::plan::{Attach, Origin};
use crate::problem::choices;
use crate::resolve::load;

impl Scope<'_> {
    /// An agent's address is known to itself, and to agents that are never there without it.
    pub(super) fn agent_is_there(
        &self,
        used: &Use,
        name: &str,
        agent: usize,
    ) -> Result<(), Misuse> {
        let named = self.services[agent].name();
        let Some(by) = used.agent(self.services) else {
            return Err(Misuse::new(
                format!("`{{{name}}}` is of the agent `{named}`, which is gone most of the time"),
                "only agents may name it",
                format!("make `{named}` a [[service]] if what is up for all arms speaks to it"),
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

    /// `{NAME.pid}`: the process of a service, for those who come when it is up.
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
                    "`{{{name}}}` is known once `{service}` is up, and only to agents and in `switch`"
                ),
                "not known here",
                "an agent's keys may name it, and an arm's `args` and `command` for agents",
            ));
        }
        let target = &self.services[index];
        if target.is_agent {
            let message = format!(
                "`{service}` is an agent, whose process nothing can watch: it comes and goes"
            );
            return Err(self.not_a_pid(name, message));
        }
        if target.is_of_a_set() && load::is_by_process(self.file) {
            return Err(Misuse::new(
                format!(
                    "`{service}` is launched for each window: nothing comes before its process"
                ),
                "not known here",
                "let the program stay: batch = \"resident\" in [load]",
            ));
        }
        match &target.service.origin {
            Origin::Command(_) | Origin::Attach(Attach::Pid(_)) => Ok(Vec::new()),
            Origin::Attach(_) => Err(Misuse::new(
                format!("`{service}` is attached to by other means than its process"),
                "which process?",
                "attach it by its process, attach = { pid = 4711 }, or write the process's number itself",
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
