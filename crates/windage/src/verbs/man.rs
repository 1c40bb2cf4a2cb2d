//! `windage man FOLDER`.

use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::flags::ManFlags;
use crate::message;

/// Writes a manual page for `windage` and one for each verb.
pub(crate) fn man(flags: &ManFlags) -> Exit {
    match clap_mangen::generate_to(Cli::command(), &flags.folder) {
        Ok(()) => Exit::Success,
        Err(error) => {
            let folder = flags.folder.display();
            message::error(format!("can't write manual pages into {folder}: {error}"));
            Exit::CouldNotMeasure
        }
    }
}
