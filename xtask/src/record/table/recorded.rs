//! A folder of recorded analyses with its rows, every name in it looked up.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::analysis::{self, Arm, Reason, Run, UnderLoad};
use super::published;
use super::rows::{FILE, Label, RowKey, Rows, RunKey};

/// Everything that the page is made of, besides the other experiments.
#[derive(Debug)]
pub(super) struct Recorded {
    /// The folder, from the workspace's: `record/2026-11-22/sdks`.
    pub(super) folder: String,
    pub(super) runs: Vec<Measured>,
    pub(super) rows: Vec<Row>,
    pub(super) events: Vec<Pair>,
    pub(super) published: Vec<Repeated>,
}

/// One run under one load.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) key: RunKey,
    pub(super) run: Run,
    pub(super) under: UnderLoad,
}

/// An arm of [`Recorded::runs`], by its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) run: usize,
    arm: usize,
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) at: Place,
    pub(super) runtime: String,
    pub(super) what: String,
    pub(super) label: Label,
}

#[derive(Debug)]
pub(super) struct Pair {
    pub(super) label: String,
    pub(super) spans: Place,
    pub(super) events: Place,
}

#[derive(Debug)]
pub(super) struct Repeated {
    pub(super) figure: &'static published::Figure,
    pub(super) at: Place,
}

/// The newest folder of SDKs under `record/`; `None` before there is one.
pub(super) fn newest(root: &Path) -> Result<Option<PathBuf>> {
    let record = root.join("record");
    let entries = fs::read_dir(&record).with_context(|| format!("read {}", record.display()))?;
    let mut folders = Vec::new();
    for entry in entries {
        let folder = entry?.path().join("sdks");
        if folder.is_dir() {
            folders.push(folder);
        }
    }
    // Folders are named by their day, so that the last one is the newest.
    Ok(folders.into_iter().max())
}

impl Recorded {
    /// Reads a folder. A missing file, run, load or arm is an error that names it.
    pub(super) fn read(root: &Path, folder: &Path) -> Result<Recorded> {
        let rows = Rows::read(folder)?;
        let of_rows = || folder.join(FILE).display().to_string();
        Recorded::resolve(root, folder, rows).with_context(of_rows)
    }

    fn resolve(root: &Path, folder: &Path, rows: Rows) -> Result<Recorded> {
        let relative = folder.strip_prefix(root).unwrap_or(folder);
        let mut recorded = Recorded {
            folder: relative.display().to_string(),
            runs: Vec::new(),
            rows: Vec::new(),
            events: Vec::new(),
            published: Vec::new(),
        };
        for key in rows.run {
            let name = key.name.clone();
            let run = measured(root, folder, key).with_context(|| format!("run `{name}`"))?;
            recorded.runs.push(run);
        }
        for row in rows.row {
            let row = recorded.row(row)?;
            recorded.rows.push(row);
        }
        for pair in rows.events {
            let of = || format!("events `{}`", pair.label);
            let place = |key: &super::rows::ArmKey| recorded.place(&key.run, &key.arm);
            let (spans, events) = (place(&pair.spans), place(&pair.events));
            recorded.events.push(Pair {
                spans: spans.with_context(of)?,
                events: events.with_context(of)?,
                label: pair.label,
            });
        }
        for key in rows.published {
            let of = || format!("published `{}`", key.figure);
            recorded.published.push(Repeated {
                figure: published::figure(&key.figure).with_context(of)?,
                at: recorded.place(&key.run, &key.arm).with_context(of)?,
            });
        }
        Ok(recorded)
    }

    fn row(&self, key: RowKey) -> Result<Row> {
        let at = self.place(&key.run, &key.arm).with_context(|| {
            format!(
                "row `{}, {}, {}`",
                key.runtime,
                key.what,
                key.label.as_str()
            )
        })?;
        if self.arm(at).role == "baseline" {
            bail!(
                "row `{}, {}`: `{}` is the baseline of run `{}`; name an arm that is compared with it",
                key.runtime,
                key.what,
                key.arm,
                key.run
            );
        }
        Ok(Row {
            at,
            runtime: key.runtime,
            what: key.what,
            label: key.label,
        })
    }

    fn place(&self, name: &str, arm: &str) -> Result<Place> {
        let run = self.runs.iter().position(|run| run.key.name == name);
        let run = run.with_context(|| format!("no [[run]] is called `{name}`"))?;
        let arm = self.runs[run].under.arm(arm).with_context(|| {
            let measured = &self.runs[run];
            format!("run `{name}` ({})", measured.key.file)
        })?;
        Ok(Place { run, arm })
    }

    pub(super) fn measured(&self, at: Place) -> &Measured {
        &self.runs[at.run]
    }

    pub(super) fn arm(&self, at: Place) -> &Arm {
        &self.runs[at.run].under.arms[at.arm]
    }
}

fn measured(root: &Path, folder: &Path, key: RunKey) -> Result<Measured> {
    let readme = format!("experiments/{}/README.md", key.experiment);
    if !root.join(&readme).is_file() {
        bail!("there is no {readme}; name the experiment's folder by `experiment`");
    }
    if let Some(page) = key
        .page
        .as_ref()
        .filter(|page| !folder.join(page).is_file())
    {
        bail!("its page {page} is not there; put the run's report.html there or leave `page` out");
    }
    let path = folder.join(&key.file);
    let text = fs::read_to_string(&path).with_context(|| {
        format!(
            "can't read {}; put there what `windage run … --json` prints",
            key.file
        )
    })?;
    let runs = analysis::read(&text).with_context(|| key.file.clone())?;
    let run = one_run(runs, key.plan.as_deref()).with_context(|| key.file.clone())?;
    let under = run.under(key.regime.as_deref())?.clone();
    Ok(Measured { key, run, under })
}

fn one_run(mut runs: Vec<Run>, plan: Option<&str>) -> Result<Run> {
    let plans: Vec<String> = runs.iter().map(|run| run.plan.clone()).collect();
    let plans = plans.join(", ");
    if let Some(plan) = plan {
        runs.retain(|run| run.plan == plan);
    }
    if runs.len() > 1 {
        bail!("it has several runs ({plans}); name one by `plan`");
    }
    runs.pop().with_context(|| match plan {
        Some(plan) => format!("it has no run of plan `{plan}`, only {plans}"),
        None => "it has no run".to_owned(),
    })
}

impl Measured {
    /// The load in words: `2000/s`, `saturation, 8 connections`, `batch, warm process`.
    pub(super) fn load(&self) -> String {
        let design = &self.under.design;
        match (design.load.as_str(), design.rate) {
            ("open", Some(rate)) => format!("{rate:.0}/s"),
            ("closed", _) => format!("saturation, {} connections", design.connections),
            ("batch", _) => match design.batch {
                Some(batch) if batch.whole_processes => "batch, whole process".to_owned(),
                _ => "batch, warm process".to_owned(),
            },
            (load, _) => load.to_owned(),
        }
    }

    /// What speaks against the run as far as it is about this arm: what other arms lost is not.
    pub(super) fn doubts<'a>(&'a self, arm: &'a Arm) -> impl Iterator<Item = &'a Reason> {
        let lost = arm.fidelity.as_ref().is_some_and(|found| found.is_lossy());
        let reasons = self.under.validity.reasons.iter();
        reasons.filter(move |reason| reason.code != "telemetry_lost" || lost)
    }

    /// A link to the experiment's folder, from `experiments/`.
    pub(super) fn experiment(&self) -> String {
        let folder = &self.key.experiment;
        format!("[{folder}]({folder}/README.md)")
    }
}
