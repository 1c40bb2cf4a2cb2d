//! Static pictures of a run, for READMEs and tickets: self-contained files that look the same
//! everywhere.
//!
//! [`svg`] does the layout; `forest` and `curve` draw, `frame` has what surrounds every picture.
//! [`png`] rasterises.

mod axis;
mod columns;
mod curve;
mod forest;
mod frame;
mod lettering;
mod plane;
mod png;
mod theme;

use std::ops::RangeInclusive;

use windage_analysis::Analysis;
use windage_model::Metric;

use frame::Panel;

pub use png::png;
pub use theme::Theme;

/// Kinds of pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PictureKind {
    /// Each arm's difference from the baseline with its interval.
    #[default]
    Forest,
    /// The overhead over a swept factor, with the fitted curve.
    Curve,
}

impl PictureKind {
    /// All kinds.
    pub const ALL: &'static [PictureKind] = &[PictureKind::Forest, PictureKind::Curve];

    /// Its name in flags.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PictureKind::Forest => "forest",
            PictureKind::Curve => "curve",
        }
    }
}

/// Options of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PictureOptions {
    /// The kind of picture.
    pub kind: PictureKind,
    /// The metric; by default the primary one, or for curves the first metric that has a curve.
    pub metric: Option<Metric>,
    /// The theme.
    pub theme: Theme,
    /// The width in pixels, [`PictureOptions::WIDTH`] by default, clamped to
    /// [`PictureOptions::WIDTHS`].
    pub width: Option<u32>,
}

impl PictureOptions {
    /// The default width in pixels.
    pub const WIDTH: u32 = 900;
    /// Allowed widths; narrower pictures have no room for a plot.
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
    /// The run has no picture of this kind.
    #[error("this run has no {}; it has: {}", asked.as_str(), listed(there.iter().map(|kind| kind.as_str())))]
    NotThere {
        /// The requested kind.
        asked: PictureKind,
        /// The kinds that the run has.
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
        /// The requested kind.
        kind: PictureKind,
        /// The requested metric.
        metric: Metric,
        /// The metrics that the run has.
        there: Vec<Metric>,
    },
    /// The input of the rasteriser is not SVG.
    #[error("this is no SVG that could be made into pixels")]
    NotSvg,
    /// Too many pixels.
    #[error(
        "a picture of {width} × {height} pixels is too large for PNG; use --format svg or a \
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

/// The picture as a self-contained SVG file.
///
/// A run under several loads has one part per load.
///
/// # Errors
/// If the run has no such picture; the error says what it has.
pub fn svg(analysis: &Analysis, options: &PictureOptions) -> Result<String, PictureError> {
    let (kind, primary) = (options.kind, analysis.primary);
    let there = metrics(analysis, kind);
    let default = match kind {
        PictureKind::Curve if !there.contains(&primary) => there.first().copied(),
        PictureKind::Forest | PictureKind::Curve => Some(primary),
    };
    let metric = options.metric.or(default);
    match metric.filter(|metric| there.contains(metric)) {
        Some(metric) => Ok(frame::framed(analysis, metric, options)),
        None => Err(missing(analysis, kind, metric, there)),
    }
}

/// Metrics that have such a picture under any load.
fn metrics(analysis: &Analysis, kind: PictureKind) -> Vec<Metric> {
    let of = match kind {
        PictureKind::Forest => forest::metrics,
        PictureKind::Curve => curve::metrics,
    };
    let mut all: Vec<Metric> = analysis.regimes().flat_map(of).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn missing(
    analysis: &Analysis,
    kind: PictureKind,
    metric: Option<Metric>,
    there: Vec<Metric>,
) -> PictureError {
    if let Some(metric) = metric.filter(|_| !there.is_empty()) {
        return PictureError::NoSuchMetric {
            kind,
            metric,
            there,
        };
    }
    let kinds = PictureKind::ALL.iter().copied();
    match kinds
        .filter(|kind| !metrics(analysis, *kind).is_empty())
        .collect::<Vec<_>>()
    {
        there if there.is_empty() => PictureError::Nothing,
        there => PictureError::NotThere { asked: kind, there },
    }
}

/// The title, such as "CPU per request, difference from the baseline".
fn title(analysis: &Analysis, kind: PictureKind, metric: Metric) -> String {
    match kind {
        PictureKind::Forest => forest::title(metric),
        PictureKind::Curve => curve::title(analysis, metric),
    }
}

/// The drawings of one load.
fn panels(load: &Analysis, kind: PictureKind, metric: Metric, room: f64) -> Vec<Panel> {
    match kind {
        PictureKind::Forest => forest::panel(load, metric, room).into_iter().collect(),
        PictureKind::Curve => curve::panels(load, metric, room),
    }
}
