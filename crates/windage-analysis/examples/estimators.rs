//! Compares robust locations on recorded noise, and describes that noise.
//!
//! ```console
//! $ cargo run --locked --release -p windage-analysis --example estimators -- RUN…
//! ```
//!
//! Each RUN is a run directory of a server compared with itself, so the control's true difference
//! is zero and differences between short slices of the run are errors of the estimator. The
//! estimators are tried on three inputs: a log ratio per block, one per half of a block, and one
//! per pair of consecutive windows. The facts below the table are those from which the noise
//! generators for simulations are fitted.

use std::collections::BTreeMap;
use std::error::Error;

use windage_model::{ArmIndex, Soundness, Window};
use windage_record::{Entry, Journal, RunDir};
use windage_stats::{Estimator, locate, robust_sd};

/// Blocks per slice.
const SLICES: [usize; 3] = [10, 20, 40];

/// Errors of slices are scaled to this length: about ten seconds.
const REFERENCE_SLICE: usize = 20;

/// The longest lag for which correlations are computed.
const LAGS: usize = 5;

/// A value beyond so many robust standard deviations is an outlier.
const OUTLIER_DEVIATIONS: f64 = 5.0;

/// A reading of a window.
type Reading = fn(&Window) -> Option<f64>;

const READINGS: [(&str, Reading); 4] = [
    ("cpu_per_request", cpu_per_request),
    ("throughput", Window::throughput_per_s),
    ("machine_cpu_per_request", machine_cpu_per_request),
    ("generator_cpu_per_request", generator_cpu_per_request),
];

/// The input of a location.
#[derive(Clone, Copy)]
enum Material {
    Blocks,
    Halves,
    Neighbours,
}

impl Material {
    const ALL: [Material; 3] = [Material::Blocks, Material::Halves, Material::Neighbours];
}

#[expect(
    clippy::print_stdout,
    reason = "a study for the terminal; the binary's renderers have no part in it"
)]
fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args_os().collect::<Vec<_>>().split_off(1) {
        let run = RunDir::open(&path)?;
        let launches = Launches::read(&run)?;
        println!("run {}", run.manifest().run);
        for (name, reading) in READINGS {
            println!("\n{name}");
            print!(
                "{}{}",
                efficiencies(&launches, reading),
                facts(&launches, reading)
            );
        }
    }
    Ok(())
}

/// Windows of baseline and control, by launch and block, in time order, without void ones.
struct Launches(Vec<Vec<Vec<Window>>>);

impl Launches {
    fn read(run: &RunDir) -> Result<Launches, Box<dyn Error>> {
        let mut launches: BTreeMap<u32, BTreeMap<u32, Vec<Window>>> = BTreeMap::new();
        for entry in Journal::read(run)?.entries {
            let Entry::Window(window) = entry else {
                continue;
            };
            let of_control = window.place.arm == ArmIndex::CONTROL;
            let compared = of_control || window.place.arm == ArmIndex::BASELINE;
            if compared && window.soundness() != Soundness::Void {
                let blocks = launches.entry(window.place.launch).or_default();
                blocks.entry(window.place.block).or_default().push(window);
            }
        }
        let by_block = |blocks: BTreeMap<u32, Vec<Window>>| blocks.into_values().collect();
        Ok(Launches(launches.into_values().map(by_block).collect()))
    }

    /// Log ratios of control to baseline, by launch and block.
    fn ratios(&self, material: Material, reading: Reading) -> Vec<Vec<Vec<f64>>> {
        let of_launch = |blocks: &Vec<Vec<Window>>| {
            let mut before: Option<&Window> = None;
            let of_block = |before: Option<&Window>, block: &[Window]| match material {
                Material::Blocks => ratio(block, reading).into_iter().collect(),
                Material::Halves => {
                    let (early, late) = block.split_at(block.len() / 2);
                    let halves = [ratio(early, reading), ratio(late, reading)];
                    halves.into_iter().flatten().collect()
                }
                Material::Neighbours => neighbours(before, block, reading),
            };
            let mut ratios = Vec::new();
            for block in blocks {
                ratios.push(of_block(before, block));
                before = block.last();
            }
            ratios
        };
        self.0.iter().map(of_launch).collect()
    }

    fn block_ratios(&self, reading: Reading) -> Vec<f64> {
        self.ratios(Material::Blocks, reading).concat().concat()
    }
}

/// Mean logarithm of the control's windows less that of the baseline's.
fn ratio(windows: &[Window], reading: Reading) -> Option<f64> {
    let of = |arm| mean(&logs(windows, arm, reading));
    Some(of(ArmIndex::CONTROL)? - of(ArmIndex::BASELINE)?)
}

/// The log ratio of each two consecutive windows of different arms; the first may be the last one
/// of the previous block.
fn neighbours(before: Option<&Window>, block: &[Window], reading: Reading) -> Vec<f64> {
    let windows: Vec<Window> = before.into_iter().chain(block).cloned().collect();
    let pairs = windows.windows(2);
    pairs.filter_map(|pair| ratio(pair, reading)).collect()
}

fn logs(windows: &[Window], arm: ArmIndex, reading: Reading) -> Vec<f64> {
    let of_arm = windows.iter().filter(|w| w.place.arm == arm);
    let positive = of_arm.filter_map(reading).filter(|value| *value > 0.0);
    positive.map(f64::ln).collect()
}

/// For each estimator and input, the standard error of a slice and, in parentheses, how many times
/// fewer blocks it needs than the mean of blocks.
fn efficiencies(launches: &Launches, reading: Reading) -> String {
    let materials = Material::ALL.map(|material| launches.ratios(material, reading));
    let reference = slice_error(&materials[0], Estimator::Mean);
    let mut text = format!(
        "  standard error of {REFERENCE_SLICE} blocks, efficiency\n  {:<18}{:>18}{:>18}{:>18}\n",
        "", "blocks", "halves", "neighbours"
    );
    for estimator in Estimator::ALL {
        text += &format!("  {:<18}", estimator.as_str());
        for material in &materials {
            let error = slice_error(material, estimator);
            let efficiency = (reference / error).powi(2);
            text += &format!("{:>9.3} % ({efficiency:.2})", 100.0 * error);
        }
        text += "\n";
    }
    text
}

/// The standard error of the locations of slices of a launch about their mean, over all lengths of
/// slices, each scaled to the reference length.
fn slice_error(launches: &[Vec<Vec<f64>>], estimator: Estimator) -> f64 {
    let mut variances = Vec::new();
    for (length, launch) in SLICES
        .iter()
        .flat_map(|l| launches.iter().map(move |v| (*l, v)))
    {
        let slices = launch.chunks_exact(length);
        let locations: Vec<f64> = slices
            .filter_map(|slice| locate(&slice.concat(), estimator))
            .collect();
        let scatter = deviation(&locations).map(|d| d * d * length as f64);
        variances.extend(scatter.map(|v| v / REFERENCE_SLICE as f64));
    }
    mean(&variances).map_or(f64::NAN, f64::sqrt)
}

fn facts(launches: &Launches, reading: Reading) -> String {
    let blocks: Vec<&Vec<Window>> = launches.0.iter().flatten().collect();
    let of_arm = |arm| blocks.iter().map(move |block| logs(block, arm, reading));
    let baseline: Vec<Vec<f64>> = of_arm(ArmIndex::BASELINE).collect();
    let within = of_arm(ArmIndex::CONTROL).chain(baseline.iter().cloned());
    let squares: Vec<f64> = within
        .filter_map(|l| deviation(&l))
        .map(|d| d * d)
        .collect();
    format!(
        "  windows of the baseline\n{}    standard deviation within a block {:.3} %\n  \
         block log ratios\n{}",
        shape(&baseline.concat()),
        100.0 * mean(&squares).map_or(f64::NAN, f64::sqrt),
        shape(&launches.block_ratios(reading))
    )
}

/// Variance components, tails and autocorrelation of a series, as text.
fn shape(series: &[f64]) -> String {
    let correlations: Vec<String> = (1..=LAGS)
        .map(|lag| format!("{:+.2}", autocorrelation(series, lag)))
        .collect();
    format!(
        "    standard deviation {:.3} %, by the median absolute deviation {:.3} %\n    \
         autocorrelation at lags 1 to {LAGS}: {}\n    \
         excess kurtosis {:.1}, beyond {OUTLIER_DEVIATIONS} deviations {:.2} %\n",
        100.0 * deviation(series).unwrap_or(f64::NAN),
        100.0 * robust_sd(series).unwrap_or(f64::NAN),
        correlations.join(" "),
        excess_kurtosis(series),
        100.0 * outlier_share(series),
    )
}

fn cpu_per_request(window: &Window) -> Option<f64> {
    Some(window.cpu.in_window_ns? as f64 / window.exchanges.completed as f64)
        .filter(|ratio| ratio.is_finite())
}

fn machine_cpu_per_request(window: &Window) -> Option<f64> {
    Some(window.machine.busy_ns? as f64 / window.exchanges.completed as f64)
        .filter(|ratio| ratio.is_finite())
}

fn generator_cpu_per_request(window: &Window) -> Option<f64> {
    Some(window.cpu.generator_ns as f64 / window.exchanges.completed as f64)
        .filter(|ratio| ratio.is_finite())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

fn outlier_share(values: &[f64]) -> f64 {
    let median = locate(values, Estimator::Median).unwrap_or(f64::NAN);
    let bound = OUTLIER_DEVIATIONS * robust_sd(values).unwrap_or(f64::NAN);
    let far = values.iter().filter(|v| (*v - median).abs() > bound);
    far.count() as f64 / values.len() as f64
}

fn excess_kurtosis(values: &[f64]) -> f64 {
    let centre = mean(values).unwrap_or(f64::NAN);
    let moment = |power| {
        let powers: Vec<f64> = values.iter().map(|v| (v - centre).powi(power)).collect();
        mean(&powers).unwrap_or(f64::NAN)
    };
    moment(4) / moment(2).powi(2) - 3.0
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let centre = mean(values).unwrap_or(f64::NAN);
    let Some(later) = values.get(lag..) else {
        return f64::NAN;
    };
    let pairs = values.iter().zip(later);
    let together: f64 = pairs.map(|(a, b)| (a - centre) * (b - centre)).sum();
    let power: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    together / power
}
