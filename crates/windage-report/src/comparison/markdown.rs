//! A comparison as GitHub's Markdown.

use windage_analysis::{Compared, ComparedLoad, PlanLine};

use super::{answer, closing, differs, header, heading, lone_arms, of_load, tables, title, told};
use crate::markdown::{escaped, facts_list, paragraph, push_details, push_table, sentence};
use crate::rows::Table;

/// The comparison as Markdown with GitHub's tables, for a pull request.
///
/// Names are escaped as in the report of one run.
#[must_use]
pub fn comparison_markdown(compared: &Compared) -> String {
    let of = &compared.comparison;
    let mut text = format!("# {}\n\n", escaped(&title(compared)));
    facts_list(&mut text, &header(compared));
    for load in &of.loads {
        push_load(&mut text, compared, load);
    }
    paragraph(&mut text, &format!("**{}**", heading(of.comparable())));
    for warning in &of.warnings {
        let code = escaped(warning.code.as_str());
        text.push_str(&format!("- **{code}**: {}\n", escaped(&told(warning))));
    }
    if !of.warnings.is_empty() {
        text.push('\n');
    }
    for table in differs::tables(compared) {
        push_table(&mut text, &table);
    }
    push_plan(&mut text, compared.plan_diff.as_deref().unwrap_or_default());
    let same = differs::same(compared).into_iter();
    facts_list(
        &mut text,
        &same.chain(closing(compared)).collect::<Vec<_>>(),
    );
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn push_load(text: &mut String, compared: &Compared, load: &ComparedLoad) {
    if let Some(name) = of_load(load) {
        paragraph(text, &format!("## {}", escaped(&name)));
    }
    let answer = answer::sentences(&compared.comparison, load);
    let answer: Vec<_> = answer.iter().map(|pieces| sentence(pieces)).collect();
    paragraph(text, &format!("**{}**", answer.join(" ")));
    let tables = tables::tables(load);
    let (details, main): (Vec<&Table>, Vec<&Table>) = tables.iter().partition(|t| t.detail);
    for table in main {
        push_table(text, table);
    }
    if let Some(legend) = tables::legend(load, &tables.iter().collect::<Vec<_>>()) {
        paragraph(text, &escaped(&legend));
    }
    push_details(text, &details);
    let lone = lone_arms(load);
    if !lone.is_empty() {
        facts_list(text, &lone);
    }
}

/// In `diff` format, within a fence that no line can close.
fn push_plan(text: &mut String, lines: &[PlanLine]) {
    if lines.is_empty() {
        return;
    }
    let lines: Vec<String> = lines.iter().map(differs::plan_line).collect();
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`'));
    let longest = longest.map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    paragraph(text, "<details><summary>The plans differ</summary>");
    paragraph(text, &format!("{fence}diff\n{}\n{fence}", lines.join("\n")));
    paragraph(text, "</details>");
}
