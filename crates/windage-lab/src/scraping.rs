//! Metrics that are scraped while services and agents run, as a part of what an arm does.

use std::time::Duration;

use windage_model::{ArmIndex, Warning};
use windage_plan::{Arm, Plan, Service};
use windage_record::{Delivered, DeliveredByProtocol};
use windage_sink::{Reach, ScrapeTarget, Scraper, Scrapes};

use crate::LabError;
use crate::process_set::Instance;
use crate::receiving::Receiving;

/// How what was scraped is called among the protocols by which telemetry arrives.
const PROTOCOL: &str = "prometheus";

/// Services that are scraped. They are until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Scraping {
    scraped: Vec<Scraped>,
}

/// A service or agent.
#[derive(Debug)]
struct Scraped {
    /// `None` where several arms share the processes.
    arm: Option<ArmIndex>,
    /// The arm's id, for people.
    of: String,
    service: String,
    scraper: Scraper,
}

impl Scraping {
    /// Starts to scrape the services of all instances that their arms name.
    pub(crate) fn of(
        plan: &Plan,
        receiving: Option<&Receiving>,
        instances: &[Instance],
    ) -> Result<Scraping, LabError> {
        let mut scraping = Scraping::default();
        for instance in instances {
            if let Some(first) = instance.arms.first() {
                let arm = &plan.arms[first.get()];
                scraping.start(arm, receiving, instance, plan.services.iter())?;
            }
        }
        Ok(scraping)
    }

    /// The same for the agents of an arm, which were attached.
    pub(crate) fn of_agents(
        plan: &Plan,
        receiving: Option<&Receiving>,
        arm: ArmIndex,
        agents: &Instance,
    ) -> Result<Scraping, LabError> {
        let services = plan.agents.iter().map(|agent| &agent.service);
        let mut scraping = Scraping::default();
        scraping.start(&plan.arms[arm.get()], receiving, agents, services)?;
        for scraped in &mut scraping.scraped {
            scraped.arm = Some(arm);
        }
        Ok(scraping)
    }

    fn start<'a>(
        &mut self,
        arm: &Arm,
        receiving: Option<&Receiving>,
        instance: &Instance,
        services: impl Iterator<Item = &'a Service>,
    ) -> Result<(), LabError> {
        // What several arms share is scraped for all of them, and so counts for none.
        let alone = match instance.arms[..] {
            [alone] => Some(alone),
            _ => None,
        };
        for service in services {
            let every = arm.scrape.get(&service.name);
            let target =
                every.and_then(|every| target(service, instance, *every, Vec::new()).transpose());
            let Some((target, receiving)) = target.transpose()?.zip(receiving) else {
                continue;
            };
            self.scraped.push(Scraped {
                arm: alone,
                of: arm.id.to_string(),
                service: service.name.to_string(),
                scraper: receiving.scrape(target),
            });
        }
        Ok(())
    }

    /// What was scraped for an arm, and what to say of scrapes that failed.
    pub(crate) fn of_arm(&self, arm: ArmIndex) -> Vec<(Scrapes, Option<Warning>)> {
        let own = self.scraped.iter().filter(|of| of.arm == Some(arm));
        own.map(Scraped::found).collect()
    }
}

impl Scraped {
    fn found(&self) -> (Scrapes, Option<Warning>) {
        let scrapes = self.scraper.so_far();
        let failed = (scrapes.failures > 0).then(|| Warning::ScrapesFailed {
            arm: self.of.clone(),
            service: self.service.clone(),
            failed: scrapes.failures,
            scrapes: scrapes.failures + scrapes.scrapes,
            reason: scrapes.last_failure.clone().unwrap_or_default(),
        });
        (scrapes, failed)
    }
}

/// Adds what was scraped to what an arm delivered.
pub(crate) fn add(delivered: &mut Delivered, scrapes: &Scrapes) {
    delivered.export_requests += scrapes.scrapes;
    delivered.metric_points += scrapes.points;
    delivered.wire_bytes += scrapes.wire_bytes;
    delivered.body_bytes += scrapes.bytes;
    let protocols = &mut delivered.by_protocol;
    let known = protocols.iter().position(|of| of.protocol == PROTOCOL);
    let at = known.unwrap_or_else(|| {
        protocols.push(DeliveredByProtocol {
            protocol: PROTOCOL.to_owned(),
            ..DeliveredByProtocol::default()
        });
        protocols.len() - 1
    });
    let of = &mut protocols[at];
    of.export_requests += scrapes.scrapes;
    of.metric_points += scrapes.points;
    of.wire_bytes += scrapes.wire_bytes;
    of.body_bytes += scrapes.bytes;
}

/// Where a service has its metrics; `None` for one without any.
pub(crate) fn target(
    service: &Service,
    instance: &Instance,
    every: Duration,
    select: Vec<String>,
) -> Result<Option<ScrapeTarget>, LabError> {
    let Some(template) = &service.metrics else {
        return Ok(None);
    };
    let name = service.name.as_str();
    let url = instance.names.fill(template, name, &instance.name)?;
    let target = ScrapeTarget::new(&url, every, select, Reach::Loopback);
    target
        .map(Some)
        .map_err(|error| LabError::Unsupported(format!("`metrics` of `{name}`: {error}")))
}
