//! Flame graphs: where an arm's CPU goes, compared with the baseline.

use serde::Serialize;
use windage_analysis::{Analysis, Interaction, RecordedProfile, Sampled, differential_flame_graph};
use windage_model::Role;

use crate::fact::one_line;
use crate::rows::divided_by;
use crate::rows::profile::{Profiled, profiled};

/// A picture that can be searched and zoomed, as a separate file.
#[derive(Clone, Debug, PartialEq)]
pub struct FlameGraph<'a> {
    /// The profile that it draws.
    pub profile: &'a RecordedProfile,
    /// The picture.
    pub svg: String,
}

/// The flame graph of every profiled arm, compared with the baseline's, under each load.
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

/// A picture in the document: SVG without scripts.
#[derive(Serialize)]
pub(super) struct FlameGraphWire {
    /// The arm's id.
    arm: String,
    title: String,
    note: String,
    svg: String,
}

/// Those of the treatments under one load.
pub(super) fn flame_graphs_of(load: &Analysis) -> Vec<FlameGraphWire> {
    let treatments = compared(load).filter(|(of, _)| of.arm.role == Role::Treatment);
    let wire = |(of, baseline): (Profiled, &Sampled)| {
        Some(FlameGraphWire {
            arm: of.arm.id.to_string(),
            title: format!("Where the CPU of {} goes", one_line(&of.arm.name)),
            note: note(load, &of),
            svg: drawn(load, &of, baseline, Interaction::None)?,
        })
    };
    treatments.filter_map(wire).collect()
}

fn note(load: &Analysis, of: &Profiled) -> String {
    format!(
        "Width: CPU of the arm {}. Above a function is what it calls. Red: the function itself \
         takes more than in the baseline; blue: less. Functions of the baseline alone have no \
         width. To search and zoom: profiles/{}.svg in the run directory.",
        divided_by(load),
        of.profile.taken.stem()
    )
}

/// Every profiled arm except the baseline, if the baseline has a profile too.
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
    let title = format!("{plan}: {arm} compared with the baseline");
    let (arm, baseline) = (&of.sampled.profile, &baseline.profile);
    differential_flame_graph(arm, baseline, &title, divided_by(analysis), interaction)
}
