//! A comparison as aligned text.

use anstyle::{AnsiColor, Style};
use windage_analysis::{Comparable, Compared, ComparedLoad, PlanLine, PlanTag};

use super::{answer, closing, differs, header, heading, of_load, tables, title, told};
use crate::fact::Fact;
use crate::pieces::plain;
use crate::rows::Table;
use crate::terminal::{FAINT, HEADING, Page, TerminalOptions};

/// The most lines of the plans' difference in a terminal.
const PLAN_LINES: usize = 24;

/// The comparison as aligned text that ends with a line break.
#[must_use]
pub fn comparison_terminal(compared: &Compared, options: TerminalOptions) -> String {
    let of = &compared.comparison;
    let mut page = Page::new(options);
    page.heading(&title(compared));
    page.blank();
    page.facts(&header(compared));
    page.blank();
    for load in &of.loads {
        under_load(&mut page, compared, load);
    }
    warnings(&mut page, compared);
    for (heading, facts) in differs::facts(compared) {
        page.wrapped("", heading, HEADING);
        page.facts(&facts);
        page.blank();
    }
    plan(&mut page, compared);
    let same = differs::same(compared).into_iter();
    page.facts(&same.chain(closing(compared)).collect::<Vec<Fact>>());
    page.into_text()
}

fn under_load(page: &mut Page, compared: &Compared, load: &ComparedLoad) {
    if let Some(name) = of_load(load) {
        page.wrapped("", &name, HEADING);
        page.blank();
    }
    let sentences = answer::sentences(&compared.comparison, load);
    let sentences: Vec<_> = sentences.iter().map(|sentence| plain(sentence)).collect();
    page.wrapped("", &sentences.join(" "), HEADING);
    page.blank();
    let tables = tables::tables(load);
    let shown: Vec<&Table> = tables.iter().filter(|table| !table.detail).collect();
    for table in &shown {
        page.table(table);
    }
    if let Some(legend) = tables::legend(load, &shown) {
        page.wrapped("", &legend, FAINT);
        page.blank();
    }
    if shown.len() < tables.len() {
        let titles = tables.iter().filter(|table| table.detail);
        let titles: Vec<_> = titles.map(|table| table.title.as_str()).collect();
        let more = format!("more in --format markdown: {}", titles.join("; "));
        page.wrapped("", &more, FAINT);
        page.blank();
    }
    let lone = super::lone_arms(load);
    if !lone.is_empty() {
        page.facts(&lone);
        page.blank();
    }
}

fn warnings(page: &mut Page, compared: &Compared) {
    let comparable = compared.comparison.comparable();
    let style = match comparable {
        Comparable::Yes => AnsiColor::Green.on_default(),
        Comparable::WithCare => AnsiColor::Yellow.on_default(),
        Comparable::No => AnsiColor::Red.on_default().bold(),
    };
    page.wrapped("", heading(comparable), style);
    for warning in &compared.comparison.warnings {
        page.wrapped("  ", &told(warning), Style::new());
    }
    page.blank();
}

fn plan(page: &mut Page, compared: &Compared) {
    let Some(lines) = compared
        .plan_diff
        .as_ref()
        .filter(|lines| !lines.is_empty())
    else {
        return;
    };
    page.wrapped("", "Differs: resolved plan", HEADING);
    for line in lines.iter().take(PLAN_LINES) {
        page.cut_line(&differs::plan_line(line), style(line));
    }
    if let Some(left) = lines.len().checked_sub(PLAN_LINES).filter(|left| *left > 0) {
        let lines = if left == 1 { "line" } else { "lines" };
        let more = format!("… {left} more {lines} in --format markdown");
        page.wrapped("", &more, FAINT);
    }
    page.blank();
}

fn style(line: &PlanLine) -> Style {
    match line.tag {
        PlanTag::Equal => Style::new(),
        PlanTag::Gap => FAINT,
        PlanTag::Delete => AnsiColor::Red.on_default(),
        PlanTag::Insert => AnsiColor::Green.on_default(),
    }
}
