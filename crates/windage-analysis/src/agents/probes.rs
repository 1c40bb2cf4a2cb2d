//! The kernel's side of agents: the cost that its run-time statistics count of BPF programs, and
//! bounds for the cost that they do not count, from what the service pays.

use std::collections::BTreeMap;

use windage_model::{Interval, Method};
use windage_stats::ratio as fieller;

use super::cycles::{difference_of_ratios, ratio};
use super::metrics::{
    Attachment, Figure, bpf, bpf_ns_per_request, bpf_runs_per_request, by_launch,
};
use super::{BpfUse, OverCycles, ProbeAccount, ProgramUse};
use crate::compare::Rules;
use crate::sums::Quotient;
use crate::{MetricAnalysis, Missing};

/// BPF programs, links and maps of these attachments; `None` when programs could not be listed.
pub(super) fn bpf_use(attached: &[Attachment<'_>], rules: Rules) -> Option<BpfUse> {
    let cycles = || attached.iter().map(|of| of.cycle);
    let is_listed = cycles().any(|cycle| cycle.programs.is_some());
    let parts = |figure: Figure| by_launch(attached, figure);
    let of = |figure: Figure| ratio(&parts(figure), rules);
    let with = parts(|of| statistics_cost(of).map(|(with, _)| with));
    let without = parts(|of| statistics_cost(of).map(|(_, without)| without));
    is_listed.then(|| BpfUse {
        programs: programs(attached),
        links: cycles().map(|cycle| cycle.links).max().unwrap_or(0),
        memory_bytes: cycles()
            .map(|cycle| cycle.bpf_memory_bytes)
            .max()
            .unwrap_or(0),
        events_per_request: of(bpf_runs_per_request),
        ns_per_event: of(|of| bpf(of.cycle).map(|(_, runs, run_ns)| (run_ns as f64, runs as f64))),
        ns_per_request: of(bpf_ns_per_request),
        statistics_cost_us_per_request: difference_of_ratios(&with, &without, rules),
    })
}

/// CPU of the service and requests, with statistics and without.
fn statistics_cost(of: &Attachment<'_>) -> Option<(Quotient, Quotient)> {
    let of = of.cycle.statistics?;
    let with = (of.cpu_ns? as f64 / 1e3, of.requests as f64);
    let without = (of.cpu_without_ns? as f64 / 1e3, of.requests_without as f64);
    Some((with, without))
}

#[derive(Default)]
struct Tally {
    at_once: usize,
    runs: f64,
    run_ns: f64,
}

/// Programs grouped by name and kind, those with the most time first.
fn programs(attached: &[Attachment<'_>]) -> Vec<ProgramUse> {
    let mut tallies: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
    for Attachment { cycle, .. } in attached {
        let mut at_once: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for program in cycle.programs.iter().flatten() {
            let key = (program.name.as_str(), program.kind.as_str());
            *at_once.entry(key).or_default() += 1;
            let tally = tallies.entry(key).or_default();
            if cycle.statistics.is_some() {
                tally.runs += program.runs as f64;
                tally.run_ns += program.run_ns as f64;
            }
        }
        for (key, count) in at_once {
            let tally = tallies.entry(key).or_default();
            tally.at_once = tally.at_once.max(count);
        }
    }
    let counted = attached.iter().filter_map(|of| bpf(of.cycle));
    let requests: f64 = counted.map(|(of, ..)| of.requests as f64).sum();
    let per = |of: f64, what: f64| (what > 0.0).then(|| of / what);
    let mut programs: Vec<ProgramUse> = tallies
        .into_iter()
        .map(|((name, kind), tally)| ProgramUse {
            name: name.to_owned(),
            kind: kind.to_owned(),
            count: tally.at_once,
            runs_per_request: per(tally.runs, requests),
            ns_per_run: per(tally.run_ns, tally.runs),
            ns_per_request: per(tally.run_ns, requests),
        })
        .collect();
    // Ties stay in order of name.
    programs.sort_by(|a, b| {
        let ns = |of: &ProgramUse| of.ns_per_request.unwrap_or(0.0);
        ns(b).total_cmp(&ns(a))
    });
    programs
}

/// The service's overhead compared with the statistics of these attachments; `None` without either.
pub(super) fn account(
    bpf: &BpfUse,
    cpu: &MetricAnalysis,
    attached: &[Attachment<'_>],
) -> Option<ProbeAccount> {
    let service = cpu.difference.as_ref().ok()?.absolute;
    let bpf_us = scaled(bpf.ns_per_request.as_ref()?, 1e-3);
    let events = bpf.events_per_request.as_ref()?;
    let own_cost = bpf.statistics_cost_us_per_request.as_ref();
    let at_least = own_cost.map(|cost| without_own_cost(&bpf_us, cost));
    Some(ProbeAccount {
        outside_bpf_us_per_request: less(&service, &bpf_us),
        outside_bpf_at_most_us_per_request: at_least.map(|seen| less(&service, &seen)),
        service_ns_per_event: per_event(&service, events, do_runs_differ(attached)),
        bpf_us_per_request: bpf_us,
        service_us_per_request: service,
    })
}

/// Time in programs if the whole cost of the statistics lay within it; at most all of it did.
fn without_own_cost(bpf_us: &OverCycles, cost: &OverCycles) -> OverCycles {
    let estimate = (bpf_us.estimate - cost.estimate.max(0.0)).max(0.0);
    let half = half_width(bpf_us).hypot(half_width(cost));
    let interval = bpf_us.interval.as_ref().filter(|_| cost.interval.is_some());
    OverCycles {
        estimate,
        interval: interval.map(|of| Interval {
            estimate,
            low: estimate - half,
            high: estimate + half,
            ..*of
        }),
    }
}

/// Whether runs per request differ between attachments.
fn do_runs_differ(attached: &[Attachment<'_>]) -> bool {
    let runs = attached.iter().filter_map(bpf_runs_per_request);
    let ratios: Vec<f64> = runs.map(|(runs, requests)| runs / requests).collect();
    ratios.windows(2).any(|of| of[0] != of[1])
}

/// An interval less a figure: the distances of the ends from their estimates are added in
/// quadrature (Zou & Donner 2008), as for independent estimates; these come from different
/// stretches of load.
fn less(of: &Interval, figure: &OverCycles) -> Interval {
    let half = half_width(figure);
    let estimate = of.estimate - figure.estimate;
    Interval {
        estimate,
        low: estimate - (of.estimate - of.low).hypot(half),
        high: estimate + (of.high - of.estimate).hypot(half),
        confidence: of.confidence,
        method: figure
            .interval
            .as_ref()
            .map_or(Method::OneError, |_| Method::Quadrature),
    }
}

/// CPU of the service in nanoseconds per run of a program.
fn per_event(
    service: &Interval,
    events: &OverCycles,
    do_runs_differ: bool,
) -> Result<Interval, Missing> {
    if events.estimate <= 0.0 {
        return Err(Missing::NoEvents);
    }
    let is_error_known = events.interval.is_some();
    if !is_error_known && do_runs_differ {
        return Err(Missing::FewAttachments);
    }
    let numerator = (service.estimate, service.low, service.high);
    let denominator = (events.estimate, half_width(events));
    let (low, high) = fieller(numerator, denominator).ok_or(Missing::UnboundedPerRun)?;
    let ns = |us: f64| us * 1e3;
    Ok(Interval {
        estimate: ns(service.estimate / events.estimate),
        low: ns(low),
        high: ns(high),
        confidence: service.confidence,
        method: if is_error_known {
            Method::Fieller
        } else {
            Method::OneError
        },
    })
}

fn half_width(figure: &OverCycles) -> f64 {
    let interval = figure.interval.as_ref();
    interval.map_or(0.0, Interval::half_width)
}

fn scaled(figure: &OverCycles, factor: f64) -> OverCycles {
    OverCycles {
        estimate: figure.estimate * factor,
        interval: figure
            .interval
            .as_ref()
            .map(|interval| interval.map(|value| value * factor)),
    }
}
