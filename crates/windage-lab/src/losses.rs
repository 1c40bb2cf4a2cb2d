//! Self-reported losses: what services say they dropped, in lines of their logs or in counters
//! among their metrics.

mod log;

use std::io::{BufReader, Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use regex_lite::Regex;
use windage_model::{ArmIndex, Event};
use windage_plan::{Arm, Plan, Service, ToldBy};
use windage_record::{Drops, RunDir};
use windage_sink::{ScrapeTarget, Scrapes, scrape_once};

use crate::LabError;
use crate::process_set::Instance;
use crate::scraping::target;

/// A target is scraped only on request, so this interval has no effect.
const ONCE: Duration = Duration::from_secs(1);

/// The services of one launch that report losses. Where arms share processes, nothing shows which
/// arm lost data, so such sets are left out.
#[derive(Debug, Default)]
pub(crate) struct Losses<'a> {
    asked: Vec<Asked<'a>>,
}

/// A service of one arm.
#[derive(Debug)]
struct Asked<'a> {
    arm: ArmIndex,
    /// The arm's id, for people.
    of: String,
    service: &'a Service,
    log: PathBuf,
    metrics: Option<Metrics>,
    /// The plan expects telemetry of other arms but none of this one. A service that sends none may
    /// not even have a counter for its losses.
    sends_nothing: bool,
}

#[derive(Debug)]
struct Metrics {
    target: ScrapeTarget,
    scrapes: Mutex<Scrapes>,
}

impl<'a> Losses<'a> {
    /// The services to read, once all are running.
    pub(crate) fn of(
        plan: &'a Plan,
        run: &RunDir,
        launch: u32,
        instances: &[Instance],
    ) -> Result<Losses<'a>, LabError> {
        let mut losses = Losses::default();
        for instance in instances {
            let [arm] = instance.arms[..] else { continue };
            losses.ask(plan, run, launch, (arm, instance), plan.services.iter())?;
        }
        Ok(losses)
    }

    /// The same for the agents of an arm, which were attached again.
    pub(crate) fn of_agents(
        plan: &'a Plan,
        run: &RunDir,
        launch: u32,
        arm: ArmIndex,
        agents: &Instance,
    ) -> Result<Losses<'a>, LabError> {
        let up = |service: &&Service| {
            agents
                .services
                .iter()
                .any(|s| s.name == service.name.as_str())
        };
        let services = plan.agents.iter().map(|agent| &agent.service);
        let mut losses = Losses::default();
        losses.ask(plan, run, launch, (arm, agents), services.filter(up))?;
        Ok(losses)
    }

    /// Adds the services of an arm that report losses.
    fn ask(
        &mut self,
        plan: &Plan,
        run: &RunDir,
        launch: u32,
        (arm, instance): (ArmIndex, &Instance),
        services: impl Iterator<Item = &'a Service>,
    ) -> Result<(), LabError> {
        for service in services.filter(|s| !s.drops.is_empty()) {
            self.asked.push(Asked {
                arm,
                of: instance.name.clone(),
                service,
                log: run.log_path(launch, &instance.name, service.name.as_str()),
                metrics: metrics(service, instance)?,
                sends_nothing: sends_nothing(plan, arm),
            });
        }
        Ok(())
    }

    /// Reads all counters: once when everything is running, once before everything is ended.
    pub(crate) fn scrape(&self) -> Result<(), LabError> {
        let mut metrics = self
            .asked
            .iter()
            .filter_map(|a| a.metrics.as_ref())
            .peekable();
        if metrics.peek().is_none() {
            return Ok(());
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| LabError::Unsupported(format!("can't scrape metrics: {error}")))?;
        for Metrics { target, scrapes } in metrics {
            runtime.block_on(scrape_once(target, scrapes));
        }
        Ok(())
    }

    /// The losses of an arm, after its services have ended. What can't be read is reported.
    pub(crate) fn lost(
        &self,
        arm: ArmIndex,
        is_over: &dyn Fn() -> bool,
        emit: &dyn Fn(Event),
    ) -> Lost {
        let mut lost = Lost::default();
        for asked in self.asked.iter().filter(|asked| asked.arm == arm) {
            for (reason, read) in asked.read(is_over) {
                let read = read.map_err(|why| asked.tell(&reason, &why, emit)).ok();
                lost.add(&reason, read);
            }
        }
        lost
    }
}

/// Losses by reason; `None` for a reason of which any part could not be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lost(Vec<(String, Option<u64>)>);

impl Lost {
    fn add(&mut self, reason: &str, read: Option<u64>) {
        match self.0.iter_mut().find(|(known, _)| known == reason) {
            Some((_, sum)) => *sum = sum.zip(read).map(|(sum, more)| sum.saturating_add(more)),
            None => self.0.push((reason.to_owned(), read)),
        }
    }

    /// Adds further losses.
    pub(crate) fn add_all(&mut self, more: &Lost) {
        for (reason, read) in &more.0 {
            self.add(reason, *read);
        }
    }

    /// The reasons whose losses are fully known.
    pub(crate) fn known(self) -> Vec<Drops> {
        let known = self.0.into_iter();
        known
            .filter_map(|(reason, lost)| lost.map(|lost| Drops { reason, lost }))
            .collect()
    }
}

/// Whether the plan expects telemetry of other arms but none of this one.
fn sends_nothing(plan: &Plan, arm: ArmIndex) -> bool {
    let expects = |arm: &Arm| arm.expect.is_some();
    plan.arms.iter().any(expects) && !expects(&plan.arms[arm.get()])
}

fn metrics(service: &Service, instance: &Instance) -> Result<Option<Metrics>, LabError> {
    let counter = |told_by: &ToldBy| match told_by {
        ToldBy::Metric { name } => Some(name.clone()),
        ToldBy::Log { .. } => None,
    };
    let select = service.drops.iter().filter_map(|d| counter(&d.told_by));
    let target = target(service, instance, ONCE, select.collect())?;
    Ok(target.map(|target| Metrics {
        target,
        scrapes: Mutex::default(),
    }))
}

impl Asked<'_> {
    /// Each reason with its losses, or why they are unknown.
    fn read(&self, is_over: &dyn Fn() -> bool) -> Vec<(String, Result<u64, String>)> {
        let mut patterns = Vec::new();
        let mut read = Vec::new();
        for drops in &self.service.drops {
            match &drops.told_by {
                ToldBy::Log { pattern } => patterns.push((drops.reason.clone(), pattern)),
                ToldBy::Metric { name } => read.push((drops.reason.clone(), self.counted(name))),
            }
        }
        if !patterns.is_empty() {
            let (reasons, patterns): (Vec<String>, Vec<&String>) = patterns.into_iter().unzip();
            let lost = in_log(&self.log, &patterns, is_over);
            read.extend(reasons.into_iter().enumerate().map(|(index, reason)| {
                let lost = lost.as_ref().map(|lost| lost[index]);
                (reason, lost.map_err(ToString::to_string))
            }));
        }
        read
    }

    /// How much a counter grew from the first reading to the last.
    fn counted(&self, name: &str) -> Result<u64, String> {
        let Some(Metrics { target, scrapes }) = &self.metrics else {
            return Err("its metrics were not read".to_owned());
        };
        let scrapes = scrapes.lock().unwrap_or_else(PoisonError::into_inner);
        if scrapes.scrapes < 2 {
            let why = scrapes.last_failure.as_deref();
            return Err(why.unwrap_or("the launch ended early").to_owned());
        }
        let found = scrapes.selected.iter().find(|metric| metric.name == name);
        match found {
            // Counts stay far below 2^53, up to which they are exact.
            Some(metric) => Ok(metric.increase.round() as u64),
            None if self.sends_nothing => Ok(0),
            None => Err(format!("{} has no `{name}`", target.url())),
        }
    }

    fn tell(&self, reason: &str, why: &str, emit: &dyn Fn(Event)) {
        let (service, of) = (&self.service.name, &self.of);
        emit(Event::Note {
            text: format!("losses of `{service}` of {of} ({reason}) are unknown: {why}"),
        });
    }
}

/// The sum over the lines of a log, for each pattern.
fn in_log(
    path: &Path,
    patterns: &[&String],
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<u64>, Error> {
    let told = |error: Error| {
        let text = format!("{}: {error}", path.display());
        Error::new(error.kind(), text)
    };
    let patterns: Result<Vec<Regex>, _> = patterns.iter().map(|p| Regex::new(p)).collect();
    let patterns = patterns.map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
    let file = windage_files::open(path).map_err(told)?;
    log::lost(BufReader::new(file), &patterns, is_over).map_err(told)
}

#[cfg(test)]
mod tests;
