//! What pictures are drawn from besides the analysis: the run over time and times by percentile.
//!
//! A picture is some thousand points wide, and nobody reads a figure from it to the tenth digit:
//! figures have [`DIGITS`] digits here, which keeps a page small.

use serde::Serialize;
use windage_analysis::{
    Analysis, ArmLatency, ArmSeries, Latency, MachineSeries, QuantileDifference,
    QuantileDifferences, Series, Timing, WindowStretch,
};
use windage_model::{ArmIndex, Interval};

/// Significant digits of what is drawn.
const DIGITS: i32 = 5;
/// Times on the axis are kept to the millisecond, however long a run takes.
const A_SECOND: f64 = 1000.0;

#[derive(Serialize)]
pub(super) struct SeriesWire {
    lasts_s: f64,
    bin_s: Option<f64>,
    rounds: Vec<RoundWire>,
    arms: Vec<ArmSeriesWire>,
    machine: MachineWire,
    windows: Vec<WindowWire>,
    windows_in_all: usize,
}

#[derive(Serialize)]
struct RoundWire {
    round: u32,
    from_s: f64,
    to_s: f64,
}

#[derive(Serialize)]
struct ArmSeriesWire {
    arm: String,
    at_s: Vec<f64>,
    cpu_us_per_request: Vec<Option<f64>>,
    rate_per_s: Vec<Option<f64>>,
    rss_bytes: Vec<Option<f64>>,
    agent_cores: Option<Vec<Option<f64>>>,
    agent_rss_bytes: Option<Vec<Option<f64>>>,
}

#[derive(Serialize)]
struct MachineWire {
    at_s: Vec<f64>,
    steal: Vec<f64>,
    pressure: Vec<Option<f64>>,
    busy_cores: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct WindowWire {
    /// Its place in `analysis.arms`.
    arm: usize,
    from_s: f64,
    to_s: f64,
    verdict: &'static str,
}

impl SeriesWire {
    pub(super) fn of(load: &Analysis, series: &Series) -> SeriesWire {
        let rounds = series.rounds.iter().map(|of| RoundWire {
            round: of.round,
            from_s: to_the_millisecond(of.from_s),
            to_s: to_the_millisecond(of.to_s),
        });
        SeriesWire {
            lasts_s: to_the_millisecond(series.lasts_s),
            bin_s: series.bin_s,
            rounds: rounds.collect(),
            arms: series
                .arms
                .iter()
                .map(|of| ArmSeriesWire::of(load, of))
                .collect(),
            machine: MachineWire::from(&series.machine),
            windows: series.windows.iter().map(WindowWire::from).collect(),
            windows_in_all: series.windows_in_all,
        }
    }
}

impl ArmSeriesWire {
    fn of(load: &Analysis, of: &ArmSeries) -> ArmSeriesWire {
        ArmSeriesWire {
            arm: id(load, of.arm),
            at_s: times(&of.at_s),
            cpu_us_per_request: figures(&of.cpu_us_per_request),
            rate_per_s: figures(&of.rate_per_s),
            rss_bytes: figures(&of.rss_bytes),
            agent_cores: of.agents.as_ref().map(|agents| figures(&agents.cores)),
            agent_rss_bytes: of.agents.as_ref().map(|agents| figures(&agents.rss_bytes)),
        }
    }
}

impl From<&MachineSeries> for MachineWire {
    fn from(of: &MachineSeries) -> Self {
        MachineWire {
            at_s: times(&of.at_s),
            steal: of.steal.iter().map(|share| rounded(*share)).collect(),
            pressure: figures(&of.pressure),
            busy_cores: figures(&of.busy_cores),
        }
    }
}

impl From<&WindowStretch> for WindowWire {
    fn from(of: &WindowStretch) -> Self {
        WindowWire {
            arm: of.arm.get(),
            from_s: to_the_millisecond(of.from_s),
            to_s: to_the_millisecond(of.to_s),
            verdict: of.soundness.as_str(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct LatencyWire {
    timing: &'static str,
    arms: Vec<ArmLatencyWire>,
    differences: Vec<DifferencesWire>,
}

#[derive(Serialize)]
struct ArmLatencyWire {
    arm: String,
    count: u64,
    quantiles: Vec<f64>,
    us: Vec<f64>,
}

#[derive(Serialize)]
struct DifferencesWire {
    arm: String,
    points: Vec<PointWire>,
}

#[derive(Serialize)]
struct PointWire {
    quantile: f64,
    relative: BandWire,
    us: Option<BandWire>,
}

#[derive(Serialize)]
struct BandWire {
    estimate: f64,
    low: f64,
    high: f64,
}

impl LatencyWire {
    pub(super) fn of(load: &Analysis, latency: &Latency) -> LatencyWire {
        LatencyWire {
            timing: match latency.timing {
                Timing::ResponseTime => "response_time",
                Timing::ServiceTime => "service_time",
            },
            arms: latency
                .arms
                .iter()
                .map(|of| ArmLatencyWire::of(load, of))
                .collect(),
            differences: latency
                .differences
                .iter()
                .map(|of| DifferencesWire::of(load, of))
                .collect(),
        }
    }
}

impl ArmLatencyWire {
    fn of(load: &Analysis, of: &ArmLatency) -> ArmLatencyWire {
        // Quantiles stay as they are: their distance from 1 is what the axis shows.
        let (quantiles, us) = of.steps.iter().map(|(q, us)| (*q, rounded(*us))).unzip();
        ArmLatencyWire {
            arm: id(load, of.arm),
            count: of.count,
            quantiles,
            us,
        }
    }
}

impl DifferencesWire {
    fn of(load: &Analysis, of: &QuantileDifferences) -> DifferencesWire {
        DifferencesWire {
            arm: id(load, of.arm),
            points: of.points.iter().filter_map(PointWire::of).collect(),
        }
    }
}

impl PointWire {
    fn of(of: &QuantileDifference) -> Option<PointWire> {
        Some(PointWire {
            quantile: of.quantile,
            relative: BandWire::of(&of.relative)?,
            us: of.us.as_ref().and_then(BandWire::of),
        })
    }
}

impl BandWire {
    /// `None` for one that is not finite, which can't be drawn and which JSON does not have.
    fn of(of: &Interval) -> Option<BandWire> {
        let [estimate, low, high] = [of.estimate, of.low, of.high].map(rounded);
        of.is_finite().then_some(BandWire {
            estimate,
            low,
            high,
        })
    }
}

/// The arm's id, for names may be equal.
fn id(load: &Analysis, arm: ArmIndex) -> String {
    let arm = load.arms.get(arm.get());
    arm.map_or_else(String::new, |arm| arm.id.to_string())
}

fn times(all: &[f64]) -> Vec<f64> {
    all.iter().copied().map(to_the_millisecond).collect()
}

fn figures(all: &[Option<f64>]) -> Vec<Option<f64>> {
    let known = |of: &Option<f64>| of.filter(|figure| figure.is_finite()).map(rounded);
    all.iter().map(known).collect()
}

fn to_the_millisecond(s: f64) -> f64 {
    (s * A_SECOND).round() / A_SECOND
}

/// To [`DIGITS`] significant digits.
fn rounded(figure: f64) -> f64 {
    if figure == 0.0 || !figure.is_finite() {
        return figure;
    }
    let places = DIGITS - 1 - figure.abs().log10().floor() as i32;
    // Scaled by whole powers of ten, so that the result is the double nearest to a short decimal.
    if places >= 0 {
        let scale = 10f64.powi(places);
        (figure * scale).round() / scale
    } else {
        let scale = 10f64.powi(-places);
        (figure / scale).round() * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_short_as_a_picture_needs() {
        let table = [
            (0.0, "0.0"),
            (61.234_567, "61.235"),
            (-0.000_123_456_7, "-0.00012346"),
            (123_456_789.0, "123460000.0"),
            (99_999.6, "100000.0"),
            (1e-12, "1e-12"),
        ];
        for (figure, expected) in table {
            let written = serde_json::to_string(&rounded(figure)).unwrap();
            assert_eq!(written, expected, "{figure}");
        }
        assert!(rounded(f64::NAN).is_nan());
        assert_eq!(to_the_millisecond(5_400.123_456), 5_400.123);
    }

    #[test]
    fn what_is_not_finite_is_no_point() {
        let band = |high: f64| Interval {
            estimate: 0.01,
            low: 0.0,
            high,
            confidence: 0.95,
            method: windage_model::Method::MeanByLaunch,
        };
        let written = |relative: f64, us: f64| {
            let point = PointWire::of(&QuantileDifference {
                quantile: 0.5,
                relative: band(relative),
                us: Some(band(us)),
            });
            serde_json::to_value(point).unwrap()
        };
        let finite = serde_json::json!({ "estimate": 0.01, "low": 0.0, "high": 0.02 });
        let whole = serde_json::json!({ "quantile": 0.5, "relative": finite, "us": finite });
        assert_eq!(written(0.02, 0.02), whole);
        assert_eq!(written(0.02, f64::INFINITY)["us"], serde_json::Value::Null);
        assert_eq!(written(f64::NAN, 0.02), serde_json::Value::Null);
    }
}
