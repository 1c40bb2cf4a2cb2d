//! What is looked for after a run has ended, killed or not.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::record::{self, Kept};
use super::site::{Ended, LOOK_EVERY, Site};
use super::{Victim, attached};

#[path = "../../../crates/windage/tests/quick/leftovers.rs"]
#[expect(dead_code, reason = "shared with tests, which use more of it")]
mod leftovers;

/// How soon after its end nothing of a run may be left, on a busy machine too.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// Everything that a run directory may hold, apart from files that are being written.
const FILES: [&str; 12] = [
    "analysis.json",
    "host.json",
    "journal.bin",
    "lock",
    "logs",
    "manifest.json",
    "plan.toml",
    "report.html",
    "resolved.toml",
    "response_time.hlog",
    "service_time.hlog",
    "work",
];

/// What was found after a kill.
#[derive(Default)]
pub(super) struct Found {
    /// Committed blocks; `None` without a manifest.
    pub(super) blocks: Option<u32>,
    pub(super) was_resumed: bool,
    /// Files that were being written.
    pub(super) parts: usize,
    /// Whether empty control groups wait for the next run.
    pub(super) has_groups: bool,
    pub(super) faults: Vec<String>,
}

/// Looks for what a killed run left and lost, and resumes it if asked to.
pub(super) fn killed(
    site: &Site,
    ended: &Ended,
    victim: Victim,
    attached_before: &[String],
    kept_before: Option<Kept>,
    resumes: bool,
) -> Result<Found> {
    let mut found = Found::default();
    found.faults.extend(end_fault(ended, victim));
    found.faults.extend(left(site, attached_before));
    // Nobody is left to remove the arms' control groups, which the next run does.
    found.has_groups = victim == Victim::Both && !groups_of(ended.pid).is_empty();
    if victim != Victim::Both {
        found.faults.extend(left_groups(ended.pid));
    }
    let (parts, strange) = files(site);
    found.parts = parts.len();
    found.faults.extend(strange);

    let kept = record::read(&site.directory())?;
    if let (Some(before), Some(kept)) = (&kept_before, &kept) {
        let lost = kept.lost_since(before);
        found
            .faults
            .extend(lost.map(|lost| format!("by the kill, {lost}")));
    }
    if kept_before.is_some() && kept.is_none() {
        found.faults.push("the manifest is lost".to_owned());
    }
    if let Some(kept) = &kept {
        let announced = record::announced(&ended.stderr, kept.blocks_per_round);
        if kept.blocks() < announced {
            let blocks = kept.blocks();
            found.faults.push(format!(
                "{blocks} blocks are committed, {announced} were announced"
            ));
        }
    }
    found.faults.extend(report_faults(site, kept.as_ref())?);
    if let Some(kept) = &kept {
        found.blocks = Some(kept.blocks());
        if resumes && found.faults.is_empty() {
            let resumed = site.start(&site.resume_args())?.end()?;
            found.was_resumed = true;
            found.faults.extend(complete(site, &resumed)?);
            found.faults.extend(left(site, attached_before));
            // The resumed run removes what nobody was left to remove.
            found.faults.extend(left_groups(ended.pid));
            found.has_groups = false;
            let now = record::read(&site.directory())?;
            let lost = now.and_then(|now| now.lost_since(kept));
            found
                .faults
                .extend(lost.map(|lost| format!("by resuming, {lost}")));
        }
    }
    Ok(found)
}

/// Checks a run that was carried out to its end.
pub(super) fn complete(site: &Site, ended: &Ended) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    // A busy machine may make a run void.
    if !matches!(ended.status.code(), Some(0 | 4)) {
        faults.push(format!("it ended with {}: {}", ended.status, ended.stderr));
    }
    faults.extend(left_groups(ended.pid));
    let kept = record::read(&site.directory())?;
    let is_whole = |kept: &Kept| kept.is_complete() && kept.blocks() == kept.planned();
    if !kept.as_ref().is_some_and(is_whole) {
        let blocks = kept.as_ref().map(|kept| (kept.blocks(), kept.planned()));
        faults.push(format!(
            "it is not complete; blocks, and planned: {blocks:?}"
        ));
    }
    faults.extend(report_faults(site, kept.as_ref())?);
    Ok(faults)
}

/// Whether Windage ended as it should after a kill.
fn end_fault(ended: &Ended, victim: Victim) -> Option<String> {
    let is_right = match victim {
        Victim::Windage | Victim::Both => ended.status.signal() == Some(libc::SIGKILL),
        Victim::Keeper => match ended.status.code() {
            Some(5) => ended.stderr.contains("keeper"),
            // It was not needed any more.
            code => matches!(code, Some(0 | 4)),
        },
    };
    let is_panic = ended.stderr.contains("panicked");
    let (status, stderr) = (ended.status, &ended.stderr);
    (is_panic || !is_right).then(|| format!("windage ended with {status}: {stderr}"))
}

/// Waits until nothing of a run runs or is attached; returns what stays, and what is in its
/// temporary folder.
fn left(site: &Site, attached_before: &[String]) -> Vec<String> {
    let deadline = Instant::now() + GONE_WITHIN;
    loop {
        let mut left = leftovers::processes(site.folder(), &site.run);
        let attached = attached::attached(&site.run).unwrap_or_default();
        let is_new = |object: &String| !attached_before.contains(object);
        left.extend(attached.into_iter().filter(is_new));
        // The control group by which the keeper holds processes.
        let held = leftovers::cgroups_named(&format!("windage-{}", site.run));
        left.extend(held.iter().map(|group| group.display().to_string()));
        let temporary = fs::read_dir(site.temporary()).into_iter().flatten();
        left.extend(
            temporary
                .flatten()
                .map(|file| file.path().display().to_string()),
        );
        if left.is_empty() {
            return left;
        }
        if Instant::now() > deadline {
            return left
                .into_iter()
                .map(|what| format!("left: {what}"))
                .collect();
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The control groups of the arms of a run.
pub(super) fn groups_of(windage: u32) -> Vec<String> {
    let groups = leftovers::cgroups_of(windage).into_iter();
    groups.map(|group| group.display().to_string()).collect()
}

/// Waits until the control groups of a run are removed; returns those that stay.
fn left_groups(windage: u32) -> Vec<String> {
    let deadline = Instant::now() + GONE_WITHIN;
    while !groups_of(windage).is_empty() && Instant::now() < deadline {
        std::thread::sleep(LOOK_EVERY);
    }
    let left = groups_of(windage).into_iter();
    left.map(|group| format!("left: {group}")).collect()
}

/// The files of the run directory that were being written, and those that have no business there.
fn files(site: &Site) -> (Vec<PathBuf>, Vec<String>) {
    let files = fs::read_dir(site.directory())
        .into_iter()
        .flatten()
        .flatten();
    let is_known = |path: &PathBuf| FILES.iter().any(|name| path.ends_with(name));
    let others = files.map(|file| file.path()).filter(|path| !is_known(path));
    let is_part = |path: &PathBuf| path.extension().is_some_and(|end| end == "part");
    let (parts, strange): (Vec<_>, Vec<_>) = others.partition(is_part);
    let strange = strange
        .iter()
        .map(|path| format!("strange: {}", path.display()));
    (parts, strange.collect())
}

/// Whether `windage report` reports all that is committed, or says that there is nothing.
fn report_faults(site: &Site, kept: Option<&Kept>) -> Result<Vec<String>> {
    let ended = site.start(&["report", &site.run, "--json"])?.end()?;
    let Some(kept) = kept else {
        let is_clear = ended.status.code() == Some(2) && ended.stderr.contains(&site.run);
        let (status, stderr) = (ended.status, ended.stderr);
        let fault = format!("report without a manifest ended with {status}: {stderr}");
        return Ok((!is_clear).then_some(fault).into_iter().collect());
    };
    let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let design = &report["design"];
    let count = |of: &Value| of["blocks"].as_u64().unwrap_or_default();
    let blocks = count(design) + count(&design["turns"]);
    let is_whole = ended.status.code() == Some(0) && blocks == u64::from(kept.blocks());
    let (status, committed, stderr) = (ended.status, kept.blocks(), ended.stderr);
    let fault =
        format!("report ended with {status}, {blocks} of {committed} committed blocks: {stderr}");
    Ok((!is_whole).then_some(fault).into_iter().collect())
}
