//! Flame graphs: where an arm's CPU goes, against the baseline.

use maud::{Markup, PreEscaped, html};
use windage_analysis::{Analysis, Interaction, RecordedProfile, Sampled, differential_flame_graph};
use windage_model::Role;

use crate::facts::one_line;
use crate::rows::profile::{Profiled, each, profiled};

/// A picture that can be searched and enlarged, as a file of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct FlameGraph<'a> {
    /// The profile that it draws.
    pub profile: &'a RecordedProfile,
    /// The picture.
    pub svg: String,
}

/// The flame graph of every arm that was profiled, against the baseline's, under each load.
#[must_use]
pub fn flame_graphs(analysis: &Analysis) -> Vec<FlameGraph<'_>> {
    let of_load = |analysis| {
        compared(analysis).filter_map(move |(of, baseline)| {
            Some(FlameGraph {
                profile: &of.profile.taken,
                svg: drawn(analysis, &of, baseline, Interaction::SearchAndZoom)?,
            })
        })
    };
    analysis.regimes().flat_map(of_load).collect()
}

/// The pictures of the treatments. Each is within a shadow of the page, where its names and its
/// looks are its own.
pub(super) fn figures(analysis: &Analysis) -> Markup {
    let treatments = compared(analysis).filter(|(of, _)| of.arm.role == Role::Treatment);
    html! {
        @for (of, baseline) in treatments {
            @if let Some(svg) = drawn(analysis, &of, baseline, Interaction::None) {
                figure.flames {
                    figcaption { "Where the CPU of " (one_line(&of.arm.name)) " goes" }
                    div.scroll { div { template shadowrootmode="open" { (PreEscaped(svg)) } } }
                    p.note {
                        "Width: CPU of the arm " (each(analysis)) ", what a function calls above it. Red: \
                         the function itself takes more than in the baseline; blue: less. What the \
                         baseline alone does has no width. To search and to enlarge: "
                        code { "profiles/" (of.profile.taken.stem()) ".svg" }
                        " in the run directory."
                    }
                }
            }
        }
    }
}

/// Every arm but the baseline that has a profile, if the baseline has one as well.
fn compared(analysis: &Analysis) -> impl Iterator<Item = (Profiled<'_>, &Sampled)> {
    let is_baseline = |of: &Profiled| of.arm.role == Role::Baseline;
    let baseline = profiled(analysis).find(is_baseline).map(|of| of.sampled);
    profiled(analysis)
        .filter(move |of| !is_baseline(of))
        .filter_map(move |of| Some((of, baseline?)))
}

fn drawn(
    analysis: &Analysis,
    of: &Profiled,
    baseline: &Sampled,
    interaction: Interaction,
) -> Option<String> {
    let (plan, arm) = (one_line(&analysis.plan), one_line(&of.arm.name));
    let title = format!("{plan}: {arm} against the baseline");
    let (arm, baseline) = (&of.sampled.profile, &baseline.profile);
    differential_flame_graph(arm, baseline, &title, each(analysis), interaction)
}
