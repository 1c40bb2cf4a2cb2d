//! The bill in memory: who holds how much while the agents are attached.

use windage_analysis::{AgentUse, Analysis, ArmAnalysis, MetricAnalysis, OverCycles};
use windage_model::{Interval, Metric, Role, Unit};

use super::with_agents;
use crate::facts::{Fact, one_line};
use crate::number::Scale;
use crate::rows::{Cell, Row, Table, column, nothing};

/// The services' memory without agents, and what is added to it in each arm with agents; `None`
/// without agents.
pub(super) fn memory_table(analysis: &Analysis) -> Option<Table> {
    let all: Vec<_> = with_agents(analysis).collect();
    let baseline = all.iter().find_map(|(arm, _)| service(arm)?.baseline);
    let agents = all.iter().filter_map(|(_, of)| Some(agent(of)?.estimate));
    let scale = Scale::fitting(Unit::Bytes, baseline.into_iter().chain(agents));
    if all.is_empty() {
        return None;
    }
    let of_baseline = analysis.arms.iter().find(|arm| arm.role == Role::Baseline);
    let heading = of_baseline.map_or("baseline".to_owned(), |arm| one_line(&arm.name));
    let mut columns = vec![column(heading, "What is resident without agents")];
    columns.extend(all.iter().map(|(arm, _)| {
        let heading = format!("Δ {}", one_line(&arm.name));
        column(heading, "What is added to it, with its 95 % interval")
    }));
    let row = |item: Item| {
        let has_service = matches!(item, Item::Service | Item::InAll);
        let own = baseline.filter(|_| has_service);
        let own = own.map_or_else(nothing, |bytes| Cell::figure(scale.bare(bytes), bytes));
        let of_arms = all.iter().map(|(arm, of)| match item.added(arm, of) {
            Some(added) => added.cell(scale),
            None => nothing(),
        });
        Row {
            arm: item.name().to_owned(),
            cells: std::iter::once(own).chain(of_arms).collect(),
        }
    };
    let is_known = |row: &Row| row.cells.iter().any(|cell| cell.value.is_some());
    let rows = Item::ALL.into_iter().map(row).filter(is_known);
    Some(Table {
        title: format!("Memory bill, {}", scale.unit()),
        columns,
        rows: rows.collect(),
        notes: Vec::new(),
        facts: holds(analysis),
        separable: true,
        detail: false,
    })
}

/// Whose memory it is.
#[derive(Clone, Copy)]
enum Item {
    Service,
    Agent,
    Bpf,
    InAll,
}

impl Item {
    const ALL: [Item; 4] = [Item::Service, Item::Agent, Item::Bpf, Item::InAll];

    fn name(self) -> &'static str {
        match self {
            Item::Service => "service",
            Item::Agent => "agent",
            Item::Bpf => "BPF programs and maps",
            Item::InAll => "in all",
        }
    }

    /// What an arm has more of it than the baseline; `None` where it is not known.
    fn added(self, arm: &ArmAnalysis, of: &AgentUse) -> Option<Added> {
        match self {
            Item::Service => {
                let difference = service(arm)?.difference.as_ref().ok()?;
                let difference = &difference.absolute;
                Some(Added::known(difference.estimate, Some(difference)))
            }
            Item::Agent => {
                let agent = agent(of)?;
                Some(Added::known(agent.estimate, agent.interval.as_ref()))
            }
            // Maps and programs are what they are: nothing of them is estimated.
            Item::Bpf => Some(Added::known(of.bpf.as_ref()?.memory_bytes as f64, None)),
            Item::InAll => {
                let parts = [Item::Service, Item::Agent, Item::Bpf];
                let bytes: Option<f64> = parts
                    .iter()
                    .map(|part| Some(part.added(arm, of)?.bytes))
                    .sum();
                Some(Added::known(bytes?, None))
            }
        }
    }
}

/// Bytes more, and how well they are known.
struct Added {
    bytes: f64,
    interval: Option<Interval>,
}

impl Added {
    fn known(bytes: f64, interval: Option<&Interval>) -> Added {
        Added {
            bytes,
            interval: interval.cloned(),
        }
    }

    fn cell(&self, scale: Scale) -> Cell {
        let shown = self.interval.as_ref().and_then(|of| scale.signed_to(of, 2));
        let text = shown.map(|shown| format!("{} ({})", shown.estimate, shown.range()));
        let text = text.unwrap_or_else(|| scale.signed_point_to(self.bytes, 2));
        Cell::figure(text, self.bytes)
    }
}

fn service(arm: &ArmAnalysis) -> Option<&MetricAnalysis> {
    arm.metrics.get(&Metric::RssSteady)
}

fn agent(of: &AgentUse) -> Option<&OverCycles> {
    of.up.as_ref()?.rss_steady_bytes.as_ref()
}

/// What else holds memory, and what is in a line.
fn holds(analysis: &Analysis) -> Vec<Fact> {
    let own = analysis.own_cost.rss_bytes.map(|bytes| {
        let bytes = bytes as f64;
        let scale = Scale::fitting(Unit::Bytes, [bytes]);
        let text = format!(
            "{} at most, generator and receivers in it, with and without agents",
            scale.with_unit(bytes)
        );
        Fact::new("windage", text)
    });
    let service = Fact::new("service", "resident, mean over windows");
    let agent = Fact::new("agent", "resident, at the end of an attachment");
    own.into_iter().chain([service, agent]).collect()
}
