//! The command line: verbs, flags, exit codes.

#![forbid(unsafe_code)]

mod calibration_file;
mod cli;
mod descriptors;
mod exit;
mod flag_values;
mod flags;
mod git;
mod message;
mod progress;
mod run_name;
mod screen;
mod signals;
mod text_width;
mod verbs;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Verb};

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut args = std::env::args();
    // Windage executes itself again for its helpers; these verbs are not for people.
    match args.nth(1).as_deref() {
        Some(windage_keeper::KEEPER_VERB) => windage_keeper::keeper_main(),
        Some(windage_lab::STAND_IN_VERB) => return verbs::cluster::stand_in(args),
        Some(windage_lab::DELETE_VERB) => return verbs::cluster::delete(args),
        Some(windage_cluster::INSIDE_VERB) => return verbs::cluster::inside(args),
        Some(windage_lab::RESTORE_VERB) => return windage_lab::restore_from_environment(),
        Some(verbs::calibrate::SERVICE_VERB) => {
            return windage_calibration::main_from_args(args.map(Into::into));
        }
        Some(verbs::demo::SERVICE_VERB) => return windage_demo::main_from_args(args),
        _ => {}
    }
    let cli = Cli::parse();
    let exit = match cli.verb {
        Verb::Demo(flags) => verbs::demo::demo(&flags),
        Verb::Check(flags) => verbs::check::check(&flags),
        Verb::Run(flags) => verbs::run::run(&flags),
        Verb::Bisect(flags) => verbs::bisect::bisect(&flags),
        Verb::Report(flags) => verbs::report::report(&flags),
        Verb::Compare(flags) => verbs::compare::compare(&flags),
        Verb::History(flags) => verbs::history::history(&flags),
        Verb::Serve(flags) => verbs::serve::serve(&flags),
        Verb::Init(flags) => verbs::init::init(&flags),
        Verb::Load(flags) => verbs::load::load(&flags),
        Verb::Sink(flags) => verbs::sink::sink(&flags),
        Verb::Calibrate(flags) => verbs::calibrate::calibrate(&flags),
        Verb::Doctor(flags) => verbs::doctor::doctor(&flags),
        Verb::Clean(flags) => verbs::clean::clean(&flags),
        Verb::Completions(flags) => verbs::completions::completions(&flags),
        Verb::Schema(flags) => verbs::schema::schema(&flags),
        Verb::Man(flags) => verbs::man::man(&flags),
    };
    exit.code()
}
