//! Installers that fetch the archive: a script, and a formula for Homebrew on Linux.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::TARGET;
use crate::command;

/// Their names, and what they have to be filled in for.
const FORMS: &[(&str, &str)] = &[
    ("install.sh", include_str!("install.sh")),
    ("windage.rb", include_str!("windage.rb")),
];

/// Writes the installers of an archive that will be at this address, and returns their paths.
pub(super) fn write(archive: &Path, address: &str, to: &Path) -> Result<Vec<PathBuf>> {
    let sum = command::output(Command::new("sha256sum").arg("--").arg(archive))?;
    let sha256 = sum.split(' ').next().unwrap_or_default();
    let mut written = Vec::new();
    for (name, form) in FORMS {
        let file = to.join(name);
        fs::write(&file, filled(form, sha256, address))
            .with_context(|| format!("write {}", file.display()))?;
        written.push(file);
    }
    Ok(written)
}

fn filled(form: &str, sha256: &str, address: &str) -> String {
    form.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@TARGET@", TARGET)
        .replace("@SHA256@", sha256)
        .replace("@ADDRESS@", address.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of `windage` as a script, and its installers, in this folder.
    fn released(folder: &Path) -> PathBuf {
        let name = format!("windage-{}-{TARGET}", env!("CARGO_PKG_VERSION"));
        let make = format!(
            "mkdir -p {name}/man/man1 {name}/completions && cd {name} &&
             printf '#!/bin/sh\necho windage 0\n' > windage && chmod +x windage &&
             touch man/man1/windage.1 man/man1/windage-run.1 &&
             touch completions/windage.bash completions/windage.fish completions/_windage &&
             cd .. && tar -czf {name}.tar.gz {name} && rm -r {name}"
        );
        let mut make_it = Command::new("sh");
        command::run(make_it.args(["-euc", &make]).current_dir(folder)).unwrap();
        let archive = folder.join(name + ".tar.gz");
        write(&archive, &format!("file://{}/", folder.display()), folder).unwrap();
        archive
    }

    fn files(folder: &Path) -> Vec<String> {
        let mut find = Command::new("find");
        let found = command::output(find.current_dir(folder).args([".", "-type", "f"])).unwrap();
        let mut files: Vec<String> = found.lines().map(str::to_owned).collect();
        files.sort();
        files
    }

    #[test]
    fn the_script_installs_and_removes_and_refuses_another_archive() {
        let folder = tempfile::tempdir().unwrap();
        let archive = released(folder.path());
        let prefix = folder.path().join("prefix");
        fs::create_dir(&prefix).unwrap();
        let install = |more: &[&str]| {
            let mut script = Command::new("sh");
            script.arg(folder.path().join("install.sh")).args(more);
            script.env("PREFIX", &prefix).output().unwrap()
        };
        let installed = install(&[]);
        assert!(installed.status.success(), "{installed:?}");
        let expected = [
            "./bin/windage",
            "./share/bash-completion/completions/windage",
            "./share/fish/vendor_completions.d/windage.fish",
            "./share/man/man1/windage-run.1",
            "./share/man/man1/windage.1",
            "./share/zsh/site-functions/_windage",
        ];
        assert_eq!(files(&prefix), expected);
        assert!(install(&["--remove"]).status.success());
        assert!(files(&prefix).is_empty(), "{:?}", files(&prefix));

        fs::write(archive, "another").unwrap();
        let refused = install(&[]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("is not what was released"), "{said}");
        assert!(!refused.status.success() && files(&prefix).is_empty());
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for (name, form) in FORMS {
            let filled = filled(form, "5e", "https://localhost/windage/");
            let forgotten = filled.lines().find(|line| line.contains('@'));
            let forgotten = forgotten.filter(|line| !line.contains("$@"));
            assert_eq!(forgotten, None, "{name}");
            assert!(filled.contains("https://localhost/windage"), "{name}");
        }
    }
}
