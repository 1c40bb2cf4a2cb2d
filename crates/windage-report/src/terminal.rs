//! The report as aligned text.

mod page;
mod text;

use anstyle::Style;
use windage_analysis::Analysis;
use windage_model::Soundness;

use crate::calibration;
use crate::fact::one_line;
use crate::facts;
use crate::rows;
use crate::self_reported;
use crate::summary;
pub(crate) use page::{FAINT, HEADING, Page};
pub use text::wrap;

/// Options of the terminal report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalOptions {
    /// The width in columns; less than 72 counts as 72.
    pub width: usize,
    /// Whether ANSI colours are used.
    pub color: bool,
    /// Whether to show all tables, or only what fits a screen.
    pub all: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        TerminalOptions {
            width: 80,
            color: false,
            all: false,
        }
    }
}

/// The report as aligned text that ends with a line break: the answer and the metrics that changed,
/// or everything with `all`.
///
/// Verdicts are words or marks as well as colours, so nothing is lost without `color`.
#[must_use]
pub fn terminal(analysis: &Analysis, options: TerminalOptions) -> String {
    let mut page = Page::new(options);
    if !options.all {
        brief(&mut page, analysis);
        return page.into_text();
    }
    head(&mut page, analysis);
    if analysis.other_loads.is_empty() {
        part(&mut page, analysis);
    } else {
        for regime in analysis.regimes() {
            page.wrapped("", &facts::regime(regime), HEADING);
            page.facts(&facts::of_regime(regime));
            page.blank();
            part(&mut page, regime);
        }
    }
    if let Some(table) = rows::by_rate_table(analysis) {
        page.table(&table);
    }
    let used = [
        facts::own_cost(analysis),
        calibration::quoted_or_missing(analysis),
    ];
    let reported = self_reported::facts(analysis);
    page.facts(&[used.to_vec(), reported, facts::closing(analysis)].concat());
    page.into_text()
}

/// The answer, the metrics that changed, delivered telemetry, warnings, and where to see more.
fn brief(page: &mut Page, analysis: &Analysis) {
    page.heading(&one_line(&analysis.plan));
    if let Some(about) = &analysis.about {
        page.cut_line(&one_line(about), Style::new());
    }
    for load in analysis.regimes() {
        page.facts(&facts::in_brief(load));
        page.blank();
        brief_part(page, load);
        page.blank();
    }
    page.facts(&facts::more(analysis));
}

/// The results under one load, in brief.
fn brief_part(page: &mut Page, analysis: &Analysis) {
    page.wrapped("", &summary::answer(analysis), HEADING);
    page.blank();
    if analysis.validity.soundness() == Soundness::Void {
        // Figures that must not be used are not shown.
        return page.warnings_in_brief(analysis);
    }
    let [answer, delivered] = rows::headline_tables(analysis);
    let changed = rows::changed_table(analysis);
    for table in &answer {
        page.table(table);
    }
    if let Some(changed) = &changed {
        page.first_columns(changed);
    }
    for table in &delivered {
        page.table(table);
    }
    let shown: Vec<_> = answer.iter().chain(&changed).chain(&delivered).collect();
    if shown.is_empty() {
        page.wrapped("", rows::NOTHING_MEASURED, Style::new());
        page.blank();
    }
    if let Some(legend) = rows::legend_in_brief(analysis, &shown) {
        page.wrapped("", &legend, FAINT);
        page.blank();
    }
    page.warnings_in_brief(analysis);
}

/// The run's title and description.
pub(crate) fn head(page: &mut Page, analysis: &Analysis) {
    page.heading(&one_line(&analysis.plan));
    if let Some(about) = &analysis.about {
        page.wrapped("", &one_line(about), Style::new());
    }
    page.blank();
    page.facts(&facts::header(analysis));
    page.blank();
}

/// The results under one load.
fn part(page: &mut Page, analysis: &Analysis) {
    page.wrapped("", &crate::summary(analysis), HEADING);
    page.blank();
    let tables = rows::tables(analysis);
    let shown: Vec<_> = tables.iter().filter(|table| !table.detail).collect();
    for table in &shown {
        page.table(table);
    }
    if tables.is_empty() {
        page.wrapped("", rows::NOTHING_MEASURED, Style::new());
        page.blank();
    }
    if let Some(legend) = rows::legend(analysis, &shown) {
        page.wrapped("", &legend, FAINT);
        page.blank();
    }
    page.warnings(analysis);
    page.blank();
}
