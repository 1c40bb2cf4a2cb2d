//! What a reader meets in a file or a report stands in the documents.

use windage_model::{DoubtCode, Metric};

fn document(name: &str) -> String {
    let path = crate::workspace::root().join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_metric_is_described() {
    let format = document("FORMAT.md");
    let missing: Vec<&str> = Metric::ALL
        .iter()
        .map(|metric| metric.as_str())
        .filter(|name| !format.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "docs/FORMAT.md lacks {missing:?}");
}

#[test]
fn every_doubt_is_described_with_what_it_does() {
    let format = document("FORMAT.md");
    let missing: Vec<&str> = DoubtCode::ALL
        .iter()
        .filter(|code| {
            let row = format!("| `{}` | {} |", code.as_str(), code.soundness().as_str());
            !format.contains(&row)
        })
        .map(|code| code.as_str())
        .collect();
    assert!(
        missing.is_empty(),
        "docs/FORMAT.md lacks, or has another severity for, {missing:?}"
    );
}
