//! `windage init`: writes a commented plan from a few flags.

mod draft;
mod error;
pub(crate) mod values;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use windage_plan::{Plan, PlanError};

use crate::exit::Exit;
use crate::flags::InitFlags;
use crate::message;
use crate::verbs::report::print;
use draft::Draft;
use error::InitError;

/// Writes the plan, or reports which flag is wrong.
pub(crate) fn init(flags: &InitFlags) -> Exit {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let draft = match checked(flags, cores) {
        Ok(draft) => draft,
        Err(errors) => {
            errors.iter().for_each(message::error);
            return Exit::Usage;
        }
    };
    if flags.stdout {
        return print(&draft.text);
    }
    if let Err(error) = write(&flags.file, &draft.text, flags.force) {
        message::error(&error);
        return error.exit();
    }
    say_what_is_next(flags);
    Exit::Success
}

/// Checks the draft as a plan; a problem is reported under the flag that its line came from.
fn checked(flags: &InitFlags, cores: usize) -> Result<Draft, Vec<InitError>> {
    let draft = Draft::new(flags, cores).map_err(|error| vec![error])?;
    let folder = flags.file.parent().unwrap_or(Path::new(""));
    // An empty path means the current folder, but can't be opened.
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let name = flags.file.display().to_string();
    match Plan::parse(&draft.text, &name, folder) {
        Ok(_) => Ok(draft),
        Err(PlanError::Invalid(problems)) => Err(problems
            .iter()
            .map(|problem| {
                let help = problem.help.iter().map(|help| format!("; {help}"));
                InitError::Flag {
                    flag: draft.flag_at(problem.span.start),
                    message: std::iter::once(problem.message.clone())
                        .chain(help)
                        .collect(),
                }
            })
            .collect()),
        Err(PlanError::Unreadable { path, source }) => {
            Err(vec![InitError::Unwritable { path, source }])
        }
    }
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), InitError> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        // The kernel refuses an existing file, so there is no race between check and write.
        options.create_new(true);
    }
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => InitError::Exists(path.to_owned()),
        _ => InitError::Unwritable {
            path: path.to_owned(),
            source,
        },
    })
}

fn say_what_is_next(flags: &InitFlags) {
    let file = flags.file.display();
    anstream::eprintln!("wrote {file}");
    if flags.attach.is_some() {
        message::warning(format_args!(
            "the arms differ only by their `switch` commands, which fail until you edit them"
        ));
    } else if flags.env.is_empty() && !flags.otlp {
        message::warning(format_args!(
            "the arm `telemetry` is the same as `off` until you edit it: add `env` or `args`"
        ));
    }
    anstream::eprintln!(
        "next:\n  windage doctor      # what this machine can measure\n  \
         windage run {file} --quick      # a first look, in a minute or two\n  windage run {file}"
    );
}

#[cfg(test)]
mod tests;
