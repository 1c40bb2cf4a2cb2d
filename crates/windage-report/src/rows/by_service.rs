//! CPU per request by service: a column for each.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis, ServiceAnalysis};

use super::compact::{Figures, Shown, table_of_figures};
use super::{Table, column, cpu_metric};
use crate::fact::{Fact, one_line};

const UNADJUSTED: &str = "95 %, not adjusted for the number of services; no verdicts";

/// `None` where arms don't have several services.
pub(super) fn by_service_table(analysis: &Analysis) -> Option<Table> {
    let mut with_services = analysis.arms.iter().filter(|arm| !arm.services.is_empty());
    let services = &with_services.next()?.services;
    let figures = |service: &ServiceAnalysis| Figures {
        column: column(
            one_line(&service.service),
            "What the arm's CPU spends in this service; the services of an arm add up to it",
        ),
        metric: cpu_metric(analysis),
        shown: Shown::Absolute,
        results: analysis
            .arms
            .iter()
            .map(|arm| (arm, of(arm, &service.service)))
            .collect(),
    };
    Some(Table {
        facts: vec![Fact::new("intervals", UNADJUSTED)],
        ..table_of_figures(analysis, "CPU by service", services.iter().map(figures))
    })
}

/// What an arm spends in a service.
fn of<'a>(arm: &'a ArmAnalysis, service: &str) -> Option<&'a MetricAnalysis> {
    let mut services = arm.services.iter();
    Some(&services.find(|of| of.service == service)?.cpu)
}
