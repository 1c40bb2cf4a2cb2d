//! Every plan under `experiments/` is valid for `windage run`.

use std::fs;
use std::path::{Path, PathBuf};

use windage_plan::{Depth, Plan, listed_plans};

#[test]
fn the_experiments_plans_are_valid() {
    let plans = plans(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../experiments"
    )));
    assert!(plans.len() >= 4, "only {plans:?}");
    let wrong: Vec<String> = [Depth::Usual, Depth::Thorough]
        .iter()
        .flat_map(|depth| plans.iter().map(|plan| Plan::load(plan, *depth)))
        .filter_map(|read| read.err().map(|error| error.render(false)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn plans(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let holds_plans = |name: &str| ![".venv", "node_modules", "windage-runs"].contains(&name);
        if path.is_dir() {
            if path
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(holds_plans)
            {
                found.extend(plans(&path));
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            // What a list names is found where it is.
            match listed_plans(&path) {
                Ok(Some(listed)) => assert!(!listed.is_empty()),
                Ok(None) => found.push(path),
                Err(error) => panic!("{}", error.render(false)),
            }
        }
    }
    found
}
