//! A sweep as published speed guides print it: a table of its levels, and what the data say, in
//! words made by rules. Whole processes as published measurements print them.

mod budget;
mod ceiling;
mod observations;
mod runs;
mod scripts;
mod table;

use anstyle::Style;
use windage_analysis::{Analysis, ArmAnalysis, Curve};
use windage_model::{LevelValue, Role};

use crate::facts::{self, one_line};
use crate::terminal::{HEADING, Page, TerminalOptions, head};
pub use runs::{summary_of_runs, summary_of_runs_markdown};

/// What a guide is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuideOptions {
    /// How it is written. It needs 100 columns to stay in one table.
    pub terminal: TerminalOptions,
    /// The overhead that somebody would bear, as a share of the primary metric: 0.05 is 5 %.
    pub budget: f64,
}

/// Why a run has no guide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuideError {
    /// There are no levels to make a table of.
    #[error(
        "run {run} has no arm over a factor whose levels are numbers, such as `sweep = {{ rate = \
         [100.0, 10.0, 0.0] }}` in the plan's [[arm]], so there is no table of levels, and its \
         windows were no whole processes (`batch = \"process\"`); ask for --format terminal \
         instead"
    )]
    NoSweep {
        /// The run's id.
        run: String,
    },
    /// There are levels, and no interval of any of them.
    #[error(
        "run {run} swept `{factor}`, but has intervals of fewer than three of its levels, so there \
         is no curve over them; `windage report {run}` says what was measured"
    )]
    NoCurve {
        /// The run's id.
        run: String,
        /// The factor.
        factor: String,
    },
}

/// The guides of all runs, and where there are several a summary over them; text that ends with a
/// line break. Of arms whose windows were whole processes it has what a shell's `time` would print.
///
/// # Errors
///
/// [`GuideError`] when a run has neither a curve over a factor nor whole processes.
pub fn guide(analyses: &[Analysis], options: GuideOptions) -> Result<String, GuideError> {
    let mut text = String::new();
    for analysis in analyses {
        text.push_str(&of_run(analysis, options)?);
        text.push('\n');
    }
    if analyses.len() > 1 {
        text.push_str(&summary_of_runs(analyses, options.terminal));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    Ok(text)
}

fn of_run(analysis: &Analysis, options: GuideOptions) -> Result<String, GuideError> {
    let has_scripts = |regime: &Analysis| scripts::scripts(regime).next().is_some();
    let has_a_guide = |regime: &Analysis| !regime.curves.is_empty() || has_scripts(regime);
    if !analysis.regimes().any(has_a_guide) {
        return Err(without_curves(analysis));
    }
    let mut page = Page::new(options.terminal);
    head(&mut page, analysis);
    for regime in analysis.regimes() {
        if !analysis.other_loads.is_empty() {
            page.wrapped("", &facts::regime(regime), HEADING);
            page.facts(&facts::of_regime(regime));
            page.blank();
        }
        for sweep in sweeps(regime) {
            page.table_in_two(&table::table(&sweep), table::FIRST_PART);
            page.heading("Key observations");
            page.facts(&observations::observations(&sweep, options.budget));
            page.blank();
        }
        if has_scripts(regime) {
            whole_processes(&mut page, regime);
        }
        if !has_a_guide(regime) {
            page.wrapped("", "There is no curve under this load.", Style::new());
            page.blank();
        }
        page.warnings(regime);
        page.blank();
    }
    page.facts(&facts::closing(analysis));
    Ok(page.into_text())
}

/// What a shell's `time` would have printed of each arm, and what it shows.
fn whole_processes(page: &mut Page, analysis: &Analysis) {
    for (arm, script) in scripts::scripts(analysis) {
        page.wrapped("", &scripts::title(arm, script), Style::new());
        for line in scripts::as_timed(script) {
            page.line(&line);
        }
        page.blank();
    }
    page.heading("Key observations");
    page.facts(&scripts::observations(analysis));
    page.blank();
}

fn without_curves(analysis: &Analysis) -> GuideError {
    let run = one_line(&analysis.run);
    let treatments = analysis
        .arms
        .iter()
        .filter(|arm| arm.role == Role::Treatment);
    let mut levels = treatments.flat_map(|arm| &arm.levels);
    match levels.find(|(_, level)| matches!(level, LevelValue::Number(_))) {
        Some((factor, _)) => GuideError::NoCurve {
            run,
            factor: one_line(factor),
        },
        None => GuideError::NoSweep { run },
    }
}

/// Arms that differ in one factor alone.
pub(crate) struct Sweep<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) factor: &'a str,
    /// What the arms have in common.
    pub(crate) of: &'a str,
    pub(crate) curves: Vec<&'a Curve>,
    /// The highest level first.
    pub(crate) levels: Vec<(f64, &'a ArmAnalysis)>,
}

impl<'a> Sweep<'a> {
    /// The arm of a level.
    fn at(&self, level: f64) -> Option<&'a ArmAnalysis> {
        let mut levels = self.levels.iter();
        levels.find(|(of, _)| *of == level).map(|(_, arm)| *arm)
    }

    /// The curve of the metric by which the question is answered, or the first that there is.
    fn curve(&self) -> Option<&'a Curve> {
        let primary = self.analysis.primary;
        let mut curves = self.curves.iter();
        curves
            .find(|curve| curve.metric == primary)
            .or(self.curves.first())
            .copied()
    }
}

/// The sweeps of a run, in the order of its curves.
pub(crate) fn sweeps(analysis: &Analysis) -> Vec<Sweep<'_>> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for curve in &analysis.curves {
        let is_of = |f: &&mut Sweep| (f.factor, f.of) == (curve.factor.as_str(), &*curve.of);
        match sweeps.iter_mut().find(is_of) {
            Some(sweep) => sweep.curves.push(curve),
            None => sweeps.push(Sweep {
                analysis,
                factor: &curve.factor,
                of: &curve.of,
                curves: vec![curve],
                levels: Vec::new(),
            }),
        }
    }
    for sweep in &mut sweeps {
        sweep.levels = levels(analysis, &sweep.curves);
    }
    sweeps
}

/// Each arm that is on one of the curves; one of which a metric is missing is on the others.
fn levels<'a>(analysis: &'a Analysis, curves: &[&Curve]) -> Vec<(f64, &'a ArmAnalysis)> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let level = |arm: &ArmAnalysis| points().find(|p| p.arm == arm.id).map(|p| p.level);
    let arms = analysis.arms.iter();
    let mut levels: Vec<_> = arms
        .filter_map(|arm| level(arm).map(|l| (l, arm)))
        .collect();
    levels.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    levels
}

/// Treatments that are on no curve, such as a filter that is loaded and switched off.
pub(crate) fn beside(analysis: &Analysis) -> impl Iterator<Item = &ArmAnalysis> {
    let points = || analysis.curves.iter().flat_map(|curve| &curve.points);
    let arms = analysis.arms.iter();
    let treatments = arms.filter(|arm| arm.role == Role::Treatment);
    treatments.filter(move |arm| !points().any(|point| point.arm == arm.id))
}
