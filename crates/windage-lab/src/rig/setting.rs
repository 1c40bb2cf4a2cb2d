//! What stays the same throughout a run.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use windage_keeper::Keeper;
use windage_model::{ArmIndex, Event};
use windage_plan::{Origin, Plan, Service};
use windage_record::RunDir;

use crate::LabError;
use crate::clock::RunClock;
use crate::names::Names;
use crate::pods::Node;
use crate::process_set::{Ground, Instance};

/// Sleeps are cut into pieces of this length, so that Ctrl-C takes effect.
const NAP: Duration = Duration::from_millis(50);

/// What stays the same throughout a run.
pub(crate) struct Setting<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a RunDir,
    /// The arms of each set of processes.
    pub(crate) sets: Vec<Vec<ArmIndex>>,
    pub(crate) clock: RunClock,
    /// The running executable.
    pub(crate) executable: PathBuf,
    /// The node of the cluster on which this runs.
    pub(crate) node: Option<Node>,
    /// The names that every service may use.
    pub(crate) names: Names,
    /// Set by a signal.
    pub(crate) interrupted: Arc<AtomicBool>,
    pub(crate) emit: &'a dyn Fn(Event),
}

impl Setting<'_> {
    /// Every arm of the plan.
    pub(super) fn arms(&self) -> impl Iterator<Item = ArmIndex> + use<> {
        (0u16..).map(ArmIndex).take(self.plan.arms.len())
    }

    /// The set of processes that an arm uses.
    pub(super) fn set_of(&self, arm: ArmIndex) -> usize {
        set_of(&self.sets, arm)
    }

    /// The arm whose agents are attached while an arm is measured.
    pub(super) fn owner_of(&self, arm: ArmIndex) -> Option<ArmIndex> {
        owner_of(self.plan, arm)
    }

    /// As [`is_warmed_by_another`].
    pub(super) fn is_warmed_by_another(&self, arm: ArmIndex) -> bool {
        is_warmed_by_another(self.plan, &self.sets, arm)
    }

    /// The number of arms that have load before the first window of a launch.
    pub(super) fn arms_warmed_up(&self) -> u32 {
        arms_warmed_up(self.plan, &self.sets)
    }

    /// Whether a launch has isolated windows.
    pub(super) fn has_windows(&self) -> bool {
        has_windows(self.plan)
    }

    /// The order in which sets are launched, drawn anew for each launch. The first one may pay for
    /// what the others find done, so each is first in its turn.
    pub(super) fn order_of_launch(&self, number: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.sets.len()).collect();
        let mut random = ChaCha8Rng::seed_from_u64(self.plan.design.seed);
        random.set_stream(u64::MAX - u64::from(number));
        order.shuffle(&mut random);
        order
    }

    /// The names that an arm's requests and switches may use. `{dir}`, in the path of a socket, is
    /// the directory of the one service that is launched.
    pub(super) fn names_of(
        &self,
        number: u32,
        instance: &Instance,
        arm: ArmIndex,
    ) -> Result<Names, LabError> {
        let mut names = instance.names.clone().with_arm(&self.plan.arms[arm.get()]);
        let is_launched = |s: &&Service| !s.shared && matches!(s.origin, Origin::Command(_));
        if let Some(service) = self.plan.services.iter().find(is_launched) {
            let name = service.name.as_str();
            let path = self.run.work_dir(number, &instance.name, name);
            match std::path::absolute(&path) {
                Ok(dir) => names.set("dir", dir.display().to_string()),
                Err(source) => return Err(LabError::Write { path, source }),
            }
        }
        Ok(names)
    }

    /// What services are launched from, beside those that are already running.
    pub(super) fn ground<'g>(
        &'g self,
        keeper: &'g mut Keeper,
        number: u32,
        up: &'g [&'g Instance],
    ) -> Ground<'g> {
        Ground {
            plan: self.plan,
            keeper,
            up,
            run: self.run,
            launch: number,
            executable: &self.executable,
            node: self.node.as_ref(),
            interrupted: &self.interrupted,
            emit: self.emit,
            ended: Vec::new(),
        }
    }

    /// A pause of random length before a launch's idle stretch, so that the stretches of a run begin at
    /// all phases of a service's timers.
    pub(super) fn pause_before_idle(&self, number: u32) -> Duration {
        let mut random = ChaCha8Rng::seed_from_u64(self.plan.design.seed);
        random.set_stream(u64::MAX / 2 - u64::from(number));
        self.plan.design.idle.mul_f64(random.random_range(0.0..1.0))
    }

    /// When scrapes of a launch (attachment 0) or of an attachment's agents begin: at a random phase of
    /// each interval, so that over many launches they fall anywhere in windows and pauses.
    pub(super) fn scrape_phases(&self, number: u32, attachment: u32) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.plan.design.seed);
        let place = u64::from(number) << 32 | u64::from(attachment);
        random.set_stream(u64::MAX / 4 - place);
        random
    }

    /// Whether a signal came.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Sleeps unless interrupted.
    pub(super) fn rest(&self, lasts: Duration) {
        let began = Instant::now();
        while began.elapsed() < lasts && !self.is_interrupted() {
            std::thread::sleep(NAP.min(lasts.saturating_sub(began.elapsed())));
        }
    }
}

fn set_of(sets: &[Vec<ArmIndex>], arm: ArmIndex) -> usize {
    let own = sets.iter().position(|set| set.contains(&arm));
    own.unwrap_or(0)
}

fn owner_of(plan: &Plan, arm: ArmIndex) -> Option<ArmIndex> {
    let planned = &plan.arms[arm.get()];
    match &planned.bystander_of {
        Some(watched) => {
            let found = plan.arms.iter().position(|other| other.id == *watched);
            found.and_then(|at| u16::try_from(at).ok()).map(ArmIndex)
        }
        None => (!planned.agents.is_empty()).then_some(arm),
    }
}

/// Agents attach to warm processes. In a set, an arm without agents warms it up for all arms that
/// have some; if there is none, the first arm does.
fn is_warmed_by_another(plan: &Plan, sets: &[Vec<ArmIndex>], arm: ArmIndex) -> bool {
    let set = &sets[set_of(sets, arm)];
    let without = set.iter().find(|of| owner_of(plan, **of).is_none());
    owner_of(plan, arm).is_some() && without.or(set.first()) != Some(&arm)
}

fn arms_warmed_up(plan: &Plan, sets: &[Vec<ArmIndex>]) -> u32 {
    let arms = sets.iter().flatten();
    let warmed = arms.filter(|arm| !is_warmed_by_another(plan, sets, **arm));
    u32::try_from(warmed.count()).unwrap_or(u32::MAX)
}

fn has_windows(plan: &Plan) -> bool {
    let turns = plan.design.interleaving;
    turns.is_none_or(|turns| turns.isolated > 0.0)
}

/// How long a launch has load before its first block, at least, and what that defers is awaited.
pub(crate) fn warm_up(plan: &Plan, sets: &[Vec<ArmIndex>]) -> Duration {
    let load = plan.design.warmup * arms_warmed_up(plan, sets);
    match load.is_zero() || !has_windows(plan) {
        true => load,
        false => load + plan.design.drain,
    }
}
