//! What a run says of itself when it starts.

use std::time::{SystemTime, UNIX_EPOCH};

use windage_model::{ArmId, ArmIndex, LoadModel};
use windage_plan::{Agent, Arm, Iterations, Load, Origin, Plan, Service};
use windage_record::{
    DesignScope, Expected, LoadScope, Manifest, ManifestArm, Placed, RunPart, StopScope,
};

use crate::clock::whole_ns;
use crate::{RunOptions, RunOrder};

/// What a run of this plan and order says of itself if it starts now.
#[must_use]
pub fn of(plan: &Plan, order: &RunOrder, options: &RunOptions) -> Manifest {
    let run = options.directory.file_name().map_or_else(
        || plan.name.clone(),
        |name| name.to_string_lossy().into_owned(),
    );
    let design = &plan.design;
    Manifest {
        windage: env!("CARGO_PKG_VERSION").to_owned(),
        run,
        plan: plan.name.clone(),
        about: plan.about.clone(),
        plan_folder: plan.folder.clone(),
        command: options.command.clone(),
        started_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, whole_ns),
        seed: design.seed,
        arms: (0u16..)
            .zip(&plan.arms)
            .map(|(index, arm)| manifest_arm(ArmIndex(index), arm, &plan.arms))
            .collect(),
        load: load_scope(&plan.load),
        further_loads: plan.further_loads.iter().map(load_scope).collect(),
        design: DesignScope {
            window_ns: whole_ns(design.window),
            settle_ns: whole_ns(design.settle),
            rounds: order.rounds(),
            blocks_per_round: order.blocks_per_round(),
            warmup_ns: whole_ns(design.warmup),
            drain_ns: whole_ns(design.drain),
            idle_ns: whole_ns(design.idle),
            order: design.order,
            interest: design.interest,
            generator_moved_at_most: design.generator_moved_at_most,
            subject_cores: subject_cores(plan),
            placement: placement(plan),
            stop: design.stop.map(|stop| StopScope {
                metric: stop.metric,
                half_width: stop.half_width,
                within_ns: whole_ns(stop.within),
            }),
            pilot: None,
        },
    }
}

fn load_scope(load: &Load) -> LoadScope {
    let batch = load.model == windage_model::LoadModel::Batch;
    LoadScope {
        regime: load.regime.clone(),
        model: load.model,
        rate_per_s: load.rate_per_s,
        connections: if batch { 0 } else { load.connections },
        request: load.summary(),
        iterations: match load.iterations {
            Iterations::Fixed(number) if batch => Some(number),
            _ => None,
        },
    }
}

fn manifest_arm(index: ArmIndex, arm: &Arm, all: &[Arm]) -> ManifestArm {
    let index_of = |id: &ArmId| {
        let found = all.iter().position(|other| other.id == *id)?;
        u16::try_from(found).ok().map(ArmIndex)
    };
    ManifestArm {
        index,
        id: arm.id.clone(),
        name: arm.name.clone(),
        about: arm.about.clone(),
        role: arm.role,
        levels: arm.levels.iter().cloned().collect(),
        expected: arm.expect.map(|expect| Expected {
            traces_per_request: expect.traces_per_request,
            spans_per_request: expect.spans_per_request,
            events_per_request: expect.events_per_request,
        }),
        backend: arm
            .backend
            .as_ref()
            .map(|backend| backend.behaviour)
            .unwrap_or_default(),
        adds_to: arm.adds_to.as_ref().and_then(index_of),
        same_as: arm.same_as.as_ref().and_then(index_of),
        agents: arm.agents.iter().map(ToString::to_string).collect(),
        bystander_of: arm.bystander_of.as_ref().and_then(index_of),
    }
}

/// Which cores the plan gives each part, in rising order.
fn placement(plan: &Plan) -> Vec<Placed> {
    let placed = |part, cpus: Option<&Vec<u32>>| {
        let mut cpus = cpus.cloned();
        cpus.iter_mut().for_each(|cpus| cpus.sort_unstable());
        Placed { part, cpus }
    };
    // What runs already stays where it is.
    let launched = |service: &Service| matches!(service.origin, Origin::Command(_));
    let service = |service: &Service| {
        let cpus = service.cpus.as_ref().filter(|_| launched(service));
        placed(RunPart::Service(service.name.to_string()), cpus)
    };
    let agent = |Agent { service, .. }: &Agent| {
        let cpus = service.cpus.as_ref().filter(|_| launched(service));
        placed(RunPart::Agent(service.name.to_string()), cpus)
    };
    let own = match plan.load.model {
        LoadModel::Open | LoadModel::Closed => Some(RunPart::Generator),
        LoadModel::Batch => plan.sink.as_ref().map(|_| RunPart::Receiver),
    };
    let own = own.map(|part| placed(part, plan.load.cpus.as_ref()));
    let services = plan.services.iter().map(service);
    services
        .chain(plan.agents.iter().map(agent))
        .chain(own)
        .collect()
}

/// Cores that the services of one arm may keep busy at once.
fn subject_cores(plan: &Plan) -> u32 {
    let online = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut cores: Vec<u32> = Vec::new();
    for service in plan.services.iter().filter(|service| !service.shared) {
        match &service.cpus {
            Some(cpus) => cores.extend(cpus),
            None => cores.extend(0..u32::try_from(online).unwrap_or(u32::MAX)),
        }
    }
    cores.sort_unstable();
    cores.dedup();
    u32::try_from(cores.len()).unwrap_or(u32::MAX).max(1)
}
