//! Snapshots of all renderers, and properties that hold for every analysis.

mod agents;
mod answer;
mod ci;
mod comparison;
mod curves;
mod families;
mod fixtures;
mod guide;
mod page;
mod pictures;
mod profiles;
mod scripts;
mod sentences;
mod stages;

use unicode_width::UnicodeWidthStr;
use windage_analysis::Analysis;
use windage_report::{TerminalOptions, csv, markdown, summary, terminal};

fn plain(analysis: &Analysis, width: usize) -> String {
    terminal(
        analysis,
        TerminalOptions {
            width,
            color: false,
            all: true,
        },
    )
}

fn brief(analysis: &Analysis) -> String {
    terminal(analysis, TerminalOptions::default())
}

fn colored(analysis: &Analysis) -> String {
    terminal(
        analysis,
        TerminalOptions {
            color: true,
            all: true,
            ..TerminalOptions::default()
        },
    )
}

/// Every text rendering of an analysis.
fn renderings(analysis: &Analysis) -> Vec<(&'static str, String)> {
    vec![
        ("summary", summary(analysis)),
        ("terminal", brief(analysis)),
        ("terminal --all", plain(analysis, 80)),
        ("markdown", markdown(analysis)),
        ("csv", csv(std::slice::from_ref(analysis)).expect("csv")),
        ("page", page::words(analysis)),
    ]
}

#[test]
fn snapshots() {
    for (name, analysis) in fixtures::all() {
        insta::assert_snapshot!(format!("{name}_terminal"), plain(&analysis, 80));
    }
    for (name, analysis) in [
        ("demo", fixtures::demo()),
        ("backends", fixtures::backends()),
        ("suspect", fixtures::suspect()),
        ("few_launches", fixtures::few_launches()),
        ("sweep", fixtures::sweep()),
        ("ladder", fixtures::ladder()),
        ("budgets", fixtures::budgets()),
        ("claims", fixtures::claims()),
    ] {
        insta::assert_snapshot!(format!("{name}_brief"), brief(&analysis));
    }
    // All renderers draw the same tables, so one snapshot each is enough for details, for problems
    // with telemetry, and for hostile names.
    let suspect = fixtures::suspect();
    insta::assert_snapshot!("suspect_markdown", markdown(&suspect));
    insta::assert_snapshot!("demo_markdown", markdown(&fixtures::demo()));
    for (name, analysis) in [
        ("backends", fixtures::backends()),
        ("family", fixtures::family()),
    ] {
        insta::assert_snapshot!(format!("{name}_csv"), csv(&[analysis]).unwrap());
    }
    let escapes = colored(&suspect).replace('\u{1b}', "␛");
    insta::assert_snapshot!("suspect_terminal_color", escapes);
}

#[test]
fn a_brief_report_of_five_arms_fits_a_screen() {
    for analysis in [fixtures::demo(), fixtures::few_launches()] {
        assert_eq!(analysis.arms.len(), 5);
        let lines = brief(&analysis).lines().count();
        assert!(lines <= 40, "{lines} lines");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (name, analysis) in fixtures::every() {
        for width in [0, 72, 80, 100, 200] {
            for line in plain(&analysis, width).lines() {
                assert!(
                    line.width() <= width.max(72),
                    "{name} at {width}: {} {line:?}",
                    line.width()
                );
            }
        }
    }
}

#[test]
fn no_cell_is_lost_in_a_narrow_terminal() {
    for (name, analysis) in fixtures::every() {
        let document = page::document(&analysis);
        for width in [72, 80] {
            has_every_cell(&plain(&analysis, width), &page::tables(&document), name);
        }
    }
}

/// Checks that the text has every cell of the document's main tables.
fn has_every_cell(text: &str, tables: &[&serde_json::Value], name: &str) {
    let shown = tables.iter().filter(|table| table["detail"] == false);
    let rows = shown.flat_map(|table| table["rows"].as_array().expect("rows"));
    let cells = rows.flat_map(|row| row["cells"].as_array().expect("cells"));
    let cells = cells.filter_map(|cell| cell["text"].as_str());
    let mut cells: Vec<&str> = cells.filter(|text| !text.is_empty()).collect();
    // The longest first, so that no cell is found within another.
    cells.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut rest = text.to_owned();
    for cell in cells {
        let at = rest.find(cell);
        let at = at.unwrap_or_else(|| panic!("{name}: no {cell:?} in {text}"));
        rest.replace_range(at..at + cell.len(), "");
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    for (name, analysis) in fixtures::every() {
        let colored = colored(&analysis);
        assert!(colored.contains("\u{1b}["), "{name} is not coloured");
        assert_eq!(without_escapes(&colored), plain(&analysis, 80), "{name}");
    }
}

#[test]
fn no_figure_is_nan() {
    for (name, analysis) in fixtures::every() {
        for (renderer, text) in renderings(&analysis) {
            for word in text.split(|c: char| !c.is_alphanumeric()) {
                let word = word.to_ascii_lowercase();
                assert!(
                    !["nan", "inf", "infinity"].contains(&word.as_str()),
                    "{word} in {name} {renderer}"
                );
            }
        }
    }
}

#[test]
fn control_characters_do_not_pass() {
    for (name, analysis) in fixtures::every() {
        for (renderer, text) in renderings(&analysis) {
            let passed = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(passed, None, "{name} {renderer}");
        }
    }
}

#[test]
fn hostile_names_stay_in_their_cells() {
    let analysis = fixtures::suspect();
    let columns = |line: &str| line.matches('|').count();
    let text = markdown(&analysis);
    let mut expected = None;
    for line in text.lines() {
        // Within a table each line has as many bars as the line before.
        expected = line
            .starts_with('|')
            .then(|| expected.unwrap_or(columns(line)));
        assert_eq!(expected.unwrap_or(columns(line)), columns(line), "{line}");
    }
    assert!(!text.contains("<script>") && !text.contains("<img"));

    let table = csv(&[analysis]).unwrap();
    assert!(!table.contains(",=") && !table.contains(",\"="), "{table}");
}

#[test]
fn csv_has_a_row_for_each_metric_of_each_arm_of_each_run() {
    let analyses = [fixtures::demo(), fixtures::batch(), fixtures::void()];
    let expected: usize = analyses
        .iter()
        .flat_map(|analysis| &analysis.arms)
        .map(|arm| arm.metrics.len())
        .sum();
    let table = csv(&analyses).unwrap();
    let mut reader = ::csv::Reader::from_reader(table.as_bytes());
    let columns = reader.headers().unwrap().len();
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), expected);
    assert!(records.iter().all(|record| record.len() == columns));
}

/// A text without line breaks and indentation, to search for sentences.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn problems_with_delivery_are_reported() {
    let (amiss, sound) = (
        plain(&fixtures::backends(), 80),
        plain(&fixtures::demo(), 80),
    );
    let told = [
        "backend otel, half well: partial 10%",
        "otel, backend slow 200ms: 49,000 items (queue full), 1,000 spans (not explained)",
        "96,000 items (gave up), 4,000 more reported than lost",
        "Export refused rejected retried duplicates",
        "otel, backend reject 503 90 % 0.333 % 51.7 % 0.226 %",
        "Arrival complete traces median delay p99 delay",
        "otel, backend down n/a¹",
    ];
    for part in told {
        assert!(unwrapped(&amiss).contains(part), "{part:?} not in {amiss}");
    }
    for title in ["Export ", "Arrival ", "lost  "] {
        let mut lines = sound.lines();
        assert!(
            lines.all(|line| !line.starts_with(title)),
            "{title:?} in {sound}"
        );
    }
    let text = markdown(&fixtures::backends());
    let (before, after) = text.split_once("<details>").expect("details");
    for title in [
        "| Arrival, more |",
        "| By protocol |",
        "| By service and scope |",
    ] {
        assert!(!before.contains(title) && after.contains(title), "{title}");
    }
    let table = csv(&[fixtures::backends()]).unwrap();
    assert!(
        table.contains(",queue full=49000;not explained=1000,"),
        "{table}"
    );
}

#[test]
fn low_quantiles_are_in_the_details() {
    let analysis = fixtures::family();
    let table = "| Response time, more | p10 |";
    let text = markdown(&analysis);
    let (before, after) = text.split_once("<details>").expect("details");
    assert!(!before.contains("p10") && after.contains(table), "{text}");
    assert!(page::words(&analysis).lines().any(|line| line == "p10"));
    assert!(!plain(&analysis, 80).contains("p10"));
    assert!(csv(&[analysis]).unwrap().contains("service_time_p10"));
}

/// The insides of tags.
fn tags(page: &str) -> impl Iterator<Item = &str> {
    page.split('<')
        .skip(1)
        .filter_map(|rest| rest.split('>').next())
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut bare = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        bare.push_str(part.split_once('m').expect("the end of a sequence").1);
    }
    bare
}
