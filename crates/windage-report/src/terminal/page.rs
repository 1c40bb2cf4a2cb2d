//! A page of aligned text: lines, facts, tables and warnings, within a width.

use std::ops::Range;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;
use windage_analysis::Analysis;
use windage_model::{Soundness, Verdict};

use super::TerminalOptions;
use super::text::{truncated, wrap};
use crate::fact::Fact;
use crate::rows::{Align, Table, Tone};
use crate::warnings::{self, WarningRow};

pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const HEADING: Style = Style::new().bold();
/// Between columns.
const GAP: usize = 2;
/// The shortest that an arm's name is cut to make room for columns.
const NAME_MIN: usize = 12;
/// The shortest that a name is cut where columns can go into a second table instead.
const NAME_ROOM: usize = 24;

pub(crate) struct Page {
    width: usize,
    color: bool,
    text: String,
}

impl Page {
    pub(crate) fn new(options: TerminalOptions) -> Page {
        Page {
            width: options.width.max(72),
            color: options.color,
            text: String::new(),
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// A line in bold, cut to the width.
    pub(crate) fn heading(&mut self, text: &str) {
        self.cut_line(text, HEADING);
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line in a style, cut to the width.
    pub(crate) fn cut_line(&mut self, text: &str, style: Style) {
        let line = truncated(text.trim_end(), self.width);
        let line = self.paint(style, &line);
        self.line(&line);
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.color && style != Style::new() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// Text broken at spaces; lines after the first are indented by the width of `lead`.
    pub(crate) fn wrapped(&mut self, lead: &str, text: &str, style: Style) {
        let indent = lead.width();
        for (i, part) in wrap(text, self.width - indent).iter().enumerate() {
            let before = if i == 0 {
                self.paint(FAINT, lead)
            } else {
                " ".repeat(indent)
            };
            let line = format!("{before}{}", self.paint(style, part));
            self.line(&line);
        }
    }

    pub(crate) fn facts(&mut self, facts: &[Fact]) {
        let widest = facts
            .iter()
            .map(|fact| fact.label.width())
            .max()
            .unwrap_or(0);
        for fact in facts {
            let lead = format!("{:widest$}  ", fact.label);
            self.wrapped(&lead, &fact.text, Style::new());
        }
    }

    /// The table, split by columns into several if it is too wide; its facts follow the last one.
    pub(crate) fn table(&mut self, table: &Table) {
        let parts = self.fitting_parts(table);
        let Some((last, before)) = parts.split_last().filter(|(_, before)| !before.is_empty())
        else {
            return self.whole_table(table);
        };
        for columns in before {
            let mut part = cut(table, columns.clone());
            part.facts.clear();
            self.whole_table(&part);
        }
        self.whole_table(&cut(table, last.clone()));
    }

    /// Columns in groups of as many as fit. Names are cut before columns that belong together are
    /// separated.
    fn fitting_parts(&self, table: &Table) -> Vec<Range<usize>> {
        let names = if table.separable {
            names_room(table)
        } else {
            NAME_MIN
        };
        let fits =
            |columns: &Range<usize>| natural_width(table, names, columns.clone()) <= self.width;
        let mut parts: Vec<Range<usize>> = Vec::new();
        for column in 0..table.columns.len() {
            match parts.last_mut().map(|last| (last.start..column + 1, last)) {
                Some((wider, last)) if fits(&wider) => *last = wider,
                _ => parts.push(column..column + 1),
            }
        }
        parts
    }

    /// The table, split before column `at` if it is too wide for its full names; its facts follow
    /// the last one.
    pub(crate) fn table_in_two(&mut self, table: &Table, at: usize) {
        let names = table.rows.iter().map(|row| row.arm.width());
        let names = names.chain([table.title.width()]).max().unwrap_or(0);
        if natural_width(table, names, 0..table.columns.len()) <= self.width {
            return self.whole_table(table);
        }
        let mut first = cut(table, 0..at);
        first.facts.clear();
        self.table(&first);
        self.table(&cut(table, at..table.columns.len()));
    }

    /// As many columns as fit side by side, and the headings of the others.
    pub(crate) fn first_columns(&mut self, table: &Table) {
        let parts = self.fitting_parts(table);
        let Some(first) = parts.first().cloned() else {
            return;
        };
        let mut shown = cut(table, first.clone());
        let others = table.columns.iter().skip(first.end);
        let others: Vec<&str> = others.map(|column| column.heading.as_str()).collect();
        if !others.is_empty() {
            shown.facts.push(Fact::new("and", others.join(", ")));
        }
        self.whole_table(&shown);
    }

    fn whole_table(&mut self, table: &Table) {
        self.table_lines(table);
        for note in &table.notes {
            self.wrapped(&format!("{} ", note.mark), &note.text, FAINT);
        }
        self.facts(&table.facts);
        self.blank();
    }

    fn table_lines(&mut self, table: &Table) {
        let columns = 0..table.columns.len();
        let room = self.width.saturating_sub(natural_width(table, 0, columns));
        let room = room.max(NAME_MIN);
        let title = truncated(&table.title, room);
        let names = table.rows.iter().map(|row| truncated(&row.arm, room));
        let names: Vec<String> = names.collect();
        let widest = names.iter().chain([&title]).map(|name| name.width()).max();
        let widest = widest.unwrap_or(0);
        let headings = table.columns.iter();
        let headings = headings.map(|column| (column.heading.as_str(), FAINT));
        let name = self.paint(HEADING, &title) + &" ".repeat(widest - title.width());
        self.cells(table, widest, name, headings);
        for (row, name) in table.rows.iter().zip(&names) {
            let name = format!("{name}{}", " ".repeat(widest - name.width()));
            let cells = row.cells.iter();
            let cells = cells.map(|cell| (cell.text.as_str(), tone_style(cell.tone)));
            self.cells(table, widest, name, cells);
        }
    }

    /// A line of a table: its name padded to this width, then its cells.
    fn cells<'a>(
        &mut self,
        table: &Table,
        name: usize,
        mut line: String,
        cells: impl Iterator<Item = (&'a str, Style)>,
    ) {
        let mut used = name;
        for (i, (column, (text, style))) in table.columns.iter().zip(cells).enumerate() {
            let room = self.width.saturating_sub(used + GAP);
            let width = column_width(table, i).min(room);
            let text = truncated(text, width);
            let padding = " ".repeat(width.saturating_sub(text.width()));
            let text = self.paint(style, &text);
            line.push_str(&" ".repeat(GAP));
            line.push_str(&match column.align {
                Align::Left => text + &padding,
                Align::Right => padding + &text,
            });
            used += GAP + width;
        }
        self.line(&line);
    }

    pub(crate) fn warnings(&mut self, analysis: &Analysis) {
        let soundness = analysis.validity.soundness();
        let warnings = warnings::warnings(analysis);
        let heading = warnings::heading(soundness, !warnings.is_empty());
        self.wrapped("", heading, soundness_style(soundness));
        for warning in &warnings {
            self.warning(warning);
        }
    }

    /// The first warnings, one sentence each, and how many more there are.
    pub(crate) fn warnings_in_brief(&mut self, analysis: &Analysis) {
        const SHOWN: usize = 2;
        let soundness = analysis.validity.soundness();
        let warnings = warnings::warnings(analysis);
        let heading = warnings::heading(soundness, !warnings.is_empty());
        self.wrapped("", heading, soundness_style(soundness));
        for warning in warnings.iter().take(SHOWN) {
            let text = format!("{}: {}", warning.code.as_str(), warning.text);
            self.wrapped("  ", &text, Style::new());
        }
        match warnings.len().saturating_sub(SHOWN) {
            0 => {}
            more => self.line(&format!("  and {more} more (`--all` shows them)")),
        }
    }

    fn warning(&mut self, warning: &WarningRow) {
        let code = self.paint(soundness_style(warning.soundness), warning.code.as_str());
        self.line(&format!("  {code} ({})", warning.soundness.as_str()));
        self.wrapped("    ", &warning.text, Style::new());
        let evidence = warning.evidence_text();
        if !evidence.is_empty() {
            self.wrapped("    evidence: ", &evidence, FAINT);
        }
        if let Some(about) = &warning.about {
            self.wrapped("    about: ", about, FAINT);
        }
    }
}

/// The width of these columns of a table whose names take `names`.
fn natural_width(table: &Table, names: usize, columns: Range<usize>) -> usize {
    names + columns.map(|i| column_width(table, i) + GAP).sum::<usize>()
}

fn column_width(table: &Table, i: usize) -> usize {
    let heading = table.columns.get(i).map(|column| column.heading.width());
    let cells = table.rows.iter().filter_map(|row| row.cells.get(i));
    let cells = cells.map(|cell| cell.text.width());
    cells.chain(heading).max().unwrap_or(0)
}

/// The width that a table's full names need, as far as the columns leave room.
fn names_room(table: &Table) -> usize {
    let names = table.rows.iter().map(|row| row.arm.width());
    let longest = names.chain([table.title.width()]).max().unwrap_or(0);
    longest.clamp(NAME_MIN, NAME_ROOM)
}

/// Some columns of a table as a table of its own.
fn cut(table: &Table, columns: Range<usize>) -> Table {
    let mut cut = table.clone();
    cut.columns = part(&table.columns, &columns);
    for row in &mut cut.rows {
        row.cells = part(&row.cells, &columns);
    }
    // A footnote goes with the cells that refer to it.
    let cells = || cut.rows.iter().flat_map(|row| &row.cells);
    cut.notes = table
        .notes
        .iter()
        .filter(|note| cells().any(|cell| cell.text.ends_with(&note.mark)))
        .cloned()
        .collect();
    cut
}

fn part<T: Clone>(of: &[T], range: &Range<usize>) -> Vec<T> {
    of.get(range.clone()).unwrap_or_default().to_vec()
}

fn tone_style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Faint => FAINT,
        Tone::Judged(Verdict::Costs) => AnsiColor::Red.on_default(),
        Tone::Judged(Verdict::Saves) => AnsiColor::Green.on_default(),
        Tone::Judged(Verdict::Negligible) => AnsiColor::Green.on_default().dimmed(),
        Tone::Judged(Verdict::Inconclusive) => AnsiColor::Yellow.on_default(),
        Tone::Alarm => AnsiColor::Red.on_default().bold(),
    }
}

fn soundness_style(soundness: Soundness) -> Style {
    match soundness {
        Soundness::Valid => AnsiColor::Green.on_default(),
        Soundness::Suspect => AnsiColor::Yellow.on_default(),
        Soundness::Void => AnsiColor::Red.on_default().bold(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows;

    /// A table of one arm, with a heading for each of these cells.
    fn table(cells: &[&str], separable: bool) -> Table {
        let columns = ["left", "right", "more", "last"].iter().zip(cells);
        Table {
            title: "Both".to_owned(),
            columns: columns
                .map(|(heading, _)| rows::column(*heading, ""))
                .collect(),
            rows: vec![rows::Row {
                arm: "otel, with a name that can be cut".into(),
                cells: cells.iter().map(|text| rows::plain(*text)).collect(),
            }],
            separable,
            ..Table::default()
        }
    }

    fn drawn(table: &Table) -> String {
        let mut page = Page::new(TerminalOptions {
            width: 72,
            color: false,
            all: true,
        });
        page.table(table);
        page.text
    }

    #[test]
    fn no_cell_is_lost() {
        let (wide, wider) = ("w".repeat(24), "x".repeat(34));
        let table_of: [(&[&str], bool, usize, &str); 4] = [
            (&[&wide, &wide], false, 1, "the name is cut"),
            (&[&wide, &wide], true, 2, "names come before columns"),
            (
                &[&wide, &wide, "y", "costs"],
                false,
                2,
                "a name is not cut that short",
            ),
            (
                &[&wider, &wider, "costs"],
                false,
                2,
                "a name is not cut that short",
            ),
        ];
        for (cells, separable, parts, why) in table_of {
            let text = drawn(&table(cells, separable));
            assert_eq!(text.matches("Both").count(), parts, "{why}: {text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            let found = words.iter().filter(|word| cells.contains(*word)).count();
            assert_eq!(found, cells.len(), "{why}: {text}");
        }
    }

    #[test]
    fn a_table_that_does_not_fit_is_cut_into_its_columns() {
        let note = |mark: &str, text: &str| rows::Note {
            mark: mark.into(),
            text: text.into(),
        };
        let (left, right) = ("l".repeat(40), format!("{}²", "r".repeat(40)));
        let mut table = table(&[&left, &right], true);
        table.rows[0].arm = "otel".into();
        table.notes = vec![note("¹", "of another"), note("²", "of the right")];
        let pad = " ".repeat(36);
        let expected = format!(
            "Both  {pad}left\notel  {left}\n\nBoth  {pad}right\notel  {right}\n² of the right\n\n"
        );
        assert_eq!(drawn(&table), expected);
    }
}
