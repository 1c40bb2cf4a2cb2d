//! `windage init`: writes a commented plan from a few flags.

mod draft;
mod error;
mod template;
pub(crate) mod values;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use tempfile::TempDir;
use windage_plan::{Plan, PlanError};

use crate::exit::Exit;
use crate::flags::InitFlags;
use crate::message;
use crate::verbs::report::print;
use draft::Draft;
use error::InitError;
use template::ConfigFile;

/// Writes the plan, or reports which flag is wrong.
pub(crate) fn init(flags: &InitFlags) -> Exit {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let draft = match checked(flags, cores) {
        Ok(draft) => draft,
        Err(errors) => {
            errors.iter().for_each(message::error);
            return errors.first().map_or(Exit::Usage, InitError::exit);
        }
    };
    if flags.stdout {
        return print(&draft.text);
    }
    let written = write_all(flags, &draft);
    if let Err(error) = written {
        message::error(&error);
        return error.exit();
    }
    say_what_is_next(flags, draft.config.as_ref());
    Exit::Success
}

/// Writes the plan, and the template of `--file`.
fn write_all(flags: &InitFlags, draft: &Draft) -> Result<(), InitError> {
    let Some(config) = &draft.config else {
        return write(&flags.file, &draft.text, flags.force);
    };
    if !flags.force && config.path.exists() {
        return Err(InitError::Exists(config.path.clone()));
    }
    write(&flags.file, &draft.text, flags.force)?;
    write(&config.path, &config.text()?, flags.force)
}

/// Checks the draft as a plan; a problem is reported under the flag that its line came from.
fn checked(flags: &InitFlags, cores: usize) -> Result<Draft, Vec<InitError>> {
    let draft = Draft::new(flags, cores).map_err(|error| vec![error])?;
    let name = flags.file.display().to_string();
    let alone = |error| vec![error];
    let template = beside(&draft).map_err(alone)?;
    let folder = template.as_ref().map_or(flags.folder(), |dir| dir.path());
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

/// A folder for the check of a plan, with the template of `--file` in it: nothing is written into the
/// plan's own before.
fn beside(draft: &Draft) -> Result<Option<TempDir>, InitError> {
    let Some(config) = &draft.config else {
        return Ok(None);
    };
    let unwritable = |path: &Path, source| InitError::Unwritable {
        path: path.to_owned(),
        source,
    };
    let dir = TempDir::new().map_err(|source| unwritable(&std::env::temp_dir(), source))?;
    let path = dir.path().join(&config.template);
    std::fs::write(&path, config.text()?).map_err(|source| unwritable(&path, source))?;
    Ok(Some(dir))
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

fn say_what_is_next(flags: &InitFlags, config: Option<&ConfigFile>) {
    let file = flags.file.display();
    anstream::eprintln!("wrote {file}");
    if let Some(ConfigFile { path, .. }) = config {
        let path = path.display();
        anstream::eprintln!("wrote {path}");
        message::warning(format_args!(
            "the arms are the same until you edit {path}: write {{listen}} where it listens, \
             {{setting}}, which is `off` or `on`, where the arms differ, and {{dir}} for the folder of \
             what the service writes"
        ));
    } else if flags.attach.is_some() {
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
