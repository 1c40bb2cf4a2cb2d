//! What the public measurement concluded, held against the intervals here, in words that follow from
//! them by rule.

use super::figure;
use super::published::{DDTRACE_TEXT, FIGURES, Figure, OTEL_TEXT, RATES};
use super::recorded::Recorded;
use crate::record::summary::Ranged;

/// What was measured here of the document's figures.
struct Here<'a>(&'a Recorded);

impl Here<'_> {
    fn metric(&self, name: &str, metric: Option<&str>) -> Option<Ranged> {
        let mut all = self.0.published.iter();
        let repeated = all.find(|repeated| repeated.figure.name == name)?;
        let cost = self.0.measured(repeated.at).under.cost_metric();
        self.0.arm(repeated.at).difference(metric.unwrap_or(cost))
    }

    fn cost(&self, name: &str) -> Option<Ranged> {
        self.metric(name, None)
    }
}

/// How a conclusion stands against the intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Holds,
    NoLonger,
    Open,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::NoLonger => "no longer holds",
            Outcome::Open => "can't be told",
        }
    }

    /// Of several that all have to hold.
    fn all(outcomes: &[Outcome]) -> Outcome {
        let any = |of| outcomes.contains(&of);
        match (any(Outcome::NoLonger), any(Outcome::Open)) {
            (true, _) => Outcome::NoLonger,
            (false, true) => Outcome::Open,
            (false, false) => Outcome::Holds,
        }
    }
}

/// Whether `dear` costs more than `cheap`.
fn is_dearer(dear: &Ranged, cheap: &Ranged) -> Outcome {
    if dear.low > cheap.high {
        Outcome::Holds
    } else if dear.high < cheap.low {
        Outcome::NoLonger
    } else {
        Outcome::Open
    }
}

/// Whether a figure is about as large as the document says: within a factor of two.
fn is_about(here: &Ranged, low: f64, high: f64) -> Outcome {
    let (low, high) = (low / 2.0, high * 2.0);
    if low <= here.low && here.high <= high {
        Outcome::Holds
    } else if here.high < low || here.low > high {
        Outcome::NoLonger
    } else {
        Outcome::Open
    }
}

/// The conclusions for which everything was measured, as rows.
pub(super) fn claims(recorded: &Recorded) -> Vec<Vec<String>> {
    let here = &Here(recorded);
    let sizes = [
        Size {
            says: "a span costs about 0.1 ms",
            theirs: "100 µs",
            unit: "µs",
            figure: OTEL_TEXT,
            metric: "cpu_per_span",
            about: (100.0, 100.0),
            per: None,
        },
        Size {
            says: "spans a second a core",
            theirs: "10,000",
            unit: "",
            figure: OTEL_TEXT,
            metric: "cpu_per_span",
            about: (10_000.0, 10_000.0),
            per: Some(1e6),
        },
        Size {
            says: "spans within 10 ms",
            theirs: "100",
            unit: "",
            figure: OTEL_TEXT,
            metric: "cpu_per_span",
            about: (100.0, 100.0),
            per: Some(1e4),
        },
        Size {
            says: "events a second a core",
            theirs: "70,000 to 80,000",
            unit: "",
            figure: "events, 1.0",
            metric: "cpu_per_event",
            about: (70_000.0, 80_000.0),
            per: Some(1e6),
        },
        Size {
            says: "events within 10 ms",
            theirs: "700 to 800",
            unit: "",
            figure: "events, 1.0",
            metric: "cpu_per_event",
            about: (700.0, 800.0),
            per: Some(1e4),
        },
    ];
    let orders = [
        text_output(here),
        text_outputs_are_alike(here),
        falls(here),
        remains(here),
        events(here),
    ];
    let orders = orders.into_iter().flatten();
    orders
        .chain(sizes.iter().filter_map(|size| size.claim(here)))
        .collect()
}

fn claim(says: &str, theirs: String, ours: String, outcome: Outcome) -> Vec<String> {
    let outcome = match outcome {
        Outcome::NoLonger => format!("**{}**", outcome.as_str()),
        _ => outcome.as_str().to_owned(),
    };
    vec![says.to_owned(), theirs, ours, outcome]
}

fn published_us(name: &str) -> f64 {
    FIGURES
        .iter()
        .find(|figure| figure.name == name)
        .map_or(f64::NAN, Figure::us_per_iteration)
}

fn against(a: f64, b: f64) -> String {
    format!("{} against {} µs", figure::plain(a), figure::plain(b))
}

fn text_output(here: &Here) -> Option<Vec<String>> {
    let (otel, ddtrace) = (here.cost(OTEL_TEXT)?, here.cost(DDTRACE_TEXT)?);
    Some(claim(
        "as text, OpenTelemetry costs more than ddtrace",
        against(published_us(OTEL_TEXT), published_us(DDTRACE_TEXT)),
        against(otel.estimate, ddtrace.estimate),
        is_dearer(&otel, &ddtrace),
    ))
}

/// They differed by a twelfth, so that either could be taken.
fn text_outputs_are_alike(here: &Here) -> Option<Vec<String>> {
    let (otel, ddtrace) = (here.cost(OTEL_TEXT)?, here.cost(DDTRACE_TEXT)?);
    let times = over(&otel, &ddtrace)?;
    Some(claim(
        "as text, the two cost about the same",
        figure::plain(published_us(OTEL_TEXT) / published_us(DDTRACE_TEXT)) + " times",
        figure::ranged(&times, 1.0) + " times",
        is_about(&times, 1.0, 1.0),
    ))
}

/// The ratio for any two points of the intervals; `None` where nothing bounds it.
fn over(dear: &Ranged, cheap: &Ranged) -> Option<Ranged> {
    (dear.low > 0.0 && cheap.low > 0.0).then(|| Ranged {
        estimate: dear.estimate / cheap.estimate,
        low: dear.low / cheap.high,
        high: dear.high / cheap.low,
    })
}

/// Of two ways of recording: does each lower rate cost less?
fn falls(here: &Here) -> Option<Vec<String>> {
    let mut outcomes = Vec::new();
    let mut ours = Vec::new();
    for way in ["spans", "events"] {
        let of_way = |rate: &'static str| Some((rate, here.cost(&format!("{way}, {rate}"))?));
        let costs: Vec<(&str, Ranged)> = RATES.into_iter().filter_map(of_way).collect();
        for pair in costs.windows(2) {
            let outcome = is_dearer(&pair[0].1, &pair[1].1);
            if outcome != Outcome::Holds {
                let steps = format!("{way} from {} to {}", pair[0].0, pair[1].0);
                ours.push(format!("{steps}: {}", outcome.as_str()));
            }
            outcomes.push(outcome);
        }
    }
    if outcomes.is_empty() {
        return None;
    }
    let ours = match ours.is_empty() {
        true => format!("each of {} steps", outcomes.len()),
        false => ours.join("; "),
    };
    Some(claim(
        "each lower sampling rate costs less",
        "each of 8 steps".to_owned(),
        ours,
        Outcome::all(&outcomes),
    ))
}

/// "Sample at 1/10, not at 1/100": most of what is left at a tenth is left at nil as well.
fn remains(here: &Here) -> Option<Vec<String>> {
    let (tenth, nil) = (here.cost("spans, 0.1")?, here.cost("spans, 0.0")?);
    let half = Ranged {
        estimate: tenth.estimate / 2.0,
        low: tenth.low / 2.0,
        high: tenth.high / 2.0,
    };
    Some(claim(
        "of the cost at 0.1 more than half remains at 0.0",
        against(published_us("spans, 0.0"), published_us("spans, 0.1")),
        against(nil.estimate, tenth.estimate),
        is_dearer(&nil, &half),
    ))
}

fn events(here: &Here) -> Option<Vec<String>> {
    let of_rate = |rate: &'static str| {
        let spans = here.cost(&format!("spans, {rate}"))?;
        Some((rate, spans, here.cost(&format!("events, {rate}"))?))
    };
    let pairs: Vec<(&str, Ranged, Ranged)> = RATES.into_iter().filter_map(of_rate).collect();
    let (rate, spans, events) = pairs.first()?;
    let outcomes: Vec<Outcome> = pairs.iter().map(|(_, s, e)| is_dearer(s, e)).collect();
    let theirs = |way: &str| published_us(&format!("{way}, {rate}"));
    Some(claim(
        "events cost less than spans at each rate",
        format!("{} at {rate}", against(theirs("events"), theirs("spans"))),
        format!("{} at {rate}", against(events.estimate, spans.estimate)),
        Outcome::all(&outcomes),
    ))
}

/// A conclusion about how large something is.
struct Size {
    says: &'static str,
    theirs: &'static str,
    unit: &'static str,
    figure: &'static str,
    metric: &'static str,
    about: (f64, f64),
    /// How many µs are to be divided by the cost; `None` for the cost itself.
    per: Option<f64>,
}

impl Size {
    fn claim(&self, here: &Here) -> Option<Vec<String>> {
        let cost = here.metric(self.figure, Some(self.metric))?;
        let ours = match self.per {
            None => cost,
            // A cost that may be nil bounds no number from above.
            Some(_) if cost.low <= 0.0 => return None,
            Some(us) => Ranged {
                estimate: us / cost.estimate,
                low: us / cost.high,
                high: us / cost.low,
            },
        };
        let written = match self.per {
            None => figure::ranged(&ours, 1.0),
            Some(_) => figure::counted(&ours),
        };
        let written = format!("{written} {}", self.unit);
        let (low, high) = self.about;
        Some(claim(
            self.says,
            self.theirs.to_owned(),
            written.trim_end().to_owned(),
            is_about(&ours, low, high),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranged(low: f64, high: f64) -> Ranged {
        Ranged {
            estimate: f64::midpoint(low, high),
            low,
            high,
        }
    }

    #[test]
    fn orders_need_intervals_apart() {
        let table = [
            ((10.0, 12.0), (7.0, 9.0), Outcome::Holds),
            ((10.0, 12.0), (7.0, 10.5), Outcome::Open),
            ((10.0, 12.0), (13.0, 15.0), Outcome::NoLonger),
        ];
        for (dear, cheap, expected) in table {
            let outcome = is_dearer(&ranged(dear.0, dear.1), &ranged(cheap.0, cheap.1));
            assert_eq!(outcome, expected, "{dear:?} {cheap:?}");
        }
    }

    #[test]
    fn sizes_hold_within_a_factor_of_two() {
        let table = [
            ((98.0, 101.0), Outcome::Holds),
            ((56.0, 58.0), Outcome::Holds),
            ((48.0, 52.0), Outcome::Open),
            ((27.0, 28.0), Outcome::NoLonger),
            ((210.0, 220.0), Outcome::NoLonger),
        ];
        for ((low, high), expected) in table {
            assert_eq!(
                is_about(&ranged(low, high), 100.0, 100.0),
                expected,
                "{low}"
            );
        }
    }

    #[test]
    fn one_that_fails_fails_all() {
        use Outcome::{Holds, NoLonger, Open};
        let table = [
            (vec![Holds, Holds], Holds),
            (vec![Holds, Open], Open),
            (vec![Open, NoLonger, Holds], NoLonger),
        ];
        for (outcomes, expected) in table {
            assert_eq!(Outcome::all(&outcomes), expected, "{outcomes:?}");
        }
    }
}
