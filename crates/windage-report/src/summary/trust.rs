//! Whether the figures are trustworthy, in words.

use windage_analysis::Analysis;
use windage_model::{Metric, Soundness, Verdict, WarningCode};

use crate::number::{self, Scale};
use crate::pieces::{Piece, text, without_stop};
use crate::sentences;

/// Whether the figures are trustworthy: the control first, then the run's warnings.
pub(super) fn trust(analysis: &Analysis, metric: Metric) -> Vec<Piece> {
    let control = control(analysis, metric);
    // The control has its own sentence, so its warning is not repeated.
    let already_reported: &[WarningCode] = if control.starts_with(WARNING) {
        &[WarningCode::ControlDiffers]
    } else {
        &[]
    };
    let reasons = reasons(analysis, Soundness::Suspect, already_reported);
    let mut sentence = vec![text(control)];
    if !reasons.is_empty() {
        sentence.push(text(format!(". The run is suspect: {reasons}")));
    }
    sentence
}

const WARNING: &str = "Warning";

/// What the A/A control shows for a metric.
pub(crate) fn control(analysis: &Analysis, metric: Metric) -> String {
    let result = analysis
        .control()
        .and_then(|control| control.metrics.get(&metric));
    let Some(result) = result else {
        return "There is no A/A control".to_owned();
    };
    let difference = match &result.difference {
        Ok(difference) => difference,
        Err(missing) => {
            return format!(
                "The A/A control has no figure ({})",
                without_stop(&sentences::missing(missing))
            );
        }
    };
    let shown = match &difference.relative {
        Some(relative) => number::percent(relative),
        None => Scale::fitting(metric.unit(), [difference.absolute.estimate])
            .signed(&difference.absolute),
    };
    let Some((estimate, range)) = shown.map(|shown| (shown.point(), shown.range_with_unit()))
    else {
        return "The A/A control has no finite figure".to_owned();
    };
    match (result.exceeds_zero(), result.verdict) {
        (Some(false), Some(Verdict::Inconclusive)) => {
            format!("A/A control: inconclusive (95 % CI {range})")
        }
        (Some(false), _) => {
            format!("A/A control: no significant difference (95 % CI {range})")
        }
        (_, Some(Verdict::Negligible)) => format!(
            "A/A control: differs by {estimate} (95 % CI {range}), within the equivalence margin of {}",
            number::percent_short(analysis.design.margin)
        ),
        _ => format!(
            "{WARNING}: the A/A control differs by {estimate} (95 % CI {range}) although it is \
             identical to the baseline, so something other than telemetry causes differences"
        ),
    }
}

/// The first warnings of that gravity, one sentence each, and how many more there are.
pub(super) fn reasons(
    analysis: &Analysis,
    gravity: Soundness,
    already_reported: &[WarningCode],
) -> String {
    const SPELLED: usize = 2;
    let grave: Vec<_> = analysis
        .validity
        .reasons
        .iter()
        .filter(|reason| {
            reason.soundness() == gravity && !already_reported.contains(&reason.code())
        })
        .collect();
    let spelled = grave
        .iter()
        .take(SPELLED)
        .map(|of| without_stop(&sentences::reason(of)).to_owned());
    let mut words = spelled.collect::<Vec<_>>().join(". ");
    match grave.len().saturating_sub(SPELLED) {
        0 => {}
        1 => words.push_str(". One more reason is listed below"),
        more => words.push_str(&format!(". {more} more reasons are listed below")),
    }
    words
}
