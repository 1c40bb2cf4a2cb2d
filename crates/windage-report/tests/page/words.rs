//! The words beside and within pictures agree with the tables.

use serde_json::Value;
use windage_analysis::{Analysis, Missing};
use windage_model::Metric;

use super::{document, document_of, gather};
use crate::fixtures::{self, Drawn};

fn strings(value: &Value) -> Vec<&str> {
    let all = value.as_array().expect("a list").iter();
    all.map(|text| text.as_str().expect("text")).collect()
}

#[test]
fn curves_have_the_sentences_of_their_tables() {
    let document = document(&fixtures::sweep());
    let load = &document["loads"][0];
    let curves = load["curves"].as_array().unwrap();
    assert_eq!(
        curves.len(),
        document["analysis"]["curves"].as_array().unwrap().len()
    );
    let facts: Vec<String> = load["tables"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|table| table["facts"].as_array().unwrap())
        .map(|fact| fact["text"].as_str().unwrap().to_lowercase())
        .collect();
    let fits: Vec<&Value> = curves
        .iter()
        .flat_map(|of| of["fits"].as_array().unwrap())
        .collect();
    assert!(!fits.is_empty());
    for fit in fits {
        for sentence in strings(&fit["sentences"]) {
            let clause = sentence
                .trim_start_matches("Curve: ")
                .trim_end_matches('.')
                .to_lowercase();
            let is_told = facts.iter().any(|fact| fact.contains(&clause));
            assert!(
                is_told || clause.starts_with("predictions are mostly precise to ±"),
                "{clause}"
            );
        }
    }
}

/// The words of these pictures of the first load.
fn told(analysis: Analysis, pictures: &[&str]) -> String {
    const FEW: Drawn = Drawn {
        stretches: 40,
        windows: 60,
        steps: 20,
        points: 5,
    };
    let document = document_of(&fixtures::drawn(analysis, FEW));
    let load = &document["loads"][0];
    let mut text = String::new();
    for name in pictures {
        let part = match &load[name] {
            Value::Array(all) if *name != "deliveries" => &all[0],
            part => part,
        };
        let mut words = Vec::new();
        gather(part, &mut words);
        // There are too many windows to list their words.
        words.retain(|word| !["valid", "suspect", "void"].contains(word));
        text.push_str(&format!("== {name}\n{}\n", words.join("\n")));
    }
    text
}

#[test]
fn pictures_have_alternative_text() {
    let agents = told(
        fixtures::agents(),
        &["forests", "bill", "deliveries", "latency", "series"],
    );
    let family = told(fixtures::family(), &["scatter"]);
    insta::assert_snapshot!("pictures", agents + &family);
}

fn rows(analysis: &Analysis, metric: Metric) -> Vec<[String; 4]> {
    let document = document(analysis);
    let forests = document["loads"][0]["forests"].as_array().expect("a list");
    let forest = forests.iter().find(|of| of["metric"] == metric.as_str());
    let rows = forest.and_then(|of| of["rows"].as_array());
    let text = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
    let keys = ["name", "point", "mark", "word"];
    let rows = rows.into_iter().flatten();
    rows.map(|row| keys.map(|key| text(row, key))).collect()
}

/// The demo with two treatments of one name.
fn of_one_name() -> Analysis {
    let mut analysis = fixtures::demo();
    for arm in &mut analysis.arms[2..4] {
        arm.name = "otel".to_owned();
    }
    analysis
}

#[test]
fn an_arm_without_an_interval_says_why() {
    let mut analysis = of_one_name();
    let missing = analysis.arms[2].metrics.get_mut(&Metric::CpuPerRequest);
    missing.unwrap().difference = Err(Missing::NoValue);
    analysis.arms[3].metrics.remove(&Metric::CpuPerRequest);
    let ids = [&analysis.arms[2].id, &analysis.arms[3].id].map(|id| format!("otel ({id})"));
    let found = rows(&analysis, Metric::CpuPerRequest);
    let expected = [
        ["control", "+0.1 %", "control", "control"],
        [
            &ids[0],
            "",
            "costs",
            "not measured: No usable window has a value.",
        ],
        [&ids[1], "", "unjudged", "not measured for this arm"],
    ];
    assert_eq!(found[..3], expected.map(|row| row.map(str::to_owned)));
    for arm in &mut analysis.arms {
        arm.metrics.remove(&Metric::CpuPerRequest);
    }
    assert!(rows(&analysis, Metric::CpuPerRequest).is_empty());
}

#[test]
fn a_control_that_differs_and_a_verdict_that_does_not_hold_are_marked() {
    let mut analysis = fixtures::demo();
    let control = analysis.arms[1].metrics.get_mut(&Metric::CpuPerRequest);
    let relative = control.unwrap().difference.as_mut().unwrap();
    let interval = relative.relative.as_mut().unwrap();
    (interval.low, interval.estimate) = (0.001, 0.002);
    let found = rows(&analysis, Metric::CpuPerRequest);
    assert_eq!(found[0][2..], ["differs", "control: differs"]);
    let words: Vec<String> = rows(&fixtures::family(), Metric::CpuPerRequest)
        .into_iter()
        .map(|[.., word]| word)
        .collect();
    assert!(words.iter().any(|word| word.ends_with(" ‡")), "{words:?}");
}

#[test]
fn differences_without_a_ratio_are_drawn_in_their_unit() {
    let document = document(&fixtures::demo());
    let forests = document["loads"][0]["forests"].as_array().unwrap();
    let of = |metric: Metric| {
        let found = forests.iter().find(|of| of["metric"] == metric.as_str());
        found.expect("a forest")
    };
    let wire = of(Metric::WireBytesPerRequest);
    assert_eq!(
        (&wire["margin"], &wire["unit"]),
        (&Value::Null, &"bytes".into())
    );
    let cpu = of(Metric::CpuPerRequest);
    assert_eq!(cpu["margin"], 0.005);
    assert_eq!(cpu["sides"], serde_json::json!(["← saves", "costs →"]));
}

#[test]
fn delivered_shares_are_of_integers() {
    let table = [
        (None, 14_778, Value::Null, "14,778 traces, none expected"),
        (
            Some(0.0),
            14_778,
            Value::Null,
            "14,778 traces, none expected",
        ),
        (Some(257.2), 257, 1.0.into(), "257 of 257 traces, 100 %"),
        (
            Some(14_922.0),
            14_921,
            (14_921.0 / 14_922.0).into(),
            "14,921 of 14,922 traces, 99.99 %",
        ),
    ];
    for (expected, delivered, share, figures) in table {
        let mut analysis = fixtures::demo();
        let fidelity = analysis.arms[2].fidelity.as_mut().unwrap();
        (fidelity.expected, fidelity.delivered) = (expected, delivered);
        let document = document(&analysis);
        let all = document["loads"][0]["deliveries"].as_array().unwrap();
        let id = analysis.arms[2].id.to_string();
        let of = all.iter().find(|of| of["arm"] == *id).unwrap();
        assert_eq!((&of["share"], &of["figures"]), (&share, &figures.into()));
    }
}

#[test]
fn half_widths_of_log_ratios_do_not_grow_with_the_overhead() {
    for (estimate, half, expected) in [
        (3.42, 0.42, Some(0.1)),
        (0.5, 0.0, Some(0.0)),
        (-0.5, 0.6, None),
    ] {
        let mut analysis = fixtures::family();
        let result = analysis.arms[2].metrics.get_mut(&Metric::CpuPerRequest);
        let difference = result.unwrap().difference.as_mut().unwrap();
        let relative = difference.relative.as_mut().unwrap();
        relative.estimate = estimate;
        (relative.low, relative.high) = (estimate - half, estimate + half);
        let document = document(&analysis);
        let arms = document["loads"][0]["scatter"]["arms"].as_array().unwrap();
        let id = analysis.arms[2].id.to_string();
        let of = arms.iter().find(|of| of["arm"] == *id).unwrap();
        let found = of["half_width"].as_f64();
        let is_near = |(found, expected): (f64, f64)| (found - expected).abs() < 1e-4;
        assert_eq!(found.is_some(), expected.is_some(), "{estimate}");
        assert!(found.zip(expected).is_none_or(is_near), "{found:?}");
    }
}
