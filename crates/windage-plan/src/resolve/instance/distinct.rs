//! Arms on one set of processes: each must differ from all others.

use std::collections::BTreeSet;
use std::time::Duration;

use windage_model::{ArmId, Backend, LevelValue};

use crate::plan::{Arm, ServiceName};
use crate::resolve::checker::Checker;
use crate::resolve::file_arm::FileArm;
use crate::resolve::resolved::Resolved;
use crate::resolve::site::Site;
use crate::wire::PlanFile;
use crate::{Problem, Template};

/// What the comparison of arms needs.
#[derive(Clone, Copy)]
pub(super) struct Apart<'a> {
    pub(super) file: &'a PlanFile,
    pub(super) arms: &'a [FileArm],
    pub(super) services: &'a [Resolved],
}

impl Apart<'_> {
    /// Reports arms that nothing distinguishes. An arm without `switch` inherits the state that the
    /// arm before it left, so its requests, backend or agents must differ.
    pub(super) fn check_distinct(
        &self,
        checker: &mut Checker<'_>,
        members: &[(usize, &Arm)],
        shared: &str,
    ) {
        let indices: BTreeSet<usize> = members.iter().map(|(index, _)| *index).collect();
        for index in indices {
            let by_request = self.differs_by_request(checker, index);
            let mut of_index = members.iter().filter(|(i, _)| *i == index);
            let is_itself = of_index.all(|member| self.is_like_no_other(checker, member, members));
            if !by_request && !is_itself && self.file.arm[index].switch.is_empty() {
                checker.report(self.the_same_as_another(index, members, shared));
            }
        }
    }

    fn differs_by_request(&self, checker: &Checker<'_>, index: usize) -> bool {
        let in_request = |factor: &str| {
            checker
                .uses
                .iter()
                .any(|used| matches!(used.site, Site::Load | Site::Socket) && used.names(factor))
        };
        let mut factors = self.arms[index].factors.iter();
        factors.any(|(factor, _)| in_request(factor))
    }

    /// Whether every other arm of the set has another backend, or other agents and no `switch`
    /// whose effect would remain.
    fn is_like_no_other(
        &self,
        checker: &Checker<'_>,
        (index, arm): &(usize, &Arm),
        members: &[(usize, &Arm)],
    ) -> bool {
        let beside = |index: usize, arm| Beside::of(checker, (index, arm), self);
        members
            .iter()
            .filter(|(_, other)| other.id != arm.id)
            .all(|(other_index, other)| {
                let is_left = other.switch.is_empty();
                behaviour(other) != behaviour(arm)
                    || is_left && beside(*other_index, other) != beside(*index, arm)
            })
    }

    fn the_same_as_another(
        &self,
        index: usize,
        members: &[(usize, &Arm)],
        shared: &str,
    ) -> Problem {
        let (arm, given) = (&self.arms[index], &self.file.arm[index]);
        let span = arm.instance_span.clone().unwrap_or(arm.name_span.clone());
        let name = given.name.get_ref();
        let by_agents = !given.agents.is_empty() || given.bystander_of.is_some();
        if !by_agents || members.iter().any(|(_, arm)| !arm.switch.is_empty()) {
            let message =
                format!("the arm `{name}` {shared}, but has no `switch` that sets its state");
            return Problem::new(span, message, "the same as the arm before it")
                .help("add a `switch` that sets this arm's state, whichever arm came before");
        }
        let message = format!("the arm `{name}` {shared}, and its agents are the same");
        Problem::new(span, message, "the same as another arm")
            .help("give it other agents, other `args` for them, or a factor in their keys")
    }
}

fn behaviour(arm: &Arm) -> Backend {
    let backend = arm.backend.as_ref();
    backend.map(|b| b.behaviour).unwrap_or_default()
}

/// The agents attached for an arm, and their configuration.
#[derive(PartialEq)]
struct Beside<'a> {
    agents: &'a [ServiceName],
    bystander_of: &'a Option<ArmId>,
    args: Vec<(&'a ServiceName, &'a Vec<Template>)>,
    command: Vec<(&'a ServiceName, &'a Vec<Template>)>,
    scrape: Vec<(&'a ServiceName, &'a Duration)>,
    levels: Vec<&'a (String, LevelValue)>,
}

impl<'a> Beside<'a> {
    fn of(checker: &Checker<'_>, (index, arm): (usize, &'a Arm), of: &Apart<'_>) -> Beside<'a> {
        let is_agents = |name: &ServiceName| arm.agents.contains(name);
        let reaches_agents = |factor: &str| {
            checker.uses.iter().any(|used| {
                used.agent(of.services).is_some()
                    && used.names(factor)
                    && used.reaches(index, &of.arms[index], of.services)
            })
        };
        Beside {
            agents: &arm.agents,
            bystander_of: &arm.bystander_of,
            args: arm
                .args
                .iter()
                .filter(|(name, _)| is_agents(name))
                .collect(),
            command: arm
                .command
                .iter()
                .filter(|(name, _)| is_agents(name))
                .collect(),
            scrape: arm
                .scrape
                .iter()
                .filter(|(name, _)| is_agents(name))
                .collect(),
            levels: arm
                .levels
                .iter()
                .filter(|(factor, _)| reaches_agents(factor))
                .collect(),
        }
    }
}
