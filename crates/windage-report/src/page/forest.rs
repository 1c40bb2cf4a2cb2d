//! Forest plots in the document: one per metric in which an arm has a difference.

use serde::Serialize;
use windage_analysis::Analysis;
use windage_model::{Direction, LoadModel, Metric};

use super::figures::BandWire;
use crate::fact::one_line;
use crate::number::Scale;
use crate::rows::forest::{Forest, ForestRow, Mark};
use crate::rows::{ON_ITS_OWN, ON_ITS_OWN_MEANS, headline};

#[derive(Serialize)]
pub(super) struct ForestWire {
    metric: &'static str,
    heading: String,
    title: String,
    about: String,
    notes: Vec<String>,
    unit: &'static str,
    scale: Scale,
    margin: Option<f64>,
    sides: [&'static str; 2],
    key: Vec<KeyWire>,
    rows: Vec<RowWire>,
}

#[derive(Serialize)]
struct KeyWire {
    mark: &'static str,
    text: String,
}

#[derive(Serialize)]
struct RowWire {
    /// Its id.
    arm: String,
    name: String,
    ends: Option<BandWire>,
    /// "+22.7 %" and "+22.0 to +23.0"; empty without an interval.
    point: String,
    range: String,
    mark: &'static str,
    word: String,
}

/// The primary metric first.
pub(super) fn forests(load: &Analysis) -> Vec<ForestWire> {
    let others = Metric::ALL.iter().copied();
    let others = others.filter(|metric| *metric != load.primary);
    let all = std::iter::once(load.primary).chain(others);
    all.filter_map(|metric| Some(ForestWire::of(load, metric, &Forest::of(load, metric)?)))
        .collect()
}

/// The metrics that come first: the primary one, those that users notice, memory, the machine.
pub(super) fn at_a_glance(load: &Analysis, forests: &[ForestWire]) -> Vec<&'static str> {
    use Metric::{
        AgentRssSteady, MachineCpuPerRequest, Pss, ResponseTimeP50, ResponseTimeP99, RssPeak,
        RssSteady, ServiceTimeP50, ServiceTimeP99, StartupTime, Throughput, WallPerIteration,
    };
    let felt: &[Metric] = match load.design.load {
        LoadModel::Batch => &[WallPerIteration],
        LoadModel::Closed => &[Throughput, ResponseTimeP99, ServiceTimeP99],
        LoadModel::Open => &[
            ResponseTimeP99,
            ServiceTimeP99,
            ResponseTimeP50,
            ServiceTimeP50,
        ],
    };
    let found = |metric: &Metric| forests.iter().find(|of| of.metric == metric.as_str());
    let there = |metrics: &[Metric], most: usize| {
        let there = metrics.iter().filter_map(found).map(|of| of.metric);
        there.take(most).collect::<Vec<_>>()
    };
    // Arms with agents may share the baseline's processes, so only their agents' memory can be
    // compared.
    let treatments = |of: &ForestWire| of.rows.iter().filter(|row| row.is_told_treatment()).count();
    let memory = [RssSteady, RssPeak, Pss, AgentRssSteady];
    let memory = memory
        .iter()
        .rev()
        .filter_map(found)
        .max_by_key(|of| treatments(of));
    let mut glance = there(&[load.primary], 1);
    glance.extend(there(felt, 2));
    glance.extend(memory.map(|of| of.metric));
    glance.extend(there(&[MachineCpuPerRequest, StartupTime], 1));
    let mut once = Vec::new();
    for metric in glance {
        if !once.contains(&metric) {
            once.push(metric);
        }
    }
    once
}

impl ForestWire {
    fn of(load: &Analysis, metric: Metric, forest: &Forest) -> ForestWire {
        let name = headline(metric);
        let better = match metric.direction() {
            Direction::Lower => "",
            Direction::Higher => " (higher is better)",
        };
        let key = |mark: Mark| KeyWire {
            mark: mark.as_str(),
            text: mark.meaning().to_owned(),
        };
        let margin = forest.margin().map(|text| KeyWire {
            mark: "margin",
            text,
        });
        ForestWire {
            metric: metric.as_str(),
            heading: format!("{name}{better}"),
            title: format!("{name}: difference from the baseline"),
            about: forest.about(),
            notes: notes(load, metric, forest),
            unit: if forest.scale == Scale::PERCENT {
                "share of the baseline"
            } else {
                metric.unit().as_str()
            },
            scale: forest.scale,
            margin: forest.margin,
            sides: forest.sides,
            key: forest.marks().into_iter().map(key).chain(margin).collect(),
            rows: forest.rows.iter().map(RowWire::of).collect(),
        }
    }
}

/// What the metric is, what a mark means, and that no agent watches bystanders.
fn notes(load: &Analysis, metric: Metric, forest: &Forest) -> Vec<String> {
    let mut notes = vec![metric.about().to_owned()];
    if forest.rows.iter().any(|row| row.word.contains(ON_ITS_OWN)) {
        notes.push(format!("{ON_ITS_OWN_MEANS}."));
    }
    let bystanders = load.arms.iter().filter(|arm| arm.bystander.is_some());
    notes.extend(bystanders.map(|arm| {
        format!(
            "No agent watches `{}`. This picture compares it with the baseline, like all arms. \
             What the agents of other arms cost it is a separate figure: attached compared with \
             detached.",
            one_line(&arm.name)
        )
    }));
    notes
}

impl RowWire {
    fn of(row: &ForestRow) -> RowWire {
        let shown = row.difference.as_ref();
        RowWire {
            arm: row.arm.id.to_string(),
            name: row.name.clone(),
            ends: shown.and_then(|(interval, _)| BandWire::of(interval)),
            point: shown.map_or(String::new(), |(_, shown)| shown.point()),
            range: shown.map_or(String::new(), |(_, shown)| shown.range()),
            mark: row.mark.as_str(),
            word: row.word.clone(),
        }
    }

    fn is_told_treatment(&self) -> bool {
        let control = [Mark::Control.as_str(), Mark::ControlDiffers.as_str()];
        self.ends.is_some() && !control.contains(&self.mark)
    }
}
