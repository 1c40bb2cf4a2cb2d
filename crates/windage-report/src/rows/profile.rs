//! What telemetry added, by function, and how profiles were taken.

use windage_analysis::{Added, Analysis, ArmAnalysis, ArmProfile, FunctionCost, Sampled, profiles};
use windage_model::{Role, Unit};

use super::aspect::nothing;
use super::{
    Cell, INCONCLUSIVE, Notes, Row, RowsOf, Table, Tone, column, cpu_metric, divided_by, value,
};
use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE, Scale};

/// Functions per arm in the main table.
const SHOWN: usize = 10;

/// A profiled arm and its profile.
pub(crate) struct Profiled<'a> {
    pub(crate) arm: &'a ArmAnalysis,
    pub(crate) profile: &'a ArmProfile,
    pub(crate) sampled: &'a Sampled,
}

/// All profiles, in the order of the arms.
pub(crate) fn profiled(analysis: &Analysis) -> impl Iterator<Item = Profiled<'_>> {
    analysis.profiles.iter().filter_map(|profile| {
        Some(Profiled {
            arm: analysis.arms.iter().find(|arm| arm.id == *profile.arm())?,
            profile,
            sampled: profile.outcome.as_ref().ok()?,
        })
    })
}

/// For each treatment, what it added beyond sampling error; before these, why arms have no profile.
pub(super) fn profile_tables(analysis: &Analysis) -> Vec<Table> {
    let is_failed = analysis.profiles.iter().any(|p| p.outcome.is_err());
    let overview = overview(analysis).filter(|_| is_failed);
    let treatments = profiled(analysis).filter(|of| of.arm.role == Role::Treatment);
    let added = treatments.filter_map(|of| {
        let (shown, _) = split(of.sampled);
        let title = format!("What {} added", one_line(&of.arm.name));
        let mut table = functions(analysis, title, of.sampled, &shown)?;
        table.facts = facts(&of, shown.len());
        Some(table)
    });
    overview.into_iter().chain(added).collect()
}

/// Further functions of each treatment, and how the profiles were taken.
pub(super) fn profile_details(analysis: &Analysis) -> Vec<Table> {
    let is_failed = analysis.profiles.iter().any(|p| p.outcome.is_err());
    let overview = overview(analysis).filter(|_| !is_failed);
    let treatments = profiled(analysis).filter(|of| of.arm.role == Role::Treatment);
    let rest = treatments.filter_map(|of| {
        let (_, rest) = split(of.sampled);
        let title = format!("Further functions of {}", one_line(&of.arm.name));
        functions(analysis, title, of.sampled, &rest)
    });
    let mut tables: Vec<Table> = rest.chain(overview).collect();
    for table in &mut tables {
        table.detail = true;
    }
    tables
}

/// The functions with the most added CPU for the main table, and the others.
fn split(sampled: &Sampled) -> (Vec<&FunctionCost>, Vec<&FunctionCost>) {
    let all = sampled.functions.iter().enumerate();
    let (shown, rest): (Vec<_>, Vec<_>) = all.partition(|(i, cost)| *i < SHOWN && cost.is_added());
    let costs = |of: Vec<(usize, _)>| of.into_iter().map(|(_, cost)| cost).collect();
    (costs(shown), costs(rest))
}

fn functions(
    analysis: &Analysis,
    title: String,
    sampled: &Sampled,
    costs: &[&FunctionCost],
) -> Option<Table> {
    let all = sampled.functions.iter();
    let largest = all.flat_map(|cost| [cost.total.us(), cost.itself.us()]);
    let scale = Scale::fitting(Unit::Microseconds, largest);
    let rows: Vec<Row> = costs
        .iter()
        .map(|cost| Row {
            arm: one_line(&cost.function),
            cells: vec![cell(&cost.total, scale), cell(&cost.itself, scale)],
        })
        .collect();
    let heading = format!("{} {}", scale.unit(), divided_by(analysis));
    (!rows.is_empty()).then(|| Table {
        title,
        columns: vec![
            column(
                heading,
                "CPU beyond the baseline's in the function and all it calls, with the 95 % \
                 interval from sampling",
            ),
            column(
                "of which itself",
                "CPU in the function itself, without what it calls",
            ),
        ],
        rows,
        of: RowsOf::Function,
        ..Table::default()
    })
}

fn cell(added: &Added, scale: Scale) -> Cell {
    let shown = scale.signed(&profiles::interval(added));
    let text = shown.map_or(NOT_AVAILABLE.to_owned(), |shown| shown.bare());
    let basis = format!(
        "{}; {} in the baseline",
        scale.with_unit(added.arm_us),
        scale.with_unit(added.baseline_us)
    );
    let (text, tone) = if added.is_within_noise() {
        (format!("{INCONCLUSIVE} {text}"), Tone::Faint)
    } else {
        (text, Tone::Plain)
    };
    Cell {
        tone,
        basis: Some(basis),
        ..Cell::figure(text, added.us())
    }
}

fn facts(of: &Profiled, shown: usize) -> Vec<Fact> {
    let further = of.sampled.functions_added.saturating_sub(shown);
    let compared = of.sampled.functions_compared;
    let mut text = format!("{}, of {compared} functions", taken(of));
    if further > 0 {
        text.push_str(&format!("; it adds to {further} more"));
    }
    text.push_str(if of.sampled.is_scale_measured {
        "; intervals are unadjusted and include the error of sampling and of the measured CPU"
    } else {
        "; intervals are unadjusted and include the error of sampling only"
    });
    vec![Fact::new("profile", text)]
}

/// "py-spy 0.4.3: 1,201 samples in 5.1 s"
fn taken(of: &Profiled) -> String {
    let taken = &of.profile.taken;
    let version = taken.version.as_deref().map(one_line);
    format!(
        "{}: {} samples in {}",
        version.unwrap_or_else(|| one_line(&taken.profiler)),
        number::count(of.sampled.profile.stacks.samples()),
        number::seconds((of.sampled.lasts_s * 10.0).round() / 10.0)
    )
}

/// How profiles were taken, and why some are missing; `None` without profiling.
fn overview(analysis: &Analysis) -> Option<Table> {
    if analysis.profiles.is_empty() {
        return None;
    }
    let mut notes = Notes::default();
    let figures = profiled(analysis).flat_map(|of| {
        let measured = measured(analysis, of.arm);
        [Some(of.sampled.profiled_cpu_us), measured]
    });
    let scale = Scale::fitting(Unit::Microseconds, figures.flatten());
    let arms = analysis.profiles.iter().filter_map(|profile| {
        let arm = analysis.arms.iter().find(|arm| arm.id == *profile.arm())?;
        Some((arm, profile))
    });
    let rows = arms
        .map(|(arm, profile)| Row {
            arm: one_line(&arm.name),
            cells: match &profile.outcome {
                Ok(sampled) => overview_cells(analysis, arm, sampled, scale),
                Err(why) => notes.absent(4, &format!("{}; {}", why.text, why.remedy)),
            },
        })
        .collect();
    let cpu = format!("profiled, {} {}", scale.unit(), divided_by(analysis));
    Some(Table {
        title: "Profiles".to_owned(),
        columns: vec![
            column("samples", "Stacks that the profiler saw"),
            column(cpu, "CPU while it was profiled"),
            column(
                "measured",
                "CPU in the measured windows, which had no profiler; samples divide this figure",
            ),
            column(
                "functions added",
                "Functions that cost more than sampling explains, of those compared; in the \
                 control these are false alarms",
            ),
        ],
        rows,
        notes: notes.0,
        ..Table::default()
    })
}

fn overview_cells(
    analysis: &Analysis,
    arm: &ArmAnalysis,
    sampled: &Sampled,
    scale: Scale,
) -> Vec<Cell> {
    let cpu = |us: f64| Cell::figure(scale.bare(us), us);
    let samples = sampled.profile.stacks.samples();
    let added = sampled.functions_added;
    vec![
        Cell::figure(number::count(samples), samples as f64),
        cpu(sampled.profiled_cpu_us),
        measured(analysis, arm).map_or_else(nothing, cpu),
        match sampled.functions_compared {
            0 => nothing(),
            compared => Cell::figure(format!("{added} of {compared}"), added as f64),
        },
    ]
}

/// CPU per iteration or per request in windows, in microseconds.
fn measured(analysis: &Analysis, arm: &ArmAnalysis) -> Option<f64> {
    value(arm, arm.metrics.get(&cpu_metric(analysis))?)
}
