//! How much telemetry should arrive.

use std::time::Duration;

/// Expected telemetry per request; `None` for kinds that the plan leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Traces per request.
    pub traces_per_request: Option<f64>,
    /// Spans per request.
    pub spans_per_request: Option<f64>,
    /// Events on spans per request.
    pub events_per_request: Option<f64>,
    /// Log records per request.
    pub records_per_request: Option<f64>,
    /// Points of metrics, which come by time.
    pub points: Option<PointsPerInterval>,
}

/// Points of metrics that are exported, or scraped, at intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointsPerInterval {
    /// Points in each interval.
    pub points: f64,
    /// The interval, above zero.
    pub interval: Duration,
}

impl Expected {
    /// What the plan gives, by its key.
    pub fn given(self) -> impl Iterator<Item = (&'static str, f64)> {
        let points = self.points.map(|of| of.points);
        let all = [
            ("traces_per_request", self.traces_per_request),
            ("spans_per_request", self.spans_per_request),
            ("events_per_request", self.events_per_request),
            ("records_per_request", self.records_per_request),
            ("points_per_interval", points),
        ];
        all.into_iter().filter_map(|(key, of)| Some((key, of?)))
    }
}

impl PointsPerInterval {
    /// How many points such a time brings at least: those of its whole intervals, because where a timer
    /// stands when the time begins is unknown; with one interval in twenty taken off, because many
    /// exporters wait for an interval after each export.
    #[must_use]
    pub fn at_least_in(self, lasted: Duration) -> f64 {
        let interval = self.interval.mul_f64(20.0 / 19.0);
        let intervals = lasted.as_nanos() / interval.as_nanos().max(1);
        intervals as f64 * self.points
    }
}
