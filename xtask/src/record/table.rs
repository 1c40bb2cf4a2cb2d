//! `experiments/README.md`: one table across SDKs, made from what is recorded.
//!
//! A folder `record/DATE/sdks` has the analyses as `windage run --json` printed them, their reports
//! as pages, and `rows.toml`, which says what of them makes which row ([`rows`]). The newest folder
//! makes the page.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::workspace;

mod analysis;
mod conclusions;
mod costs;
mod events;
mod figure;
mod markdown;
mod others;
mod page;
mod planning;
mod published;
mod recorded;
mod rows;
mod stages;

use recorded::Recorded;

/// The page, from the workspace's folder.
const PAGE: &str = "experiments/README.md";

/// Writes the page.
pub(super) fn run() -> Result<ExitCode> {
    let root = workspace::root();
    let page = root.join(PAGE);
    fs::write(&page, make(root)?).with_context(|| format!("write {}", page.display()))?;
    anstream::println!("{}", page.display());
    Ok(ExitCode::SUCCESS)
}

/// The page as the newest record under `root` gives it.
fn make(root: &Path) -> Result<String> {
    let recorded = recorded::newest(root)?
        .map(|folder| Recorded::read(root, &folder))
        .transpose()?;
    let runs = recorded.iter().flat_map(|recorded| &recorded.runs);
    let told: Vec<&str> = runs
        .map(|run| {
            let folder = run.key.experiment.as_str();
            folder.split_once('/').map_or(folder, |(outer, _)| outer)
        })
        .collect();
    let others = others::others(&root.join("experiments"), &told)?;
    Ok(page::page(recorded.as_ref(), &others))
}

#[cfg(test)]
mod tests;
