//! The bill: who used the machine's CPU per request, and how that differs from the baseline.

use windage_analysis::{Analysis, ArmAnalysis, Bill, BillItem, BillLine};
use windage_model::{Interval, Role, Unit};

use super::with_agents;
use crate::fact::{Fact, one_line};
use crate::number::Scale;
use crate::rows::{Cell, Row, RowsOf, Table, column, nothing};

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A part of what the machine used during windows.
    Item(BillItem),
    /// What the machine used during windows.
    Machine,
    /// What agents used outside windows.
    AgentOutside,
    /// What services used outside windows.
    ServiceOutside,
    /// The machine's CPU including what was used outside windows.
    InAll,
}

impl Entry {
    /// The lines of a bill: parts, then sums.
    pub(crate) fn of(bill: &Bill) -> impl Iterator<Item = (Entry, &BillLine)> {
        let items = bill
            .lines
            .iter()
            .map(|(item, line)| (Entry::Item(*item), line));
        let agent = bill.agent_outside_windows.as_ref();
        let service = bill.service_outside_windows.as_ref();
        items
            .chain([(Entry::Machine, &bill.machine)])
            .chain(agent.map(|line| (Entry::AgentOutside, line)))
            .chain(service.map(|line| (Entry::ServiceOutside, line)))
            .chain([(Entry::InAll, &bill.with_deferred)])
    }

    /// This line of a bill; `None` if it has none.
    pub(crate) fn line(self, bill: &Bill) -> Option<&BillLine> {
        Entry::of(bill).find_map(|(entry, line)| (entry == self).then_some(line))
    }

    /// Its name in files.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Entry::Item(item) => item.as_str(),
            Entry::Machine => "machine",
            Entry::AgentOutside => "agent_outside_windows",
            Entry::ServiceOutside => "service_outside_windows",
            Entry::InAll => "with_deferred",
        }
    }

    /// Its label.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Entry::Item(BillItem::KernelThreads) => "kernel threads",
            Entry::Item(BillItem::Windage) => "windage, except generator",
            Entry::Item(item) => item.as_str(),
            Entry::Machine => "machine, in windows",
            Entry::AgentOutside => "agent, outside windows",
            Entry::ServiceOutside => "service, outside windows",
            Entry::InAll => "total",
        }
    }
}

/// All lines in the order of a bill.
pub(crate) fn in_order(entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
    let mut once: Vec<Entry> = entries.collect();
    once.sort_by_key(|entry| rank(*entry));
    once.dedup();
    once
}

fn rank(entry: Entry) -> usize {
    let place = |item| BillItem::ALL.iter().position(|known| *known == item);
    let after = BillItem::ALL.len();
    match entry {
        Entry::Item(item) => place(item).unwrap_or(after),
        Entry::Machine => after + 1,
        Entry::AgentOutside => after + 2,
        Entry::ServiceOutside => after + 3,
        Entry::InAll => after + 4,
    }
}

/// Arms compared with the baseline that have bills; none for a plan without agents.
pub(crate) fn compared(analysis: &Analysis) -> Vec<(&ArmAnalysis, &Bill)> {
    if with_agents(analysis).next().is_none() {
        return Vec::new();
    }
    let arms = analysis
        .arms
        .iter()
        .filter(|arm| arm.role != Role::Baseline);
    arms.filter_map(|arm| Some((arm, arm.bill.as_ref()?)))
        .collect()
}

/// The baseline's bill, and the differences of other arms; `None` for a plan without agents, or if
/// the machine's CPU was not read.
pub(super) fn bill_table(analysis: &Analysis) -> Option<Table> {
    let compared = compared(analysis);
    let (_, first) = compared.first()?;
    let baseline = analysis.arms.iter().find(|arm| arm.role == Role::Baseline);
    let own = baseline.and_then(|arm| arm.bill.as_ref());
    let bills = || {
        own.into_iter()
            .chain(compared.iter().map(|(_, bill)| *bill))
    };
    let differences = bills().filter_map(|bill| bill.with_deferred.difference_us);
    let fine = Fine::fitting(differences);
    let scale = fine.scale;
    let baseline_us = |entry: Entry| match own.and_then(|bill| entry.line(bill)) {
        Some(line) => line.arm_us.or(line.baseline_us),
        None => entry.line(first)?.baseline_us,
    };
    let mut columns = vec![column(
        baseline.map_or("baseline".to_owned(), |arm| one_line(&arm.name)),
        "CPU per request of the baseline",
    )];
    columns.extend(compared.iter().map(|(arm, _)| {
        column(
            format!("Δ {}", one_line(&arm.name)),
            "Arm − baseline, with its 95 % interval",
        )
    }));
    let entries = in_order(bills().flat_map(Entry::of).map(|(entry, _)| entry));
    let rows = entries.iter().map(|entry| {
        let own = baseline_us(*entry);
        let own = own.map_or_else(nothing, |us| Cell::figure(scale.bare(us), us));
        let of_arms = compared.iter().map(|(_, bill)| change(*entry, bill, fine));
        Row {
            arm: entry.name().to_owned(),
            cells: std::iter::once(own).chain(of_arms).collect(),
        }
    });
    Some(Table {
        title: format!("CPU bill, {} per request", scale.unit()),
        columns,
        rows: rows.collect(),
        facts: holds(&entries),
        of: RowsOf::Line,
        separable: true,
        ..Table::default()
    })
}

/// "+13.9 (+13.5 to +14.2)", with arm and baseline in the tooltip.
fn change(entry: Entry, bill: &Bill, fine: Fine) -> Cell {
    let Some(line) = entry.line(bill) else {
        return nothing();
    };
    let Some(difference) = line.difference_us else {
        return nothing();
    };
    let with_ends = line.interval.as_ref().and_then(|of| fine.with_ends(of));
    let text = with_ends.unwrap_or_else(|| fine.point(difference));
    let basis = line.arm_us.zip(line.baseline_us).map(|(arm, baseline)| {
        let [arm, baseline] = [arm, baseline].map(|us| fine.scale.with_unit(us));
        format!("{arm}; baseline {baseline} in the same blocks")
    });
    Cell {
        basis,
        ..Cell::figure(text, difference)
    }
}

/// A unit for parts of sums, with enough decimals to distinguish parts from zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fine {
    pub(crate) scale: Scale,
    places: usize,
}

impl Fine {
    /// For parts of these sums, in microseconds.
    pub(crate) fn fitting(sums: impl IntoIterator<Item = f64>) -> Fine {
        let largest = sums.into_iter().map(f64::abs).filter(|us| us.is_finite());
        let largest = largest.fold(0.0, f64::max);
        let scale = Scale::fitting(Unit::Microseconds, [largest]);
        let places = if scale.scaled(largest) < 10.0 { 3 } else { 2 };
        Fine { scale, places }
    }

    /// A difference, signed, without its unit.
    pub(crate) fn point(self, us: f64) -> String {
        self.scale.signed_point_to(us, self.places)
    }

    /// A difference with its interval; `None` if an end is not finite.
    fn with_ends(self, interval: &Interval) -> Option<String> {
        Some(self.scale.signed_to(interval, self.places)?.bare())
    }
}

/// What a line includes, where its name does not say it.
fn holds(entries: &[Entry]) -> Vec<Fact> {
    let is_outside = |entry| matches!(entry, Entry::AgentOutside | Entry::ServiceOutside);
    let of_item = |item: BillItem| {
        Some(match item {
            BillItem::Service => "includes traps and BPF programs of probes on it",
            BillItem::Generator => {
                "on loopback, the sender pays for the receiver's input and for what is attached to \
                 its sockets"
            }
            BillItem::Windage => "telemetry receivers and everything else except the generator",
            BillItem::Remainder => {
                "other processes, interrupts, and whatever of the lines above could not be read"
            }
            BillItem::Agent | BillItem::KernelThreads => return None,
        })
    };
    let items = BillItem::ALL
        .into_iter()
        .filter(|item| entries.contains(&Entry::Item(*item)));
    let mut facts: Vec<Fact> = items
        .filter_map(|item| Some(Fact::new(item.as_str(), of_item(item)?)))
        .collect();
    if entries.iter().copied().any(is_outside) {
        facts.push(Fact::new(
            "outside",
            "CPU outside the windows of the arm and of its bystanders, such as for a later export; \
             divided by its requests",
        ));
    }
    facts.push(Fact::new(
        "left out",
        "attaching, detaching and stretches of BPF statistics; this is the bill while attached",
    ));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_enough_decimals() {
        for (sum, part, expected) in [
            (39.0, 0.0512, "+0.05"),
            (39.0, -0.001, "−0.00"),
            (1_090.0, 43.1, "+0.043"),
            (139.0, 67.81, "+67.8"),
            (0.0, 0.0, "0"),
        ] {
            let fine = Fine::fitting([sum]);
            assert_eq!(fine.point(part), expected, "{part} of {sum}");
        }
    }

    #[test]
    fn lines_are_ordered_and_unique() {
        let item = Entry::Item;
        let mixed = [
            Entry::InAll,
            item(BillItem::Remainder),
            Entry::AgentOutside,
            item(BillItem::Service),
            Entry::Machine,
            item(BillItem::Service),
        ];
        let expected = [
            item(BillItem::Service),
            item(BillItem::Remainder),
            Entry::Machine,
            Entry::AgentOutside,
            Entry::InAll,
        ];
        assert_eq!(in_order(mixed.into_iter()), expected);
    }
}
