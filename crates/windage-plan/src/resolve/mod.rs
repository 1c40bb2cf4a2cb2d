//! Resolves the parsed file into a plan. Checks every rule of `docs/FORMAT.md` and reports all
//! problems at once.
//!
//! Each step returns a value even after a problem, so that the next step can run. The values are
//! discarded if there was any problem.

mod agent;
mod agent_stretches;
mod arm;
mod attach;
mod backend;
mod budget;
mod checker;
mod claim;
mod design;
mod drops;
mod expected;
mod file;
mod file_arm;
mod implied;
mod instance;
mod interleaving;
mod load;
mod pod;
mod ports;
mod profile;
mod resolved;
mod scope;
mod service;
mod sink;
mod site;
mod stages;
mod stop;
mod sweep;
mod switch;
mod thorough;

use std::path::Path;

use crate::plan::{Build, Depth, Plan};
use crate::wire::{PlanFile, Text};
use crate::{Load, Problem, defaults};
use checker::{Checker, PATIENCE};

/// Resolves the file and checks every rule.
pub(crate) fn resolve(
    file: &PlanFile,
    text: &str,
    folder: &Path,
    depth: Depth,
) -> Result<Plan, Vec<Problem>> {
    let mut checker = Checker {
        text,
        folder,
        problems: Vec::new(),
        uses: Vec::new(),
    };
    plan_name(&mut checker, &file.name);
    let build = build(&mut checker, file);
    let mut services = service::resolve_all(&mut checker, file);
    let before = checker.problems.len();
    let ground = stop::Ground {
        model: load::model(file),
        services: &services,
    };
    let designs = thorough::resolve(&mut checker, &file.design, &ground);
    let mut design = designs.of(depth).clone();
    // Without a valid window, what must fit it is not checked.
    let is_known = checker.problems.len() == before;
    let window = is_known.then_some(design.window);
    let mut load = load::resolve(&mut checker, file, &services, window);
    let other_loads = load::regimes(&mut checker, file, &mut load, &designs, depth);
    drops::resolve_all(&mut checker, file, &mut services, load::model(file));
    ports::refuse_of_a_batch(&mut checker, file, load::model(file));
    pod::refuse_beside_pods(&mut checker, file, &services, load::model(file));
    let mut arms = arm::resolve_all(&mut checker, file, &services);
    stages::settle(&mut checker, file, &mut arms);
    agent::settle_bystanders(&mut checker, file, &mut arms, &services);
    agent::check(&mut checker, file, &services);
    let budgets = budget::resolve_all(&mut checker, file, &arms, load::model(file));
    let claims = claim::resolve_all(&mut checker, file, &arms, load::model(file));
    let profile = profile::resolve(&mut checker, file);
    // With a misspelt placeholder, it is unknown whether a receiver was meant.
    let receives = scope::check(&mut checker, file, &arms, &mut services)
        .then(|| backend::settle(&mut checker, file, &mut arms, &services));
    let sink = sink::resolve(&mut checker, file, receives);
    instance::settle(&checker, &mut arms, &services);
    instance::check(&mut checker, file, &arms, &services, &load);
    expected::refuse_points(&mut checker, file, &arms, &load, design.on_death);
    if !checker.problems.is_empty() {
        return Err(checker.problems);
    }
    let arms = arm::with_control(arms);
    let loads: Vec<&Load> = std::iter::once(&load).chain(&other_loads).collect();
    interleaving::settle(&mut checker, file, &mut design, &arms, &services, &loads);
    if !checker.problems.is_empty() {
        return Err(checker.problems);
    }
    let (services, agents) = agent::apart(services);
    Ok(Plan {
        name: file.name.get_ref().clone(),
        about: file.about.clone(),
        folder: folder.to_owned(),
        source: text.to_owned(),
        build,
        services,
        cluster: pod::cluster(file),
        agents,
        load,
        other_loads,
        sink,
        budgets: budgets.into_iter().map(|of| of.placed(&arms)).collect(),
        claims: claims.into_iter().map(|of| of.placed(&arms)).collect(),
        arms,
        design,
        profile,
        revisions: None,
        commit: None,
    })
}

fn plan_name(checker: &mut Checker<'_>, name: &Text) {
    const MAX_NAME_BYTES: usize = 100;
    let text = name.get_ref();
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    // The name becomes a directory's name, so no leading dot or dash.
    let good = text.len() <= MAX_NAME_BYTES
        && text.bytes().all(alphabet)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !good {
        checker.report(
            Problem::new(
                name.span(),
                format!("`{text}` can't name a plan"),
                "not a plan's name",
            )
            .help("use at most 100 letters, digits, `-`, `_` and `.`, a letter or digit first"),
        );
    }
}

fn build(checker: &mut Checker<'_>, file: &PlanFile) -> Build {
    let versions = &file.build.versions;
    for command in file.build.commands.iter().chain(versions.values()) {
        checker.no_nul(command);
        if command.get_ref().trim().is_empty() {
            checker.report(Problem::new(
                command.span(),
                "an empty build command",
                "nothing to run",
            ));
        }
    }
    let commands = file
        .build
        .commands
        .iter()
        .map(|command| command.get_ref().clone())
        .collect();
    let within = file.build.within.as_ref();
    let within = checker.duration("within", within, defaults::BUILD_WITHIN, PATIENCE);
    let versions = versions
        .iter()
        .map(|(of, command)| (of.clone(), command.get_ref().clone()))
        .collect();
    Build {
        commands,
        within,
        versions,
    }
}
