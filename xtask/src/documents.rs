//! Checks that the documents describe every metric and warning, and that their links lead
//! somewhere.

use std::fs;
use std::path::Path;

use windage_model::{Metric, WarningCode};

#[test]
fn every_relative_link_leads_to_a_file() {
    let root = crate::workspace::root();
    let pages = crate::docs::pages(root).unwrap();
    assert!(pages.len() > 30, "only {pages:?}");
    let dead = pages.iter().flat_map(|page| dead_links(&root.join(page)));
    let dead: Vec<String> = dead.collect();
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn a_dead_link_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    let text = "[a](page.md#b) ![c](no.svg) [d](#b) [e](https://no.example) [f](no/g.md#h)";
    fs::write(&page, text).unwrap();
    let dead = dead_links(&page);
    assert_eq!(dead.len(), 2, "{dead:?}");
    assert!(dead[0].ends_with(": no.svg") && dead[1].ends_with(": no/g.md#h"));
}

fn dead_links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let targets = text.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split([')', ' ']).next())
        .filter(|target| !target.contains(":") && !target.starts_with('#'))
        .filter(|target| {
            let file = target.split('#').next().unwrap_or_default();
            !page.with_file_name(file).exists()
        })
        .map(|target| format!("{}: {target}", page.display()))
        .collect()
}

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
fn every_warning_is_described_with_its_severity() {
    let format = document("FORMAT.md");
    let missing: Vec<&str> = WarningCode::ALL
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
