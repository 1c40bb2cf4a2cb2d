//! Static pictures of a run, for READMEs and tickets: a file that stands alone, loads nothing and
//! looks the same wherever it is shown.
//!
//! [`svg`] chooses what is drawn and lays it out in pixels; `forest`, `curve`, `bill`, `latency` and
//! `by_rate` draw, `frame` has what stands around every picture. [`png`] makes pixels of it.

mod axis;
mod bill;
mod by_rate;
mod columns;
mod curve;
mod forest;
mod frame;
mod latency;
mod lettering;
mod plane;
mod png;
mod series;
mod theme;

use std::ops::RangeInclusive;

use windage_analysis::{Analysis, Detailed};
use windage_model::{Metric, Soundness};

use crate::facts;
use frame::{Panel, Picture, Section};

pub use png::png;
pub use theme::Theme;

/// What there is to be drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PictureKind {
    /// Each arm's difference from the baseline with its interval.
    #[default]
    Forest,
    /// The overhead over a swept factor, with the fitted curve.
    Curve,
    /// Who takes the machine's CPU for a request, as stacked differences.
    Bill,
    /// Times by percentile.
    Latency,
    /// The share of telemetry that arrived, against the rate.
    ByRate,
}

impl PictureKind {
    /// Every kind.
    pub const ALL: &'static [PictureKind] = &[
        PictureKind::Forest,
        PictureKind::Curve,
        PictureKind::Bill,
        PictureKind::Latency,
        PictureKind::ByRate,
    ];

    /// The word used in flags.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PictureKind::Forest => "forest",
            PictureKind::Curve => "curve",
            PictureKind::Bill => "bill",
            PictureKind::Latency => "latency",
            PictureKind::ByRate => "by-rate",
        }
    }

    fn takes_a_metric(self) -> bool {
        match self {
            PictureKind::Forest | PictureKind::Curve => true,
            PictureKind::Bill | PictureKind::Latency | PictureKind::ByRate => false,
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PictureOptions {
    /// What is drawn.
    pub kind: PictureKind,
    /// Of a forest or a curve: which metric; else the run's primary one.
    pub metric: Option<Metric>,
    /// Its ground.
    pub theme: Theme,
    /// In pixels; [`PictureOptions::WIDTH`] unless said, and brought within
    /// [`PictureOptions::WIDTHS`].
    pub width: Option<u32>,
}

impl PictureOptions {
    /// The width where none is asked for, in pixels.
    pub const WIDTH: u32 = 900;
    /// Narrower ones have no room for a plot.
    pub const WIDTHS: RangeInclusive<u32> = 480..=4000;

    fn width(&self) -> u32 {
        let (narrowest, widest) = Self::WIDTHS.into_inner();
        self.width.unwrap_or(Self::WIDTH).clamp(narrowest, widest)
    }
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The run has nothing of this kind.
    #[error("this run has no {}; it has: {}", asked.as_str(), listed(there.iter().map(|kind| kind.as_str())))]
    NotThere {
        /// What was asked for.
        asked: PictureKind,
        /// What could be drawn instead.
        there: Vec<PictureKind>,
    },
    /// Nothing was measured that a picture could show.
    #[error("this run has nothing that could be drawn; `windage report` without --format says why")]
    Nothing,
    /// The run has pictures of this kind, but not of this metric.
    #[error(
        "this run has no {} of {}; it has: {} (choose one with --metric)",
        kind.as_str(), metric.as_str(), listed(there.iter().map(|metric| metric.as_str()))
    )]
    NoSuchMetric {
        /// What was asked for.
        kind: PictureKind,
        /// Of what.
        metric: Metric,
        /// Of what there is one.
        there: Vec<Metric>,
    },
    /// A metric was named for a picture that is not about one.
    #[error("--metric goes with the pictures forest and curve, not with {}", .0.as_str())]
    MetricUnused(PictureKind),
    /// What should be made into pixels is no SVG.
    #[error("this is no SVG that could be made into pixels")]
    NotSvg,
    /// More pixels than can be held.
    #[error(
        "a picture of {width} × {height} pixels is too large for PNG; ask for --format svg or a \
         smaller --width"
    )]
    TooLarge {
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
    },
}

fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// The picture as an SVG file that stands alone.
///
/// A run under several loads has one part for each of them.
///
/// # Errors
/// When the run has nothing of what is asked for; the error says what it has.
pub fn svg(run: &Detailed, options: &PictureOptions) -> Result<String, PictureError> {
    if options.metric.is_some() && !options.kind.takes_a_metric() {
        return Err(PictureError::MetricUnused(options.kind));
    }
    let metric = options.metric.unwrap_or(default_metric(run, options.kind));
    let room = frame::room(options);
    match picture(run, options.kind, metric, room) {
        Some(picture) => Ok(frame::framed(&picture, run, options)),
        None => Err(missing(run, options.kind, metric)),
    }
}

/// The primary metric; of curves the first one's where the primary metric has none.
fn default_metric(run: &Detailed, kind: PictureKind) -> Metric {
    let primary = run.analysis.primary;
    match (kind, curve::metrics(&run.analysis).as_slice()) {
        (PictureKind::Curve, [first, ..]) if !metrics(run, kind).contains(&primary) => *first,
        _ => primary,
    }
}

/// Metrics of which there is such a picture under some load.
fn metrics(run: &Detailed, kind: PictureKind) -> Vec<Metric> {
    let of: fn(&Analysis) -> Vec<Metric> = match kind {
        PictureKind::Forest => forest::metrics,
        PictureKind::Curve => curve::metrics,
        PictureKind::Bill | PictureKind::Latency | PictureKind::ByRate => |_| Vec::new(),
    };
    let mut all: Vec<Metric> = run.analysis.regimes().flat_map(of).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn missing(run: &Detailed, kind: PictureKind, metric: Metric) -> PictureError {
    let of_others = metrics(run, kind);
    if !of_others.is_empty() {
        return PictureError::NoSuchMetric {
            kind,
            metric,
            there: of_others,
        };
    }
    let kinds = PictureKind::ALL.iter().copied();
    let is_there = |kind: &PictureKind| {
        let metric = default_metric(run, *kind);
        let room = f64::from(PictureOptions::WIDTH);
        picture(run, *kind, metric, room).is_some() || !metrics(run, *kind).is_empty()
    };
    match kinds.filter(is_there).collect::<Vec<_>>() {
        there if there.is_empty() => PictureError::Nothing,
        there => PictureError::NotThere { asked: kind, there },
    }
}

/// `None` where there is nothing of it.
fn picture(run: &Detailed, kind: PictureKind, metric: Metric, room: f64) -> Option<Picture> {
    let analysis = &run.analysis;
    let one = |panel: Option<Panel>| panel.into_iter().collect::<Vec<Panel>>();
    let (title, sections) = match kind {
        PictureKind::Forest => (
            forest::title(metric),
            sections(run, |_, of| one(forest::panel(of, metric, room))),
        ),
        PictureKind::Curve => (
            curve::title(analysis, metric),
            sections(run, |_, of| curve::panels(of, metric, room)),
        ),
        PictureKind::Bill => (
            bill::TITLE.to_owned(),
            sections(run, |_, of| one(bill::panel(of, room))),
        ),
        PictureKind::Latency => (
            latency::TITLE.to_owned(),
            sections(run, |i, of| {
                let detail = run.loads.get(i);
                one(detail.and_then(|detail| latency::panel(of, &detail.latency, room)))
            }),
        ),
        PictureKind::ByRate => (
            by_rate::TITLE.to_owned(),
            vec![Section {
                heading: None,
                extent: None,
                soundness: gravest(analysis),
                panels: one(by_rate::panel(analysis, room)),
            }],
        ),
    };
    let sections: Vec<Section> = sections
        .into_iter()
        .filter(|section| !section.panels.is_empty())
        .collect();
    (!sections.is_empty()).then_some(Picture { title, sections })
}

/// A section for each load.
fn sections(run: &Detailed, panels: impl Fn(usize, &Analysis) -> Vec<Panel>) -> Vec<Section> {
    let is_one_of_several = !run.analysis.further.is_empty();
    let section = |(i, of): (usize, &Analysis)| Section {
        heading: is_one_of_several.then(|| facts::regime(of)),
        extent: is_one_of_several.then(|| facts::extent(of)),
        soundness: of.validity.soundness(),
        panels: panels(i, of),
    };
    run.analysis.regimes().enumerate().map(section).collect()
}

/// Of a picture that takes its points from every load.
fn gravest(analysis: &Analysis) -> Soundness {
    let all = analysis.regimes().map(|of| of.validity.soundness());
    all.max().unwrap_or(Soundness::Valid)
}
