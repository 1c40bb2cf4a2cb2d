//! The sources of the primary metric's scatter, for the page document.

use serde::Serialize;
use windage_analysis::{Analysis, ArmAnalysis};
use windage_model::{Interval, Role};

use crate::fact::one_line;
use crate::number;
use crate::precision::advice_in_words;
use crate::rows::capitalised;

#[derive(Serialize)]
pub(super) struct VarianceComponentsWire {
    title: String,
    /// What a longer run should have more of, and for which treatments.
    advice: Vec<String>,
    arms: Vec<ArmScatterWire>,
}

#[derive(Serialize)]
struct ArmScatterWire {
    /// Its id.
    arm: String,
    sources: [SourceWire; 3],
    /// Half the width of the interval on the scale of log ratios, as a share.
    half_width: Option<f64>,
    /// "interval ± 5.5 %; within launches ± 5.3 %"
    widths: String,
}

#[derive(Serialize)]
struct SourceWire {
    source: &'static str,
    sd: Option<f64>,
    text: String,
}

/// `None` if nothing is known of it.
pub(super) fn scatter(load: &Analysis) -> Option<VarianceComponentsWire> {
    let arms: Vec<ArmScatterWire> = load
        .arms
        .iter()
        .filter_map(|arm| of_arm(load, arm))
        .collect();
    (!arms.is_empty()).then(|| VarianceComponentsWire {
        title: format!(
            "Scatter of {} by source: standard deviations of log ratios",
            load.primary.label()
        ),
        advice: advice(load),
        arms,
    })
}

fn of_arm(load: &Analysis, arm: &ArmAnalysis) -> Option<ArmScatterWire> {
    let result = arm.metrics.get(&load.primary)?;
    let scatter = result.inference.variance_components.as_ref()?;
    let sources = [
        ("launches", scatter.launch_sd),
        ("blocks", Some(scatter.block_sd)),
        ("windows", scatter.window_sd),
    ];
    let sources = sources.map(|(source, sd)| {
        let sd = sd.filter(|sd| sd.is_finite());
        SourceWire {
            source,
            sd,
            text: match sd {
                Some(sd) => format!("{source} {}", number::percent_two(sd)),
                None => format!("{source}: unknown"),
            },
        }
    });
    let difference = result.difference.as_ref().ok();
    let relative = difference.and_then(|difference| difference.relative.as_ref());
    let half_width = relative.and_then(half_width);
    let within = difference.and_then(|difference| difference.within_launch_half_width);
    let within = within.filter(|within| within.is_finite());
    let widths = [("interval", half_width), ("within launches", within)];
    let widths = widths
        .into_iter()
        .filter_map(|(of, width)| Some(format!("{of} ± {}", number::percent_two(width?))));
    Some(ArmScatterWire {
        arm: arm.id.to_string(),
        sources,
        half_width,
        widths: widths.collect::<Vec<_>>().join("; "),
    })
}

/// The factor between the interval's middle and its ends, minus 1: on the scale of log ratios, like
/// the half-width within launches. In percent of the baseline it would grow with the overhead.
fn half_width(relative: &Interval) -> Option<f64> {
    let is_ratio = relative.is_finite() && relative.low > -1.0;
    is_ratio.then(|| ((1.0 + relative.high) / (1.0 + relative.low)).sqrt() - 1.0)
}

/// Each piece of advice with its treatments.
fn advice(load: &Analysis) -> Vec<String> {
    let mut by_advice: Vec<(String, Vec<String>)> = Vec::new();
    for arm in load.arms.iter().filter(|arm| arm.role == Role::Treatment) {
        let result = arm.metrics.get(&load.primary);
        let scatter = result.and_then(|result| result.inference.variance_components.as_ref());
        let Some(advice) = scatter.and_then(|scatter| scatter.advice) else {
            continue;
        };
        let (advice, name) = (advice_in_words(advice), one_line(&arm.name));
        match by_advice.iter_mut().find(|(known, _)| *known == advice) {
            Some((_, names)) => names.push(name),
            None => by_advice.push((advice, vec![name])),
        }
    }
    match by_advice.as_slice() {
        [(advice, _)] => vec![format!("{}.", capitalised(advice))],
        several => several
            .iter()
            .map(|(advice, names)| format!("{}: {advice}.", names.join(", ")))
            .collect(),
    }
}
