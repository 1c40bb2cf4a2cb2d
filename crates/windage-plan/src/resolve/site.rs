//! Where templates stand, and for which arms and services they are rendered.

use std::ops::Range;

use super::file_arm::FileArm;
use super::resolved::Resolved;
use crate::Template;
use crate::sink::is_receiver;

/// A template and its position.
pub(super) struct Use {
    pub(super) template: Template,
    pub(super) span: Range<usize>,
    pub(super) site: Site,
    /// The template file whose text it is.
    pub(super) file: Option<String>,
}

/// What a template belongs to. Arms are those of the file, before sweeps are expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// A service's own keys, or an agent's.
    Service { index: usize, part: Part },
    /// An arm's environment, which reaches every service that is not shared, and no agent.
    ArmEnv { arm: usize },
    /// An arm's arguments or command for one service or agent.
    ArmService { arm: usize, service: usize },
    /// A `switch` of an arm.
    ArmSwitch { arm: usize },
    /// The path of a switch's Unix socket.
    ArmSocket { arm: usize },
    /// An arm's `backend`.
    ArmBackend { arm: usize },
    /// Where a service's metrics are read, or an agent's.
    Metrics { index: usize },
    /// A request.
    Load,
    /// The path of the Unix socket that load goes to.
    Socket,
}

/// How an arm can override a service's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// An arm may replace it.
    Command,
    /// An arm may set the same variable.
    Env(String),
    /// No arm can override it.
    Whole,
}

impl Use {
    /// Whether the template is rendered for an arm.
    pub(super) fn reaches(&self, index: usize, arm: &FileArm, services: &[Resolved]) -> bool {
        let is_up = |index: &usize| !services[*index].is_agent || arm.agents.contains(index);
        match &self.site {
            Site::Service { index, .. } if services[*index].service.shared => false,
            Site::Service { index, .. } | Site::Metrics { index } if !is_up(index) => false,
            Site::Service {
                index,
                part: Part::Command,
            } => !arm.replaces.contains(index),
            Site::Service {
                index,
                part: Part::Env(key),
            } => services[*index].is_agent || !arm.variables.contains(key),
            Site::Service {
                part: Part::Whole, ..
            }
            | Site::Metrics { .. }
            | Site::Load
            | Site::Socket => true,
            Site::ArmEnv { arm }
            | Site::ArmService { arm, .. }
            | Site::ArmSwitch { arm }
            | Site::ArmSocket { arm }
            | Site::ArmBackend { arm } => *arm == index,
        }
    }

    /// Whether it is rendered when processes are launched.
    pub(super) fn at_launch(&self) -> bool {
        matches!(
            self.site,
            Site::Service { .. } | Site::ArmEnv { .. } | Site::ArmService { .. }
        )
    }

    /// The agent that it is rendered for, if it is one.
    pub(super) fn agent(&self, services: &[Resolved]) -> Option<usize> {
        match self.site {
            Site::Service { index, .. }
            | Site::ArmService { service: index, .. }
            | Site::Metrics { index } => services[index].is_agent.then_some(index),
            _ => None,
        }
    }

    pub(super) fn names(&self, placeholder: &str) -> bool {
        self.template.placeholders().any(|name| name == placeholder)
    }

    pub(super) fn names_receiver(&self) -> bool {
        self.template.placeholders().any(is_receiver)
    }

    /// Whether it is rendered for this service.
    pub(super) fn belongs_to(&self, service: usize, services: &[Resolved]) -> bool {
        match self.site {
            Site::Service { index, .. } => index == service,
            Site::ArmService { service: index, .. } => index == service,
            Site::ArmEnv { .. } => services[service].is_of_a_set(),
            Site::ArmSwitch { .. }
            | Site::ArmSocket { .. }
            | Site::ArmBackend { .. }
            | Site::Metrics { .. }
            | Site::Load
            | Site::Socket => false,
        }
    }
}
