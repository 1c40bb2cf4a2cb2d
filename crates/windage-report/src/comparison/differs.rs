//! Differences between two runs.

use windage_analysis::{Compared, Differing, PlanLine, PlanTag};

use crate::fact::{Fact, one_line, visible};
use crate::rows::{Align, Cell, Column, Row, RowsOf, Table, nothing, plain};

/// Shown where one run has no value.
const NOTHING: &str = "–";

/// One table each for machine, versions and design; none for what is equal.
pub(super) fn tables(compared: &Compared) -> Vec<Table> {
    groups(compared)
        .into_iter()
        .map(|(title, differing)| Table {
            title: title.to_owned(),
            columns: ["A", "B"].map(column).to_vec(),
            rows: differing.iter().map(row).collect(),
            of: RowsOf::What,
            ..Table::default()
        })
        .collect()
}

/// The differences as lines, which have room for long texts.
pub(super) fn facts(compared: &Compared) -> Vec<(&'static str, Vec<Fact>)> {
    let fact = |of: &Differing| {
        let [a, b] = [&of.a, &of.b].map(|side| {
            let side = side.as_deref().map(one_line);
            side.unwrap_or(NOTHING.to_owned())
        });
        Fact::new(one_line(&of.key), format!("{a} → {b}"))
    };
    let groups = groups(compared).into_iter();
    groups
        .map(|(title, differing)| (title, differing.iter().map(fact).collect()))
        .collect()
}

fn groups(compared: &Compared) -> Vec<(&'static str, &[Differing])> {
    let differs = &compared.comparison.differs;
    let groups = [
        ("Differs: machine", differs.host.as_slice()),
        ("Differs: versions", &differs.versions),
        ("Differs: design", &differs.design),
    ];
    let shown = groups.into_iter().filter(|(_, of)| !of.is_empty());
    shown.collect()
}

/// Everything that is equal, in a line.
pub(super) fn same(compared: &Compared) -> Option<Fact> {
    let differs = &compared.comparison.differs;
    let groups = [
        ("machine", differs.host.is_empty()),
        ("versions", differs.versions.is_empty()),
        ("design", differs.design.is_empty()),
        (
            "plan",
            compared.plan_diff.as_ref().is_some_and(Vec::is_empty),
        ),
    ];
    let same: Vec<_> = groups.iter().filter(|(_, is_same)| *is_same).collect();
    let names: Vec<_> = same.iter().map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| Fact::new("unchanged", names.join(", ")))
}

/// A line of the plans with `diff`'s mark.
pub(super) fn plan_line(line: &PlanLine) -> String {
    // Spaces stay: lines may differ only in spaces.
    let text = visible(&line.text);
    match line.tag {
        PlanTag::Equal => format!("  {text}"),
        PlanTag::Delete => format!("- {text}"),
        PlanTag::Insert => format!("+ {text}"),
        PlanTag::Gap => format!("… {text}"),
    }
}

fn row(of: &Differing) -> Row {
    let cell = |side: &Option<String>| -> Cell {
        let side = side.as_deref().map(one_line);
        side.map_or_else(nothing, plain)
    };
    Row {
        arm: one_line(&of.key),
        cells: vec![cell(&of.a), cell(&of.b)],
    }
}

fn column(heading: &str) -> Column {
    Column {
        heading: heading.to_owned(),
        about: "",
        align: Align::Left,
    }
}
