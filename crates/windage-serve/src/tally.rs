//! Counts of a run so far, from the entries of its journal.

mod of_agents;
mod of_arm;

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Window};
use windage_record::{Entry, Manifest};

use crate::families::{self, Samples};
use crate::journal_reader::Summed;
use crate::seconds;
use of_arm::OfArm;

/// The state of a run, by its journal.
const STATES: [&str; 4] = ["starting", "measuring", "between_rounds", "ended"];

/// What was recorded so far, counted.
#[derive(Debug)]
pub(crate) struct Tally {
    manifest: Manifest,
    state: &'static str,
    rounds_begun: u32,
    blocks: u64,
    /// The load of each launch.
    load_of_launch: BTreeMap<u32, usize>,
    arms: BTreeMap<(usize, ArmIndex), OfArm>,
    machine: OfMachine,
}

#[derive(Debug, Default)]
struct OfMachine {
    steal_ns: u64,
    pressure_ns: Option<u64>,
    generator_ns: u64,
    sink_ns: u64,
    windage_ns: u64,
}

impl Summed for Tally {
    fn of(manifest: &Manifest) -> Tally {
        Tally {
            manifest: manifest.clone(),
            state: STATES[0],
            rounds_begun: 0,
            blocks: 0,
            load_of_launch: BTreeMap::new(),
            arms: BTreeMap::new(),
            machine: OfMachine::default(),
        }
    }

    fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::LaunchStarted(launch) => {
                self.state = "measuring";
                self.rounds_begun = launch.round + 1;
                let load = launch.round as usize % self.manifest.loads();
                self.load_of_launch.insert(launch.launch, load);
            }
            Entry::Window(window) => {
                self.machine.take(window);
                self.arm(window.place.launch, window.place.arm).take(window);
            }
            Entry::BlockDone { .. } => self.blocks += 1,
            Entry::LaunchEnded(_) => self.state = "between_rounds",
            Entry::Agent(cycle) => self.arm(cycle.launch, cycle.arm).agents.take(cycle),
            Entry::RunEnded(_) => self.state = "ended",
            // All families are of windows: in a block of turns, only requests and the services' CPU
            // are counted by arm.
            Entry::Turns(_)
            | Entry::Delivered(_)
            | Entry::Warning(_)
            | Entry::Version { .. }
            | Entry::Phase(_)
            | Entry::Process(_)
            | Entry::SelfReport(_)
            | Entry::Services(_)
            | Entry::Held(_) => {}
        }
    }
}

impl Tally {
    fn arm(&mut self, launch: u32, arm: ArmIndex) -> &mut OfArm {
        let load = self.load_of_launch.get(&launch).copied().unwrap_or(0);
        self.arms.entry((load, arm)).or_default()
    }

    pub(crate) fn put(&self, samples: &mut Samples) {
        self.put_run(samples);
        for ((load, arm), counted) in &self.arms {
            // A damaged record may name an unknown arm.
            let Some(arm) = self.manifest.arms.iter().find(|a| a.index == *arm) else {
                continue;
            };
            let regime = match load.checked_sub(1) {
                None => self.manifest.load.regime.as_deref(),
                Some(further) => self.manifest.other_loads[further].regime.as_deref(),
            };
            let labels = [
                ("regime", regime.unwrap_or_default()),
                ("arm", arm.id.as_str()),
            ];
            counted.put(&labels, samples);
        }
        self.machine.put(samples);
    }

    fn put_run(&self, samples: &mut Samples) {
        let Manifest {
            plan,
            run,
            windage,
            design,
            ..
        } = &self.manifest;
        let labels = [("plan", &**plan), ("run", &**run), ("windage", &**windage)];
        samples.put(families::RUN, 1.0, &labels);
        for arm in &self.manifest.arms {
            let labels = [
                ("arm", arm.id.as_str()),
                ("name", &*arm.name),
                ("role", arm.role.as_str()),
            ];
            samples.put(families::ARM, 1.0, &labels);
        }
        let started_s = self.manifest.started_unix_ns as f64 / 1e9;
        samples.put(families::RUN_STARTED, started_s, &[]);
        put_state(self.state, samples);
        let blocks = f64::from(design.rounds) * f64::from(design.blocks_per_round);
        samples.put(families::ROUNDS_PLANNED, f64::from(design.rounds), &[]);
        samples.put(families::ROUNDS_BEGUN, f64::from(self.rounds_begun), &[]);
        samples.put(families::BLOCKS_PLANNED, blocks, &[]);
        samples.put(families::BLOCKS, self.blocks as f64, &[]);
    }
}

/// The samples of a run that has no directory yet.
pub(crate) fn put_starting(samples: &mut Samples) {
    put_state(STATES[0], samples);
}

fn put_state(state: &str, samples: &mut Samples) {
    samples.put_state(families::RUN_STATE, "state", &STATES, state, &[]);
}

impl OfMachine {
    fn take(&mut self, window: &Window) {
        self.steal_ns += window.machine.steal_ns;
        add(&mut self.pressure_ns, window.machine.cpu_pressure_ns);
        self.generator_ns += window.cpu.generator_ns;
        self.sink_ns += window.cpu.sink_ns;
        self.windage_ns += window.cpu.windage_ns;
    }

    fn put(&self, samples: &mut Samples) {
        samples.put(families::MACHINE_STEAL, seconds(self.steal_ns), &[]);
        samples.put(
            families::MACHINE_PRESSURE,
            self.pressure_ns.map(seconds),
            &[],
        );
        let known_ns = self.generator_ns.saturating_add(self.sink_ns);
        for (part, ns) in [
            ("generator", self.generator_ns),
            ("sink", self.sink_ns),
            ("rest", self.windage_ns.saturating_sub(known_ns)),
        ] {
            samples.put(families::OWN_CPU, seconds(ns), &[("part", part)]);
        }
    }
}

/// A sum stays unknown until one value was readable.
fn add(sum: &mut Option<u64>, ns: Option<u64>) {
    if let Some(ns) = ns {
        *sum.get_or_insert(0) += ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{cycle, launch, manifest, window};
    use windage_record::{Ending, LoadScope};

    fn value(manifest: &Manifest, entries: &[Entry], series: &str) -> Option<f64> {
        let mut tally = Tally::of(manifest);
        entries.iter().for_each(|entry| tally.take(entry));
        let mut samples = Samples::default();
        tally.put(&mut samples);
        let text = crate::exposition::text(samples).unwrap();
        text.lines()
            .find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
    }

    #[test]
    fn entries_become_counts() {
        let entries = [
            Entry::LaunchStarted(launch(0, 0)),
            Entry::Window(window(0, 0, 0)),
            Entry::Window(window(0, 0, 2)),
            Entry::BlockDone { block: 0 },
            Entry::Window(window(0, 1, 2)),
            Entry::BlockDone { block: 1 },
            Entry::Agent(cycle(0, 2)),
            Entry::LaunchEnded(Default::default()),
            Entry::LaunchStarted(launch(1, 1)),
        ];
        let manifest = manifest();
        let table = [
            (r#"windage_run_info{plan="p",run="r",windage="0.1.0"}"#, 1.0),
            (
                r#"windage_arm_info{arm="on",name="a\"b\n",role="treatment"}"#,
                1.0,
            ),
            ("windage_rounds_planned", 6.0),
            ("windage_rounds_begun", 2.0),
            ("windage_blocks_planned", 60.0),
            ("windage_blocks_total", 2.0),
            (r#"windage_run_state{state="measuring"}"#, 1.0),
            (r#"windage_run_state{state="ended"}"#, 0.0),
            (r#"windage_windows_total{arm="on",soundness="valid"}"#, 2.0),
            (r#"windage_windows_total{arm="off",soundness="void"}"#, 0.0),
            (r#"windage_requests_total{arm="on"}"#, 2000.0),
            (
                r#"windage_requests_failed_total{arm="on",cause="timeout"}"#,
                6.0,
            ),
            (r#"windage_service_cpu_seconds_total{arm="on"}"#, 0.1),
            (r#"windage_block_requests_per_second{arm="on"}"#, 10_000.0),
            (
                r#"windage_block_service_cpu_per_request_seconds{arm="on"}"#,
                50e-6,
            ),
            (r#"windage_agent_window_cpu_seconds_total{arm="on"}"#, 0.004),
            (
                r#"windage_agent_cpu_seconds_total{arm="on",phase="attach"}"#,
                0.75,
            ),
            (r#"windage_agent_bpf_programs{arm="on"}"#, 2.0),
            (
                r#"windage_agent_bpf_run_per_request_seconds{arm="on"}"#,
                3e-6,
            ),
            (r#"windage_agent_left_behind_total{arm="on"}"#, 1.0),
            ("windage_machine_steal_seconds_total", 0.003),
            (r#"windage_own_cpu_seconds_total{part="rest"}"#, 0.003),
        ];
        for (series, expected) in table {
            let found = value(&manifest, &entries, series);
            let found = found.unwrap_or_else(|| panic!("no {series}"));
            assert!((found - expected).abs() < 1e-9, "{series}: {found}");
        }
        for absent in [
            r#"windage_agent_attachments_total{arm="off"}"#,
            r#"windage_agent_window_cpu_seconds_total{arm="off"}"#,
            "windage_machine_cpu_pressure_seconds_total",
        ] {
            assert_eq!(value(&manifest, &entries, absent), None, "{absent}");
        }
    }

    #[test]
    fn states_follow_each_other() {
        let table: [(&[Entry], &str); 4] = [
            (&[], "starting"),
            (&[Entry::LaunchStarted(launch(0, 0))], "measuring"),
            (&[Entry::LaunchEnded(Default::default())], "between_rounds"),
            (&[Entry::RunEnded(Ending::Complete)], "ended"),
        ];
        let mut so_far = Vec::new();
        for (entries, state) in table {
            so_far.extend_from_slice(entries);
            for word in STATES {
                let series = format!("windage_run_state{{state=\"{word}\"}}");
                let expected = f64::from(u8::from(word == state));
                assert_eq!(
                    value(&manifest(), &so_far, &series),
                    Some(expected),
                    "{series}"
                );
            }
        }
    }

    #[test]
    fn loads_are_distinguished() {
        let mut manifest = manifest();
        manifest.load.regime = Some("saturation".to_owned());
        manifest.other_loads = vec![LoadScope {
            regime: Some("half".to_owned()),
            ..manifest.load.clone()
        }];
        let entries = [
            Entry::LaunchStarted(launch(0, 0)),
            Entry::Window(window(0, 0, 2)),
            Entry::LaunchStarted(launch(1, 1)),
            Entry::Window(window(1, 1, 2)),
            Entry::Window(window(1, 1, 2)),
        ];
        for (regime, windows) in [("saturation", 1.0), ("half", 2.0)] {
            let series = format!(
                "windage_windows_total{{regime=\"{regime}\",arm=\"on\",soundness=\"valid\"}}"
            );
            assert_eq!(
                value(&manifest, &entries, &series),
                Some(windows),
                "{series}"
            );
        }
    }
}
