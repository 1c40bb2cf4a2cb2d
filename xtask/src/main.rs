//! The project's chores: `cargo xtask test | deny | dist | docs | web | record | calibrate | checks
//! | cluster | kills | guide | bench | size`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(test)]
mod arrows;
mod bench;
mod calibrate;
mod checks;
mod cluster;
mod command;
mod debian;
mod deny;
mod dist;
mod docs;
#[cfg(test)]
mod documents;
mod guide;
mod image;
mod kills;
#[cfg(test)]
mod locks;
mod machine;
#[cfg(test)]
mod plans;
mod record;
mod size;
#[cfg(all(test, feature = "real-parts"))]
#[path = "../../crates/windage/tests/quick/skip.rs"]
#[expect(clippy::unwrap_used, reason = "shared with tests, which may")]
mod skip;
mod test;
mod web;
#[cfg(test)]
mod words;
mod workspace;

#[derive(Parser)]
#[command(
    name = "xtask",
    bin_name = "cargo xtask",
    about = "The project's chores"
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Formatting, lints and every test; installs what the tests need
    Test(test::Args),
    /// Checks licences and sources of all dependencies
    Deny,
    /// Builds what is distributed, in target/distributed: archive, packages, image, list of contents (SBOM)
    Dist(dist::Args),
    /// Builds the site of all documents, in target/site
    Docs,
    /// Builds the front end into the files that the binary embeds
    Web(web::Args),
    /// Packs runs into record/, and regenerates their pages
    #[command(subcommand)]
    Record(record::Verb),
    /// Repeats `windage calibrate`, and counts how often it is right
    Calibrate(calibrate::Args),
    /// Repeats `windage check --base`, and counts its alarms beside those of other gates
    Checks(checks::Args),
    /// A Kubernetes of several nodes on this machine, for tests and to try things
    #[command(subcommand)]
    Cluster(cluster::Verb),
    /// Kills runs at random moments, and looks for what they leave and lose
    Kills(kills::Args),
    /// Follows pages of the guide word by word
    Guide(guide::Args),
    /// Counts lines of production code by crate
    Size(size::Args),
    /// Measures the cost of Windage's own parts
    #[command(subcommand)]
    Bench(bench::Part),
}

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Test(args) => test::run(&args),
        Verb::Deny => deny::run(),
        Verb::Dist(args) => dist::run(&args),
        Verb::Docs => docs::run(),
        Verb::Web(args) => web::run(&args),
        Verb::Record(verb) => record::run(&verb),
        Verb::Calibrate(args) => calibrate::run(&args),
        Verb::Checks(args) => checks::run(&args),
        Verb::Cluster(verb) => cluster::run(&verb),
        Verb::Kills(args) => kills::run(&args),
        Verb::Guide(args) => guide::run(&args),
        Verb::Size(args) => size::run(&args),
        Verb::Bench(part) => bench::run(&part),
    };
    result.unwrap_or_else(|error| {
        anstream::eprintln!("xtask: {error:#}");
        ExitCode::from(2)
    })
}
