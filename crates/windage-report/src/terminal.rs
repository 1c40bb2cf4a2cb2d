//! The report as aligned text.

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, TableStyle};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use windage_analysis::Analysis;
use windage_model::{Soundness, Verdict};

use crate::calibration;
use crate::doubts::{self, DoubtRow};
use crate::facts::{self, Fact, one_line};
use crate::number;
use crate::rows::{self, Align, Table, Tone};

/// How the terminal is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns that no line exceeds; less than 72 counts as 72.
    pub width: usize,
    /// Whether ANSI colours are used.
    pub color: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        TerminalOptions {
            width: 80,
            color: false,
        }
    }
}

/// The report as aligned text that ends with a line break.
///
/// Verdicts are words or marks as well as colours, so that nothing is lost without `color`.
#[must_use]
pub fn terminal(analysis: &Analysis, options: TerminalOptions) -> String {
    let mut page = Page {
        width: options.width.max(72),
        color: options.color,
        text: String::new(),
    };
    page.head(analysis);
    page.wrapped("", &crate::summary(analysis), Style::new().bold());
    page.blank();
    let tables = rows::tables(analysis);
    let shown: Vec<_> = tables.iter().filter(|table| !table.detail).collect();
    for table in &shown {
        page.table(table);
    }
    if tables.is_empty() {
        page.wrapped("", "Nothing was measured.", Style::new());
        page.blank();
    }
    if let Some(legend) = rows::legend(analysis, &shown) {
        page.wrapped("", &legend, FAINT);
        page.blank();
    }
    page.doubts(analysis);
    page.blank();
    let used = [
        facts::own_cost(analysis),
        calibration::quoted_or_missing(analysis),
    ];
    page.facts(&[used.to_vec(), facts::closing(analysis)].concat());
    page.text
}

const FAINT: Style = Style::new().dimmed();
const HEADING: Style = Style::new().bold();
/// Between columns.
const GAP: u16 = 2;
/// An arm's name is not cut shorter for the sake of other columns.
const NAME_MIN: usize = 12;

struct Page {
    width: usize,
    color: bool,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.color && style != Style::new() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// Text broken at spaces; lines after the first are set in by the width of `lead`.
    fn wrapped(&mut self, lead: &str, text: &str, style: Style) {
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

    fn head(&mut self, analysis: &Analysis) {
        let title = truncated(&one_line(&analysis.plan), self.width);
        let title = self.paint(HEADING, &title);
        self.line(&title);
        if let Some(about) = &analysis.about {
            self.wrapped("", &one_line(about), Style::new());
        }
        self.blank();
        self.facts(&facts::header(analysis));
        self.blank();
    }

    fn facts(&mut self, facts: &[Fact]) {
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

    fn table(&mut self, table: &Table) {
        if self.natural_width(table, NAME_MIN) > self.width
            && table.separable
            && table.columns.len() > 1
        {
            for column in 0..table.columns.len() {
                self.table(&only(table, column));
            }
            return;
        }
        self.table_lines(table);
        for note in &table.notes {
            self.wrapped(&format!("{} ", note.mark), &note.text, FAINT);
        }
        self.facts(&table.facts);
        self.blank();
    }

    /// The width of a table whose names take `names` columns.
    fn natural_width(&self, table: &Table, names: usize) -> usize {
        let columns = table.columns.iter().enumerate().map(|(i, column)| {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(i));
            let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
            widest.max(column.heading.width()) + usize::from(GAP)
        });
        names + columns.sum::<usize>()
    }

    fn table_lines(&mut self, table: &Table) {
        let names = self
            .width
            .saturating_sub(self.natural_width(table, 0))
            .max(NAME_MIN);
        let mut drawn = comfy_table::Table::new();
        drawn.load_style(TableStyle::new());
        drawn.set_content_arrangement(ContentArrangement::Disabled);
        let headings = table.columns.iter().map(|column| column.heading.clone());
        let title = truncated(&table.title, names);
        drawn.set_header(
            std::iter::once(title.clone())
                .chain(headings)
                .collect::<Vec<_>>(),
        );
        for row in &table.rows {
            let cells = row.cells.iter().map(|cell| cell.text.clone());
            let name = truncated(&row.arm, names);
            drawn.add_row(std::iter::once(name).chain(cells).collect::<Vec<_>>());
        }
        for (i, column) in drawn.column_iter_mut().enumerate() {
            column.set_padding(if i == 0 { (0, 0) } else { (GAP, 0) });
            let align = i
                .checked_sub(1)
                .and_then(|i| table.columns.get(i))
                .map(|c| c.align);
            column.set_cell_alignment(match align {
                Some(Align::Right) => CellAlignment::Right,
                Some(Align::Left) | None => CellAlignment::Left,
            });
        }
        let lines: Vec<String> = drawn.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let line = truncated(line.trim_end(), self.width);
            let painted = match i.checked_sub(1).and_then(|row| table.rows.get(row)) {
                Some(row) => self.paint_cells(&line, row),
                None => {
                    let headings = line.strip_prefix(&title).unwrap_or_default();
                    self.paint(HEADING, &title) + &self.paint(FAINT, headings)
                }
            };
            self.line(&painted);
        }
    }

    /// Cells are painted after layout: the layout would count escape sequences as width. Only
    /// spaces lie between the cells of a line, so each is found by searching on from the last.
    fn paint_cells(&self, line: &str, row: &rows::Row) -> String {
        let mut painted = String::with_capacity(line.len());
        let name_end = line.find("  ").unwrap_or(0).min(line.len());
        let (name, mut rest) = line.split_at(name_end);
        painted.push_str(name);
        for cell in row.cells.iter().filter(|cell| !cell.text.is_empty()) {
            if let Some((before, after)) = rest.split_once(cell.text.as_str()) {
                painted.push_str(before);
                painted.push_str(&self.paint(tone_style(cell.tone), &cell.text));
                rest = after;
            }
        }
        painted.push_str(rest);
        painted
    }

    fn doubts(&mut self, analysis: &Analysis) {
        let soundness = analysis.validity.soundness();
        let doubts = doubts::doubts(analysis);
        let heading = match (soundness, doubts.is_empty()) {
            (Soundness::Valid, false) => "valid as a whole, but of single figures:",
            _ => doubts::heading(soundness),
        };
        self.wrapped("", heading, soundness_style(soundness));
        for doubt in &doubts {
            self.doubt(doubt);
        }
    }

    fn doubt(&mut self, doubt: &DoubtRow) {
        let code = self.paint(soundness_style(doubt.soundness()), doubt.code.as_str());
        self.line(&format!("  {code} ({})", doubt.soundness().as_str()));
        self.wrapped("    ", &doubt.text, Style::new());
        let evidence = doubt.evidence_text();
        if !evidence.is_empty() {
            self.wrapped("    evidence: ", &evidence, FAINT);
        }
        if let Some(about) = &doubt.about {
            self.wrapped("    about: ", about, FAINT);
        }
    }
}

/// One column of a table as a table of its own.
fn only(table: &Table, column: usize) -> Table {
    let mut cut = table.clone();
    cut.columns = table.columns.get(column).cloned().into_iter().collect();
    for row in &mut cut.rows {
        row.cells = row.cells.get(column).cloned().into_iter().collect();
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

/// Text cut to a width in columns, with `…` where something is left out.
fn truncated(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// Lines no wider than `width`. A unit stays with its figure; a word that is wider than a line
/// is broken within.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for chunk in chunks(text) {
        if !line.is_empty() {
            if line.width() + 1 + chunk.width() <= width {
                line.push(' ');
                line.push_str(&chunk);
                continue;
            }
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = chunk.as_str();
        while rest.width() > width {
            let (head, tail) = rest.split_at(fitting_prefix(rest, width));
            lines.push(head.to_owned());
            rest = tail;
        }
        line.push_str(rest);
    }
    lines.push(line);
    lines
}

/// Words, each with the units that follow it.
fn chunks(text: &str) -> Vec<String> {
    let mut chunks: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let stem = word.trim_end_matches([',', ';', '.', ')', ':']);
        match chunks.last_mut() {
            Some(last) if number::UNIT_WORDS.contains(&stem) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => chunks.push(word.to_owned()),
        }
    }
    chunks
}

/// The bytes of the longest prefix within the width, at least one character.
fn fitting_prefix(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width && at > 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_by_columns_not_characters() {
        let table = [
            ("short", 8, "short"),
            ("otel, sampling 1.0", 8, "otel, s…"),
            ("測定測定", 6, "測定…"),
            ("測定測定", 8, "測定測定"),
        ];
        for (text, width, expected) in table {
            assert_eq!(truncated(text, width), expected);
            assert!(truncated(text, width).width() <= width);
        }
    }

    #[test]
    fn a_table_that_does_not_fit_is_cut_into_its_columns() {
        let cell = |text: &str| rows::Cell {
            text: text.to_owned(),
            ..rows::Cell::default()
        };
        let column = |heading: &str| rows::Column {
            heading: heading.to_owned(),
            about: "",
            align: Align::Right,
        };
        let note = |mark: &str, text: &str| rows::Note {
            mark: mark.into(),
            text: text.into(),
        };
        let (left, right) = ("l".repeat(40), format!("{}²", "r".repeat(40)));
        let table = Table {
            title: "Both".to_owned(),
            columns: vec![column("left"), column("right")],
            rows: vec![rows::Row {
                arm: "otel".into(),
                cells: vec![cell(&left), cell(&right)],
            }],
            notes: vec![note("¹", "of another"), note("²", "of the right")],
            facts: Vec::new(),
            separable: true,
            detail: false,
        };
        let mut page = Page {
            width: 72,
            color: false,
            text: String::new(),
        };
        page.table(&table);
        let pad = " ".repeat(36);
        let expected = format!(
            "Both  {pad}left\notel  {left}\n\nBoth  {pad}right\notel  {right}\n² of the right\n\n"
        );
        assert_eq!(page.text, expected);
    }

    #[test]
    fn lines_break_at_spaces_and_keep_units() {
        let table: [(&str, usize, &[&str]); 4] = [
            ("one two three", 8, &["one two", "three"]),
            ("costs 22.7 % of", 10, &["costs", "22.7 % of"]),
            ("abcdefghij k", 4, &["abcd", "efgh", "ij k"]),
            ("", 4, &[""]),
        ];
        for (text, width, expected) in table {
            assert_eq!(wrap(text, width), expected, "{text}");
        }
    }
}
