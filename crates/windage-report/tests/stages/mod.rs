//! Stages and planning figures in every renderer.

use windage_report::stages_csv;

use crate::{fixtures, page, plain};

#[test]
fn text_forms() {
    let fixtures = [
        ("stages", fixtures::stages()),
        ("gap", fixtures::stages_that_do_not_hold()),
    ];
    for (name, analysis) in fixtures {
        insta::assert_snapshot!(format!("{name}_terminal"), plain(&analysis, 80));
    }
    let gap = [fixtures::stages_that_do_not_hold()];
    insta::assert_snapshot!("gap_csv", stages_csv(&gap).unwrap());
}

#[test]
fn the_page_has_the_same_tables() {
    let words = page::words(&fixtures::stages());
    for part in [
        "Stages",
        "Planning with spans",
        "+ batch, OTLP over HTTP",
        "sum of stages",
        "end-to-end − sum",
        "in 10 ms",
    ] {
        assert!(words.lines().any(|line| line == part), "{part}");
    }
    assert!(words.contains("agrees with the stages"));
    let document = page::document(&fixtures::stages_that_do_not_hold());
    let stages = page::tables(&document);
    let stages = stages.iter().find(|table| table["title"] == "Stages");
    let rows = stages.unwrap()["rows"].as_array().unwrap();
    let gap = rows
        .iter()
        .find(|row| row["arm"] == "end-to-end − sum")
        .unwrap();
    assert_eq!(gap["cells"][0]["tone"], "alarm");
}

#[test]
fn csv_has_a_row_per_stage_and_three_for_sum_and_gap() {
    let analyses = [fixtures::stages(), fixtures::demo()];
    let text = stages_csv(&analyses).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let kind = reader.headers().unwrap().iter().position(|h| h == "kind");
    let kinds: Vec<String> = reader
        .records()
        .map(|record| record.unwrap()[kind.unwrap()].to_owned())
        .collect();
    let expected = [
        "stage",
        "stage",
        "stage",
        "stage",
        "stage",
        "sum",
        "end_to_end",
        "gap",
    ];
    assert_eq!(kinds, expected, "a run without stages adds no row");
}

#[test]
fn non_finite_figures_are_not_shown() {
    let text = plain(&fixtures::unbounded(), 80);
    assert!(text.contains("n/a"), "{text}");
}
