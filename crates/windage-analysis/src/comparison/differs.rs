//! Differences between two runs: machine, versions, design.

use std::collections::BTreeMap;

use serde_json::Value;
use windage_model::Until;

use super::{Pair, regime};
use crate::{Analysis, ArmAnalysis, Placed};

/// A fact that differs, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Its name.
    pub key: String,
    /// In A; `None` where absent.
    pub a: Option<String>,
    /// In B; `None` where absent.
    pub b: Option<String>,
}

/// Everything that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differs {
    /// Facts of the machine, without those that change by the minute.
    pub host: Vec<Differing>,
    /// Versions and other facts that programs report about themselves.
    pub versions: Vec<Differing>,
    /// How it was measured.
    pub design: Vec<Differing>,
}

/// Passing state of a host, and its calibration, which is not part of the machine.
const PASSING: [&str; 3] = ["load_average_1min", "cpu_mhz", "calibration"];

pub(super) fn differs(a: &Analysis, b: &Analysis, pairs: &[Pair<'_>]) -> Differs {
    let mut design = differing(run_facts(a), run_facts(b));
    let (cores_a, cores_b) = (cores(a), cores(b));
    // Older runs do not record their cores.
    if !cores_a.is_empty() && !cores_b.is_empty() {
        design.extend(differing(cores_a, cores_b));
    }
    for &(in_a, in_b) in pairs {
        let mut of_load = differing(design_facts(in_a), design_facts(in_b));
        if let Some(regime) = regime((in_a, in_b)).filter(|_| pairs.len() > 1) {
            of_load
                .iter_mut()
                .for_each(|of| of.key = format!("{regime}: {}", of.key));
        }
        design.extend(of_load);
    }
    Differs {
        host: differing(host_facts(a), host_facts(b)),
        versions: differing(versions(a), versions(b)),
        design,
    }
}

type Facts = Vec<(String, String)>;

/// Keys of either run, in A's order and then in B's, whose texts differ.
fn differing(a: Facts, b: Facts) -> Vec<Differing> {
    let mut in_b: BTreeMap<String, String> = b.iter().cloned().collect();
    let of_a = a.into_iter().map(|(key, text)| {
        let other = in_b.remove(&key);
        (key, Some(text), other)
    });
    let mut all: Vec<_> = of_a.collect();
    let left = b.into_iter().filter(|(key, _)| in_b.contains_key(key));
    all.extend(left.map(|(key, text)| (key, None, Some(text))));
    let differ = all.into_iter().filter(|(_, a, b)| a != b);
    differ.map(|(key, a, b)| Differing { key, a, b }).collect()
}

fn host_facts(of: &Analysis) -> Facts {
    let mut facts = Facts::new();
    let host = of.host.as_object().into_iter().flatten();
    for (key, value) in host.filter(|(key, _)| !PASSING.contains(&key.as_str())) {
        flatten(key, value, &mut facts);
    }
    facts
}

/// Nested facts become `outer.inner`.
fn flatten(key: &str, value: &Value, facts: &mut Facts) {
    if let Value::Object(inner) = value {
        for (name, value) in inner {
            flatten(&format!("{key}.{name}"), value, facts);
        }
    } else if let Some(text) = text(value) {
        facts.push((key.to_owned(), text));
    }
}

/// A fact as text, lists on one line; `None` for an empty one.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().filter_map(text).collect();
            Some(texts.join(", ")).filter(|text| !text.is_empty())
        }
        other => Some(other.to_string()),
    }
}

fn versions(of: &Analysis) -> Facts {
    let said = of.arms.iter().flat_map(|arm: &ArmAnalysis| {
        let said = arm.self_reported.iter();
        said.map(|(name, text)| (format!("{}: {name}", arm.id), text.clone()))
    });
    let versions = of.versions.iter();
    let versions = versions.map(|(name, text)| (name.clone(), text.clone()));
    versions.chain(said).collect()
}

/// Facts that hold under all loads.
fn run_facts(of: &Analysis) -> Facts {
    let levels = of.arms.iter().flat_map(|arm| {
        let levels = arm.levels.iter();
        levels.map(|(factor, level)| (format!("{}: {factor}", arm.id), level.to_string()))
    });
    let windage = ("windage".to_owned(), of.windage.clone());
    let baseline = super::baseline_id(of).map(|id| ("baseline".to_owned(), id.to_string()));
    std::iter::once(windage)
        .chain(baseline)
        .chain(levels)
        .collect()
}

/// Placement: the cores of each part.
fn cores(of: &Analysis) -> Facts {
    let of_part = |placed: &Placed| {
        let name = placed.part.name().map(|name| format!(" {name}"));
        let key = format!(
            "cores of {}{}",
            placed.part.kind(),
            name.unwrap_or_default()
        );
        let numbers = |cpus: &Vec<u32>| cpus.iter().map(u32::to_string).collect::<Vec<_>>();
        let cpus = placed.cpus.as_ref().map(|cpus| numbers(cpus).join(", "));
        (key, cpus.unwrap_or_else(|| "any".to_owned()))
    };
    of.design.placement.iter().map(of_part).collect()
}

fn design_facts(of: &Analysis) -> Facts {
    let design = &of.design;
    let seconds = |s: f64| format!("{s} s");
    let mut facts = vec![
        ("load", design.load.as_str().to_owned()),
        ("connections", design.connections.to_string()),
        ("order", design.order.as_str().to_owned()),
        ("window", seconds(design.window_s)),
        ("settle", seconds(design.settle_s)),
        ("drain", seconds(design.drain_s)),
        ("idle", seconds(design.idle_s)),
        ("rounds planned", design.rounds_planned.to_string()),
        ("rounds", design.rounds.to_string()),
        ("margin", format!("{} %", percent(design.margin))),
        ("CPU source", design.cpu_source.as_str().to_owned()),
    ];
    facts.extend(design.request.clone().map(|request| ("request", request)));
    facts.extend(design.rate_per_s.map(|rate| ("rate", format!("{rate}/s"))));
    facts.extend(design.stop.map(|stop| {
        let until = match stop.until {
            Until::Known { metric, half_width } => {
                format!("{} known to ±{} %", metric.as_str(), percent(half_width))
            }
            Until::Budgets => "all budgets decided".to_owned(),
        };
        (
            "stop",
            format!("{until}, within {}", seconds(stop.within_s)),
        )
    }));
    let named = facts.into_iter().map(|(key, text)| (key.to_owned(), text));
    named.collect()
}

/// A share as a percentage, without floating-point residue.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}
