//! `docs/FORMAT.md` lists every series.

use std::path::Path;

use windage_serve::FAMILIES;

#[test]
fn each_series_has_its_row() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FORMAT.md");
    let text = std::fs::read_to_string(path).unwrap();
    for family in FAMILIES {
        let name = family.series_name();
        let row = format!("\n| `{}` |", name.trim_start_matches("windage_"));
        assert!(text.contains(&row), "no row for {name}");
    }
}
