//! `windage report RUN --format svg|png`: a static picture of one run.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use windage_analysis::Analysis;
use windage_model::Metric;
use windage_report::{PictureError, PictureKind, PictureOptions, Theme};

use crate::flag_values::metric;

/// Heading of these flags in `--help`.
const PICTURES: &str = "Pictures (--format svg and png)";

#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PictureFlags {
    /// What to draw [default: forest].
    #[arg(long, value_name = "WHAT", help_heading = PICTURES)]
    picture: Option<Drawn>,
    /// The metric to draw [default: the run's primary metric].
    #[arg(long, value_name = "NAME", value_parser = metric, help_heading = PICTURES)]
    metric: Option<Metric>,
    /// The background of the picture [default: light].
    #[arg(long, value_name = "THEME", help_heading = PICTURES)]
    theme: Option<Ground>,
    /// Width in pixels; a PNG has twice as many [default: 900].
    #[arg(long, value_name = "PX", value_parser = width(), help_heading = PICTURES)]
    width: Option<u32>,
}

/// What a picture can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Drawn {
    /// Each arm's difference from the baseline, with its interval.
    Forest,
    /// The overhead over a swept factor, with the fitted curve.
    Curve,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ground {
    /// Dark on white.
    Light,
    /// Light on nearly black.
    Dark,
}

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PictureForm {
    Svg,
    Png,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undrawable {
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error("--picture, --metric, --theme and --width need --format svg or --format png")]
    FlagsUnused,
    #[error(
        "--format png would print binary data to the terminal; name a file with --output, or redirect standard output"
    )]
    OnTerminal,
}

fn width() -> clap::builder::RangedI64ValueParser<u32> {
    let (narrowest, widest) = PictureOptions::WIDTHS.into_inner();
    clap::value_parser!(u32).range(i64::from(narrowest)..=i64::from(widest))
}

impl PictureFlags {
    /// Refuses flags that reports in other formats would ignore.
    pub(crate) fn refuse(&self) -> Result<(), Undrawable> {
        if *self == PictureFlags::default() {
            Ok(())
        } else {
            Err(Undrawable::FlagsUnused)
        }
    }

    fn options(&self) -> PictureOptions {
        PictureOptions {
            kind: match self.picture {
                None | Some(Drawn::Forest) => PictureKind::Forest,
                Some(Drawn::Curve) => PictureKind::Curve,
            },
            metric: self.metric,
            theme: match self.theme {
                None | Some(Ground::Light) => Theme::Light,
                Some(Ground::Dark) => Theme::Dark,
            },
            width: self.width,
        }
    }

    /// The picture as the bytes of a file.
    pub(crate) fn drawn(&self, run: &Analysis, form: PictureForm) -> Result<Vec<u8>, Undrawable> {
        let svg = windage_report::svg(run, &self.options())?;
        Ok(match form {
            PictureForm::Svg => svg.into_bytes(),
            PictureForm::Png => windage_report::png(&svg)?,
        })
    }
}

impl PictureForm {
    /// Refuses to write binary data to a terminal.
    pub(crate) fn refuse_terminal(self, has_output: bool) -> Result<(), Undrawable> {
        match self {
            PictureForm::Png if !has_output && std::io::stdout().is_terminal() => {
                Err(Undrawable::OnTerminal)
            }
            PictureForm::Png | PictureForm::Svg => Ok(()),
        }
    }
}
