//! Writes an invented run the way a real one is written.

use std::error::Error;
use std::path::Path;

use hdrhistogram::Histogram;
use windage_model::{
    ArmCpu, ArmIndex, Beside, Exchanges, LoadModel, MachineDelta, Outlier, Place, StatusClasses,
    Warning, Window, WindowCpu, fixtures,
};
use windage_record::{Delivered, Ending, Entry, JournalWriter, RunDir};

use crate::cases::{ArmOf, Case, End};
use crate::facts::{
    SETTLE_NS, WINDOW_NS, attachment, launch, launch_end, manifest, profiles, services, whole,
};
use crate::random::Random;

const LAUNCH_NS: u64 = 3_000_000_000;
const REQUESTS_IN_WINDOW: u64 = 200;

/// Writes the run into a folder that does not exist yet.
pub(crate) fn write(folder: &Path, name: &str, case: &Case) -> Result<(), Box<dyn Error>> {
    let host = serde_json::json!({
        "kernel": case.kernel, "cpu_model": "An invented processor", "cpus_online": 2,
        "memory_total_bytes": 16_000_000_000u64, "os_release": "none", "psi": true,
    });
    let plan = format!("name = {:?}\n", case.plan);
    let resolved = format!("{plan}margin = 0.005\n# {}\n", case.version);
    let run = RunDir::create(folder, &manifest(name, case), &plan, &resolved, &host)?;
    let mut inventor = Inventor::of(case)?;
    let mut journal = JournalWriter::create(&run)?;
    journal.push(&Entry::Version {
        of: "sdk".to_owned(),
        text: case.version.to_owned(),
    })?;
    let loads = u32::try_from(case.loads.len())?;
    let rounds = match case.end {
        End::Complete => case.rounds * loads,
        End::Interrupted => case.rounds * loads / 2,
        End::Killed => 0,
    };
    for round in 0..rounds {
        inventor.round(&mut journal, round)?;
    }
    match case.end {
        End::Complete => journal.push(&Entry::RunEnded(Ending::Complete))?,
        End::Interrupted => journal.push(&Entry::RunEnded(Ending::Interrupted))?,
        End::Killed => {}
    }
    journal.commit()?;
    if case.has_profiles {
        profiles(&run, case)?;
    }
    Ok(())
}

/// Invents windows, in the order in which a run would measure them.
struct Inventor<'a> {
    case: &'a Case,
    random: Random,
    now_ns: u64,
    block: u32,
    times: Histogram<u32>,
}

impl<'a> Inventor<'a> {
    fn of(case: &'a Case) -> Result<Inventor<'a>, Box<dyn Error>> {
        Ok(Inventor {
            case,
            random: Random(case.seed),
            now_ns: 0,
            block: 0,
            // The same bounds as the generator's.
            times: Histogram::new_with_bounds(1, 86_400_000_000_000, 3)?,
        })
    }

    fn round(&mut self, journal: &mut JournalWriter, round: u32) -> Result<(), Box<dyn Error>> {
        let model = self.case.loads[round as usize % self.case.loads.len()].0;
        journal.push(&Entry::LaunchStarted(launch(self.case, round, self.now_ns)))?;
        self.now_ns += LAUNCH_NS;
        let of_launch: Vec<f64> = self
            .case
            .arms
            .iter()
            .map(|_| 0.006 * self.random.normal())
            .collect();
        for _ in 0..self.case.blocks_per_round {
            self.block(journal, round, model, &of_launch)?;
        }
        journal.push(&Entry::LaunchEnded(launch_end(self.case, round)))?;
        for used in services(self.case, round) {
            journal.push(&Entry::Services(used))?;
        }
        let requests = u64::from(self.case.blocks_per_round) * 2 * REQUESTS_IN_WINDOW;
        for (arm, of) in self.case.indexed() {
            if let Some(sampling) = of.sampling {
                let spans = whole(requests as f64 * sampling * (1.0 - of.loses));
                journal.push(&Entry::Delivered(Delivered {
                    launch: round,
                    arm,
                    export_requests: spans.div_ceil(512),
                    spans,
                    root_spans: spans,
                    wire_bytes: spans * 210,
                    body_bytes: spans * 205,
                    completed_requests: requests,
                    ..Delivered::default()
                }))?;
            }
        }
        journal.commit()?;
        Ok(())
    }

    /// Every arm forwards and backwards, with the baseline in between.
    fn block(
        &mut self,
        journal: &mut JournalWriter,
        round: u32,
        model: LoadModel,
        of_launch: &[f64],
    ) -> Result<(), Box<dyn Error>> {
        let drift = 0.05 * self.random.normal();
        let mut order: Vec<u16> = (1..).take(self.case.arms.len() - 1).collect();
        let turn = usize::try_from(self.random.below(order.len() as u64))?;
        order.rotate_left(turn);
        let mut half: Vec<u16> = order
            .chunks(3)
            .flat_map(|three| [&[0], three].concat())
            .collect();
        half.extend(half.clone().iter().rev());
        for (position, &arm) in (0u32..).zip(&half) {
            let place = Place {
                launch: round,
                round,
                block: self.block,
                position,
                arm: ArmIndex(arm),
            };
            let slower = drift + of_launch[usize::from(arm)];
            let window = self.window(place, model, slower);
            self.times(&window, model);
            journal.window(&window, &self.times, &self.times)?;
        }
        let agents = self.case.indexed().filter(|(_, of)| of.has_agent);
        for (arm, _) in agents {
            journal.push(&Entry::Agent(attachment(round, self.block, arm)))?;
        }
        journal.commit_block(self.block)?;
        self.block += 1;
        Ok(())
    }

    fn window(&mut self, place: Place, model: LoadModel, slower: f64) -> Window {
        let of = &self.case.arms[place.arm.get()];
        let started_ns = self.now_ns;
        self.now_ns += WINDOW_NS + SETTLE_NS;
        let cost_ns = self.case.request_us
            * 1e3
            * (1.0 + of.costs)
            * (slower + 0.02 * self.random.normal()).exp();
        let completed = match model {
            LoadModel::Open => REQUESTS_IN_WINDOW,
            LoadModel::Closed => whole(WINDOW_NS as f64 / cost_ns * 0.95),
            LoadModel::Batch => 50,
        };
        let cpu_ns = whole(completed as f64 * cost_ns);
        let has_agent = of.has_agent || of.bystander_of.is_some();
        let watches = self.case.arms.iter().any(|arm| arm.has_agent);
        let agent_ns = has_agent.then_some(completed * 50_000);
        let kernel_threads_ns = watches.then_some(300_000);
        Window {
            started_ns,
            duration_ns: WINDOW_NS,
            stretch_ns: WINDOW_NS + SETTLE_NS,
            exchanges: self.exchanges(completed, of.fails),
            cpu: WindowCpu {
                in_window_ns: (!of.is_unreadable).then_some(cpu_ns),
                settle_ns: cpu_ns / 10,
                others_in_window: Vec::new(),
                others_before: self.flushed(place.arm),
                generator_ns: completed * 6_000,
                sink_ns: 40_000,
                windage_ns: completed * 6_000 + 300_000,
            },
            machine: MachineDelta {
                busy_ns: Some(
                    cpu_ns
                        + completed * 9_000
                        + agent_ns.unwrap_or(0)
                        + kernel_threads_ns.unwrap_or(0),
                ),
                steal_ns: self.random.below(20) / 19 * 1_500_000,
                cpu_pressure_ns: Some(self.random.below(2_000_000)),
            },
            beside: Beside {
                agent_ns,
                agent_rss_bytes: has_agent.then_some(180_000_000),
                kernel_threads_ns,
                between_readings_ns: Some(WINDOW_NS),
            },
            rss_bytes: (!of.is_unreadable)
                .then(|| whole(4e7 * (1.0 + of.costs)) + self.random.below(1_000_000)),
            activity: Some({
                let mut activity = fixtures::activity();
                activity.page_faults = self.random.below(10);
                activity.context_switches = completed * 2;
                activity
            }),
            warnings: self.warnings(of.fails),
            outliers: vec![Outlier {
                intended_ns: started_ns + 20_000_000,
                sent_ns: started_ns + 20_010_000,
                completed_ns: started_ns + 29_000_000,
            }],
            ..fixtures::window(place)
        }
    }

    fn exchanges(&mut self, completed: u64, fail: bool) -> Exchanges {
        let status = if fail {
            StatusClasses([0, 0, 0, 0, completed])
        } else {
            StatusClasses([0, completed, 0, 0, 0])
        };
        Exchanges {
            intended: completed,
            sent: completed,
            completed,
            settle_completed: completed / 10,
            status,
            sent_bytes: completed * 90,
            received_bytes: completed * 180,
            generator_preemptions: Some(self.random.below(3)),
            generator_run_queue_ns: Some(self.random.below(1_000_000)),
            ..Exchanges::default()
        }
    }

    fn warnings(&mut self, fails: bool) -> Vec<Warning> {
        if fails {
            return vec![Warning::OnlyErrors {
                answers: REQUESTS_IN_WINDOW,
                answers_4xx: 0,
                answers_5xx: REQUESTS_IN_WINDOW,
            }];
        }
        match self.random.below(60) {
            0 => vec![Warning::Steal {
                steal_ns: 12_000_000,
                window_ns: WINDOW_NS,
            }],
            _ => Vec::new(),
        }
    }

    /// Arms with telemetry flush their batches while others have load.
    fn flushed(&mut self, own: ArmIndex) -> Vec<ArmCpu> {
        let mut flushed = Vec::new();
        for (arm, of) in self.case.indexed() {
            if arm != own && of.sampling.is_some() && self.random.below(8) == 0 {
                flushed.push(ArmCpu {
                    arm,
                    cpu_ns: 200_000,
                });
            }
        }
        flushed
    }

    /// Times about 1 ms, skewed to the right, one in three hundred ten times as long.
    fn times(&mut self, window: &Window, model: LoadModel) {
        self.times.reset();
        let of = &self.case.arms[window.place.arm.get()];
        if model == LoadModel::Batch || of.is_unreadable {
            return;
        }
        for _ in 0..window.exchanges.completed {
            let long = if self.random.below(300) == 0 {
                10.0
            } else {
                1.0
            };
            let ns = 1e6 * (1.0 + of.costs) * (0.3 * self.random.normal()).exp() * long;
            self.times.saturating_record(whole(ns));
        }
    }
}

impl Case {
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (ArmIndex, &ArmOf)> {
        (0u16..).map(ArmIndex).zip(&self.arms)
    }
}
