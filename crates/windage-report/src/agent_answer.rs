//! Sentences about agents: what they use themselves, what the machine uses in total, what they
//! delivered, and what they cost a service that they do not watch.

use windage_analysis::{AgentUse, Analysis, ArmAnalysis, Bystander, Fidelity};
use windage_model::{Interval, Unit};

use crate::number::{self, Scale};
use crate::pieces::{Piece, arm, text};
use crate::rows::agents::{over_cycles_with_unit, with_agents};
use crate::rows::arm_name;
use crate::summary::costs::alone;

/// With more arms with agents than this, only the most expensive is described.
const SPELLED: usize = 2;

/// A sentence per arm with agents, or only for the most expensive if there are many, and one per
/// bystander.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Vec<Piece>> {
    let mut all: Vec<_> = with_agents(analysis).collect();
    let of_how_many = (all.len() > SPELLED).then_some(all.len());
    if of_how_many.is_some() {
        all.sort_by(|(a, _), (b, _)| cost(analysis, b).total_cmp(&cost(analysis, a)));
        all.truncate(1);
    }
    let agents = all.iter().map(|(arm, of)| of_agents(arm, of, of_how_many));
    let bystanders = analysis.arms.iter();
    let bystanders = bystanders.filter_map(|arm| Some((arm, arm.bystander.as_ref()?)));
    let bystanders = bystanders.map(|(arm, of)| of_bystander(analysis, arm, of));
    agents.chain(bystanders).collect()
}

/// What an arm costs the service, for sorting; unknown costs come last.
fn cost(analysis: &Analysis, arm: &ArmAnalysis) -> f64 {
    let result = arm.metrics.get(&analysis.primary);
    let difference = result.and_then(|result| result.difference.as_ref().ok());
    difference.map_or(f64::NEG_INFINITY, |difference| difference.absolute.estimate)
}

/// The sentence about one arm's agents. `of_how_many`: it is the most expensive of so many.
fn of_agents(arm: &ArmAnalysis, of: &AgentUse, of_how_many: Option<usize>) -> Vec<Piece> {
    let (who, used, were) = if of.names.len() > 1 {
        ("The agents of ", "themselves use", "were")
    } else {
        ("The agent of ", "itself uses", "was")
    };
    let mut sentence = vec![text(who), self::arm(arm)];
    if let Some(arms) = of_how_many {
        sentence.push(text(format!(
            ", the most expensive of {arms} arms with agents,"
        )));
    }
    if of.up.is_none() {
        let why = if of.cycles.is_empty() {
            ""
        } else {
            " without failing"
        };
        sentence.push(text(format!(" {were} never attached{why}")));
        return sentence;
    }
    let own = own_use(of).map_or_else(
        || format!(" {were} attached, but CPU and memory could not be read"),
        |own| format!(" {used} {own}"),
    );
    let further = [in_all(arm), arm.fidelity.as_ref().and_then(delivered)];
    let clauses = std::iter::once(own).chain(further.into_iter().flatten());
    sentence.push(text(clauses.collect::<Vec<_>>().join("; ")));
    sentence
}

/// "0.208 cores (0.201 to 0.215) and 48.2 MB of memory (at most 64.1 MB)"
fn own_use(of: &AgentUse) -> Option<String> {
    let up = of.up.as_ref()?;
    let cores = up.cpu_cores.as_ref();
    let cores = cores.map(|of| over_cycles_with_unit(of, Unit::Cores));
    let memory = up.rss_steady_bytes.as_ref().map(|steady| {
        let bytes = |b: f64| number::short(Unit::Bytes, b);
        let peak = up.rss_peak_bytes.map_or(String::new(), |peak| {
            format!(" (at most {})", bytes(peak.max))
        });
        format!("{} of memory{peak}", bytes(steady.estimate))
    });
    let both: Vec<String> = cores.into_iter().chain(memory).collect();
    (!both.is_empty()).then(|| both.join(" and "))
}

/// "in total, the machine uses 41.2 µs more CPU per request while attached (38.0 to 44.4)"
fn in_all(arm: &ArmAnalysis) -> Option<String> {
    let line = &arm.bill.as_ref()?.with_deferred;
    let us = line.difference_us.filter(|us| us.is_finite())?;
    let scale = Scale::fitting(Unit::Microseconds, [us]);
    let interval = line.interval.as_ref();
    Some(match interval.and_then(|interval| scale.signed(interval)) {
        Some(shown) if interval.is_some_and(Interval::excludes_zero) => {
            let than = if us > 0.0 { "more" } else { "less" };
            let [size, low, high] = [&shown.estimate, &shown.low, &shown.high]
                .map(|written| written.trim_start_matches(['+', '−']));
            let (low, high) = if us > 0.0 { (low, high) } else { (high, low) };
            let size = scale.attach(size);
            format!(
                "in total, the machine uses {size} {than} CPU per request while attached ({low} to \
                 {high})"
            )
        }
        Some(shown) => {
            format!("in total, the machine's CPU per request changes by {shown} while attached")
        }
        None => format!(
            "in total, the machine's CPU per request changes by {} while attached (no interval is \
             known)",
            scale.attach(&scale.signed_point(us))
        ),
    })
}

/// "99,990 of 100,000 traces were delivered"
fn delivered(of: &Fidelity) -> Option<String> {
    let expected = number::count_f64(of.expected.filter(|expected| *expected > 0.0)?);
    let (delivered, what) = (number::count(of.delivered), of.of.as_str());
    Some(format!("{delivered} of {expected} {what} were delivered"))
}

/// "`bystander`, which the agents of `agent` do not watch, costs no more than 0.6 % of CPU per
/// request"
fn of_bystander(analysis: &Analysis, arm: &ArmAnalysis, of: &Bystander) -> Vec<Piece> {
    let result = Some(&of.against_control);
    let mut pieces = alone(analysis, arm, of.metric, result).into_iter();
    let mut sentence: Vec<Piece> = pieces.next().into_iter().collect();
    let clause: Vec<Piece> = pieces.collect();
    let goes_on = !matches!(clause.first(), Some(Piece::Text(text)) if text.starts_with(':'));
    let comma = if goes_on { "," } else { "" };
    sentence.extend([
        text(", which the agents of "),
        Piece::Arm(arm_name(analysis, &of.bystander_of)),
        text(format!(" do not watch{comma}")),
    ]);
    sentence.extend(clause);
    sentence
}
