//! How a launch is driven: over connections, or through its batch programs.

use windage_model::{ArmIndex, LoadModel};
use windage_plan::{BatchKind, Load};
use windage_probe::cgroup::ArmCgroup;

use super::residents::Residents;
use super::setting::Setting;
use crate::LabError;
use crate::drive::HttpDriver;
use crate::names::Names;
use crate::process_set::{Ground, Instance};
use crate::target::target;

/// How a launch is driven.
pub(super) enum Driver<'a> {
    /// Requests over kept-alive connections; one target per arm.
    Http(HttpDriver),
    /// Iterations of resident programs.
    Resident(Residents<'a>),
    /// One process per window.
    Process,
}

impl<'a> Driver<'a> {
    /// Connects to the services of a launch, or starts its resident programs.
    pub(super) fn start(
        setting: &'a Setting<'a>,
        load: &'a Load,
        ground: &mut Ground,
        groups: &[Option<ArmCgroup>],
        instances: &mut [Instance],
    ) -> Result<Driver<'a>, LabError> {
        match (load.model, load.batch) {
            (LoadModel::Open | LoadModel::Closed, _) => {
                connect(setting, load, ground.launch, instances).map(Driver::Http)
            }
            (LoadModel::Batch, BatchKind::Process) => Ok(Driver::Process),
            (LoadModel::Batch, BatchKind::Resident) => {
                Residents::start(setting, load, ground, groups, instances).map(Driver::Resident)
            }
        }
    }

    /// Whether load before the first window can go on in pieces.
    pub(super) fn repeats_load(&self) -> bool {
        match self {
            // A batch program finds its pace in one stretch.
            Driver::Resident(_) | Driver::Process => false,
            Driver::Http(_) => true,
        }
    }

    /// Whether the number of iterations per window is still unknown.
    pub(super) fn seeks_pace(&self, arm: ArmIndex) -> bool {
        matches!(self, Driver::Resident(residents) if residents.paces[arm.get()].is_sought())
    }

    /// The warm-up settles the number of iterations per window.
    pub(super) fn keep_pace(&mut self, arm: ArmIndex) {
        if let Driver::Resident(residents) = self {
            residents.paces[arm.get()].keep();
        }
    }
}

fn connect(
    setting: &Setting,
    load: &Load,
    number: u32,
    instances: &[Instance],
) -> Result<HttpDriver, LabError> {
    let plan = setting.plan;
    let mut driver = HttpDriver::new(load, plan.arms.len(), &setting.interrupted)?;
    for instance in instances.iter().filter(|i| i.death.is_none()) {
        let mut connected: Vec<(ArmIndex, Names)> = Vec::new();
        for &arm in &instance.arms {
            let planned = &plan.arms[arm.get()];
            let names = setting.names_of(number, instance, arm)?;
            let asks_alike = |(_, other): &&(ArmIndex, Names)| {
                load.templates().all(|t| names.fill_alike(other, t))
            };
            // An agent watches the same connections that are used without it.
            let of_other = connected.iter().find(asks_alike);
            if let Some((other, _)) = of_other.filter(|_| setting.owner_of(arm).is_some()) {
                driver.share(other.get(), arm.get());
                continue;
            }
            let target = target(plan, &names, planned.id.as_str())?;
            let report = driver.connect(arm.get(), &target)?;
            if report.opened == 0 && !setting.is_interrupted() {
                let last = instance.services.last();
                return Err(LabError::NoConnection {
                    arm: planned.id.to_string(),
                    endpoint: target.endpoint,
                    why: report.first_error.unwrap_or_default(),
                    log: last.map(|r| r.log.clone()).unwrap_or_default(),
                });
            }
            connected.push((arm, names));
        }
    }
    Ok(driver)
}
