//! The precision of the answer: the minimum detectable effect, and the sources of scatter. All of
//! it is about the primary metric of the treatments.

use windage_analysis::{Advice, Analysis, ArmAnalysis, MetricAnalysis, VarianceComponents};
use windage_model::Role;

use crate::fact::Fact;
use crate::number;

/// The label of the line about variance components.
pub(crate) const SCATTER: &str = "scatter";

/// The lines below the primary table; each covers all treatments.
pub(crate) fn facts(analysis: &Analysis) -> Vec<Fact> {
    let results: Vec<_> = treatments(analysis).map(|(_, result)| result).collect();
    [visible(analysis, &results), scatter(&results)]
        .into_iter()
        .flatten()
        .collect()
}

/// The treatments with their results in the primary metric.
pub(crate) fn treatments(
    analysis: &Analysis,
) -> impl Iterator<Item = (&ArmAnalysis, &MetricAnalysis)> {
    analysis
        .arms
        .iter()
        .filter(|arm| arm.role == Role::Treatment)
        .filter_map(|arm| Some((arm, arm.metrics.get(&analysis.primary)?)))
}

fn visible(analysis: &Analysis, results: &[&MetricAnalysis]) -> Option<Fact> {
    let smallest = results
        .iter()
        .filter_map(|result| result.difference.as_ref().ok()?.minimum_detectable_effect);
    let smallest = spread(smallest, number::percent_bound)?;
    Some(Fact::new(
        "minimum detectable effect",
        format!("{smallest} of {} (80 % power)", analysis.primary.label()),
    ))
}

fn scatter(results: &[&MetricAnalysis]) -> Option<Fact> {
    let scatters: Vec<_> = results
        .iter()
        .filter_map(|result| result.inference.variance_components.as_ref())
        .collect();
    let of = |part: fn(&VarianceComponents) -> Option<f64>| {
        let found = scatters.iter().filter_map(|scatter| part(scatter));
        spread(found, number::percent_two)
    };
    let blocks = of(|s| Some(s.block_sd))?;
    let (launches, windows) = (of(|s| s.launch_sd), of(|s| s.window_sd));
    let launches = launches.map_or_else(
        || "launches unknown (only one)".to_owned(),
        |launches| format!("launches {launches}"),
    );
    // If the scatter of windows is unknown, it is part of the blocks' scatter.
    let inner = match windows {
        Some(windows) => format!("drift between blocks {blocks}, windows {windows}"),
        None => format!("blocks {blocks}"),
    };
    let advice = advice_for_the_widest(results).map_or(String::new(), |advice| {
        format!("; {}", advice_in_words(advice))
    });
    Some(Fact::new(SCATTER, format!("{launches}, {inner}{advice}")))
}

/// Advice differs by treatment; the run needs what the widest interval needs.
fn advice_for_the_widest(results: &[&MetricAnalysis]) -> Option<Advice> {
    let width = |result: &MetricAnalysis| {
        let difference = result.difference.as_ref().ok()?;
        let interval = difference.relative.as_ref().unwrap_or(&difference.absolute);
        Some(interval.half_width())
    };
    results
        .iter()
        .filter_map(|result| {
            Some((
                width(result)?,
                result.inference.variance_components.as_ref()?.advice?,
            ))
        })
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, advice)| advice)
}

/// What a longer run should have more of.
pub(crate) fn advice_in_words(advice: Advice) -> String {
    let most = "would narrow the interval most";
    match advice {
        Advice::MoreRounds { blocks_per_round } => {
            let blocks = number::counted(blocks_per_round as u64, "block");
            format!("more rounds, with about {blocks} each, {most}")
        }
        Advice::MoreBlocks {
            blocks_per_round: Some(blocks_per_round),
        } => format!(
            "more blocks per round, about {}, {most}",
            number::count(blocks_per_round as u64)
        ),
        Advice::MoreBlocks {
            blocks_per_round: None,
        } => format!("more blocks in each round {most}"),
        Advice::Balanced => format!("more rounds like these {most}"),
        Advice::LaunchesUnknown => "a second round would show whether launches differ".to_owned(),
    }
}

/// The lowest and highest of several figures; one figure if both have the same text.
fn spread(figures: impl Iterator<Item = f64>, write: fn(f64) -> String) -> Option<String> {
    let mut figures: Vec<f64> = figures.filter(|f| f.is_finite()).collect();
    figures.sort_by(f64::total_cmp);
    let (least, greatest) = (write(*figures.first()?), write(*figures.last()?));
    if least == greatest {
        return Some(greatest);
    }
    Some(format!("{} to {greatest}", least.trim_end_matches(" %")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_a_clause() {
        let table = [
            (
                Advice::MoreRounds {
                    blocks_per_round: 12,
                },
                "more rounds, with about 12 blocks each, would narrow the interval most",
            ),
            (
                Advice::MoreRounds {
                    blocks_per_round: 1,
                },
                "more rounds, with about 1 block each, would narrow the interval most",
            ),
            (
                Advice::MoreBlocks {
                    blocks_per_round: Some(1_200),
                },
                "more blocks per round, about 1,200, would narrow the interval most",
            ),
            (
                Advice::MoreBlocks {
                    blocks_per_round: None,
                },
                "more blocks in each round would narrow the interval most",
            ),
            (
                Advice::Balanced,
                "more rounds like these would narrow the interval most",
            ),
            (
                Advice::LaunchesUnknown,
                "a second round would show whether launches differ",
            ),
        ];
        for (advice, expected) in table {
            assert_eq!(advice_in_words(advice), expected);
        }
    }

    #[test]
    fn equal_texts_are_written_once() {
        let table: [(&[f64], Option<&str>); 4] = [
            (&[0.005_01, 0.005], Some("0.5 %")),
            (&[0.019, 0.005, 0.008], Some("0.5 to 1.9 %")),
            (&[f64::NAN, 0.005], Some("0.5 %")),
            (&[], None),
        ];
        for (figures, expected) in table {
            let written = spread(figures.iter().copied(), number::percent_two);
            assert_eq!(written.as_deref(), expected, "{figures:?}");
        }
    }
}
