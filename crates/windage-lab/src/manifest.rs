//! The manifest of a run, written when it starts.

use std::time::{SystemTime, UNIX_EPOCH};

use windage_model::{ArmId, ArmIndex, LoadModel};
use windage_plan::{Arm, Design, Iterations, Load, Origin, Plan, Service, Turn};
use windage_record::{
    DesignScope, LoadScope, Manifest, ManifestArm, Placed, RunPart, StopScope, TurnScope,
};

use crate::clock::whole_ns;
use crate::{RunOptions, RunOrder};

/// The manifest of a run of this plan and order that starts now.
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
        resolved_sha256: Some(Manifest::hash_of(&plan.to_resolved_toml())),
        command: options.command.clone(),
        started_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, whole_ns),
        seed: design.seed,
        arms: (0u16..)
            .zip(&plan.arms)
            .map(|(index, arm)| manifest_arm(ArmIndex(index), arm, plan))
            .collect(),
        load: load_scope(&plan.load),
        other_loads: plan.other_loads.iter().map(load_scope).collect(),
        budgets: plan.decided_budgets().cloned().collect(),
        claims: plan.claims.clone(),
        revisions: plan.revisions.clone(),
        design: DesignScope {
            window_ns: whole_ns(design.window),
            settle_ns: whole_ns(design.settle),
            rounds: order.rounds(),
            blocks_per_round: order.blocks_per_round(),
            turns: turns(design, order),
            warmup_ns: whole_ns(design.warmup),
            drain_ns: whole_ns(design.drain),
            idle_ns: whole_ns(design.idle),
            order: design.order,
            margin: design.margin,
            subject_cores: subject_cores(plan),
            placement: placement(plan),
            stop: design.stop.map(|stop| StopScope {
                until: stop.until,
                within_ns: whole_ns(stop.within),
            }),
        },
    }
}

fn turns(design: &Design, order: &RunOrder) -> Option<TurnScope> {
    let interleaving = design.interleaving?;
    let (turn_ns, turn_requests) = match interleaving.turn {
        Turn::Time(time) => (Some(whole_ns(time)), None),
        Turn::Requests(requests) => (None, Some(requests)),
    };
    Some(TurnScope {
        blocks_per_round: order.turn_blocks_per_round(),
        block_ns: whole_ns(interleaving.block),
        turn_ns,
        turn_requests,
    })
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

fn manifest_arm(index: ArmIndex, arm: &Arm, plan: &Plan) -> ManifestArm {
    let index_of = |id: &ArmId| {
        let found = plan.arms.iter().position(|other| other.id == *id)?;
        u16::try_from(found).ok().map(ArmIndex)
    };
    ManifestArm {
        index,
        id: arm.id.clone(),
        name: arm.name.clone(),
        about: arm.about.clone(),
        role: arm.role,
        levels: arm.levels.iter().cloned().collect(),
        expected: arm.expect,
        backend: arm
            .backend
            .as_ref()
            .map(|backend| backend.behaviour)
            .unwrap_or_default(),
        adds_to: arm.adds_to.as_ref().and_then(index_of),
        same_as: arm.same_as.as_ref().and_then(index_of),
        agents: arm.agents.iter().map(ToString::to_string).collect(),
        agents_have_needs: plan
            .agents
            .iter()
            .any(|agent| arm.agents.contains(&agent.service.name) && !agent.needs.is_empty()),
        bystander_of: arm.bystander_of.as_ref().and_then(index_of),
        at_base: arm
            .checkout
            .as_ref()
            .and_then(|of| of.at_base.as_ref())
            .and_then(index_of),
    }
}

/// The cores that the plan gives each part, in ascending order.
fn placement(plan: &Plan) -> Vec<Placed> {
    let pinned = |cpus: &Option<Vec<u32>>| {
        let mut cpus = cpus.clone()?;
        cpus.sort_unstable();
        Some(cpus)
    };
    let launched = |part, service: &Service| Placed {
        part,
        cpus: match service.origin {
            Origin::Command(_) => pinned(&service.cpus),
            // A service that is already running stays where it is.
            Origin::Attach(_) => None,
        },
    };
    let services = plan.services.iter().map(|service| {
        let part = RunPart::Service(service.name.to_string());
        launched(part, service)
    });
    let agents = plan.agents.iter().map(|agent| {
        let part = RunPart::Agent(agent.service.name.to_string());
        launched(part, &agent.service)
    });
    let own = match plan.load.model {
        LoadModel::Open | LoadModel::Closed => Some(RunPart::Generator),
        LoadModel::Batch => plan.sink.as_ref().map(|_| RunPart::Receiver),
    };
    let own = own.map(|part| Placed {
        part,
        cpus: pinned(&plan.load.cpus),
    });
    services.chain(agents).chain(own).collect()
}

/// The cores that the services of one arm may keep busy at once.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn placed(text: &str) -> Vec<(String, Option<Vec<u32>>)> {
        let plan = Plan::parse(text, "plan.toml", Path::new("/")).unwrap();
        let placed = placement(&plan).into_iter();
        let spoken = |part: &RunPart| match part.name() {
            Some(name) => format!("{} {name}", part.kind()),
            None => part.kind().to_owned(),
        };
        placed.map(|of| (spoken(&of.part), of.cpus)).collect()
    }

    #[test]
    fn launched_parts_are_placed_as_planned() {
        let of = |service: &str, load: &str| {
            let is_attached = service.contains("attach");
            let switch = if is_attached { "switch = ['true']" } else { "" };
            let off = format!("[[arm]]\nname = 'off'\nbaseline = true\n{switch}");
            let arms = format!("{off}\n[[arm]]\nname = 'on'\n{switch}");
            placed(&format!(
                "name = 'p'\n[[service]]\nname = 'app'\ncpus = [3, 2]\n{service}\n\
                 [load]\ncpus = [1, 0]\n{load}\n{arms}"
            ))
        };
        let closed = "model = 'closed'\nrequest = 'GET http://{app}/'";
        let listening = "command = ['app', '{listen}']";
        let table = [
            (of(listening, closed), Some(vec![2, 3]), Some("generator")),
            (
                of("attach = { pid = 4711 }\nlisten = '127.0.0.1:80'", closed),
                None,
                Some("generator"),
            ),
            (
                of("command = ['app', '{otlp_http}']", "model = 'batch'"),
                Some(vec![2, 3]),
                Some("receiver"),
            ),
            (
                of("command = ['app']", "model = 'batch'"),
                Some(vec![2, 3]),
                None,
            ),
        ];
        for (found, of_app, own) in table {
            let app = ("service app".to_owned(), of_app);
            let own = own.map(|own| (own.to_owned(), Some(vec![0, 1])));
            let expected: Vec<_> = [app].into_iter().chain(own).collect();
            assert_eq!(found, expected);
        }
    }
}
