//! `cargo xtask record`: studies of Windage itself, kept under `record/`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

pub(crate) mod aa;
pub(crate) mod files;
pub(crate) mod machine;
pub(crate) mod page;
mod picture;
pub(crate) mod summary;
pub(crate) mod trial;

#[derive(Subcommand)]
pub(crate) enum Study {
    /// nginx against itself, mirrored and sequential: does the control hold nil, and how narrow is it?
    Aa(AaArgs),
    /// Draws a study that was recorded
    Picture(PictureArgs),
}

#[derive(clap::Args)]
pub(crate) struct AaArgs {
    /// Runs of each order; the two orders take turns
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Folder for the result [default: record/<today>]
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct PictureArgs {
    /// The study's JSON; the picture is put beside it
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// What is drawn
    #[arg(long, default_value = "cpu_per_request")]
    metric: String,
}

pub(crate) fn run(study: &Study) -> Result<ExitCode> {
    match study {
        Study::Aa(args) => aa::run(args),
        Study::Picture(args) => picture::run(&args.record, &args.metric),
    }
}
