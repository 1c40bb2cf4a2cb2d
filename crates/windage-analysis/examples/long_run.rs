//! Time and memory for analysing a long run of many arms.
//!
//! ```console
//! $ cargo run --locked --release -p windage-analysis --example long_run -- make FOLDER [ARMS [WINDOWS]]
//! $ cargo run --locked --release -p windage-analysis --example long_run -- analyse FOLDER
//! ```
//!
//! `make` writes a run directory as a run leaves it, with ARMS arms (by default 100) and WINDOWS
//! windows (by default 10 000) per arm on average: the baseline and the control are in every block
//! and have more. A window takes about 1.6 kB, histograms included. `analyse` prints the time
//! needed for figures, quantiles and pictures, and the peak memory of the process. `make` is
//! separate so that its memory is not counted.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use hdrhistogram::Histogram;
use windage_analysis::{Records, analyse, detailed, of_run_directory};
use windage_model::{
    Activity, ArmCpu, ArmIndex, CpuSource, Exchanges, LoadModel, MachineDelta, Outlier, Place,
    StatusClasses, Warning, Window, WindowCpu, fixtures,
};
use windage_record::fixtures::{arm, manifest as any_manifest};
use windage_record::{
    Delivered, DesignScope, Ending, Entry, JournalWriter, Launch, LaunchArmEnd, LaunchEnd,
    LaunchedArm, Manifest, RunDir,
};

const USAGE: &str = "usage: long_run make FOLDER [ARMS [WINDOWS]], or: long_run analyse FOLDER";

const ARMS: u16 = 100;
/// The baseline, the control and one treatment.
const FEWEST_ARMS: u16 = 3;
const ROUNDS: u32 = 8;
const WINDOWS: u64 = 10_000;
const TREATMENTS_IN_A_BLOCK: usize = 6;
const WINDOW_NS: u64 = 100_000_000;
const SETTLE_NS: u64 = 10_000_000;
/// Twenty windows with their settle times.
const BLOCK_NS: u64 = 20 * (WINDOW_NS + SETTLE_NS);
/// Keeps the uncommitted data far below its bound. A real run commits each block.
const BLOCKS_IN_COMMIT: u32 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let verb = arguments.get(1).and_then(|verb| verb.to_str());
    match (verb, &arguments.get(2..).unwrap_or_default()) {
        (Some("make"), [folder]) => make(Path::new(folder), ARMS, WINDOWS),
        (Some("make"), [folder, arms]) => make(Path::new(folder), number(arms)?, WINDOWS),
        (Some("make"), [folder, arms, windows]) => {
            make(Path::new(folder), number(arms)?, number(windows)?)
        }
        (Some("analyse"), [folder]) => analysed(&RunDir::open(folder)?),
        _ => Err(USAGE.into()),
    }
}

fn number<T: FromStr>(argument: &OsString) -> Result<T, &'static str> {
    let number = argument.to_str().and_then(|text| text.parse().ok());
    number.ok_or(USAGE)
}

/// Analyses without the histograms, then with them.
#[expect(clippy::print_stdout, reason = "figures for the terminal")]
fn analysed(run: &RunDir) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let records = Records::read(run)?.swap_remove(0);
    let read_s = began.elapsed().as_secs_f64();
    let scalars = analyse(&records, std::iter::empty(), std::iter::empty());
    let scalars_s = began.elapsed().as_secs_f64();
    println!(
        "{} arms, {} blocks, {} windows",
        scalars.arms.len(),
        scalars.design.blocks,
        (scalars.design.measured_s * 1e9 / WINDOW_NS as f64).round(),
    );
    println!("journal read: {read_s:.2} s");
    println!(
        "scalars: {scalars_s:.2} s, {:.0} MB at most",
        most_memory_mb()?
    );
    drop((records, scalars));

    let began = Instant::now();
    let analysis = of_run_directory(run)?;
    let whole_s = began.elapsed().as_secs_f64();
    println!(
        "with quantiles: {whole_s:.2} s, {:.0} MB at most",
        most_memory_mb()?
    );
    drop(analysis);

    let began = Instant::now();
    let detailed = detailed(run)?;
    let whole_s = began.elapsed().as_secs_f64();
    let series = detailed
        .loads
        .iter()
        .filter_map(|load| load.series.as_ref());
    let points = series.flat_map(|series| &series.arms);
    let points: usize = points.map(|arm| arm.at_s.len()).sum();
    println!(
        "with what pictures need: {whole_s:.2} s, {:.0} MB at most, {points} points over time",
        most_memory_mb()?
    );
    Ok(())
}

/// The peak resident memory of this process, as Linux counts it.
fn most_memory_mb() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: f64 = kib.ok_or("no VmHWM in /proc/self/status")?.trim().parse()?;
    Ok(kib * 1024.0 / 1e6)
}

/// Writes the run.
#[expect(clippy::print_stdout, reason = "figures for the terminal")]
fn make(folder: &Path, arms: u16, windows_of_arm: u64) -> Result<(), Box<dyn Error>> {
    if arms < FEWEST_ARMS {
        return Err(format!("ARMS must be at least {FEWEST_ARMS}").into());
    }
    let began = Instant::now();
    let run = RunDir::create(folder, &manifest(arms), "", "", &serde_json::json!({}))?;
    let mut writer = JournalWriter::create(&run)?;
    let mut maker = Maker::new(arms)?;
    let in_round = windows_of_arm * u64::from(arms) / u64::from(ROUNDS);
    let mut block = 0;
    for round in 0..ROUNDS {
        writer.push(&Entry::LaunchStarted(launch(round, arms)))?;
        let mut measured = 0;
        while measured < in_round {
            measured += maker.block(&mut writer, round, block)?;
            writer.push(&Entry::BlockDone { block })?;
            block += 1;
            if block.is_multiple_of(BLOCKS_IN_COMMIT) {
                writer.commit()?;
            }
        }
        writer.push(&Entry::LaunchEnded(launch_end(round, arms)))?;
        for delivered in (2..arms).map(|arm| delivered(round, arm)) {
            writer.push(&Entry::Delivered(delivered))?;
        }
    }
    writer.push(&Entry::RunEnded(Ending::Complete))?;
    writer.commit()?;
    println!(
        "{block} blocks made in {:.0} s; {:.0} MB at most",
        began.elapsed().as_secs_f64(),
        most_memory_mb()?
    );
    Ok(())
}

/// Generates windows similar to recorded ones.
struct Maker {
    arms: u16,
    random: Random,
    response_times: Histogram<u32>,
    service_times: Histogram<u32>,
}

impl Maker {
    fn new(arms: u16) -> Result<Maker, Box<dyn Error>> {
        // The same bounds as in the generator.
        let empty = Histogram::new_with_bounds(1, 86_400_000_000_000, 3)?;
        Ok(Maker {
            arms,
            random: Random(1),
            response_times: empty.clone(),
            service_times: empty,
        })
    }

    /// A mirrored block: six treatments, the control, and the baseline before each group of three.
    fn block(
        &mut self,
        writer: &mut JournalWriter,
        round: u32,
        block: u32,
    ) -> Result<u64, Box<dyn Error>> {
        let parts = usize::from(self.arms - 2).div_ceil(TREATMENTS_IN_A_BLOCK);
        let treatments: Vec<u16> = (2..self.arms).collect();
        let share = treatments.chunks(TREATMENTS_IN_A_BLOCK);
        let mut others = share.collect::<Vec<_>>()[block as usize % parts].to_vec();
        others.push(1);
        let turn = self.random.below(others.len() as u64);
        others.rotate_left(usize::try_from(turn)?);
        let mut half: Vec<u16> = others
            .chunks(3)
            .flat_map(|group| [&[0], group].concat())
            .collect();
        half.extend(half.clone().iter().rev());
        for (position, &arm) in (0u32..).zip(&half) {
            let window = self.window(Place {
                launch: round,
                round,
                block,
                position,
                arm: ArmIndex(arm),
            });
            self.times(&window)?;
            writer.window(&window, &self.response_times, &self.service_times)?;
        }
        Ok(half.len() as u64)
    }

    fn window(&mut self, place: Place) -> Window {
        let completed = 100 + self.random.below(900);
        let started_ns =
            u64::from(place.block) * BLOCK_NS + u64::from(place.position) * (WINDOW_NS + SETTLE_NS);
        let cost_ns = 50_000.0 * (1.0 + 0.002 * f64::from(place.arm.0) + 0.02 * self.random.unit());
        let cpu_ns = ns(completed as f64 * cost_ns);
        let warnings = match self.random.below(100) {
            0 => vec![Warning::Steal {
                steal_ns: 12_000_000,
                window_ns: WINDOW_NS,
            }],
            _ => vec![],
        };
        Window {
            started_ns,
            duration_ns: WINDOW_NS,
            stretch_ns: WINDOW_NS + SETTLE_NS,
            exchanges: Exchanges {
                intended: completed,
                sent: completed,
                completed,
                settle_completed: completed / 10,
                status: StatusClasses([0, completed, 0, 0, 0]),
                sent_bytes: completed * 90,
                received_bytes: completed * 180,
                generator_preemptions: Some(self.random.below(3)),
                generator_run_queue_ns: Some(self.random.below(1_000_000)),
                ..Exchanges::default()
            },
            cpu: WindowCpu {
                in_window_ns: Some(cpu_ns),
                settle_ns: cpu_ns / 10,
                others_in_window: self.others(3),
                others_before: self.others(2),
                generator_ns: completed * 6_000,
                sink_ns: 40_000,
                windage_ns: completed * 6_000 + 300_000,
            },
            machine: MachineDelta {
                busy_ns: Some(cpu_ns + completed * 9_000),
                steal_ns: self.random.below(2) * 10_000_000,
                cpu_pressure_ns: Some(self.random.below(2_000_000)),
            },
            rss_bytes: Some(40_000_000 + self.random.below(1_000_000)),
            activity: Some(Activity {
                context_switches: completed * 2,
                ..fixtures::activity()
            }),
            warnings,
            outliers: (1..4)
                .map(|i| Outlier {
                    intended_ns: started_ns + i * 20_000_000,
                    sent_ns: started_ns + i * 20_000_000 + 10_000,
                    completed_ns: started_ns + i * 20_000_000 + 9_000_000 / i,
                })
                .collect(),
            ..fixtures::window(place)
        }
    }

    /// Arms that flushed their batches; most used nothing and are not listed.
    fn others(&mut self, most: u64) -> Vec<ArmCpu> {
        let mut flushed: Vec<u16> = (0..self.random.below(most + 1))
            .filter_map(|_| u16::try_from(self.random.below(u64::from(self.arms))).ok())
            .collect();
        flushed.sort_unstable();
        flushed.dedup();
        let arms = flushed.into_iter().map(ArmIndex);
        arms.map(|arm| ArmCpu {
            arm,
            cpu_ns: 100_000 + self.random.below(2_000_000),
        })
        .collect()
    }

    /// Times about 1 ms, skewed to the right, with one in five hundred ten times as long.
    fn times(&mut self, window: &Window) -> Result<(), Box<dyn Error>> {
        self.response_times.reset();
        self.service_times.reset();
        for _ in 0..window.exchanges.completed {
            let normal = (0..6).map(|_| self.random.unit()).sum::<f64>() / 6f64.sqrt() * 1.73;
            let long = if self.random.below(500) == 0 {
                10.0
            } else {
                1.0
            };
            let service_ns = ns(1e6 * (0.3 * normal).exp() * long);
            self.service_times.record(service_ns)?;
            let waited_ns = self.random.below(60_000);
            self.response_times.record(service_ns + waited_ns)?;
        }
        Ok(())
    }
}

/// The finaliser of SplitMix64 over a counter.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// Between -1 and 1.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made from positive times of minutes at most"
)]
fn ns(time: f64) -> u64 {
    time as u64
}

fn manifest(arms: u16) -> Manifest {
    let mut manifest = any_manifest();
    manifest
        .arms
        .extend((3..arms).map(|index| arm(index, &format!("level-{index}"))));
    manifest.load.model = LoadModel::Open;
    manifest.design = DesignScope {
        window_ns: WINDOW_NS,
        settle_ns: SETTLE_NS,
        rounds: ROUNDS,
        blocks_per_round: 0,
        drain_ns: 1_000_000_000,
        idle_ns: 1_000_000_000,
        ..manifest.design
    };
    manifest
}

fn launch(launch: u32, arms: u16) -> Launch {
    let arm = |arm| LaunchedArm {
        arm: ArmIndex(arm),
        instance: arm,
        startup_ns: Some(20_000_000),
        cpu_source: CpuSource::CgroupV2,
        cpu_resolution_ns: 1_000,
        startup_cpu_ns: Some(10_000_000),
        warmup_completed: 1_000,
        warmup_outside_ns: 10_000_000,
        warmup_outside_time_ns: 100_000_000_000,
    };
    Launch {
        launch,
        round: launch,
        started_ns: 0,
        arms: (0..arms).map(arm).collect(),
    }
}

fn launch_end(launch: u32, arms: u16) -> LaunchEnd {
    let arm = |arm| LaunchArmEnd {
        arm: ArmIndex(arm),
        after_last_window_ns: Some(1_000_000),
        drain_ns: 1_000_000_000,
        idle_cpu_ns: Some(100_000),
        idle_ns: 1_000_000_000,
        rss_peak_bytes: Some(42_000_000),
        pss_bytes: Some(30_000_000),
        ..LaunchArmEnd::default()
    };
    LaunchEnd {
        launch,
        arms: (0..arms).map(arm).collect(),
        own_rss_bytes: Some(28_000_000),
    }
}

fn delivered(launch: u32, arm: u16) -> Delivered {
    Delivered {
        launch,
        arm: ArmIndex(arm),
        export_requests: 1_000,
        spans: 500_000,
        root_spans: 500_000,
        wire_bytes: 105_000_000,
        body_bytes: 100_000_000,
        completed_requests: 500_000,
        ..Delivered::default()
    }
}
