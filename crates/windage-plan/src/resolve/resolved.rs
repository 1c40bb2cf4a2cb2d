//! A resolved service or agent.

use std::ops::Range;

use windage_model::Facility;

use crate::plan::{Origin, Service};

/// A service or an agent, with what later checks need.
pub(super) struct Resolved {
    pub(super) service: Service,
    pub(super) is_agent: bool,
    /// What an agent needs of the kernel.
    pub(super) needs: Vec<Facility>,
    pub(super) name_span: Range<usize>,
    /// Whether `ready` was given. If not, it depends on whether the service is addressed.
    pub(super) ready_given: bool,
}

impl Resolved {
    pub(super) fn name(&self) -> &str {
        self.service.name.as_str()
    }

    pub(super) fn launched(&self) -> bool {
        matches!(self.service.origin, Origin::Command(_))
    }

    /// Whether each set of processes has its own.
    pub(super) fn is_of_a_set(&self) -> bool {
        !self.service.shared && !self.is_agent
    }

    /// Whether it belongs to an arm: to its set of processes, or as its agent.
    pub(super) fn is_of_an_arm(&self) -> bool {
        !self.service.shared
    }

    /// The word for it in messages.
    pub(super) fn noun(&self) -> &'static str {
        if self.is_agent { "agent" } else { "service" }
    }
}
