//! `cargo xtask record`: maintains `record/`. A recorded run is its packed run directory;
//! everything else is regenerated from it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::Subcommand;

use crate::{command, workspace};

mod aa;

/// Files that reports do not need, or that are regenerated.
const LEFT_OUT: [&str; 4] = ["lock", "work", "report.html", "analysis.json"];

const PACKED: &str = ".tar.gz";

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Packs runs into a folder, with a README of their reports
    Pack {
        /// Run directories
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<PathBuf>,
        /// The folder, such as record/2026-11-22/sdks; it must not have a README yet
        #[arg(long, value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Unpacks a record and regenerates its reports and pages
    Pages {
        /// The record
        #[arg(value_name = "FOLDER")]
        record: PathBuf,
        /// Where to write them [default: target/pages]
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
    },
    /// Counts and draws how often A/A controls exclude zero, by plan
    Aa {
        /// Run directories, many of each plan
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<PathBuf>,
        /// The metric
        #[arg(long, default_value = "cpu_per_request")]
        metric: String,
        /// The picture, an SVG
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    let windage = workspace::build("crates/windage", "windage")?;
    match verb {
        Verb::Pack { runs, to } => pack(&windage, runs, to)?,
        Verb::Pages { record, to } => {
            let target = workspace::root().join("target/pages");
            pages(&windage, record, to.as_deref().unwrap_or(&target))?;
        }
        Verb::Aa { runs, metric, to } => aa::run(&windage, runs, metric, to)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn pack(windage: &Path, runs: &[PathBuf], to: &Path) -> Result<()> {
    let readme = to.join("README.md");
    if readme.exists() {
        bail!("{} exists; name another folder by --to", readme.display());
    }
    let reports = report(windage, runs, "markdown")?;
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    let mut names = BTreeSet::new();
    for run in runs {
        let run = run
            .canonicalize()
            .with_context(|| format!("find {}", run.display()))?;
        let (Some(folder), Some(name)) = (run.parent(), run.file_name()) else {
            bail!("{} has no name", run.display());
        };
        let name = name.to_string_lossy().into_owned();
        let mut tar = tar(folder);
        tar.args("--create --sort=name --owner=0 --group=0 --numeric-owner".split(' '));
        tar.args(LEFT_OUT.map(|file| format!("--exclude={name}/{file}")));
        command::run(
            tar.arg("--file")
                .arg(absolute(to.join(format!("{name}{PACKED}")))?)
                .arg(&name),
        )?;
        if !names.insert(name) {
            bail!("two runs have the name {}; rename one", run.display());
        }
    }
    let links: Vec<String> = names
        .iter()
        .map(|name| format!("[{name}]({name}{PACKED})"))
        .collect();
    let title = to.file_name().unwrap_or_default().to_string_lossy();
    let text = format!(
        "# {title}\n\nRun directories, packed: {}. `cargo xtask record pages FOLDER` unpacks them and regenerates \
         the text below and the pages.\n\n{reports}",
        links.join(", ")
    );
    fs::write(&readme, text).with_context(|| format!("write {}", readme.display()))?;
    anstream::println!("{}", readme.display());
    Ok(())
}

fn pages(windage: &Path, record: &Path, to: &Path) -> Result<()> {
    let unpacked = tempfile::tempdir().context("make a temporary folder")?;
    for file in sorted(record)? {
        if file.to_string_lossy().ends_with(PACKED) {
            let mut tar = tar(unpacked.path());
            command::run(tar.args(["--extract", "--file"]).arg(absolute(&file)?))?;
        }
    }
    let runs = sorted(unpacked.path())?;
    if runs.is_empty() {
        bail!("{} holds no *{PACKED}", record.display());
    }
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    let mut pages = vec![(to.join("README.md"), report(windage, &runs, "markdown")?)];
    for run in &runs {
        let name = run.file_name().unwrap_or_default().to_string_lossy();
        let page = report(windage, &[run], "html")?;
        pages.push((to.join(format!("{name}.html")), page));
    }
    for (page, text) in pages {
        fs::write(&page, text).with_context(|| format!("write {}", page.display()))?;
        anstream::println!("{}", page.display());
    }
    Ok(())
}

/// The output of `windage report` for these runs.
fn report(windage: &Path, runs: &[impl AsRef<Path>], format: &str) -> Result<String> {
    let mut report = Command::new(windage);
    report.args(["report", "--format", format]);
    command::output(report.args(runs.iter().map(AsRef::as_ref)))
}

fn tar(folder: &Path) -> Command {
    let mut tar = Command::new("tar");
    tar.arg("--gzip").arg("--directory").arg(folder);
    tar
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A real run of one second.
    #[test]
    fn a_packed_run_gives_the_same_reports() {
        let windage = workspace::built_with_tests().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let [run, record, to] = ["tiny", "record", "pages"].map(|name| folder.path().join(name));
        let mut demo = Command::new(&windage);
        demo.args(["demo", "--for", "1s", "--quiet", "--json", "--out"]);
        // On a busy machine the run may be void, which does not matter here.
        demo.arg(&run).output().unwrap();

        pack(&windage, std::slice::from_ref(&run), &record).unwrap();
        let readme = fs::read_to_string(record.join("README.md")).unwrap();
        assert!(readme.starts_with("# record\n") && readme.contains("[tiny](tiny.tar.gz)"));
        assert!(readme.contains("windage demo"), "the command: {readme}");
        let again = pack(&windage, std::slice::from_ref(&run), &record).unwrap_err();
        assert!(again.to_string().contains("--to"), "{again}");

        fs::remove_dir_all(&run).unwrap();
        pages(&windage, &record, &to).unwrap();
        let reports = fs::read_to_string(to.join("README.md")).unwrap();
        assert!(readme.ends_with(&reports), "{readme}\n{reports}");
        assert!(
            fs::read_to_string(to.join("tiny.html"))
                .unwrap()
                .contains("data-kind=\"run\"")
        );
        let nothing = pages(&windage, &to, &to).unwrap_err();
        assert!(
            nothing.to_string().contains("holds no *.tar.gz"),
            "{nothing}"
        );
    }
}
