//! `cargo xtask dist`: what is distributed of a version, in `target/distributed`.
//!
//! That is an archive with the program, its manual pages and completions; packages with the same contents;
//! installers that fetch the archive; an image for containers; their SHA-256; and the list of everything that was compiled into the program
//! (SBOM, CycloneDX). The program is static, so that it runs wherever Linux does, and has its dependencies
//! within it as well, for `cargo audit bin`.

mod check;
mod installers;
mod packages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::image::{Image, NOTICES};
use crate::{command, debian, workspace};

/// Compiled on first use.
const TOOLS: &[&str] = &[
    "cargo-about@0.8.4",
    "cargo-auditable@0.7.7",
    "cargo-cyclonedx@0.5.9",
];
/// What the program is built with beyond its defaults.
const FEATURES: &str = "cluster";
/// The licences of what is compiled into the program: which, and in what form.
const LICENCES_CONFIG: &str = "xtask/src/dist/licences.toml";
const LICENCES_FORM: &str = "xtask/src/dist/licences.hbs";
/// Rust has a copy of musl for programs that are linked with it, and no copy of its licence.
const LICENCE_OF_MUSL: &str = "/usr/share/doc/musl-dev/copyright";
const DOCUMENTS: &[&str] = &["LICENSE", "README.md", "SECURITY.md"];
/// Shells, and the usual names of their completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "windage.bash"),
    ("fish", "windage.fish"),
    ("zsh", "_windage"),
];
/// Programs for it need no library of the system.
const TARGET: &str = "x86_64-unknown-linux-musl";
/// For size: identical functions once, and what has to be relocated at the start as a bitmap.
const LINKING: &[&str] = &[
    "-Clinker=rust-lld",
    "-Clink-arg=--icf=all",
    "-Clink-arg=--pack-dyn-relocs=relr",
];
/// The variable in which tools look for the time of a build.
const SOURCE_DATE_EPOCH: &str = "SOURCE_DATE_EPOCH";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also try what was built: in an empty root directory, installed and removed. Needs root
    #[arg(long)]
    check: bool,
    /// Where the files will be fetched from: also write an install script and a formula for Homebrew
    #[arg(long, value_name = "URL")]
    address: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let commit = Commit::of(workspace::root())?;
    let tools = workspace::install(TOOLS)?;
    let to = workspace::root().join("target/distributed");
    let staged = Staged {
        folder: to.join("stage"),
        seconds: commit.seconds.clone(),
    };
    let program = commit.build(&tools)?;
    if to.exists() {
        fs::remove_dir_all(&to).with_context(|| format!("remove {}", to.display()))?;
    }
    stage(&program, &staged.folder)?;
    list_licences(&tools.join("cargo-about"), &staged.folder.join(NOTICES))?;
    staged.settle()?;

    let name = format!("windage-{}-{TARGET}", env!("CARGO_PKG_VERSION"));
    let archive = commit.pack(&staged.folder, &name)?;
    let mut files = vec![archive.clone()];
    if let Some(address) = &args.address {
        files.extend(installers::write(&archive, address, &to)?);
    }
    files.extend(packages::make(&staged, &to)?);
    files.push(write_image(&staged, &to)?);
    let contents = to.join(format!("{name}.cdx.json"));
    commit.list_contents(&tools.join("cargo-cyclonedx"), &contents)?;
    files.push(contents);
    files.push(hash(&files, &to)?);
    for file in &files {
        let size = fs::metadata(file).map_or(0, |of| of.len()) as f64 / 1e6;
        anstream::println!("{size:6.1} MB  {}", file.display());
    }
    if args.check {
        check::all(&staged.folder, &files)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What all forms contain.
struct Staged {
    folder: PathBuf,
    /// When it was committed, in seconds since 1970.
    seconds: String,
}

impl Staged {
    fn epoch(&self) -> Result<u64> {
        let seconds = self.seconds.parse();
        seconds.with_context(|| format!("{} is no time", self.seconds))
    }

    /// Modes and times that do not depend on who builds, and when.
    fn settle(&self) -> Result<()> {
        let mut modes = Command::new("chmod");
        command::run(modes.args(["-R", "u=rwX,go=rX"]).arg(&self.folder))?;
        let mut times = Command::new("find");
        times.arg(&self.folder).args(["-exec", "touch", "--date"]);
        command::run(times.arg(format!("@{}", self.seconds)).args(["{}", "+"]))
    }
}

/// Puts the program, its documents, manual pages and completions into a new folder.
fn stage(windage: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).with_context(|| format!("make {}", completions.display()))?;
    let documents = DOCUMENTS.iter().map(|name| workspace::root().join(name));
    for file in documents.chain([windage.to_owned()]) {
        let to = folder.join(file.file_name().unwrap_or_default());
        fs::copy(&file, to).with_context(|| format!("copy {}", file.display()))?;
    }
    let manual = folder.join("man/man1");
    fs::create_dir_all(&manual).with_context(|| format!("make {}", manual.display()))?;
    command::run(Command::new(windage).arg("man").arg(&manual))?;
    for (shell, name) in COMPLETIONS {
        let script = command::output(Command::new(windage).args(["completions", shell]))?;
        let to = completions.join(name);
        fs::write(&to, script).with_context(|| format!("write {}", to.display()))?;
    }
    Ok(())
}

/// Writes the licences of everything that is compiled into the program. A crate without one is an error.
fn list_licences(about: &Path, to: &Path) -> Result<()> {
    let root = workspace::root();
    let mut list = Command::new(about);
    list.args(["about", "generate", "--fail", "--locked"])
        .args(["--features", FEATURES, "--manifest-path"])
        .arg(root.join("crates/windage/Cargo.toml"))
        .arg("--config")
        .arg(root.join(LICENCES_CONFIG))
        .arg(root.join(LICENCES_FORM));
    let of_crates = command::output(&mut list)?;
    let of_musl = fs::read_to_string(LICENCE_OF_MUSL)
        .with_context(|| format!("read {LICENCE_OF_MUSL}, which musl-tools brings"))?;
    let rule = "=".repeat(80);
    let all = format!("{of_crates}\n{rule}\nmusl\n\n{of_musl}");
    fs::write(to, all).with_context(|| format!("write {}", to.display()))
}

/// Writes the image for containers and returns its path.
fn write_image(staged: &Staged, to: &Path) -> Result<PathBuf> {
    let read = |name: &str| {
        let file = staged.folder.join(name);
        fs::read(&file).with_context(|| format!("read {}", file.display()))
    };
    let (program, notices) = (read("windage")?, read(NOTICES)?);
    let image = Image {
        name: "windage",
        tag: env!("CARGO_PKG_VERSION"),
        program: &program,
        libraries: &[],
        notices: Some(&notices),
        made: staged.epoch()?,
    };
    let to = to.join(format!("windage-{}-oci-amd64.tar", image.tag));
    fs::write(&to, image.archive()?).with_context(|| format!("write {}", to.display()))?;
    Ok(to)
}

/// Writes the SHA-256 of files of a folder, as `sha256sum --check` reads them.
fn hash(files: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let mut sum = Command::new("sha256sum");
    sum.args(files.iter().filter_map(|file| file.file_name()));
    let lines = command::output(sum.current_dir(folder))?;
    let to = folder.join("SHA256SUMS");
    fs::write(&to, lines).with_context(|| format!("write {}", to.display()))?;
    Ok(to)
}

/// What is distributed, as others can check it out.
struct Commit {
    root: PathBuf,
    id: String,
    /// When it was made, in seconds since 1970.
    seconds: String,
}

impl Commit {
    fn of(root: &Path) -> Result<Commit> {
        let git = |args: &[&str]| command::output(git(root).args(args));
        let changed = git(&["status", "--porcelain"])?;
        if !changed.is_empty() {
            bail!("what is distributed is a commit; commit or remove these first:\n{changed}");
        }
        let seconds = git(&["log", "-1", "--format=%ct"])?.trim().to_owned();
        let id = git(&["rev-parse", "HEAD"])?.trim().to_owned();
        let root = root.to_owned();
        Ok(Commit { root, id, seconds })
    }

    /// Builds the program. Its paths do not say where it was built.
    fn build(&self, tools: &Path) -> Result<PathBuf> {
        debian::provide(&["musl-tools"])?;
        let mut target = Command::new("rustup");
        command::run(
            target
                .args(["target", "add", TARGET])
                .current_dir(&self.root),
        )?;
        let home = PathBuf::from(command::output(
            Command::new("sh").args(["-c", "printf %s \"${CARGO_HOME:-$HOME/.cargo}\""]),
        )?);
        let mut flags = [(&home, "cargo"), (&self.root, "windage")]
            .map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()))
            .to_vec();
        flags.extend(LINKING.iter().map(|&flag| flag.to_owned()));
        let mut build = Command::new(tools.join("cargo-auditable"));
        build
            .arg("auditable")
            .current_dir(&self.root)
            .env("CARGO_BUILD_TARGET", TARGET)
            .env("WINDAGE_COMMIT", &self.id)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        workspace::build_to_distribute(TARGET, build, "crates/windage", "windage", FEATURES)
    }

    /// Packs a folder under a name of its own. The same contents give the same bytes at any time and on any
    /// machine.
    fn pack(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        let archive = folder.with_file_name(format!("{name}.tar.gz"));
        let parent = folder.parent().unwrap_or(Path::new("."));
        let folder = folder.file_name().unwrap_or_default().to_string_lossy();
        let mut tar = Command::new("tar");
        tar.args("--create --format=ustar --sort=name --mode=u=rwX,go=rX".split(' '))
            .args("--owner=0 --group=0 --numeric-owner".split(' '))
            .arg(format!("--mtime=@{}", self.seconds))
            .arg(format!("--transform=s,^{folder},{name},"))
            .args(["--use-compress-program", "gzip --no-name", "--file"])
            .arg(&archive)
            .arg("--directory")
            .arg(parent)
            .arg(&*folder);
        command::run(&mut tar)?;
        Ok(archive)
    }

    /// Writes the list of all crates within the program.
    fn list_contents(&self, cyclonedx: &Path, to: &Path) -> Result<()> {
        // The tool writes a list beside the manifest of every member, so it gets a copy.
        let copy = tempfile::tempdir().context("make a temporary folder")?;
        let packed = copy.path().join("commit.tar");
        command::run(
            git(&self.root)
                .args(["archive", "--output"])
                .arg(&packed)
                .arg("HEAD"),
        )?;
        let mut unpack = Command::new("tar");
        unpack.arg("--directory").arg(copy.path());
        command::run(unpack.arg("--extract").arg("--file").arg(&packed))?;
        let mut list = Command::new(cyclonedx);
        list.args(
            "cyclonedx --quiet --all-features --format json --describe binaries --spec-version 1.5"
                .split(' '),
        )
        .env(SOURCE_DATE_EPOCH, &self.seconds)
        .args(["--target", TARGET]);
        command::run(list.current_dir(copy.path()))?;
        let list = copy.path().join("crates/windage/windage_bin.cdx.json");
        let text = fs::read_to_string(&list).with_context(|| format!("read {}", list.display()))?;
        // Where the copy was does not matter.
        let text = text.replace(&format!("file://{}", copy.path().display()), "file://");
        fs::write(to, text).with_context(|| format!("write {}", to.display()))
    }
}

fn git(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*"]).current_dir(root);
    git
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn commit() -> Commit {
        Commit {
            root: PathBuf::new(),
            id: String::new(),
            seconds: "1700000000".to_owned(),
        }
    }

    /// A folder with two files, made in this order.
    fn folder(names: [&str; 2], mode: u32) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("stage");
        fs::create_dir(&folder).unwrap();
        for name in names {
            fs::write(folder.join(name), name).unwrap();
            fs::set_permissions(folder.join(name), Permissions::from_mode(mode)).unwrap();
        }
        (dir, folder)
    }

    #[test]
    fn equal_contents_give_the_same_archive_whose_hash_can_be_checked() {
        let (_first, first) = folder(["a", "b"], 0o600);
        let (_second, second) = folder(["b", "a"], 0o664);
        let archives =
            [&first, &second].map(|folder| commit().pack(folder, "windage-1.2.3-here").unwrap());
        let bytes = archives
            .each_ref()
            .map(|archive| fs::read(archive).unwrap());
        assert!(bytes[0] == bytes[1]);
        let mut list = Command::new("tar");
        list.args(["--numeric-owner", "--utc", "-tvzf"])
            .arg(&archives[0]);
        let listed = command::output(&mut list).unwrap();
        let lines = listed
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let lines: Vec<String> = lines.map(|words| words.join(" ")).collect();
        let expected = [
            "drwxr-xr-x 0/0 0 2023-11-14 22:13 windage-1.2.3-here/",
            "-rw-r--r-- 0/0 1 2023-11-14 22:13 windage-1.2.3-here/a",
            "-rw-r--r-- 0/0 1 2023-11-14 22:13 windage-1.2.3-here/b",
        ];
        assert_eq!(lines, expected);

        let sum = hash(&archives[..1], archives[0].parent().unwrap()).unwrap();
        let check = |sum: &Path| {
            let mut check = Command::new("sha256sum");
            check.args(["--check", "--status"]).arg(sum);
            command::run(check.current_dir(sum.parent().unwrap()))
        };
        check(&sum).unwrap();
        fs::write(&archives[0], "another").unwrap();
        check(&sum).unwrap_err();
    }

    #[test]
    fn the_program_has_its_documents_and_completions_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("windage");
        fs::write(&program, "#!/bin/sh\necho \"$@\"\n").unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let folder = dir.path().join("staged");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("of-an-earlier-version"), "").unwrap();
        stage(&program, &folder).unwrap();
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let expected = [
            "LICENSE",
            "README.md",
            "SECURITY.md",
            "completions",
            "man",
            "windage",
        ];
        assert_eq!(names, expected);
        for (shell, name) in COMPLETIONS {
            let script = fs::read_to_string(folder.join("completions").join(name)).unwrap();
            assert_eq!(script, format!("completions {shell}\n"));
        }
    }

    #[test]
    fn uncommitted_changes_are_not_distributed() {
        let dir = tempfile::tempdir().unwrap();
        let git = |line: &str| command::run(git(dir.path()).args(line.split(' '))).unwrap();
        git("init --quiet");
        fs::write(dir.path().join("file"), "").unwrap();
        let error = Commit::of(dir.path()).err().unwrap().to_string();
        assert!(
            error.contains("commit or remove") && error.contains("?? file"),
            "{error}"
        );
        git("add file");
        git(
            "-c user.name=A -c user.email=a@localhost commit --quiet --message one --date @1600000000",
        );
        let commit = Commit::of(dir.path()).unwrap();
        assert_eq!(commit.id.len(), 40);
        assert!(commit.seconds.parse::<u64>().unwrap() > 1_600_000_000);
    }
}
