//! `[[regime]]`: the same arms under other loads.

use crate::wire::Spanned;
use windage_model::LoadModel;

use super::models::{self, MODELS};
use super::{connect, starts};
use crate::Problem;
use crate::load::Load;
use crate::plan::{Depth, Design};
use crate::resolve::checker::Checker;
use crate::resolve::thorough::Designs;
use crate::wire::{self, PlanFile, Regime, Text};

const MAX_NAME_BYTES: usize = 60;

/// The other loads of a run of this depth. The first load gets a name if there are any.
pub(in crate::resolve) fn regimes(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    first: &mut Load,
    designs: &Designs,
    depth: Depth,
) -> Vec<Load> {
    // A problem of the first load would be reported again for each load derived from it.
    if !checker.problems.is_empty() {
        return Vec::new();
    }
    let own_name = first_name(checker, file, first);
    refuse_stops(checker, file, designs);
    let mut measured = vec![first.clone()];
    let mut names = vec![own_name.clone()];
    let mut further = Vec::new();
    for given in &file.regime {
        // Loads for thorough runs only are checked against the thorough design only.
        let measured_at = match given.get_ref().thorough {
            true => Depth::Thorough,
            false => depth,
        };
        let load = regime(checker, file, first, given, designs.of(measured_at));
        name(checker, &given.get_ref().name, &mut names);
        refuse_another_of(checker, &load, given, &mut measured);
        if depth == Depth::Thorough || !given.get_ref().thorough {
            further.push(load);
        }
    }
    first.regime = (!further.is_empty()).then_some(own_name);
    further
}

fn first_name(checker: &mut Checker<'_>, file: &PlanFile, first: &Load) -> String {
    let Some(given) = &file.load.regime else {
        return match first.model {
            LoadModel::Closed => "closed loop".to_owned(),
            LoadModel::Open => "open loop".to_owned(),
            LoadModel::Batch => "batch".to_owned(),
        };
    };
    if file.regime.is_empty() {
        let message = "`regime` names one of several loads, and the plan has only one";
        checker.report(
            Problem::new(given.span(), message, "no other load")
                .help("remove `regime`, or add a [[regime]]"),
        );
    }
    name(checker, given, &mut Vec::new());
    given.get_ref().clone()
}

fn name(checker: &mut Checker<'_>, given: &Text, taken: &mut Vec<String>) {
    let text = given.get_ref();
    let trouble = if taken.contains(text) {
        Some(format!("two loads are named `{text}`"))
    } else if text.trim().is_empty()
        || text.len() > MAX_NAME_BYTES
        || text.contains(char::is_control)
    {
        Some(format!(
            "a load's name must be one line of 1 to {MAX_NAME_BYTES} bytes"
        ))
    } else {
        None
    };
    if let Some(message) = trouble {
        checker.report(Problem::new(given.span(), message, "not a load's name"));
    }
    taken.push(text.clone());
}

fn refuse_stops(checker: &mut Checker<'_>, file: &PlanFile, designs: &Designs) {
    let at = |depth| {
        let mut regimes = file.regime.iter();
        let regime = regimes.find(|r| depth == Depth::Thorough || !r.get_ref().thorough);
        regime.filter(|_| designs.of(depth).stop.is_some())
    };
    if let Some(regime) = at(Depth::Usual).or_else(|| at(Depth::Thorough)) {
        let message = "`design.stop` can't be combined with regimes: each load has its own metrics";
        checker.report(
            Problem::new(regime.span(), message, "conflicts with `design.stop`")
                .help("use `for` instead of `stop`, or a separate plan for each load"),
        );
    }
}

fn regime(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    first: &Load,
    given: &Spanned<Regime>,
    design: &Design,
) -> Load {
    let regime = given.get_ref();
    let asked = asked(&file.load, regime);
    let known = MODELS
        .iter()
        .find(|(word, _)| word == asked.model.get_ref());
    let Some(&(_, model)) = known else {
        checker.word("model", Some(&asked.model), LoadModel::Closed, MODELS);
        return first.clone();
    };
    if model == LoadModel::Batch || first.model == LoadModel::Batch {
        let message = "a batch load can't be combined with regimes";
        checker.report(
            Problem::new(given.span(), message, "batch")
                .help("use `open` and `closed` loads, or a separate plan for the batch load"),
        );
        return first.clone();
    }
    models::check(checker, &asked, model);
    let (starts, rate_per_s) = starts::resolve(checker, &asked, Some(design.window));
    let lanes = connect::lanes(checker, &asked, model);
    Load {
        regime: Some(regime.name.get_ref().clone()),
        model,
        rate_per_s,
        starts,
        arrivals: starts::arrivals(checker, &asked),
        connections: lanes.connections,
        connections_max: lanes.connections_max,
        ..first.clone()
    }
}

/// Two loads that differ only in their names.
fn refuse_another_of(
    checker: &mut Checker<'_>,
    load: &Load,
    given: &Spanned<Regime>,
    measured: &mut Vec<Load>,
) {
    let unnamed = Load {
        regime: None,
        ..load.clone()
    };
    if measured.contains(&unnamed) && checker.problems.is_empty() {
        let message = "this regime is the same as another load";
        checker.report(
            Problem::new(given.span(), message, "a duplicate")
                .help("change `model`, `rate`, `connections`, …"),
        );
    }
    measured.push(unnamed);
}

/// Whether it sets when requests start.
fn says_when(regime: &Regime) -> bool {
    regime.rate.is_some() || regime.profile.is_some() || regime.replay.is_some()
}

/// The regime as a complete load: its own keys, and those of `[load]` for the rest.
fn asked(load: &wire::Load, regime: &Regime) -> wire::Load {
    let model = regime.model.as_ref().unwrap_or(&load.model).clone();
    let is_same = model.get_ref() == load.model.get_ref();
    let when = is_same && !says_when(regime);
    // A recording contains every start, so `arrivals` of `[load]` doesn't apply.
    let is_recorded = regime.replay.is_some();
    let inherited = |text: &Option<Text>| text.clone().filter(|_| when);
    wire::Load {
        regime: None,
        rate: regime.rate.clone().or_else(|| inherited(&load.rate)),
        profile: regime
            .profile
            .clone()
            .or_else(|| load.profile.clone().filter(|_| when)),
        replay: regime.replay.clone().or_else(|| inherited(&load.replay)),
        arrivals: regime
            .arrivals
            .clone()
            .or_else(|| load.arrivals.clone().filter(|_| is_same && !is_recorded)),
        connections: regime
            .connections
            .clone()
            .or_else(|| load.connections.clone()),
        connections_max: regime
            .connections_max
            .clone()
            .or_else(|| load.connections_max.clone().filter(|_| is_same)),
        protocol: load.protocol.clone(),
        streams: load.streams.clone(),
        threads: load.threads.clone(),
        cpus: load.cpus.clone(),
        // The requests are those of `[load]`, which were checked there.
        request: Some(model.clone()),
        model,
        tls: None,
        unix: None,
        headers: wire::Entries::default(),
        body: None,
        body_file: None,
        fields: wire::Entries::default(),
        flow: Vec::new(),
        timeout: None,
        allow: Vec::new(),
        batch: None,
        iterations: None,
        flush: None,
    }
}
