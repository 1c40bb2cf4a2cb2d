//! A metric's differences from the baseline by arm, for forest plots.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis};
use windage_model::{Difference, Direction, Interval, Metric, Role, Soundness, Verdict};

use super::{NO_RATIO, NOT_FOR_ARM, family, unique_names};
use crate::fact::one_line;
use crate::number::{self, Scale, Shown};
use crate::sentences;

/// One metric of all arms.
pub(crate) struct Forest<'a> {
    /// The unit of the axis.
    pub(crate) scale: Scale,
    /// The equivalence margin; `None` where differences are not shares of the baseline.
    pub(crate) margin: Option<f64>,
    /// The labels left and right of zero.
    pub(crate) sides: [&'static str; 2],
    /// The control first: it shows the error of measurement on this machine.
    pub(crate) rows: Vec<ForestRow<'a>>,
}

/// One arm.
pub(crate) struct ForestRow<'a> {
    pub(crate) arm: &'a ArmAnalysis,
    pub(crate) name: String,
    /// The difference and its text; `None` without one.
    pub(crate) difference: Option<(&'a Interval, Shown)>,
    pub(crate) mark: Mark,
    /// The verdict in a word or two, or why there is no difference.
    pub(crate) word: String,
}

/// How an interval is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Its true difference is zero.
    Control,
    /// A control that differs.
    ControlDiffers,
    Judged(Verdict),
    Unjudged,
}

impl<'a> Forest<'a> {
    /// `None` if no arm has a difference.
    pub(crate) fn of(analysis: &'a Analysis, metric: Metric) -> Option<Forest<'a>> {
        let arms = || {
            let arms = analysis.arms.iter();
            let treatments = arms.filter(|arm| arm.role == Role::Treatment);
            analysis.control().into_iter().chain(treatments)
        };
        let found = |arm: &'a ArmAnalysis| arm.metrics.get(&metric)?.difference.as_ref().ok();
        let ratio = |difference: &'a Difference| {
            let relative = difference.relative.as_ref();
            relative.filter(|of| of.is_finite())
        };
        let absolute =
            |difference: &'a Difference| Some(&difference.absolute).filter(|of| of.is_finite());
        // Without a baseline figure there is no share.
        let is_relative = arms().filter_map(found).any(|of| ratio(of).is_some());
        let estimates = arms().filter_map(found).filter_map(absolute);
        let scale = if is_relative {
            Scale::PERCENT
        } else {
            Scale::fitting(metric.unit(), estimates.map(|of| of.estimate))
        };
        let names = unique_names(arms().map(|arm| (&arm.id, arm.name.as_str())));
        let row = |(arm, name): (&'a ArmAnalysis, String)| {
            let result = arm.metrics.get(&metric);
            let difference = found(arm).and_then(|of| {
                let (interval, shown) = if is_relative {
                    let interval = ratio(of)?;
                    (interval, number::percent(interval)?)
                } else {
                    let interval = absolute(of)?;
                    (interval, scale.signed(interval)?)
                };
                Some((interval, shown))
            });
            ForestRow {
                arm,
                name,
                mark: mark(arm, result),
                word: match &difference {
                    Some(_) => result.map_or_else(String::new, |of| verdict_text(arm, of)),
                    None => unmeasured(result),
                },
                difference,
            }
        };
        let rows: Vec<ForestRow> = arms().zip(names).map(row).collect();
        let margin = analysis.design.margin;
        rows.iter()
            .any(|row| row.difference.is_some())
            .then_some(Forest {
                scale,
                margin: Some(margin.abs()).filter(|of| is_relative && of.is_finite() && *of > 0.0),
                sides: match metric.direction() {
                    Direction::Lower => ["← saves", "costs →"],
                    Direction::Higher => ["← costs", "saves →"],
                },
                rows,
            })
    }

    /// The marks that occur, each once, in order.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let drawn = self.rows.iter().filter(|row| row.difference.is_some());
        let drawn: Vec<Mark> = drawn.map(|row| row.mark).collect();
        let judged = [
            Verdict::Costs,
            Verdict::Saves,
            Verdict::Negligible,
            Verdict::Inconclusive,
        ];
        [Mark::Control, Mark::ControlDiffers]
            .into_iter()
            .chain(judged.map(Mark::Judged))
            .chain([Mark::Unjudged])
            .filter(|mark| drawn.contains(mark))
            .collect()
    }

    /// What the shaded margin means: "within ±0.5 %".
    pub(crate) fn margin(&self) -> Option<String> {
        let margin = number::percent_short(self.margin?);
        Some(format!("within ±{margin}"))
    }

    /// The drawing in words, as alternative text.
    pub(crate) fn about(&self) -> String {
        let margin = self.margin();
        let margin = margin.map_or(String::new(), |margin| format!(" Shaded: {margin}."));
        format!("Differences from the baseline with intervals.{margin}")
    }
}

impl Mark {
    /// The name of its colour.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Mark::Control => "control",
            Mark::ControlDiffers => "differs",
            Mark::Judged(verdict) => verdict.as_str(),
            Mark::Unjudged => "unjudged",
        }
    }

    /// Its meaning in the key.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Mark::Control => "A/A control",
            Mark::ControlDiffers => "A/A control, which differs",
            Mark::Judged(verdict) => verdict.as_str(),
            Mark::Unjudged => "not judged",
        }
    }
}

fn mark(arm: &ArmAnalysis, result: Option<&MetricAnalysis>) -> Mark {
    let exceeds_zero = result.and_then(MetricAnalysis::exceeds_zero) == Some(true);
    match (arm.role, result.and_then(|of| of.verdict)) {
        (Role::Control, _) if exceeds_zero => Mark::ControlDiffers,
        (Role::Control, _) => Mark::Control,
        (_, Some(verdict)) => Mark::Judged(verdict),
        (_, None) => Mark::Unjudged,
    }
}

fn verdict_text(arm: &ArmAnalysis, result: &MetricAnalysis) -> String {
    let exceeds_zero = result.exceeds_zero() == Some(true);
    let word = match (arm.role, result.verdict) {
        (Role::Control, _) if exceeds_zero => "control: differs",
        (Role::Control, _) => "control",
        (_, Some(verdict)) => verdict.as_str(),
        (_, None) if exceeds_zero => "exceeds zero",
        (_, None) => "inconclusive",
    };
    let void = match result.validity.soundness() {
        Soundness::Void => ", void",
        Soundness::Valid | Soundness::Suspect => "",
    };
    let mark = match arm.role {
        Role::Control => String::new(),
        Role::Baseline | Role::Treatment => family::mark(result),
    };
    format!("{word} {mark}").trim_end().to_owned() + void
}

fn unmeasured(result: Option<&MetricAnalysis>) -> String {
    match result.map(|result| &result.difference) {
        None => NOT_FOR_ARM.to_owned(),
        Some(Ok(_)) => NO_RATIO.to_owned(),
        Some(Err(missing)) => format!("not measured: {}", one_line(&sentences::missing(missing))),
    }
}
