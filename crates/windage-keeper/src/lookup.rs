//! Finds the file of a program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::KeeperError;

/// The absolute path of `program`. A path is relative to Windage's working directory. A bare name
/// is looked up in the `PATH` of `env`, whose relative directories are relative to `cwd`.
///
/// # Errors
/// When a bare name is in no directory of `PATH`.
pub fn find(
    program: &Path,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Result<PathBuf, KeeperError> {
    if program.as_os_str().as_bytes().contains(&b'/') {
        // Whether it exists is left to execve, which gives the exact error.
        return std::path::absolute(program).map_err(|source| KeeperError::System {
            call: "getcwd",
            source,
        });
    }
    // The last setting wins, as it does for most readers of a doubled variable.
    let Some((_, path)) = env
        .iter()
        .rev()
        .find(|(name, _)| name == OsStr::new("PATH"))
    else {
        return Err(KeeperError::NoPath {
            program: program.to_owned(),
        });
    };
    let looked_in: Vec<PathBuf> = std::env::split_paths(path)
        .map(|dir| cwd.join(dir))
        .collect();
    let executable = |path: &PathBuf| path.is_file() && access(path, AccessFlags::X_OK).is_ok();
    match looked_in
        .iter()
        .map(|dir| dir.join(program))
        .find(executable)
    {
        Some(found) if !program.as_os_str().is_empty() => Ok(found),
        _ => Err(KeeperError::NotFound {
            program: program.to_owned(),
            looked_in,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn names_are_looked_up_and_paths_are_not() {
        let root = tempfile::tempdir().unwrap();
        for (dir, mode) in [("plain", 0o644), ("first", 0o755), ("second", 0o755)] {
            std::fs::create_dir(root.path().join(dir)).unwrap();
            let file = root.path().join(dir).join("tool");
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        }
        let at = |text: &str| root.path().join(text);
        let table = [
            // A file that can't be executed is skipped; relative directories are relative to cwd.
            ("tool", "plain:first:second", Some(at("first/tool"))),
            ("tool", "second:first", Some(at("second/tool"))),
            ("tool", "plain", None),
            ("tool", "", None),
            ("first", ".", None),
            ("", "first", None),
            (
                "/no/such/tool",
                "first",
                Some(PathBuf::from("/no/such/tool")),
            ),
        ];
        for (program, path, expected) in table {
            let env = [("PATH".into(), OsString::from(path))];
            let found = find(Path::new(program), &env, root.path());
            assert_eq!(
                found.as_ref().ok(),
                expected.as_ref(),
                "{program} in {path:?}: {found:?}"
            );
        }
    }

    #[test]
    fn the_error_lists_the_searched_directories() {
        let env = [("PATH".into(), OsString::from("/nowhere:/nor/here"))];
        let error = find(Path::new("tool"), &env, Path::new("/"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`tool`") && error.contains("/nowhere, /nor/here"),
            "{error}"
        );
        let error = find(Path::new("tool"), &[], Path::new("/"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("no PATH"), "{error}");
    }
}
