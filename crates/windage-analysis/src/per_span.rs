//! What an arm costs for each span that came.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Difference, Interval, Metric};
use windage_stats::{Confidence, Launches, TwoLevelError, ratio, two_level};

use crate::analyse::Run;
use crate::conclude::interval;
use crate::{Fidelity, Inference, MetricAnalysis, Missing, MissingCode};

impl Run<'_> {
    /// The arm's difference in CPU a request (or iteration), divided by the spans that one
    /// delivered: for every arm of a run with a sink, and of no other.
    pub(crate) fn cpu_per_span(
        &self,
        arm: ArmIndex,
        fidelity: Option<&Fidelity>,
        metrics: &mut BTreeMap<Metric, MetricAnalysis>,
    ) {
        if self.records.delivered.is_empty() {
            return;
        }
        let whole = [Metric::CpuPerRequest, Metric::CpuPerIteration];
        let Some(of_request) = whole.iter().find_map(|metric| metrics.get(metric)) else {
            return;
        };
        let is_lossy = fidelity.is_some_and(|fidelity| fidelity.beyond_sampling == Some(true));
        let difference = match &of_request.difference {
            Ok(difference) => self.per_span(arm, is_lossy, &difference.absolute),
            Err(missing) => Err(missing.clone()),
        };
        let of_span = MetricAnalysis {
            baseline: None,
            arm: difference.as_ref().ok().map(|d| d.absolute.estimate),
            difference,
            verdict: None,
            inference: Inference::default(),
            ..of_request.clone()
        };
        metrics.insert(Metric::CpuPerSpan, of_span);
    }

    fn per_span(
        &self,
        arm: ArmIndex,
        is_lossy: bool,
        difference: &Interval,
    ) -> Result<Difference, Missing> {
        let missing = |code, text: &str| {
            let text = text.to_owned();
            Missing { code, text }
        };
        let unbounded = || {
            missing(
                MissingCode::TooFew,
                "Launches differ so much in the spans that they delivered that the cost of one \
                 has no bound. More rounds make one.",
            )
        };
        let (spans, half_width) = match self.spans_per_request(arm, is_lossy) {
            SpansPerRequest::Known(spans, half_width) => (spans, half_width),
            SpansPerRequest::Unbounded => return Err(unbounded()),
            SpansPerRequest::None => {
                return Err(missing(
                    MissingCode::NothingDelivered,
                    "No span was delivered by which the cost could be divided.",
                ));
            }
        };
        let numerator = (difference.estimate, difference.low, difference.high);
        let (low, high) = ratio(numerator, (spans, half_width)).ok_or_else(unbounded)?;
        let absolute = Interval {
            estimate: difference.estimate / spans,
            low,
            high,
            confidence: difference.confidence,
            method: "difference in CPU a request / spans delivered a request, Fieller's interval"
                .to_owned(),
        };
        Ok(Difference {
            absolute,
            relative: None,
            relative_90: None,
            within_launch_half_width: None,
            smallest_visible: None,
        })
    }

    /// What a launch delivered is counted; it differs from launch to launch. Where telemetry was
    /// lost, it is that of measured windows: a warm-up's loss is none of their cost.
    fn spans_per_request(&self, arm: ArmIndex, is_lossy: bool) -> SpansPerRequest {
        let mut launches = Launches::default();
        let delivered = self.records.delivered.iter();
        let mut spans = 0.0;
        for launch in delivered.filter(|d| d.arm == arm && d.completed_requests > 0) {
            let in_windows = &self.records.in_windows;
            spans = in_windows
                .spans_per_request(arm, launch.launch)
                .filter(|_| is_lossy)
                .unwrap_or(launch.spans as f64 / launch.completed_requests as f64);
            launches.push(vec![spans], 0.0);
        }
        let found = match two_level(&launches) {
            Ok(location) => match interval(&location, Confidence::P95, self.rules) {
                Some(found) => SpansPerRequest::Known(found.estimate, found.half_width()),
                None => SpansPerRequest::Unbounded,
            },
            // Of the only launch the difference holds alone, and its spans are counted.
            Err(TwoLevelError::OneValue) => SpansPerRequest::Known(spans, 0.0),
            Err(TwoLevelError::NoValues) => SpansPerRequest::None,
        };
        match found {
            SpansPerRequest::Known(spans, _) if spans <= 0.0 => SpansPerRequest::None,
            found => found,
        }
    }
}

/// Spans that a request delivered.
enum SpansPerRequest {
    /// Over launches, with the half-width of its interval.
    Known(f64, f64),
    /// Its interval has no end.
    Unbounded,
    /// None came.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis, analyse, fixture};
    use windage_model::LoadModel;

    fn analysed(run: &fixture::Recorded) -> Analysis {
        analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
    }

    fn half_width(of: &MetricAnalysis) -> f64 {
        of.difference.as_ref().unwrap().absolute.half_width()
    }

    #[test]
    fn cost_is_divided_by_what_came_under_every_load() {
        for (model, whole) in [
            (LoadModel::Closed, Metric::CpuPerRequest),
            (LoadModel::Open, Metric::CpuPerRequest),
            (LoadModel::Batch, Metric::CpuPerIteration),
        ] {
            let mut run = fixture::records(3);
            run.manifest.load.model = model;
            // Two spans a request in every launch, so that they add no uncertainty.
            for delivered in &mut run.delivered {
                delivered.spans *= 2;
            }
            let analysis = analysed(&run);
            let of = |metric| &analysis.arms[2].metrics[&metric];
            let (span, request) = (of(Metric::CpuPerSpan), of(whole));
            let of_request = &request.difference.as_ref().unwrap().absolute;
            let expected = of_request.estimate / 2.0;
            assert!((span.arm.unwrap() - expected).abs() < 1e-9, "{model:?}");
            assert!((half_width(span) - half_width(request) / 2.0).abs() < 1e-9);
            assert_eq!((span.baseline, span.verdict), (None, None));
        }
    }

    #[test]
    fn what_launches_delivered_differently_makes_the_interval_wider() {
        let mut run = fixture::records(4);
        let even = analysed(&run);
        for (i, delivered) in run.delivered.iter_mut().enumerate() {
            delivered.spans = [20_000, 24_000, 20_000, 24_000][i];
        }
        let uneven = analysed(&run);
        let of = |analysis: &Analysis| half_width(&analysis.arms[2].metrics[&Metric::CpuPerSpan]);
        assert!(
            of(&uneven) > 1.5 * of(&even),
            "{} {}",
            of(&uneven),
            of(&even)
        );
    }

    #[test]
    fn without_spans_or_bounds_it_says_so() {
        type Spoil = fn(&mut fixture::Recorded);
        let table: [(&str, Spoil, u16, MissingCode); 5] = [
            ("the baseline", |_| {}, 0, MissingCode::Baseline),
            (
                "an arm that sends none",
                |_| {},
                1,
                MissingCode::NothingDelivered,
            ),
            (
                "an arm that lost all",
                |run| run.delivered.iter_mut().for_each(|d| d.spans = 0),
                2,
                MissingCode::NothingDelivered,
            ),
            (
                "launches that differ beyond measure",
                |run| run.delivered[0].spans = 1,
                2,
                MissingCode::TooFew,
            ),
            (
                "no requests",
                |run| {
                    run.delivered
                        .iter_mut()
                        .for_each(|d| d.completed_requests = 0)
                },
                2,
                MissingCode::NothingDelivered,
            ),
        ];
        for (what, spoil, arm, code) in table {
            let mut run = fixture::records(3);
            spoil(&mut run);
            let analysis = analysed(&run);
            let of_span = &analysis.arms[usize::from(arm)].metrics[&Metric::CpuPerSpan];
            let missing = of_span.difference.as_ref().unwrap_err();
            assert_eq!((missing.code, of_span.arm), (code, None), "{what}");
        }
        let mut run = fixture::records(3);
        run.delivered.clear();
        let analysis = analysed(&run);
        let mut arms = analysis.arms.iter();
        assert!(arms.all(|arm| !arm.metrics.contains_key(&Metric::CpuPerSpan)));
    }
}
