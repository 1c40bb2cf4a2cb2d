//! What is said beside and within pictures: what the tables say.

use serde_json::Value;

use super::document;
use crate::fixtures;

fn strings(value: &Value) -> Vec<&str> {
    let all = value.as_array().expect("a list").iter();
    all.map(|text| text.as_str().expect("text")).collect()
}

#[test]
fn curves_are_told_as_below_their_tables() {
    let document = document(&fixtures::sweep());
    let load = &document["loads"][0];
    let curves = load["words"]["curves"].as_array().unwrap();
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
                is_told || clause.starts_with("predictions are mostly good to ±"),
                "{clause}"
            );
        }
    }
}

#[test]
fn what_the_page_marks_has_the_mark_in_the_table() {
    let document = document(&fixtures::family());
    let rows = document["loads"][0]["tables"][0]["rows"]
        .as_array()
        .unwrap();
    let arms = document["analysis"]["arms"].as_array().unwrap();
    let mut marked = 0;
    for (row, arm) in rows.iter().zip(arms) {
        let mut cells = row["cells"].as_array().unwrap().iter();
        let has_mark = cells.any(|cell| cell["text"].as_str().unwrap().contains('‡'));
        // `holds_in_family` is what pictures go by (web/src/figure/forest.ts).
        let holds = &arm["metrics"]["cpu_per_request"]["holds_in_family"];
        assert_eq!(has_mark, *holds == Value::Bool(false), "{}", arm["name"]);
        marked += usize::from(has_mark);
    }
    assert!(marked > 0);
}
