//! Warnings about the comparison of two runs, in words.

use windage_analysis::{
    ComparisonEvidence as Evidence, ComparisonWarning, ComparisonWarningCode as Code, RunSide,
};

use super::listed;

/// The sentence of a warning about a comparison.
pub(crate) fn comparison_warning(of: &ComparisonWarning) -> String {
    match &of.evidence {
        Evidence::Nothing => nothing_more(of.code).to_owned(),
        Evidence::Values(values) => values_differ(of.code, values),
        Evidence::Fact(key, [a, b]) => format!(
            "The machines differ: {} was {a} in A, {b} in B. Relative overheads are less affected \
             by that than absolute ones, but neither is unaffected.",
            fact_name(key)
        ),
        Evidence::Run(run) => of_run(of.code, *run),
        Evidence::Items(run, items) => of_items(of.code, *run, items),
        Evidence::OfArms(run, codes) => {
            let codes: Vec<String> = codes
                .iter()
                .map(|(code, arms)| format!("{} ({})", code.as_str(), listed(arms)))
                .collect();
            format!(
                "In run {} some figures are suspect, {}: see its report.",
                run.as_str(),
                codes.join(", ")
            )
        }
    }
}

fn nothing_more(code: Code) -> &'static str {
    match code {
        Code::SameRun => "A and B are the same run: there is no change to find.",
        Code::NoCommonLoad => "The runs have no load in common.",
        Code::NoCommonMetric => "No arm except the baseline has a metric in both runs.",
        other => other.as_str(),
    }
}

fn values_differ(code: Code, values: &[Option<String>; 2]) -> String {
    let [a, b] = values.each_ref().map(|value| match (code, value) {
        (_, None) => "none".to_owned(),
        (Code::OtherPlan | Code::OtherBaseline, Some(value)) => format!("`{value}`"),
        (Code::OtherRate, Some(value)) => format!("{value}/s"),
        (_, Some(value)) => value.clone(),
    });
    match code {
        Code::OtherPlan => {
            format!("The plans differ, {a} and {b}: their arms share only their ids.")
        }
        Code::OtherWindage => format!("A was measured by windage {a}, B by windage {b}."),
        Code::OtherBaseline => format!(
            "The baselines differ, {a} in A and {b} in B: overheads are shares of different \
             figures."
        ),
        Code::OtherKernel => format!(
            "The kernels differ: {a} in A, {b} in B. System calls of the service and its telemetry \
             may cost more or less."
        ),
        Code::OtherLoadModel => format!("The kinds of load differ: {a} in A, {b} in B."),
        Code::OtherRate => format!("The rates differ: {a} in A, {b} in B."),
        Code::OtherConnections => format!("Connections per arm differ: {a} in A, {b} in B."),
        Code::OtherRequest => format!("The requests differ: {a} in A, {b} in B."),
        Code::OtherOrder => format!("The orders of windows differ: {a} in A, {b} in B."),
        Code::MeasuredDifferently => format!(
            "CPU was measured {a} in A and {b} in B. In turns, an arm exports smaller batches and \
             shares caches with other arms, which may explain a change. Measure both runs in the \
             same way."
        ),
        Code::OtherCpuSource => {
            format!("CPU was read from {a} in A and {b} in B, which count differently.")
        }
        Code::OtherPrimary => {
            format!("The primary metric is {a} in A and {b} in B; the comparison uses {a}.")
        }
        other => format!("{}: {a} in A, {b} in B.", other.as_str()),
    }
}

fn of_run(code: Code, run: RunSide) -> String {
    let run = run.as_str();
    match code {
        Code::ControlDiffers => format!(
            "In run {run} the A/A control differs from the baseline: a change of that size means \
             nothing."
        ),
        Code::SingleLaunch => format!(
            "Run {run} has one launch. Its interval holds for that launch alone, so a change may \
             be launch luck."
        ),
        other => format!("{} in run {run}.", other.as_str()),
    }
}

fn of_items(code: Code, run: Option<RunSide>, items: &[String]) -> String {
    let run = run.map_or("A and B", RunSide::as_str);
    match code {
        Code::LoadMissing => format!("Only run {run} has the load `{}`.", items.join("`, `")),
        Code::Void => format!(
            "Run {run} is void ({}): its figures must not be used.",
            items.join(", ")
        ),
        Code::Suspect => format!(
            "Run {run} is suspect ({}): see its report.",
            items.join(", ")
        ),
        Code::SaturatedInOne => format!(
            "Only in run {run} was the subject saturated ({}): overhead at saturation and overhead \
             below it answer different questions.",
            listed(items)
        ),
        Code::OtherLevel => format!(
            "Arms of the same id differ in levels or role: {}.",
            listed(items)
        ),
        Code::DeferredInOne => format!(
            "In run {run} alone the deferred cost of arms is unknown ({}): its CPU figures cover \
             the windows alone, so there is no verdict on them. Measure both runs with the same \
             `design.idle`.",
            listed(items)
        ),
        other => format!("{} in run {run}: {}.", other.as_str(), listed(items)),
    }
}

/// A fact about the machine as a sentence names it.
fn fact_name(key: &str) -> &str {
    match key {
        "cpu_model" => "the processor",
        "cpus_online" => "cores online",
        "virtualised" => "virtualisation",
        "hypervisor" => "the hypervisor",
        "cpu_governors" => "the governor",
        "smt" => "threads that share a core",
        other => other,
    }
}
