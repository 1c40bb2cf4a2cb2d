//! `windage completions SHELL`.

use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::flags::CompletionsFlags;

/// Prints the completion script.
pub(crate) fn completions(flags: &CompletionsFlags) -> Exit {
    clap_complete::generate(
        flags.shell,
        &mut Cli::command(),
        "windage",
        &mut std::io::stdout(),
    );
    Exit::Success
}
