//! The report of a load, as text.

use anstyle::{AnsiColor, Style};
use hdrhistogram::Histogram;
use windage_model::Unit::{Bytes, Microseconds};
use windage_model::{Soundness, Validity};
use windage_report::number::{count, counted, rate, seconds, short};
use windage_report::{one_line, wrap};

use super::design::{Design, Model};
use super::outcome::{Outcome, Percentiles};
use crate::verbs::report::WIDTH;

/// Columns of the names on the left.
const LABEL: usize = 15;
/// Columns of a figure in the table of times.
const FIGURE: usize = 11;
/// How many of the slowest exchanges are shown.
const SLOWEST: usize = 3;

/// The report: the load, the results, the times, and how far to trust them.
pub(super) fn text(design: &Design, outcome: &Outcome, color: bool) -> String {
    let mut page = Page {
        color,
        text: String::new(),
    };
    page.head(design);
    page.blank();
    page.counts(design, outcome);
    page.blank();
    page.times(design, outcome);
    page.blank();
    page.generator(outcome);
    page.slowest(outcome);
    page.blank();
    page.validity(&outcome.validity);
    page.text
}

struct Page {
    color: bool,
    text: String,
}

impl Page {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn painted(&self, style: Style, text: &str) -> String {
        if self.color {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// A name and a text, which is wrapped at spaces.
    fn fact(&mut self, label: &str, text: &str) {
        for (index, line) in wrap(text, WIDTH - LABEL).iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let label = self.painted(Style::new().dimmed(), &format!("{label:LABEL$}"));
            self.text.push_str(format!("{label}{line}").trim_end());
            self.text.push('\n');
        }
    }

    fn head(&mut self, design: &Design) {
        let what = format!("{} {}", design.method, one_line(&design.url.text));
        let what = self.painted(Style::new().bold(), &what);
        self.text.push_str(&what);
        self.text.push('\n');
        let tls = if design.is_tls() { " over TLS" } else { "" };
        self.fact(
            "to",
            &format!("{}, {}{tls}", design.endpoint, design.protocol_name()),
        );
        let mut load = vec![match &design.model {
            Model::Closed => "closed loop".to_owned(),
            Model::Open {
                starts, arrivals, ..
            } => format!("open loop, {}", starts.describe(*arrivals)),
        }];
        load.push(connections(design));
        if design.threads > 1 {
            load.push(counted(design.threads as u64, "thread"));
        }
        let lasts = seconds(design.lasts.as_secs_f64());
        load.push(if design.warmup.is_zero() {
            format!("{lasts} without warm-up")
        } else {
            format!(
                "{lasts} after a warm-up of {}",
                seconds(design.warmup.as_secs_f64())
            )
        });
        self.fact("load", &load.join(", "));
    }

    fn counts(&mut self, design: &Design, outcome: &Outcome) {
        let exchanges = &outcome.exchanges;
        let mut requests = format!(
            "{} completed in {}",
            count(exchanges.completed),
            seconds(outcome.seconds())
        );
        if outcome.interrupted {
            requests.push_str(", interrupted");
        }
        if exchanges.reopened > 0 {
            let connections = counted(exchanges.reopened, "connection");
            requests.push_str(&format!("; {connections} reopened"));
        }
        if exchanges.dropped > 0 {
            requests.push_str(&format!("; {} starts dropped", count(exchanges.dropped)));
        }
        self.fact("requests", &requests);
        self.fact("rate", &rates(design, outcome));
        self.fact("status", &status(outcome));
        self.fact("errors", &errors(outcome));
        self.fact("bytes", &bytes(outcome));
    }

    fn times(&mut self, design: &Design, outcome: &Outcome) {
        let mut heading = " ".repeat(LABEL);
        for name in ["p50", "p90", "p99", "p99.9", "max"] {
            heading.push_str(&format!("{name:>FIGURE$}"));
        }
        let heading = self.painted(Style::new().bold(), &heading);
        self.text.push_str(&heading);
        self.text.push('\n');
        let recording = &outcome.recording;
        self.row("response time", &recording.response_time);
        if design.is_open() {
            self.row("service time", &recording.service_time);
            self.row("send lag", &recording.send_lag);
        }
    }

    fn row(&mut self, label: &str, histogram: &Histogram<u32>) {
        let figures = match Percentiles::of(histogram) {
            Some(percentiles) => percentiles.all().map(|us| short(Microseconds, us)),
            None => [(); 5].map(|()| "–".to_owned()),
        };
        let figures: String = figures.iter().map(|f| format!("{f:>FIGURE$}")).collect();
        let label = self.painted(Style::new().dimmed(), &format!("{label:LABEL$}"));
        self.text.push_str(&format!("{label}{figures}\n"));
    }

    fn generator(&mut self, outcome: &Outcome) {
        let mut parts = Vec::new();
        if let Some(us) = outcome.cpu_us_per_request() {
            parts.push(format!("{} of CPU per request", short(Microseconds, us)));
        }
        if let Some(cores) = outcome.generator_cores() {
            parts.push(format!("{:.0} % of a core", cores * 100.0));
        }
        if let Some(bytes) = outcome.rss_peak_bytes {
            parts.push(format!("{} of memory", short(Bytes, bytes as f64)));
        }
        if !parts.is_empty() {
            self.fact("generator", &parts.join(", "));
        }
    }

    fn slowest(&mut self, outcome: &Outcome) {
        let shown = outcome.slowest.iter().take(SLOWEST);
        let slowest: Vec<String> = shown
            .map(|outlier| {
                let took = short(Microseconds, outlier.response_time_ns() as f64 / 1e3);
                let at_s = outlier.intended_ns as f64 / 1e9;
                format!("{took} at {at_s:.3} s")
            })
            .collect();
        if !slowest.is_empty() {
            self.fact("slowest", &slowest.join(", "));
        }
    }

    fn validity(&mut self, validity: &Validity) {
        let soundness = validity.soundness();
        let color = match soundness {
            Soundness::Valid => AnsiColor::Green,
            Soundness::Suspect => AnsiColor::Yellow,
            Soundness::Void => AnsiColor::Red,
        };
        let style = Style::new().bold().fg_color(Some(color.into()));
        let verdict = match soundness {
            Soundness::Valid => "valid: no warnings",
            Soundness::Suspect => "suspect: read these figures with these warnings in mind",
            Soundness::Void => "void: these figures must not be used",
        };
        let verdict = self.painted(style, verdict);
        self.text.push_str(&format!("{verdict}\n"));
        for reason in &validity.reasons {
            self.text
                .push_str(&format!("  {}\n", reason.code().as_str()));
            let evidence: Vec<String> = windage_report::evidence(reason)
                .iter()
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            for line in wrap(&windage_report::warning(&reason.warning), WIDTH - 4) {
                self.text.push_str(&format!("    {line}\n"));
            }
            if !evidence.is_empty() {
                for line in wrap(&evidence.join(", "), WIDTH - 4) {
                    let line = self.painted(Style::new().dimmed(), &line);
                    self.text.push_str(&format!("    {line}\n"));
                }
            }
        }
    }
}

fn connections(design: &Design) -> String {
    let mut text = counted(design.connections as u64, "connection");
    if design.max_connections > design.connections {
        text.push_str(&format!(
            " (up to {})",
            count(design.max_connections as u64)
        ));
    }
    if design.streams > 1 {
        text.push_str(&format!(" of {} streams", count(design.streams as u64)));
    }
    text
}

fn rates(design: &Design, outcome: &Outcome) -> String {
    let word = |figure: Option<f64>, word| figure.map(|f| format!("{} {word}", rate(f)));
    let achieved = outcome.achieved_per_s();
    if !design.is_open() {
        return achieved.map_or_else(|| "–".to_owned(), rate);
    }
    let parts = [
        word(outcome.intended_per_s(design), "intended"),
        word(outcome.offered_per_s(), "offered"),
        word(achieved, "achieved"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn status(outcome: &Outcome) -> String {
    let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
    let seen: Vec<String> = classes
        .iter()
        .zip(outcome.exchanges.status.0)
        .filter(|&(_, n)| n > 0)
        .map(|(class, n)| format!("{class} {}", count(n)))
        .collect();
    or_none(&seen)
}

fn errors(outcome: &Outcome) -> String {
    let errors = &outcome.exchanges.errors;
    let classes = [
        ("connect", errors.connect),
        ("timeout", errors.timeout),
        ("closed", errors.closed),
        ("protocol", errors.protocol),
    ];
    let seen: Vec<String> = classes
        .into_iter()
        .filter(|&(_, n)| n > 0)
        .map(|(class, n)| format!("{class} {}", count(n)))
        .collect();
    match &outcome.first_error {
        Some(first) => format!("{}; the first: {}", or_none(&seen), one_line(first)),
        None => or_none(&seen),
    }
}

fn or_none(parts: &[String]) -> String {
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

fn bytes(outcome: &Outcome) -> String {
    let exchanges = &outcome.exchanges;
    let (sent, received) = (exchanges.sent_bytes as f64, exchanges.received_bytes as f64);
    let mut text = format!(
        "{} sent, {} received",
        short(Bytes, sent),
        short(Bytes, received)
    );
    if outcome.answered_ns > 0 {
        text.push_str(&format!(
            ", {}/s",
            short(Bytes, received / outcome.seconds())
        ));
    }
    text
}
