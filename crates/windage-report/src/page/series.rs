//! The run over time, for the page document.

use serde::Serialize;
use windage_analysis::{Analysis, ArmSeries, MachineSeries, Series, WindowStretch};
use windage_model::{Soundness, Unit};

use super::figures::{figures, id, rounded, times, to_the_millisecond};
use crate::duration;
use crate::number::{self, Scale};
use crate::rows::divided_by;

#[derive(Serialize)]
pub(super) struct SeriesWire {
    lasts_s: f64,
    bin_s: Option<f64>,
    rounds: Vec<RoundWire>,
    quantities: Vec<QuantityWire>,
    arms: Vec<ArmSeriesWire>,
    machine: MachineWire,
    about: String,
    notes: Vec<String>,
    windows: Vec<WindowWire>,
    windows_in_all: usize,
    windows_text: String,
}

#[derive(Serialize)]
struct RoundWire {
    round: u32,
    from_s: f64,
    to_s: f64,
}

/// A column of arms, the name of its panel and its unit.
#[derive(Serialize)]
struct QuantityWire {
    column: &'static str,
    name: String,
    scale: Scale,
}

#[derive(Serialize)]
struct ArmSeriesWire {
    arm: String,
    text: String,
    at_s: Vec<f64>,
    cpu_us_per_request: Vec<Option<f64>>,
    rate_per_s: Vec<Option<f64>>,
    rss_bytes: Vec<Option<f64>>,
    agent_cores: Option<Vec<Option<f64>>>,
    agent_rss_bytes: Option<Vec<Option<f64>>>,
}

#[derive(Serialize)]
struct MachineWire {
    at_s: Vec<f64>,
    steal: Vec<f64>,
    pressure: Vec<Option<f64>>,
    busy_cores: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct WindowWire {
    /// Its place in `analysis.arms`.
    arm: usize,
    from_s: f64,
    to_s: f64,
    verdict: &'static str,
}

impl SeriesWire {
    pub(super) fn of(load: &Analysis, series: &Series) -> SeriesWire {
        let rounds = series.rounds.iter().map(|of| RoundWire {
            round: of.round,
            from_s: to_the_millisecond(of.from_s),
            to_s: to_the_millisecond(of.to_s),
        });
        let arm = |of: &ArmSeries| ArmSeriesWire {
            arm: id(load, of.arm),
            text: ranges(load, of),
            at_s: times(&of.at_s),
            cpu_us_per_request: figures(&of.cpu_us_per_request),
            rate_per_s: figures(&of.rate_per_s),
            rss_bytes: figures(&of.rss_bytes),
            agent_cores: of.agents.as_ref().map(|agents| figures(&agents.cores)),
            agent_rss_bytes: of.agents.as_ref().map(|agents| figures(&agents.rss_bytes)),
        };
        let machine = &series.machine;
        SeriesWire {
            lasts_s: to_the_millisecond(series.lasts_s),
            bin_s: series.bin_s,
            rounds: rounds.collect(),
            quantities: quantities(load, series),
            arms: series.arms.iter().map(arm).collect(),
            machine: MachineWire {
                at_s: times(&machine.at_s),
                steal: machine.steal.iter().map(|share| rounded(*share)).collect(),
                pressure: figures(&machine.pressure),
                busy_cores: figures(&machine.busy_cores),
            },
            about: about(series),
            notes: notes(load, series),
            windows: series.windows.iter().map(WindowWire::from).collect(),
            windows_in_all: series.windows_in_all,
            windows_text: windows(series),
        }
    }
}

impl From<&WindowStretch> for WindowWire {
    fn from(of: &WindowStretch) -> Self {
        WindowWire {
            arm: of.arm.get(),
            from_s: to_the_millisecond(of.from_s),
            to_s: to_the_millisecond(of.to_s),
            verdict: of.soundness.as_str(),
        }
    }
}

/// The quantities that are drawn for each arm.
struct Quantity {
    column: &'static str,
    name: fn(&Analysis) -> String,
    unit: Unit,
    of: fn(&ArmSeries) -> &[Option<f64>],
}

const QUANTITIES: [Quantity; 5] = [
    Quantity {
        column: "cpu_us_per_request",
        name: |load| format!("CPU {}", divided_by(load)),
        unit: Unit::Microseconds,
        of: |arm| &arm.cpu_us_per_request,
    },
    Quantity {
        column: "rate_per_s",
        name: |load| {
            let counted = divided_by(load).trim_start_matches("per ");
            format!("{counted}s per second")
        },
        unit: Unit::PerSecond,
        of: |arm| &arm.rate_per_s,
    },
    Quantity {
        column: "rss_bytes",
        name: |_| "resident memory".to_owned(),
        unit: Unit::Bytes,
        of: |arm| &arm.rss_bytes,
    },
    Quantity {
        column: "agent_cores",
        name: |_| "CPU of agents".to_owned(),
        unit: Unit::Cores,
        of: |arm| arm.agents.as_ref().map_or(&[], |agents| &agents.cores),
    },
    Quantity {
        column: "agent_rss_bytes",
        name: |_| "resident memory of agents".to_owned(),
        unit: Unit::Bytes,
        of: |arm| arm.agents.as_ref().map_or(&[], |agents| &agents.rss_bytes),
    },
];

/// All known values of a column, sorted.
fn known(column: &[Option<f64>]) -> Vec<f64> {
    let finite = column.iter().flatten().copied();
    let mut known: Vec<f64> = finite.filter(|figure| figure.is_finite()).collect();
    known.sort_by(f64::total_cmp);
    known
}

fn quantities(load: &Analysis, series: &Series) -> Vec<QuantityWire> {
    let wire = |quantity: &Quantity| {
        let columns = series.arms.iter().map(quantity.of);
        let all = known(&columns.flatten().copied().collect::<Vec<_>>());
        // One outlying window must not choose the unit.
        let usual = *all.get((all.len().checked_sub(1)?) * 99 / 100)?;
        Some(QuantityWire {
            column: quantity.column,
            name: (quantity.name)(load),
            scale: Scale::fitting(quantity.unit, [usual]),
        })
    };
    QUANTITIES.iter().filter_map(wire).collect()
}

/// "CPU per request 61.2 to 74.0 µs, requests per second 1990 to 2010/s"
fn ranges(load: &Analysis, arm: &ArmSeries) -> String {
    let range = |quantity: &Quantity| {
        let all = known((quantity.of)(arm));
        let (low, high) = (*all.first()?, *all.last()?);
        let scale = Scale::fitting(quantity.unit, [high]);
        let (low, high) = (scale.bare(low), scale.with_unit(high));
        Some(format!("{} {low} to {high}", (quantity.name)(load)))
    };
    let ranges = QUANTITIES.iter().filter_map(range);
    ranges.collect::<Vec<_>>().join(", ")
}

fn about(series: &Series) -> String {
    let lasts = duration::span(series.lasts_s.round());
    let course = match series.rounds.len() {
        0 => format!("Over {lasts}."),
        rounds => format!("{} in {lasts}.", number::counted(rounds as u64, "round")),
    };
    let MachineSeries {
        steal, pressure, ..
    } = &series.machine;
    let most = |all: &[Option<f64>]| known(all).last().copied().map(number::percent_two);
    let steal = most(&steal.iter().copied().map(Some).collect::<Vec<_>>());
    let steal = steal.map(|most| format!(" Steal at most {most}."));
    let pressure = most(pressure).map(|most| format!(" Pressure on CPUs at most {most}."));
    [Some(course), steal, pressure]
        .into_iter()
        .flatten()
        .collect()
}

/// Pressure is averaged over at least this time, in seconds.
const PRESSURE_S: f64 = 10.0;

fn notes(load: &Analysis, series: &Series) -> Vec<String> {
    let rounds = (!series.rounds.is_empty()).then(|| "Shaded: rounds.".to_owned());
    let points = match series.bin_s {
        None => "Each point is a window.".to_owned(),
        Some(s) => format!("Each point is the mean over {}.", number::seconds(s)),
    };
    let is_short = series.bin_s.unwrap_or_default() < PRESSURE_S;
    let is_averaged = is_short && !known(&series.machine.pressure).is_empty();
    let pressure = is_averaged.then(|| {
        "Pressure: the mean over windows within 5 s, because the kernel updates it in steps."
            .to_owned()
    });
    let is_bystander = |arm: &ArmSeries| {
        let of = load.arms.get(arm.arm.get());
        arm.agents.is_some() && of.is_some_and(|of| of.bystander.is_some())
    };
    let bystanders = series.arms.iter().any(is_bystander).then(|| {
        "In a bystander's windows, the agents shown are those that watch another arm.".to_owned()
    });
    [rounds, Some(points), pressure, bystanders]
        .into_iter()
        .flatten()
        .collect()
}

/// How many of the individually known windows are valid, suspect and void.
fn windows(series: &Series) -> String {
    let known = series.windows.len();
    let of = |soundness: Soundness| {
        let found = series.windows.iter().filter(|of| of.soundness == soundness);
        number::count(found.count() as u64)
    };
    let which = if known == series.windows_in_all {
        "all"
    } else {
        "the first"
    };
    format!(
        "Of {which} {}, {} are valid, {} suspect, {} void.",
        number::counted(known as u64, "window"),
        of(Soundness::Valid),
        of(Soundness::Suspect),
        of(Soundness::Void)
    )
}
