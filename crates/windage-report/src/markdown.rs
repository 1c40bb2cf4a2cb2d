//! The report as GitHub's Markdown, for pull requests and wikis.

use windage_analysis::Analysis;

use crate::fact::{Fact, one_line};
use crate::facts;
use crate::pieces::Piece;
use crate::rows::{self, Align, Table};
use crate::summary;
use crate::{calibration, self_reported, warnings};

/// The report as Markdown with GitHub's tables: the terminal's report in the same order, and all
/// other figures in a collapsed section.
///
/// Names are escaped: they can't end a cell, open a code span or contain HTML.
#[must_use]
pub fn markdown(analysis: &Analysis) -> String {
    let mut text = format!("# {}\n\n", escaped(&one_line(&analysis.plan)));
    if let Some(about) = &analysis.about {
        paragraph(&mut text, &escaped(&one_line(about)));
    }
    for load in analysis.regimes() {
        if load.regime.is_some() {
            let heading = format!("## {}", escaped(&facts::regime_name(load)));
            paragraph(&mut text, &heading);
        }
        facts_list(&mut text, &facts::in_brief(load));
        push_answer(&mut text, load);
        push_findings(&mut text, load);
        if load.regime.is_some() {
            facts_list(&mut text, &facts::of_regime(load));
        }
    }
    if let Some(table) = rows::by_rate_table(analysis) {
        push_table(&mut text, &table);
    }
    let mut used = facts::header(analysis);
    used.push(facts::own_cost(analysis));
    used.extend(calibration::quoted(analysis));
    used.extend(self_reported::facts(analysis));
    facts_list(&mut text, &[used, facts::closing(analysis)].concat());
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn push_answer(text: &mut String, analysis: &Analysis) {
    let answer: Vec<_> = summary::sentences(analysis)
        .iter()
        .map(|s| sentence(s))
        .collect();
    paragraph(text, &format!("**{}**", answer.join(" ")));
}

/// The results under one load: the tables of the terminal's report, warnings, and all other tables.
fn push_findings(text: &mut String, analysis: &Analysis) {
    let [answer, delivered] = rows::headline_tables(analysis);
    let changed = rows::changed_table(analysis);
    let shown: Vec<&Table> = answer.iter().chain(&changed).chain(&delivered).collect();
    for table in &shown {
        push_table(text, table);
    }
    let tables = rows::tables(analysis);
    if tables.is_empty() {
        paragraph(text, rows::NOTHING_MEASURED);
    }
    let is_shown = |table: &&Table| {
        let all = |shown: &&Table| {
            shown.title == table.title && shown.columns.len() == table.columns.len()
        };
        shown.iter().any(all)
    };
    let others: Vec<&Table> = tables.iter().filter(|table| !is_shown(table)).collect();
    let all: Vec<&Table> = shown.iter().chain(&others).copied().collect();
    if let Some(legend) = rows::legend(analysis, &all) {
        paragraph(text, &escaped(&legend));
    }
    push_warnings(text, analysis);
    push_details(text, &others);
}

pub(crate) fn paragraph(text: &mut String, paragraph: &str) {
    text.push_str(paragraph);
    text.push_str("\n\n");
}

pub(crate) fn sentence(pieces: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => escaped(text),
        Piece::Arm(name) => format!("_{}_", escaped(name)),
    };
    pieces.iter().map(piece).collect()
}

pub(crate) fn facts_list(text: &mut String, facts: &[Fact]) {
    for fact in facts {
        text.push_str(&format!(
            "- {}: {}\n",
            escaped(&fact.label),
            escaped(&fact.text)
        ));
    }
    text.push('\n');
}

pub(crate) fn push_table(text: &mut String, table: &Table) {
    let headings: Vec<_> = table.columns.iter().map(|c| escaped(&c.heading)).collect();
    let rules: Vec<_> = table
        .columns
        .iter()
        .map(|column| match column.align {
            Align::Left => "---",
            Align::Right => "---:",
        })
        .collect();
    text.push_str(&format!(
        "| {} | {} |\n",
        escaped(&table.title),
        headings.join(" | ")
    ));
    text.push_str(&format!("|---|{}|\n", rules.join("|")));
    for row in &table.rows {
        let cells: Vec<_> = row.cells.iter().map(|cell| escaped(&cell.text)).collect();
        text.push_str(&format!(
            "| {} | {} |\n",
            escaped(&row.arm),
            cells.join(" | ")
        ));
    }
    text.push('\n');
    for note in &table.notes {
        paragraph(text, &format!("{} {}", note.mark, escaped(&note.text)));
    }
    if !table.facts.is_empty() {
        facts_list(text, &table.facts);
    }
}

/// A collapsed section with tables; the blank lines make GitHub render its content as Markdown.
pub(crate) fn push_details(text: &mut String, details: &[&Table]) {
    if details.is_empty() {
        return;
    }
    paragraph(text, "<details><summary>More figures</summary>");
    for table in details {
        push_table(text, table);
    }
    paragraph(text, "</details>");
}

pub(crate) fn push_warnings(text: &mut String, analysis: &Analysis) {
    let soundness = analysis.validity.soundness();
    let rows = warnings::warnings(analysis);
    let heading = warnings::heading(soundness, !rows.is_empty());
    paragraph(text, &format!("**{heading}**"));
    for row in &rows {
        text.push_str(&format!(
            "- **{}** ({}): {}",
            escaped(row.code.as_str()),
            row.soundness.as_str(),
            escaped(&row.text)
        ));
        let evidence = row.evidence_text();
        if !evidence.is_empty() {
            text.push_str(&format!(" Evidence: {}.", escaped(&evidence)));
        }
        if let Some(about) = &row.about {
            text.push_str(&format!(" About: {}.", escaped(about)));
        }
        text.push('\n');
    }
    if !rows.is_empty() {
        text.push('\n');
    }
}

/// Text escaped so that Markdown shows it literally.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let (before, behind) = text.split_at(at);
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // Some renderers end a cell even at an escaped bar.
            '|' => safe.push_str("&#124;"),
            // A name must not become a mention or an issue link.
            '@' => safe.push_str("&#64;"),
            '#' => safe.push_str("&#35;"),
            // A bare address must not become a link.
            ':' if behind.starts_with("://") => safe.push_str("&#58;"),
            '.' if ends_in_www(before) => safe.push_str("&#46;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}

fn ends_in_www(text: &str) -> bool {
    let last = text.len().checked_sub(3).and_then(|at| text.get(at..));
    last.is_some_and(|last| last.eq_ignore_ascii_case("www"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        let table = [
            ("a|b", "a&#124;b"),
            ("`code`", r"\`code\`"),
            ("<script>", "&lt;script&gt;"),
            ("[x](http://y)", r"\[x\](http&#58;//y)"),
            ("https://evil.example/x", "https&#58;//evil.example/x"),
            ("www.evil.example", "www&#46;evil.example"),
            ("é WWW.evil", "é WWW&#46;evil"),
            ("12:30, a.b", "12:30, a.b"),
            ("a_b *c*", r"a\_b \*c\*"),
            ("@team #1", "&#64;team &#35;1"),
            (r"back\slash", r"back\\slash"),
        ];
        for (name, expected) in table {
            assert_eq!(escaped(name), expected);
        }
    }
}
