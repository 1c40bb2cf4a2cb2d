//! What a person sees, kept as snapshots, and what must hold of it whatever the analysis.

mod curves;
mod fixtures;
mod guide;
mod profiles;
mod scripts;
mod stages;

use unicode_width::UnicodeWidthStr;
use windage_analysis::Analysis;
use windage_model::{Doubt, DoubtCode};
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
fn colours_change_nothing_but_colours() {
    for (name, analysis) in fixtures::every() {
        let colored = colored(&analysis);
        assert!(colored.contains("\u{1b}["), "{name} is not coloured");
        assert_eq!(without_escapes(&colored), plain(&analysis, 80), "{name}");
    }
}

#[test]
fn no_figure_is_not_a_number() {
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
fn the_page_runs_and_loads_nothing() {
    for (name, analysis) in fixtures::every() {
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
            "can't tell yet, between −0.4 and +1.1 % of CPU a request, the smallest visible here is 1.1 %: \
             about 90 more minutes of such a run would settle it",
        ),
        (
            fixtures::family(),
            "`spans only` costs 1.1 % (0.6 to 1.6 %), 0.643 µs (on its own, but not when all 4 \
             comparisons have to hold together)",
        ),
        (
            fixtures::family(),
            "`metrics only` costs something, +0.0 to +1.2 %, but whether more than the 0.5 % that \
             matter can't be told yet (likewise on its own only): about 7 more minutes of such a \
             run would settle it",
        ),
        (
            fixtures::not_reached(),
            "no reasonable time would settle it, as the estimate lies at the limit of ±0.5 %",
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

/// A text with its line breaks and indentation taken out, to look for sentences in.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_does_not_hold_in_its_family_is_marked_and_explained() {
    let report = plain(&fixtures::family(), 80);
    let marked = [
        // On its own a cost, among four not told from what does not matter.
        "spans only         61.8  +0.64  +1.1  +0.6 to +1.6  costs‡",
        // On its own it excludes nil.
        "metrics only       61.6  +0.40  +0.7  +0.0 to +1.2  inconclusive‡",
        "switched off       61.2  +0.05  +0.1  −0.4 to +0.6  negligible‡",
        "‡ +6.0 % (+2.0 to +10.0)",
        "‡ −5.0 % (−9.0 to −1.0)",
        "=‡ 0.0 % (−0.5 to +0.5)",
    ];
    for cell in marked.map(unwrapped) {
        assert!(
            unwrapped(&report).contains(&cell),
            "{cell:?} not in {report}"
        );
    }
    let unmarked = ["+8.7 costs ", "= +0.01 % (−0.07 to +0.09)", "~ +1.0 % ("];
    for cell in unmarked {
        assert!(
            unwrapped(&report).contains(cell),
            "{cell:?} not in {report}"
        );
    }
    let legend = "‡ holds on its own, but not when all comparisons of its family have to: \
                  4 of CPU a request, 28 of the other metrics (Bonferroni, 95 %)";
    assert!(unwrapped(&report).contains(legend), "{report}");
}

#[test]
fn a_family_of_one_has_no_mark_and_no_legend() {
    for analysis in [fixtures::stopped(), fixtures::demo()] {
        for (renderer, text) in renderings(&analysis) {
            assert!(
                !text.contains('‡') && !text.contains("Bonferroni"),
                "{renderer}"
            );
        }
    }
}

#[test]
fn what_holds_in_its_family_is_said_to() {
    let mut analysis = fixtures::family();
    let metrics = analysis
        .arms
        .iter_mut()
        .flat_map(|arm| arm.metrics.values_mut());
    for result in metrics {
        let held = result
            .difference
            .as_ref()
            .ok()
            .and_then(|d| d.relative.clone());
        if let (Some(of), Some(held)) = (&mut result.inference.in_family, held) {
            of.verdict = result.verdict;
            (of.interval.low, of.interval.high) = (held.low, held.high);
        }
    }
    let report = plain(&analysis, 80);
    let legend = "what is found holds also when all comparisons of its family have to: \
                  4 of CPU a request, 28 of the other metrics (Bonferroni, 95 %)";
    assert!(unwrapped(&report).contains(legend), "{report}");
    assert!(!report.contains('‡'), "{report}");
}

#[test]
fn how_firm_the_answer_is_stands_below_it() {
    let table = [
        (
            fixtures::family(),
            "visible this run would have seen 0.7 to 0.9 % of CPU a request",
        ),
        (
            fixtures::family(),
            "scatter launches 0 to 0.52 %, drift between blocks 0.78 to 0.81 %, windows 1.9 %; \
             more rounds, with about 12 blocks each, would narrow the interval most",
        ),
        (
            fixtures::family(),
            "covariate the generator's CPU a request was taken out: interval 33 to 41 % narrower \
             (correlation 0.74 to 0.81), in 3 of 4 treatments",
        ),
        (
            fixtures::stopped(),
            "scatter launches 0.52 %, blocks 2.1 %; more blocks a round, about 40, would",
        ),
        (
            fixtures::not_reached(),
            "scatter launches unknown after a single one, drift between blocks 1.2 %",
        ),
        (
            fixtures::stopped(),
            "stopped when CPU a request was known to ±0.5 %; 5 min were allowed",
        ),
        (fixtures::stopped(), "intervals are confidence sequences"),
        (
            fixtures::stopped(),
            "pilot Windows of 250 ms, at which drift",
        ),
        (
            fixtures::not_reached(),
            "±0.5 % of CPU a request was not reached within 5 min: ±0.8 %",
        ),
        (
            fixtures::family(),
            "machine calibrated 2026-11-21: smallest visible effect in 60 s 0.5 % of CPU a \
             request; truth inside 38 of 40 intervals; 2 of 40 false positives",
        ),
        (
            fixtures::not_reached(),
            "machine calibrated 2026-11-20 [2J: truth inside 37 of 40 intervals run",
        ),
        (
            fixtures::stopped(),
            "machine not calibrated; to do so: windage calibrate",
        ),
    ];
    for (analysis, expected) in table {
        let report = unwrapped(&plain(&analysis, 80));
        assert!(report.contains(expected), "{expected:?} not in {report}");
    }
    assert!(!markdown(&fixtures::stopped()).contains("not calibrated"));
}

#[test]
fn a_run_that_was_broken_off_did_not_run_out_of_time() {
    let mut analysis = fixtures::not_reached();
    analysis
        .validity
        .push(Doubt::new(DoubtCode::RunIncomplete, "It was broken off."));
    let report = unwrapped(&plain(&analysis, 80));
    let expected = "±0.5 % of CPU a request was not reached before the run was broken off: ±0.8 %";
    assert!(report.contains(expected), "{report}");
}

#[test]
fn why_a_covariate_was_not_used_stands_where_there_is_room() {
    let why = "the generator's CPU a request is not taken out: the arm moves";
    let analysis = fixtures::family();
    assert!(markdown(&analysis).contains(why));
    assert!(html(&analysis).contains(why));
    assert!(!unwrapped(&plain(&analysis, 80)).contains("not taken out"));
}

#[test]
fn how_telemetry_came_is_told_where_something_was_amiss() {
    let (amiss, sound) = (
        plain(&fixtures::backends(), 80),
        plain(&fixtures::demo(), 80),
    );
    let told = [
        "backend otel, half well: partial 10%",
        "otel, backend slow 200ms: 49,000 items (queue full), 1,000 spans (not explained)",
        "96,000 items (gave up), 4,000 more told than lost",
        "Export refused not taken sent again twice",
        "otel, backend reject 503 90 % 0.3 % 51.7 % 0.2 %",
        "Arrival whole traces half after 99 % after",
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
fn low_quantiles_stand_where_there_is_room() {
    let analysis = fixtures::family();
    let table = "| Response time, more | p10 |";
    let text = markdown(&analysis);
    let (before, after) = text.split_once("<details>").expect("details");
    assert!(!before.contains("p10") && after.contains(table), "{text}");
    assert!(html(&analysis).contains(">p10</th>"));
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
