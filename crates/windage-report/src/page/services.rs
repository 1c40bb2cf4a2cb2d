//! CPU per request by service as bars, for the page document.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis, ServiceAnalysis};
use windage_model::{Interval, Unit};

use super::bill::{BarWire, BillWire, FormWire, LineName};
use crate::fact::one_line;
use crate::number::{NOT_AVAILABLE, Scale};
use crate::rows::agents::bill::Fine;
use crate::rows::{cpu_metric, divided_by, value};

/// `None` where arms don't have several services.
pub(super) fn services(load: &Analysis) -> Option<BillWire> {
    let arms = load.arms.iter().filter(|arm| !arm.services.is_empty());
    let arms: Vec<&ArmAnalysis> = arms.collect();
    let lines = arms.first()?.services.iter().map(|of| LineName {
        item: of.service.clone(),
        name: one_line(&of.service),
    });
    let metric = cpu_metric(load);
    let whole = |arm: &ArmAnalysis| arm.metrics.get(&metric).and_then(|of| value(arm, of));
    let difference = |arm: &ArmAnalysis| arm.metrics.get(&metric).and_then(difference_of).copied();
    let scale = Scale::fitting(Unit::Microseconds, arms.iter().filter_map(|arm| whole(arm)));
    let differences = arms.iter().filter_map(|arm| difference(arm));
    let fine = Fine::fitting(differences.map(|of| of.estimate));
    let against = |arm: &ArmAnalysis| Some(fine.scale.signed(&difference(arm)?)?.to_string());
    let of_whole = |arm: &ArmAnalysis| {
        let short = whole(arm).map_or(NOT_AVAILABLE.to_owned(), |us| scale.with_unit(us));
        let against = against(arm).map(|of| format!(", {of} compared with the baseline"));
        [format!("{short}{}", against.unwrap_or_default()), short]
    };
    let of_difference = |arm: &ArmAnalysis| {
        let point = difference(arm).map(|of| fine.scale.attach(&fine.point(of.estimate)));
        [against(arm), point].map(|text| text.unwrap_or(NOT_AVAILABLE.to_owned()))
    };
    let own = |arm: &ArmAnalysis, of: &ServiceAnalysis| Some(scale.bare(value(arm, &of.cpu)?));
    let more =
        |_: &ArmAnalysis, of: &ServiceAnalysis| Some(fine.point(difference_of(&of.cpu)?.estimate));
    let per = divided_by(load);
    Some(BillWire {
        lines: lines.collect(),
        whole: FormWire {
            title: format!("CPU {per}, by service"),
            note: "The clocks of processes say which share of an arm's CPU each of its services \
                   used; the shares add up to the arm's CPU. Less idle CPU, a service without load may \
                   come out a little below zero.",
            scale,
            bars: bars(&arms, &of_whole, &own),
        },
        difference: FormWire {
            title: format!("CPU {per}, by service: difference from the baseline"),
            note: "Savings are left of zero. The table has the interval of each service; these are \
                   not adjusted for their number.",
            scale: fine.scale,
            bars: bars(&arms, &of_difference, &more),
        },
    })
}

fn difference_of(of: &MetricAnalysis) -> Option<&Interval> {
    let difference = of.difference.as_ref().ok()?;
    Some(&difference.absolute).filter(|of| of.is_finite())
}

fn bars(
    arms: &[&ArmAnalysis],
    sum: &dyn Fn(&ArmAnalysis) -> [String; 2],
    part: &dyn Fn(&ArmAnalysis, &ServiceAnalysis) -> Option<String>,
) -> Vec<BarWire> {
    let bar = |arm: &&ArmAnalysis| {
        let [figures, short] = sum(arm);
        let parts = arm.services.iter();
        BarWire {
            arm: arm.id.to_string(),
            figures,
            short,
            parts: parts.map(|of| part(arm, of).unwrap_or_default()).collect(),
        }
    };
    arms.iter().map(bar).collect()
}
