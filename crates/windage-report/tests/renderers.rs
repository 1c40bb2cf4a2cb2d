//! What a person sees, kept as snapshots, and what must hold of it whatever the analysis.

mod fixtures;

use unicode_width::UnicodeWidthStr;
use windage_analysis::Analysis;
use windage_report::{TerminalOptions, csv, html, markdown, summary, terminal};

fn plain(analysis: &Analysis, width: usize) -> String {
    terminal(
        analysis,
        TerminalOptions {
            width,
            color: false,
        },
    )
}

fn colored(analysis: &Analysis) -> String {
    terminal(
        analysis,
        TerminalOptions {
            color: true,
            ..TerminalOptions::default()
        },
    )
}

/// Every text rendering of an analysis.
fn renderings(analysis: &Analysis) -> Vec<(&'static str, String)> {
    vec![
        ("summary", summary(analysis)),
        ("terminal", plain(analysis, 80)),
        ("markdown", markdown(analysis)),
        ("csv", csv(std::slice::from_ref(analysis)).expect("csv")),
        ("html", html(analysis)),
    ]
}

#[test]
fn snapshots() {
    for (name, analysis) in fixtures::all() {
        for (renderer, text) in renderings(&analysis) {
            insta::assert_snapshot!(format!("{name}_{renderer}"), text);
        }
        let escapes = colored(&analysis).replace('\u{1b}', "␛");
        insta::assert_snapshot!(format!("{name}_terminal_color"), escapes);
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (name, analysis) in fixtures::all() {
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
fn colours_change_nothing_but_colours() {
    for (name, analysis) in fixtures::all() {
        let colored = colored(&analysis);
        assert!(colored.contains("\u{1b}["), "{name} is not coloured");
        assert_eq!(without_escapes(&colored), plain(&analysis, 80), "{name}");
    }
}

#[test]
fn no_figure_is_not_a_number() {
    for (name, analysis) in fixtures::all() {
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
    for (name, analysis) in fixtures::all() {
        for (renderer, text) in renderings(&analysis) {
            let passed = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(passed, None, "{name} {renderer}");
        }
    }
}

#[test]
fn the_page_runs_and_loads_nothing() {
    for (name, analysis) in fixtures::all() {
        let page = html(&analysis);
        let lower = page.to_ascii_lowercase();
        for forbidden in [
            "<script", "src=", "href=", "url(", "@import", "<img", "<iframe", "<b>",
        ] {
            // Text from outside may hold the words; within tags they must not stand.
            let found = tags(&lower).find(|tag| tag.contains(forbidden));
            assert_eq!(found, None, "{forbidden} in {name}");
        }
        assert!(!tags(&lower).any(|tag| tag.starts_with(" on") || tag.contains(" onerror=")));
        assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'; img-src data:"));
        let style = lower
            .split("<style>")
            .nth(1)
            .and_then(|s| s.split("</style>").next());
        assert!(!style.unwrap().contains("url("), "{name}");
    }
}

#[test]
fn hostile_names_stay_in_their_cells() {
    let analysis = fixtures::suspect();
    let page = html(&analysis);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));

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

#[test]
fn the_answer_says_what_the_data_say() {
    let table = [
        (
            fixtures::demo(),
            "`otel, sampling 1.0` costs 22.7 % of CPU a request (22.2 to 23.2 %), 13.9 µs",
        ),
        (
            fixtures::demo(),
            "`otel, sampling 0.0` costs no more than 0.4 %",
        ),
        (fixtures::demo(), "The control, a second baseline, holds"),
        (
            fixtures::demo(),
            "`otel, sampling 1.0` lost 0.01 % of its traces",
        ),
        (
            fixtures::suspect(),
            "can't tell yet, between −0.4 and +1.1 % of CPU a request, the smallest visible here is 1.1 %",
        ),
        (fixtures::suspect(), "Warning: the control"),
        (fixtures::suspect(), "One more reason is listed below."),
        (
            fixtures::void(),
            "This run is void and its figures are not to be used: No window is left",
        ),
        (
            fixtures::batch(),
            "`profiler` saves 5.1 % of CPU an iteration (3.8 to 6.4 %), 118 ms",
        ),
    ];
    for (analysis, expected) in table {
        let summary = summary(&analysis);
        assert!(
            summary.contains(expected),
            "{expected:?} not in {summary:?}"
        );
    }
}

#[test]
fn of_many_treatments_the_dearest_are_told_and_the_rest_is_counted() {
    let mut analysis = fixtures::demo();
    let mut more = analysis.arms[2..].to_vec();
    for (i, arm) in more.iter_mut().enumerate() {
        arm.name = format!("again {i}");
    }
    analysis.arms.extend(more);
    let summary = summary(&analysis);
    assert!(
        summary.contains("; 3 more lie between +0.1 and +3.4 %."),
        "{summary}"
    );
    for told in ["`otel, sampling 1.0`", "`again 0`", "`otel, sampling 0.1`"] {
        assert!(summary.contains(told), "{told} not in {summary}");
    }
}

#[test]
fn without_cpu_the_answer_is_in_throughput() {
    let analysis = fixtures::without_cpu();
    let summary = summary(&analysis);
    let expected = "`otel` costs 10.0 % of throughput (8.0 to 12.0 %), 1234/s.";
    assert!(summary.starts_with(expected), "{summary}");
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
