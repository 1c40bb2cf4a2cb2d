//! Records for tests: a run as the lab would have written it, with known costs.

pub(crate) mod in_turns;
pub(crate) mod run_directory;

use std::convert::Infallible;

use windage_model::fixtures::place;
use windage_model::{
    ArmCpu, ArmIndex, CpuSource, Exchanges, Expected, MachineDelta, Reason, TurnBlock, Window,
    WindowCpu,
};
use windage_record::{
    Delivered, DesignScope, Ending, Entry, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm, Manifest,
    fixtures,
};

use crate::wire::{self, Sentences};
use crate::{Analysis, Compared, ComparisonWarning, Missing, Records};

/// A recorded run, which a test can change before it is gathered.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) manifest: Manifest,
    pub(crate) launches: Vec<Launch>,
    pub(crate) windows: Vec<Window>,
    pub(crate) turns: Vec<TurnBlock>,
    pub(crate) ends: Vec<LaunchEnd>,
    pub(crate) delivered: Vec<Delivered>,
    /// What programs report about themselves, and what their processes used.
    pub(crate) reported: Vec<Entry>,
}

impl Recorded {
    /// The input of an analysis.
    pub(crate) fn gathered(&self) -> Records {
        self.gathered_by_load().swap_remove(0)
    }

    /// The same for each load of the run.
    pub(crate) fn gathered_by_load(&self) -> Vec<Records> {
        let version = Entry::Version {
            of: "app".to_owned(),
            text: "app 1.2.3".to_owned(),
        };
        let entries = self.entries().chain([version]).map(Ok::<_, Infallible>);
        let host = serde_json::json!({"kernel": "6.18.0"});
        let mut all = Records::gather(&self.manifest, &host, entries).unwrap();
        for records in &mut all {
            records.ending = Some(Ending::Complete);
        }
        all
    }

    /// What its blocks recorded.
    pub(crate) fn measured(&self) -> Vec<Entry> {
        let windows = self.windows.iter().cloned().map(Entry::Window);
        let turns = self.turns.iter().cloned().map(Entry::Turns);
        windows.chain(turns).collect()
    }

    /// The journal's entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let launches = self.launches.iter().cloned().map(Entry::LaunchStarted);
        let ends = self.ends.iter().cloned().map(Entry::LaunchEnded);
        let delivered = self.delivered.iter().cloned().map(Entry::Delivered);
        let entries = launches.chain(self.measured()).chain(ends).chain(delivered);
        entries.chain(self.reported.iter().cloned())
    }
}

/// Codes in place of sentences.
struct Codes;

impl Sentences for Codes {
    fn reason(&self, of: &Reason) -> String {
        of.code().as_str().to_owned()
    }

    fn missing(&self, why: &Missing) -> String {
        why.code().as_str().to_owned()
    }

    fn comparison(&self, of: &ComparisonWarning) -> String {
        of.code.as_str().to_owned()
    }
}

/// `analysis.json`, with codes in place of sentences.
pub(crate) fn to_json(analysis: &Analysis) -> serde_json::Value {
    wire::to_json(analysis, &Codes)
}

/// The comparison as JSON, with codes in place of sentences.
pub(crate) fn comparison_to_json(compared: &Compared) -> serde_json::Value {
    wire::comparison_to_json(compared, &Codes)
}

/// A valid window of a thousand requests that cost 50 µs each.
pub(crate) fn window(launch: u32, block: u32, arm: u16) -> Window {
    let of = windage_model::fixtures::window(place(launch, block, arm));
    Window {
        exchanges: Exchanges {
            settle_completed: 100,
            ..of.exchanges
        },
        cpu: WindowCpu {
            settle_ns: 5_000_000,
            generator_ns: 6_000_000,
            windage_ns: 7_000_000,
            ..of.cpu
        },
        machine: MachineDelta {
            busy_ns: Some(60_000_000),
            ..MachineDelta::default()
        },
        rss_bytes: Some(10_000_000),
        ..of
    }
}

pub(crate) fn launch(launch: u32, arms: &[u16]) -> Launch {
    let arms = arms
        .iter()
        .map(|&arm| LaunchedArm {
            arm: ArmIndex(arm),
            instance: arm,
            startup_ns: Some(20_000_000),
            cpu_source: CpuSource::CgroupV1,
            cpu_resolution_ns: 1,
            startup_cpu_ns: Some(10_000_000),
            warmup_completed: 0,
            warmup_outside_ns: 0,
            warmup_outside_time_ns: 0,
        })
        .collect();
    Launch {
        launch,
        round: launch,
        started_ns: 0,
        arms,
    }
}

/// The end of a launch: for each arm its CPU in a drain of a second and in an idle stretch of 100
/// ms.
pub(crate) fn launch_end(launch: u32, arms: &[(u16, u64, u64)]) -> LaunchEnd {
    let arms = arms
        .iter()
        .map(|&(arm, after_ns, idle_ns)| LaunchArmEnd {
            arm: ArmIndex(arm),
            after_last_window_ns: Some(after_ns + idle_ns * 10),
            drain_ns: 1_000_000_000,
            idle_cpu_ns: Some(idle_ns),
            idle_ns: 100_000_000,
            rss_peak_bytes: Some(12_000_000),
            pss_bytes: Some(9_000_000),
            ..LaunchArmEnd::default()
        })
        .collect();
    LaunchEnd {
        launch,
        arms,
        own_rss_bytes: Some(28_000_000 + u64::from(launch)),
    }
}

/// One span per trace, 200 bytes each.
pub(crate) fn delivered(launch: u32, arm: u16, requests: u64, roots: u64) -> Delivered {
    Delivered {
        launch,
        arm: ArmIndex(arm),
        export_requests: roots / 512 + 1,
        spans: roots,
        root_spans: roots,
        wire_bytes: roots * 210,
        body_bytes: roots * 200,
        completed_requests: requests,
        ..Delivered::default()
    }
}

/// A run of `rounds` × 10 blocks over off, control and one treatment that costs a fifth more in its
/// windows and defers another 2 µs per request; the machine's speed drifts by 40 %.
pub(crate) fn records(rounds: u32) -> Recorded {
    let mut manifest = fixtures::manifest();
    manifest.arms[2].expected = Some(Expected {
        traces_per_request: Some(1.0),
        ..Expected::default()
    });
    manifest.design = DesignScope {
        rounds,
        drain_ns: 1_000_000_000,
        idle_ns: 100_000_000,
        ..manifest.design
    };
    let mut records = Recorded {
        manifest,
        launches: Vec::new(),
        windows: Vec::new(),
        turns: Vec::new(),
        ends: Vec::new(),
        delivered: Vec::new(),
        reported: Vec::new(),
    };
    for round in 0..rounds {
        add_round(&mut records, round);
    }
    records
}

/// Noise between -1 and 1 from a counter (the finaliser of SplitMix64).
pub(crate) fn noise(counter: u64) -> f64 {
    let mut bits = counter.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn add_round(records: &mut Recorded, round: u32) {
    records.launches.push(launch(round, &[0, 1, 2]));
    for block in round * 10..(round + 1) * 10 {
        // Drift that looks like overhead when means are compared.
        let speed = 1.0 + 0.4 * (f64::from(block) / 7.0).sin();
        for (position, arm) in [0u16, 1, 2, 2, 1, 0].into_iter().enumerate() {
            let mut window = window(round, block, arm);
            let scatter = 1.0 + 0.004 * noise(u64::from(block) * 8 + position as u64);
            let cost = if arm == 2 { 1.2 } else { 1.0 };
            let cpu_ns = 50_000_000.0 * speed * cost * scatter;
            window.cpu.in_window_ns = Some(cpu_ns as u64);
            window.duration_ns = (100_000_000.0 * speed * cost * scatter) as u64;
            window.stretch_ns = window.duration_ns + 10_000_000;
            window.place.position = position as u32;
            // What the treatment defers falls into the baseline's windows.
            if arm == 0 {
                let deferred = ArmCpu {
                    arm: ArmIndex(2),
                    cpu_ns: 2_200_000,
                };
                window.cpu.others_before.push(deferred);
            }
            records.windows.push(window);
        }
    }
    records
        .ends
        .push(launch_end(round, &[(0, 0, 0), (1, 0, 0), (2, 0, 0)]));
    records.delivered.push(delivered(round, 2, 22_000, 22_000));
}
