//! Tables about agents: the bill, their own use, their BPF programs, bystanders, and ladders.

mod attached;
pub(crate) mod bill;
mod bpf;
mod bystanders;
mod memory;
mod rungs;

use windage_analysis::{AgentUse, Analysis, ArmAnalysis, OverCycles, Range};
use windage_model::Unit;

use super::{Cell, Table, divided_by, nothing};
use crate::number::Scale;

/// With more arms than this, only the one whose programs take most time has its BPF table outside
/// the details.
const SHOWN: usize = 2;

/// All of them except details, in order; none for a plan without agents.
pub(super) fn agent_tables(analysis: &Analysis) -> Vec<Table> {
    if with_agents(analysis).next().is_none() {
        return Vec::new();
    }
    let whole = bill::bill_table(analysis).into_iter();
    whole
        .chain(memory::memory_table(analysis))
        .chain(attached::attached_table(analysis))
        .chain(attached::attaching_table(analysis))
        .chain(rungs::rung_tables(analysis))
        .chain(bpf_tables(analysis, false))
        .chain(bystanders::bystander_table(analysis))
        .collect()
}

/// The BPF programs of the other arms, if there are many.
pub(super) fn agent_details(analysis: &Analysis) -> Vec<Table> {
    bpf_tables(analysis, true)
}

fn bpf_tables(analysis: &Analysis, is_detail: bool) -> Vec<Table> {
    let of_arms: Vec<_> = with_agents(analysis)
        .filter(|(_, of)| bpf::has_programs(of))
        .collect();
    let ns = |i: &usize| {
        of_arms
            .get(*i)
            .map_or(0.0, |(_, of)| bpf::ns_per_request(of))
    };
    let most = (0..of_arms.len()).max_by(|a, b| ns(a).total_cmp(&ns(b)));
    let table = |(i, (arm, of)): (usize, &(&ArmAnalysis, &AgentUse))| {
        let mut table = bpf::bpf_table(arm, of, divided_by(analysis))?;
        table.detail = of_arms.len() > SHOWN && Some(i) != most;
        (table.detail == is_detail).then_some(table)
    };
    of_arms.iter().enumerate().filter_map(table).collect()
}

/// Arms that have agents, with their use.
pub(crate) fn with_agents(analysis: &Analysis) -> impl Iterator<Item = (&ArmAnalysis, &AgentUse)> {
    let arms = analysis.arms.iter();
    arms.filter_map(|arm| Some((arm, arm.agent.as_ref()?)))
}

/// "20.8 (20.1 to 21.5)"
fn over_cycles(of: &OverCycles, scale: Scale) -> String {
    format!("{}{}", scale.bare(of.estimate), range(of, scale))
}

/// " (20.1 to 21.5)"; empty if no interval is known.
fn range(of: &OverCycles, scale: Scale) -> String {
    ends(of).map_or(String::new(), |[low, high]| {
        format!(" ({} to {})", scale.bare(low), scale.bare(high))
    })
}

/// "20.8 µs (20.1 to 21.5)"
pub(crate) fn over_cycles_with_unit(of: &OverCycles, unit: Unit) -> String {
    let scale = Scale::fitting(unit, [of.estimate]);
    format!("{}{}", scale.with_unit(of.estimate), range(of, scale))
}

/// The ends of a figure's interval, if it has a finite one.
fn ends(of: &OverCycles) -> Option<[f64; 2]> {
    let interval = of.interval.as_ref()?;
    let ends = [interval.low, interval.high];
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}

fn over_cycles_cell(of: Option<&OverCycles>, scale: Scale) -> Cell {
    of.map_or_else(nothing, |of| {
        Cell::figure(over_cycles(of, scale), of.estimate)
    })
}

/// "0.94 (max 1.10)", or the figure alone if both are equal.
fn range_cell(of: Option<&Range>, scale: Scale) -> Cell {
    let Some(of) = of else {
        return nothing();
    };
    let [median, max] = [of.median, of.max].map(|figure| scale.bare(figure));
    let text = if median == max {
        median
    } else {
        format!("{median} (max {max})")
    };
    Cell::figure(text, of.median)
}

/// "peak, MB"
fn in_unit(what: &str, scale: Scale) -> String {
    format!("{what}, {}", scale.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_shown_if_it_differs_from_the_median() {
        for (median, max, expected) in [
            (0.944, 1.102, "0.944 (max 1.10)"),
            (5.48, 5.48, "5.48"),
            (5.481, 5.483, "5.48"),
        ] {
            let cell = range_cell(Some(&Range { median, max }), Scale::ONE);
            assert_eq!(cell.text, expected);
        }
        assert_eq!(range_cell(None, Scale::ONE), nothing());
    }
}
