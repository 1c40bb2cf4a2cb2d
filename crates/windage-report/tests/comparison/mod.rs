//! Two runs in every renderer.

mod runs;

use runs::{all, changed, compared, idle, in_unit, later, only, throughput};
use unicode_width::UnicodeWidthStr;
use windage_analysis::Compared;
use windage_model::fixtures::warning;
use windage_model::{Metric, WarningCode};
use windage_report::{
    TerminalOptions, comparison_csv, comparison_html, comparison_markdown, comparison_page_json,
    comparison_terminal,
};

use crate::page::embedded;
use crate::{fixtures, without_escapes};

fn on_terminal(compared: &Compared, width: usize, color: bool) -> String {
    comparison_terminal(
        compared,
        TerminalOptions {
            width,
            color,
            all: true,
        },
    )
}

#[test]
fn text_forms() {
    for (name, compared) in all() {
        insta::assert_snapshot!(
            format!("{name}_terminal"),
            on_terminal(&compared, 80, false)
        );
    }
    let hostile = all().into_iter().find(|(name, _)| *name == "hostile");
    let (_, hostile) = hostile.expect("hostile names");
    insta::assert_snapshot!("hostile_markdown", comparison_markdown(&hostile));
    insta::assert_snapshot!("changed_markdown", comparison_markdown(&changed()));
    insta::assert_snapshot!("changed_csv", comparison_csv(&changed()).unwrap());
}

#[test]
fn every_text_fits_and_is_safe() {
    for (name, compared) in all() {
        for width in [0, 80, 120] {
            let text = on_terminal(&compared, width, false);
            for line in text.lines() {
                assert!(line.width() <= width.max(72), "{name} at {width}: {line}");
            }
        }
        let plain = on_terminal(&compared, 80, false);
        let colored = on_terminal(&compared, 80, true);
        assert_eq!(without_escapes(&colored), plain, "{name}");
        let table = comparison_csv(&compared).unwrap();
        let texts = [plain, comparison_markdown(&compared), table];
        for text in &texts {
            let passed = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(passed, None, "{name}");
            for word in text.split(|c: char| !c.is_alphanumeric()) {
                let is_none = ["nan", "inf", "infinity"].contains(&&*word.to_ascii_lowercase());
                assert!(!is_none, "{word} in {name}");
            }
        }
    }
}

#[test]
fn no_cell_is_lost_in_a_narrow_terminal() {
    for (name, compared) in all() {
        let document: serde_json::Value =
            serde_json::from_str(&comparison_page_json(&compared)).unwrap();
        let loads = document["loads"].as_array().unwrap().iter();
        let tables: Vec<_> = loads
            .flat_map(|of| of["tables"].as_array().unwrap())
            .collect();
        crate::has_every_cell(&on_terminal(&compared, 72, false), &tables, name);
    }
}

#[test]
fn the_page_carries_the_same_words() {
    for (name, compared) in all() {
        let document: serde_json::Value =
            serde_json::from_str(&comparison_page_json(&compared)).unwrap();
        assert_eq!(document["page"], 1, "{name}");
        let text = on_terminal(&compared, 200, false).replace('\n', " ");
        let loads = document["loads"].as_array().unwrap();
        assert_eq!(loads.len(), compared.comparison.loads.len());
        for load in loads {
            for piece in load["answer"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|s| s.as_array().unwrap())
            {
                let words = piece["text"].as_str().or(piece["arm"].as_str()).unwrap();
                // A terminal breaks lines at spaces.
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(text.contains(&words), "{name}: {words:?} not in {text}");
            }
        }
        let of = &document["comparison"];
        assert_eq!(of["loads"].as_array().unwrap().len(), loads.len());
        let page = comparison_html(&compared);
        let carried = embedded(&page, "comparison");
        assert_eq!(carried, comparison_page_json(&compared), "{name}");
        assert!(page.contains("<noscript><pre>") && !page.contains("<script>\u{202e}"));
    }
}

#[test]
fn the_answer_reports_changes_of_overheads() {
    let table = [
        (
            "changed",
            "`otel, sampling 1.0` costs 3.1 percentage points more of CPU per request (2.4 to 3.8): \
             25.8 % instead of 22.7 %",
        ),
        (
            "changed",
            "`otel, sampling 0.1` costs 1.2 percentage points less",
        ),
        (
            "changed",
            "`otel, sampling 0.0` costs the same, within ±0.5 percentage points",
        ),
        (
            "changed",
            "The baseline itself went from 61.2 µs to 55.1 µs of CPU per request (−10.0 %)",
        ),
        (
            "regimes",
            "`disabled`: inconclusive, the overhead of CPU per request changed by −1.4 to +1.4 \
             percentage points (0.0 %, then 0.0 %); `filter, rate 100.0`: inconclusive, −1.4 to \
             +1.4",
        ),
        ("regimes", "; 5 more are inconclusive. The baseline"),
        (
            "void",
            "These runs can't be compared, and no verdict is given: Run B is void",
        ),
        ("family", "not when adjusted for all 4 comparisons"),
        (
            "no_end",
            "(but not when adjusted for all comparisons of its family)",
        ),
        (
            "baseline",
            "These runs can't be compared, and no verdict is given: The baselines differ",
        ),
        (
            "warned",
            "In run B the A/A control differs from the baseline",
        ),
        ("itself", "A and B are the same run"),
        (
            "hostile",
            "has no change to report (Run A: One value per side: without scatter there is no interval. Measure more rounds); \
             `pipe | `tick` & \"quote\" with a name that is far longer than a column [31m`: \
             inconclusive, the overhead of CPU per request changed",
        ),
        (
            "in_unit",
            "`otel, sampling 1.0`'s difference changed by +0.00700 cores of subject idle \
             (+0.00417 to +0.00983)",
        ),
        (
            "withheld",
            "`otel, sampling 1.0`: without a verdict, the overhead of CPU per request changed by +3.1 \
             percentage points (+2.4 to +3.8): 22.7 %, then 25.8 %",
        ),
        (
            "many_in_unit",
            "of 3 more, 2 are not judged, 1 has no figure. The baseline",
        ),
    ];
    for (name, expected) in table {
        let (_, compared) = all().into_iter().find(|(of, _)| *of == name).unwrap();
        // Wide enough for unbroken sentences.
        let text = on_terminal(&compared, 2000, false);
        assert!(text.contains(expected), "{expected:?} not in {text}");
    }
}

#[test]
fn metrics_without_a_ratio_are_in_their_unit_and_not_judged() {
    let text = on_terminal(&in_unit(), 80, false);
    let table = [
        "Subject idle A cores B cores Δ cores 95 % interval verdict",
        "otel, sampling 1.0 +0.0120 +0.0190 +0.0070 +0.0042 to +0.0098 –",
    ];
    for line in table {
        assert!(
            crate::unwrapped(&text).contains(line),
            "{line:?} not in {text}"
        );
    }
    assert!(
        !text.contains("n/a") && !text.contains("withheld"),
        "{text}"
    );
}

#[test]
fn verdicts_are_withheld_of_runs_that_can_not_be_compared() {
    for (run, metric, expected) in [
        (fixtures::demo(), Metric::CpuPerRequest, 4),
        // This metric has no verdict to withhold.
        (idle([0.0; 3]), Metric::CpuIdle, 0),
    ] {
        let mut void = later(run.clone());
        let died = warning(WarningCode::ServiceDied);
        void.validity.reasons.push(died.into());
        let compared = only(compared(run, void, None), &[metric]);
        let text = on_terminal(&compared, 80, false);
        assert_eq!(text.matches("withheld").count(), expected, "{text}");
    }
}

#[test]
fn the_answer_and_the_table_have_the_same_signs() {
    let text = on_terminal(&throughput(), 2000, false);
    let table = crate::unwrapped(&text);
    let row = table.split("otel, sampling 1.0").last().expect("a row");
    let range = row.split_once(" to ").expect("an interval");
    let (low, high) = (
        range.0.rsplit(' ').next().expect("its low end"),
        range.1.split(' ').next().expect("its high end"),
    );
    assert!(
        text.contains(&format!("{low} to {high} percentage points")),
        "{text}"
    );
}

#[test]
fn lines_that_differ_only_in_spaces_differ() {
    let plans = ["x = 'a b'\n", "x = 'a  b\u{202e}'\n"];
    let compared = compared(fixtures::demo(), later(fixtures::demo()), Some(plans));
    let expected = "- x = 'a b'\n+ x = 'a  b '\n";
    assert!(on_terminal(&compared, 80, false).contains(expected));
    assert!(comparison_markdown(&compared).contains(expected));
}

#[test]
fn values_of_environments_are_not_shown() {
    let plan = |level: &str, rounds: u32| {
        format!(
            "rounds = {rounds}\n[[service]]\nname = \"app\"\n\
             env = {{ LEVEL = \"{level}\", PASSWORD = \"hunter2\" }}\n"
        )
    };
    let (a, b) = (plan("all-of-it", 8), plan("a-tenth-of-it", 9));
    let compared = compared(fixtures::demo(), later(fixtures::demo()), Some([&a, &b]));
    let forms = [
        on_terminal(&compared, 80, false),
        comparison_markdown(&compared),
        comparison_page_json(&compared),
        embedded(&comparison_html(&compared), "comparison"),
    ];
    for text in forms {
        assert!(
            text.contains("PASSWORD") && text.contains("LEVEL"),
            "{text}"
        );
        for value in ["hunter2", "all-of-it", "a-tenth-of-it"] {
            assert!(!text.contains(value), "{value} in {text}");
        }
    }
}

#[test]
fn csv_has_a_row_per_arm_and_metric() {
    for (name, compared) in all() {
        let loads = compared.comparison.loads.iter();
        let arms = loads.flat_map(|load| &load.arms);
        let expected: usize = arms.map(|arm| arm.metrics.len()).sum();
        let table = comparison_csv(&compared).unwrap();
        let mut reader = ::csv::Reader::from_reader(table.as_bytes());
        let columns = reader.headers().unwrap().len();
        let records: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), expected, "{name}");
        assert!(records.iter().all(|record| record.len() == columns));
        assert!(!table.contains(",=") && !table.contains(",\"="), "{table}");
    }
}
