//! What each stage of a chain adds, their sum, and the cost of the end-to-end arm.

use windage_analysis::{Analysis, EndToEnd, Missing, StageCost, Stages};
use windage_model::{ArmId, Interval};

use super::aspect::nothing;
use super::{Cell, Column, Notes, Row, Table, Tone, column, plain};
use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE, Scale};
use crate::sentences;

/// One table per chain.
pub(super) fn stage_tables(analysis: &Analysis) -> Vec<Table> {
    let chains = analysis.stages.iter();
    chains.map(|stages| stage_table(analysis, stages)).collect()
}

/// An arm's name for people.
pub(crate) fn arm_name(analysis: &Analysis, id: &ArmId) -> String {
    let mut arms = analysis.arms.iter();
    let name = arms.find(|arm| arm.id == *id).map(|arm| arm.name.as_str());
    one_line(name.unwrap_or(id.as_str()))
}

fn stage_table(analysis: &Analysis, of: &Stages) -> Table {
    let drawn = Drawn::of(of);
    let mut notes = Notes::default();
    let mut rows = vec![Row {
        arm: arm_name(analysis, &of.from),
        cells: drawn.first(of.from_us),
    }];
    for stage in &of.stages {
        rows.push(Row {
            arm: format!("+ {}", arm_name(analysis, &stage.arm)),
            cells: drawn.cells(&stage.cost, of.share_of_sum(&stage.cost), &mut notes),
        });
    }
    rows.push(Row {
        arm: "sum of stages".to_owned(),
        cells: drawn.cells(&of.sum, of.share_of_sum(&of.sum), &mut notes),
    });
    for whole in &of.end_to_end {
        rows.extend(whole_rows(analysis, of, whole, &drawn, &mut notes));
    }
    Table {
        title: "Stages".to_owned(),
        columns: drawn.columns(of),
        rows,
        notes: notes.0,
        facts: facts(analysis, of),
        separable: true,
        ..Table::default()
    }
}

fn whole_rows(
    analysis: &Analysis,
    of: &Stages,
    whole: &EndToEnd,
    drawn: &Drawn,
    notes: &mut Notes,
) -> [Row; 2] {
    let name = arm_name(analysis, &whole.arm);
    let mut gap = drawn.cells(&whole.gap, of.share_of_sum(&whole.gap), notes);
    if whole.is_additive() == Some(false) {
        gap.iter_mut().for_each(|cell| cell.tone = Tone::Alarm);
    }
    [
        Row {
            arm: name.clone(),
            cells: drawn.cells(&whole.cost, of.share_of_sum(&whole.cost), notes),
        },
        Row {
            arm: if of.end_to_end.len() == 1 {
                "end-to-end − sum".to_owned()
            } else {
                format!("{name} − sum")
            },
            cells: gap,
        },
    ]
}

/// The columns that exist, and their units.
struct Drawn {
    whole: Scale,
    per_span: Option<Scale>,
    per_event: Option<Scale>,
}

impl Drawn {
    fn of(of: &Stages) -> Drawn {
        let end_to_end = of.end_to_end.iter().map(|whole| &whole.cost);
        let stages = of.stages.iter().map(|stage| &stage.cost);
        let all: Vec<&StageCost> = stages
            .chain(std::iter::once(&of.sum))
            .chain(end_to_end)
            .filter_map(|cost| cost.as_ref().ok())
            .collect();
        let unit = of.metric.unit();
        let fitting = |item: fn(&StageCost) -> Option<&Interval>| {
            let estimates: Vec<f64> = all
                .iter()
                .filter_map(|cost| Some(item(cost)?.estimate))
                .collect();
            (!estimates.is_empty()).then(|| Scale::fitting(unit, estimates))
        };
        let whole = fitting(|cost| Some(&cost.absolute));
        Drawn {
            whole: whole.unwrap_or_else(|| Scale::fitting(unit, of.from_us)),
            per_span: fitting(|cost| cost.per_span.as_ref()),
            per_event: fitting(|cost| cost.per_event.as_ref()),
        }
    }

    fn columns(&self, of: &Stages) -> Vec<Column> {
        let per = |scale: Scale, item: &str| format!("{} {item}", scale.unit());
        let whole = format!("{}, {}", of.metric.label(), self.whole.unit());
        let mut columns = vec![column(
            whole,
            "What this arm adds to the arm that it builds on, with its 95 % interval",
        )];
        columns.extend(self.per_span.map(|scale| {
            column(
                per(scale, "per span"),
                "That cost per span that the last arm delivers",
            )
        }));
        columns.extend(self.per_event.map(|scale| {
            column(
                per(scale, "per event"),
                "That cost per event that the last arm delivers",
            )
        }));
        columns.push(column("share", "Of the sum of all stages"));
        columns
    }

    fn items(&self) -> usize {
        usize::from(self.per_span.is_some()) + usize::from(self.per_event.is_some())
    }

    /// The arm that the first stage builds on: its own figure, not a difference.
    fn first(&self, us: Option<f64>) -> Vec<Cell> {
        let own = us.map_or(NOT_AVAILABLE.to_owned(), |us| self.whole.bare(us));
        let mut cells = vec![plain(own)];
        cells.extend(vec![nothing(); self.items() + 1]);
        cells
    }

    fn cells(
        &self,
        cost: &Result<StageCost, Missing>,
        share: Option<f64>,
        notes: &mut Notes,
    ) -> Vec<Cell> {
        let cost = match cost {
            Ok(cost) => cost,
            Err(missing) => return notes.absent(self.items() + 2, &sentences::missing(missing)),
        };
        let relative = number::percent(&cost.relative);
        let mut cells = vec![Cell {
            basis: relative.map(|shown| shown.to_string()),
            ..estimated(&cost.absolute, self.whole)
        }];
        let items = [
            (self.per_span, &cost.per_span),
            (self.per_event, &cost.per_event),
        ];
        for (scale, item) in items {
            let Some(scale) = scale else { continue };
            cells.push(item.as_ref().map_or_else(nothing, |i| estimated(i, scale)));
        }
        cells.push(share.map_or_else(nothing, |share| {
            Cell::figure(number::percent_whole(share), share)
        }));
        cells
    }
}

fn estimated(interval: &Interval, scale: Scale) -> Cell {
    Cell::figure(scale.without_unit().interval(interval), interval.estimate)
}

fn facts(analysis: &Analysis, of: &Stages) -> Vec<Fact> {
    let mut facts: Vec<Fact> = of
        .end_to_end
        .iter()
        .filter_map(|whole| {
            Some(Fact::new(
                "end-to-end",
                verdict(analysis, whole, whole.is_additive()?),
            ))
        })
        .collect();
    let sends = [
        (of.spans_per_request, "spans"),
        (of.events_per_request, "events"),
    ];
    let sends: Vec<String> = sends
        .into_iter()
        .filter_map(|(n, items)| Some(format!("{} {items}", number::a_request(n?, n?))))
        .collect();
    if let (false, Some(last)) = (sends.is_empty(), of.stages.last()) {
        let (last, sends) = (arm_name(analysis, &last.arm), sends.join(" and "));
        facts.push(Fact::new(
            "divided by",
            format!("what {last} sends: {sends}"),
        ));
    }
    let launches = match of.rounds {
        1 => "1 launch".to_owned(),
        rounds => format!("{rounds} launches"),
    };
    let intervals = format!("95 %, unadjusted (secondary comparisons), over {launches}");
    facts.push(Fact::new("intervals", intervals));
    facts
}

fn verdict(analysis: &Analysis, whole: &EndToEnd, holds: bool) -> String {
    let (name, up_to) = (
        arm_name(analysis, &whole.arm),
        arm_name(analysis, &whole.same_as),
    );
    let says = if holds {
        "agrees with the stages: the gap's interval contains zero"
    } else {
        "does not agree with the stages: the gap's interval excludes zero"
    };
    format!("{name}, which repeats {up_to} in processes and windows of its own, {says}")
}
