//! How much telemetry should arrive.

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
}

impl Expected {
    /// What the plan gives, by its key.
    pub fn given(self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = [
            ("traces_per_request", self.traces_per_request),
            ("spans_per_request", self.spans_per_request),
            ("events_per_request", self.events_per_request),
            ("records_per_request", self.records_per_request),
        ];
        all.into_iter().filter_map(|(key, of)| Some((key, of?)))
    }
}
