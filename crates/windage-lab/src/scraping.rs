//! Metrics that are scraped while services and agents run, as a part of what an arm does.

use std::time::Duration;

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use windage_model::{ArmIndex, Warning};
use windage_plan::{Arm, Plan, Service};
use windage_record::{Delivered, DeliveredByProtocol};
use windage_sink::{Reach, ScrapeTarget, Scraper, Scrapes};

use crate::LabError;
use crate::process_set::Instance;
use crate::receiving::Receiving;

/// How what was scraped is called among the protocols by which telemetry arrives.
const PROTOCOL: &str = "prometheus";

/// Services and agents that are scraped, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Scraping(Vec<(Scraped, Scraper)>);

/// What was scraped of a service or agent.
#[derive(Debug)]
pub(crate) struct Scraped {
    /// `None` where several arms share the processes: then it counts for none.
    pub(crate) arm: Option<ArmIndex>,
    /// The arm's id, for people.
    of: String,
    service: String,
    scrapes: Scrapes,
}

impl Scraping {
    /// Starts to scrape the services of all instances that their arms name.
    pub(crate) fn of(
        plan: &Plan,
        receiving: Option<&Receiving>,
        instances: &[Instance],
        phases: &mut ChaCha8Rng,
    ) -> Result<Scraping, LabError> {
        let mut scraping = Scraping::default();
        for instance in instances.iter().filter(|of| of.death.is_none()) {
            let Some(first) = instance.arms.first() else {
                continue;
            };
            let alone = (instance.arms.len() == 1).then_some(*first);
            let arm = (&plan.arms[first.get()], alone);
            scraping.start(arm, receiving, instance, plan.services.iter(), phases)?;
        }
        Ok(scraping)
    }

    /// The same for the agents of an arm, which were attached.
    pub(crate) fn of_agents(
        plan: &Plan,
        receiving: Option<&Receiving>,
        arm: ArmIndex,
        agents: &Instance,
        phases: &mut ChaCha8Rng,
    ) -> Result<Scraping, LabError> {
        let services = plan.agents.iter().map(|agent| &agent.service);
        let arm = (&plan.arms[arm.get()], Some(arm));
        let mut scraping = Scraping::default();
        scraping.start(arm, receiving, agents, services, phases)?;
        Ok(scraping)
    }

    fn start<'a>(
        &mut self,
        (arm, index): (&Arm, Option<ArmIndex>),
        receiving: Option<&Receiving>,
        instance: &Instance,
        services: impl Iterator<Item = &'a Service>,
        phases: &mut ChaCha8Rng,
    ) -> Result<(), LabError> {
        for service in services {
            let Some((every, receiving)) = arm.scrape.get(&service.name).zip(receiving) else {
                continue;
            };
            let Some(target) = target(service, instance, *every, Vec::new())? else {
                continue;
            };
            let scraped = Scraped {
                arm: index,
                of: arm.id.to_string(),
                service: service.name.to_string(),
                scrapes: Scrapes::default(),
            };
            let after = every.mul_f64(phases.random_range(0.0..1.0));
            self.0.push((scraped, receiving.scrape(target, after)));
        }
        Ok(())
    }

    /// Ends it, and returns what was scraped.
    pub(crate) fn end(self) -> impl Iterator<Item = Scraped> {
        let found = |(of, scraper): (Scraped, Scraper)| Scraped {
            scrapes: scraper.so_far(),
            ..of
        };
        self.0.into_iter().map(found)
    }
}

impl Scraped {
    /// Adds it to what was scraped before, of the same agent when it was attached earlier.
    pub(crate) fn join(self, before: &mut Vec<Scraped>) {
        let same = |of: &&mut Scraped| of.arm == self.arm && of.service == self.service;
        let Some(known) = before.iter_mut().find(same) else {
            before.push(self);
            return;
        };
        let (sum, more) = (&mut known.scrapes, self.scrapes);
        sum.scrapes += more.scrapes;
        sum.failures += more.failures;
        sum.points += more.points;
        sum.wire_bytes += more.wire_bytes;
        sum.bytes += more.bytes;
        sum.last_failure = more.last_failure.or(sum.last_failure.take());
    }

    /// Adds it to what its arm delivered. Exports and their bytes are counted apart: those of scrapes come
    /// by time, whatever is requested.
    pub(crate) fn add_to(&self, delivered: &mut Delivered) {
        let of = DeliveredByProtocol {
            protocol: PROTOCOL.to_owned(),
            export_requests: self.scrapes.scrapes,
            metric_points: self.scrapes.points,
            wire_bytes: self.scrapes.wire_bytes,
            body_bytes: self.scrapes.bytes,
            ..DeliveredByProtocol::default()
        };
        delivered.metric_points += of.metric_points;
        let mut protocols = delivered.by_protocol.iter_mut();
        match protocols.find(|known| known.protocol == PROTOCOL) {
            Some(known) => known.add(&of),
            None if of.export_requests > 0 => delivered.by_protocol.push(of),
            None => {}
        }
    }

    /// The warning about scrapes that failed.
    pub(crate) fn failed(&self) -> Option<Warning> {
        let scrapes = &self.scrapes;
        Some(Warning::ScrapesFailed {
            arm: self.of.clone(),
            service: self.service.clone(),
            failed: scrapes.failures,
            scrapes: scrapes.failures + scrapes.scrapes,
            reason: scrapes.last_failure.clone()?,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn scraped(arm: Option<u16>, answers: u64, failure: Option<&str>) -> Scraped {
        Scraped {
            arm: arm.map(ArmIndex),
            of: "otel".to_owned(),
            service: "app".to_owned(),
            scrapes: Scrapes {
                scrapes: answers,
                failures: u64::from(failure.is_some()),
                last_failure: failure.map(str::to_owned),
                points: 10 * answers,
                wire_bytes: 100 * answers,
                bytes: 300 * answers,
                ..Scrapes::default()
            },
        }
    }

    fn failed(of: &Scraped) -> Option<(u64, u64, String)> {
        match of.failed()? {
            Warning::ScrapesFailed {
                failed,
                scrapes,
                reason,
                ..
            } => Some((failed, scrapes, reason)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn attachments_are_one() {
        let mut all = Vec::new();
        for of in [
            scraped(Some(2), 3, Some("refused")),
            scraped(Some(2), 4, None),
            scraped(Some(3), 1, None),
        ] {
            of.join(&mut all);
        }
        let [first, other] = all.as_slice() else {
            panic!("{all:?}")
        };
        assert_eq!(failed(first), Some((1, 8, "refused".to_owned())));
        assert_eq!(failed(other), None);
        let mut delivered = Delivered {
            metric_points: 5,
            ..Delivered::default()
        };
        first.add_to(&mut delivered);
        first.add_to(&mut delivered);
        let [of] = delivered.by_protocol.as_slice() else {
            panic!("{delivered:?}")
        };
        assert_eq!((of.export_requests, of.metric_points), (14, 140));
        assert_eq!((of.wire_bytes, of.body_bytes), (1_400, 4_200));
        let exports = (delivered.export_requests, delivered.wire_bytes);
        assert_eq!((delivered.metric_points, exports), (145, (0, 0)));
    }

    #[test]
    fn what_fails_in_vain_is_said_and_is_no_telemetry() {
        let of = scraped(None, 0, Some("status 404"));
        assert_eq!(failed(&of), Some((1, 1, "status 404".to_owned())));
        let mut delivered = Delivered::default();
        of.add_to(&mut delivered);
        assert_eq!(delivered, Delivered::default());
    }
}
