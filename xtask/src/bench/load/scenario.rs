//! What the contenders are put through.

use super::contender::Contender;
use super::origin::Origin;

/// One comparison: the same task for several contenders, against the same origin.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) origin: Origin,
    pub(super) connections: u32,
    /// `None` for a closed loop.
    pub(super) rate_per_s: Option<u32>,
    pub(super) contenders: &'static [Contender],
    /// Whether h2load logs each request, which costs it CPU: only where CPU is not asked for.
    pub(super) needs_percentiles: bool,
    /// A run is never shorter.
    pub(super) at_least_s: u32,
}

const CONSTANT: Origin = Origin::Constant { service_ms: 1 };

const STALL: Origin = Origin::Stall {
    service_ms: 1,
    every_ms: 2000,
    for_ms: 200,
};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "closed",
        meaning: "closed loop on 8 connections; the origin is at its ceiling",
        origin: Origin::Nginx,
        connections: 8,
        rate_per_s: None,
        contenders: &[
            Contender::Windage,
            Contender::Wrk,
            Contender::H2load,
            Contender::Oha,
            Contender::Floor,
        ],
        needs_percentiles: false,
        at_least_s: 1,
    },
    open("open-10000", "open loop, 10,000/s on 8 connections", 10_000),
    open("open-2000", "open loop, 2,000/s on 8 connections", 2000),
    Scenario {
        name: "constant",
        meaning: "1,000/s on 8 connections at a server that answers each request after 1 ms",
        origin: CONSTANT,
        connections: 8,
        rate_per_s: Some(1000),
        contenders: &[Contender::Windage, Contender::H2load, Contender::Oha],
        needs_percentiles: true,
        at_least_s: 1,
    },
    Scenario {
        name: "stall",
        meaning: "1,000/s on 8 connections at a server that stalls for 200 ms every 2 s; \
                  each run begins just after a stall",
        origin: STALL,
        connections: 8,
        rate_per_s: Some(1000),
        contenders: &[
            Contender::Windage,
            Contender::H2load,
            Contender::Oha,
            Contender::OhaCorrected,
        ],
        needs_percentiles: true,
        // Five whole periods, so that no stall is cut.
        at_least_s: 10,
    },
    Scenario {
        name: "memory",
        meaning: "closed loop on 8 connections, for peak memory",
        origin: Origin::Nginx,
        connections: 8,
        rate_per_s: None,
        contenders: &[Contender::Windage, Contender::Wrk, Contender::Oha],
        needs_percentiles: false,
        at_least_s: 1,
    },
    Scenario {
        name: "memory-10000",
        meaning: "closed loop on 10,000 connections, for peak memory",
        origin: Origin::Nginx,
        connections: 10_000,
        rate_per_s: None,
        contenders: &[Contender::Windage],
        needs_percentiles: false,
        at_least_s: 1,
    },
];

const fn open(name: &'static str, meaning: &'static str, rate_per_s: u32) -> Scenario {
    Scenario {
        name,
        meaning,
        origin: Origin::Nginx,
        connections: 8,
        rate_per_s: Some(rate_per_s),
        contenders: &[
            Contender::Windage,
            Contender::WindageBursts,
            Contender::H2load,
            Contender::Oha,
        ],
        needs_percentiles: false,
        at_least_s: 1,
    }
}

impl Scenario {
    /// How long each contender is asked to run, where `wanted_s` is what the user wants. At a
    /// stalling server it is a whole number of its periods.
    pub(super) fn lasts_s(&self, wanted_s: u32) -> u32 {
        let lasts_s = wanted_s.max(self.at_least_s);
        match self.origin {
            Origin::Stall { every_ms, .. } => lasts_s.next_multiple_of(every_ms.div_ceil(1000)),
            _ => lasts_s,
        }
    }

    /// The contenders in the order of a round: each stands first in its turn.
    pub(super) fn order(&self, round: u32) -> Vec<Contender> {
        let mut order = self.contenders.to_vec();
        order.rotate_left(round as usize % self.contenders.len());
        order
    }
}

/// The scenario of this name.
pub(super) fn by_name(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contender_stands_at_each_place_as_often() {
        for scenario in SCENARIOS {
            let count = scenario.contenders.len();
            for place in 0..count {
                for &contender in scenario.contenders {
                    let times = (0..2 * count)
                        .filter(|&round| scenario.order(round as u32)[place] == contender)
                        .count();
                    assert_eq!(times, 2, "{} {contender:?} at {place}", scenario.name);
                }
            }
        }
    }

    #[test]
    fn a_stalling_server_is_asked_for_whole_periods() {
        let stall = by_name("stall").unwrap();
        for (wanted_s, lasts_s) in [(1, 10), (10, 10), (11, 12), (15, 16)] {
            assert_eq!(stall.lasts_s(wanted_s), lasts_s, "{wanted_s}");
        }
        assert_eq!(by_name("closed").unwrap().lasts_s(5), 5);
    }

    #[test]
    fn every_scenario_has_windage_and_a_name_of_its_own() {
        for (i, scenario) in SCENARIOS.iter().enumerate() {
            assert!(scenario.contenders.contains(&Contender::Windage));
            assert!(
                SCENARIOS[..i]
                    .iter()
                    .all(|other| other.name != scenario.name)
            );
        }
    }
}
