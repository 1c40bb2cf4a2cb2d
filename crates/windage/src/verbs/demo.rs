//! `windage demo`: measures the built-in service.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use windage_plan::{Length, Plan};
use windage_record::RUNS;

use crate::exit::Exit;
use crate::flags::DemoFlags;
use crate::message;
use crate::run_name::unused;
use crate::signals::Signals;
use crate::verbs::publish::Publishing;
use crate::verbs::run::{Start, measure, show, show_plan_error};

/// The hidden verb that runs the demo service.
pub(crate) const SERVICE_VERB: &str = "__demo-service";

const PLAN: &str = include_str!("../demo/plan.toml");

/// Measures the built-in plan.
pub(crate) fn demo(flags: &DemoFlags) -> Exit {
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let publishing = match Publishing::start(&flags.publish) {
        Ok(publishing) => publishing,
        Err(exit) => return exit,
    };
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let mut plan = match Plan::parse(PLAN, "the demo's plan", &here) {
        Ok(plan) => plan,
        Err(error) => {
            show_plan_error(&error);
            return Exit::Usage;
        }
    };
    plan.design.length = Length::MeasuringTime(flags.length);
    share_cores(&mut plan);
    let directory = match &flags.out {
        Some(out) => out.clone(),
        None => unused(Path::new(RUNS), &plan.name, SystemTime::now()),
    };
    publishing.follow(&directory);
    let start = Start::New {
        is_shared: flags.shared,
    };
    let measured = measure(&plan, &directory, start, &flags.output, &signals).tidied(false);
    show(&[measured], false, flags.all, &flags.output, &publishing)
}

/// Puts the service on the first allowed core and the generator on the second. With one core they
/// share it.
pub(crate) fn share_cores(plan: &mut Plan) {
    let allowed = allowed_cores();
    let [first, second, ..] = allowed[..] else {
        message::warning("only one core: the generator shares it with the service");
        plan.load.cpus = None;
        for service in &mut plan.services {
            service.cpus = None;
        }
        return;
    };
    plan.load.cpus = Some(vec![second]);
    for service in &mut plan.services {
        service.cpus = Some(vec![first]);
    }
}

/// The cores that this process may use.
fn allowed_cores() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else {
        return Vec::new();
    };
    (0..CpuSet::count())
        .filter(|&core| set.is_set(core).unwrap_or(false))
        .filter_map(|core| u32::try_from(core).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_plan_is_valid() {
        let plan = Plan::parse(PLAN, "the demo's plan", Path::new("/"))
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        let arms: Vec<&str> = plan.arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!(
            arms,
            [
                "off",
                "control",
                "sdk-sampling-0.0",
                "sdk-sampling-0.1",
                "sdk-sampling-1.0"
            ]
        );
    }
}
