//! The memory bill: who holds how much while agents are attached.

use windage_analysis::{AgentUse, Analysis, ArmAnalysis, OverCycles};
use windage_model::{Interval, Metric, Role, Unit};

use super::with_agents;
use crate::fact::{Fact, one_line};
use crate::number::{self, Scale};
use crate::rows::{Cell, Row, RowsOf, Table, column, nothing};

/// The services' memory without agents, and what each arm with agents adds; `None` without agents,
/// or if nothing was read.
pub(super) fn memory_table(analysis: &Analysis) -> Option<Table> {
    let all: Vec<_> = with_agents(analysis).collect();
    let baseline = analysis
        .arms
        .iter()
        .find(|arm| arm.role == Role::Baseline)?;
    let own = baseline.metrics.get(&Metric::RssSteady);
    let own = own.and_then(|of| of.arm);
    let agents = all.iter().filter_map(|(_, of)| Some(agent(of)?.estimate));
    let scale = Scale::fitting(Unit::Bytes, own.into_iter().chain(agents));
    let row = |item: Item| {
        let own = own.filter(|_| matches!(item, Item::Service | Item::InAll));
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
    let rows = Item::ALL.map(|item| (item, row(item)));
    let known = rows.into_iter().filter(|(_, row)| is_known(row));
    let (items, rows): (Vec<Item>, Vec<Row>) = known.unzip();
    let mut columns = vec![column(
        one_line(&baseline.name),
        "Resident memory without agents",
    )];
    columns.extend(all.iter().map(|(arm, _)| {
        let heading = format!("Δ {}", one_line(&arm.name));
        column(
            heading,
            "What the arm adds to it, with the 95 % interval where there is one",
        )
    }));
    let facts = items.into_iter().map(Item::means);
    (!rows.is_empty()).then(|| Table {
        title: format!("Memory bill, {}", scale.unit()),
        columns,
        facts: windage(analysis).into_iter().chain(facts).collect(),
        rows,
        of: RowsOf::Line,
        separable: true,
        ..Table::default()
    })
}

/// The owner of the memory.
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
            Item::InAll => "total",
        }
    }

    /// What it includes.
    fn means(self) -> Fact {
        let text = match self {
            Item::Service => {
                "resident, mean over windows; an arm that shares the baseline's processes has no \
                 memory of its own"
            }
            Item::Agent => "resident, at the end of an attachment, mean over attachments",
            Item::Bpf => "the most of any attachment",
            Item::InAll => "the sum of these rows",
        };
        Fact::new(self.name(), text)
    }

    /// What an arm has more than the baseline; `None` if unknown, or if the arm has no processes of
    /// its own.
    fn added(self, arm: &ArmAnalysis, of: &AgentUse) -> Option<Added> {
        match self {
            Item::Service => {
                let service = arm.metrics.get(&Metric::RssSteady)?;
                let difference = &service.difference.as_ref().ok()?.absolute;
                Some(Added::known(difference.estimate, Some(difference)))
            }
            Item::Agent => {
                let agent = agent(of)?;
                Some(Added::known(agent.estimate, agent.interval.as_ref()))
            }
            // The size of maps and programs is exact.
            Item::Bpf => Some(Added::known(of.bpf.as_ref()?.memory_bytes as f64, None)),
            Item::InAll => {
                // Without the metric, the arm's processes are the baseline's.
                let has_own = arm.metrics.contains_key(&Metric::RssSteady);
                let parts = [Item::Agent, Item::Bpf].into_iter();
                let parts = parts.chain(has_own.then_some(Item::Service));
                let bytes: Option<f64> = parts.map(|part| Some(part.added(arm, of)?.bytes)).sum();
                Some(Added::known(bytes?, None))
            }
        }
    }
}

/// Added bytes, with their interval.
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
        let text = shown.map(|shown| shown.bare());
        let text = text.unwrap_or_else(|| scale.signed_point_to(self.bytes, 2));
        Cell::figure(text, self.bytes)
    }
}

fn agent(of: &AgentUse) -> Option<&OverCycles> {
    of.up.as_ref()?.rss_steady_bytes.as_ref()
}

/// Windage's own memory.
fn windage(analysis: &Analysis) -> Option<Fact> {
    let bytes = number::short(Unit::Bytes, analysis.own_cost.rss_bytes? as f64);
    let text = format!(
        "{bytes} resident at the end of a launch, including generator and receivers; not in any row"
    );
    Some(Fact::new("windage", text))
}
