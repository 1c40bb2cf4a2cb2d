//! The scenarios of the study.

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
    pub(super) contenders: &'static [&'static str],
    /// Whether h2load logs each request, which costs CPU: only in scenarios that do not compare
    /// CPU.
    pub(super) needs_percentiles: bool,
    /// The shortest run.
    at_least_s: u32,
}

/// A closed loop against nginx.
const CLOSED: Scenario = Scenario {
    name: "closed",
    meaning: "closed loop on 8 connections; the origin is saturated",
    origin: Origin::Nginx,
    connections: 8,
    rate_per_s: None,
    contenders: &["windage", "wrk", "h2load", "oha", "floor"],
    needs_percentiles: false,
    at_least_s: 1,
};

pub(super) const SCENARIOS: &[Scenario] = &[
    CLOSED,
    open("open-10000", "open loop, 10,000/s on 8 connections", 10_000),
    open("open-2000", "open loop, 2,000/s on 8 connections", 2000),
    Scenario {
        name: "constant",
        meaning: "1,000/s on 8 connections to a server that answers each request after 1 ms",
        origin: Origin::Truth("constant --service 1ms"),
        rate_per_s: Some(1000),
        contenders: &["windage", "h2load", "oha"],
        needs_percentiles: true,
        ..CLOSED
    },
    Scenario {
        name: "stall",
        meaning: "1,000/s on 8 connections to a server that stalls for 200 ms every 2 s; \
                  each run begins just after a stall",
        origin: Origin::Truth("stall --every 2000ms --for 200ms --service 1ms"),
        rate_per_s: Some(1000),
        contenders: &["windage", "h2load", "oha", "oha-corrected"],
        needs_percentiles: true,
        // Five complete periods, so that no stall is cut.
        at_least_s: 10,
        ..CLOSED
    },
    Scenario {
        name: "memory",
        meaning: "closed loop on 8 connections, for peak memory",
        contenders: &["windage", "wrk", "oha"],
        ..CLOSED
    },
    Scenario {
        name: "memory-10000",
        meaning: "closed loop on 10,000 connections, for peak memory",
        connections: 10_000,
        contenders: &["windage"],
        ..CLOSED
    },
];

const fn open(name: &'static str, meaning: &'static str, rate_per_s: u32) -> Scenario {
    Scenario {
        name,
        meaning,
        rate_per_s: Some(rate_per_s),
        contenders: &["windage", "windage-bursts", "h2load", "oha"],
        ..CLOSED
    }
}

impl Scenario {
    /// How long each contender runs if the user asks for `wanted_s`. With a stalling server it is a
    /// multiple of the period of 2 s.
    pub(super) fn lasts_s(&self, wanted_s: u32) -> u32 {
        let lasts_s = wanted_s.max(self.at_least_s);
        match self.name {
            "stall" => lasts_s.next_multiple_of(2),
            _ => lasts_s,
        }
    }
}

/// The scenario of this name.
pub(super) fn by_name(name: &str) -> &'static Scenario {
    let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
    found.expect("scenarios are named by the table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_a_stalling_server_last_whole_periods() {
        for (wanted_s, lasts_s) in [(1, 10), (10, 10), (11, 12), (15, 16)] {
            assert_eq!(by_name("stall").lasts_s(wanted_s), lasts_s, "{wanted_s}");
        }
        assert_eq!(by_name("closed").lasts_s(5), 5);
    }

    #[test]
    fn every_scenario_has_windage_and_a_unique_name() {
        for (i, scenario) in SCENARIOS.iter().enumerate() {
            assert!(scenario.contenders.contains(&"windage"));
            assert!(
                SCENARIOS[..i]
                    .iter()
                    .all(|other| other.name != scenario.name)
            );
        }
    }
}
