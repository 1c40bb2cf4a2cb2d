//! Tries what was built, as those who install it would.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{command, debian};

/// In bytes; more would take long to fetch in CI.
const LARGEST: u64 = 25_000_000;
/// Root, and a user without an account.
const USERS: [&str; 2] = ["0:0", "65534:65534"];

/// Runs the program where there is nothing else, and installs and removes the packages.
pub(super) fn all(staged: &Path, files: &[PathBuf]) -> Result<()> {
    let program = staged.join("windage");
    let size = fs::metadata(&program)?.len();
    runs_alone(&program)?;
    for file in files {
        match file.extension().and_then(|of| of.to_str()) {
            Some("deb") => installs_deb(file)?,
            Some("rpm") => installs_rpm(file)?,
            Some("tar") => is_an_image(file)?,
            _ => {}
        }
    }
    anstream::println!("checked: runs alone, installs and is removed");
    if size > LARGEST {
        bail!("the program has {size} bytes; {LARGEST} were to be enough");
    }
    Ok(())
}

/// The demo in a root directory with the program and what the kernel provides, as root and as another user.
fn runs_alone(program: &Path) -> Result<()> {
    for user in USERS {
        let root = tempfile::tempdir().context("make a root directory")?;
        for (folder, mode) in [
            ("proc", 0o755),
            ("dev", 0o755),
            ("sys", 0o755),
            ("tmp", 0o1777),
        ] {
            let folder = root.path().join(folder);
            fs::create_dir(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode))?;
        }
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755))?;
        fs::copy(program, root.path().join("windage"))?;
        let inside = format!(
            "cd '{0}' && mount -t proc proc proc && mount --rbind /dev dev && mount --rbind /sys sys && \
             exec chroot --userspec={user} . /windage demo --for 3s --out /tmp/run",
            root.path().display()
        );
        let mut demo = Command::new("unshare");
        demo.args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            &inside,
        ]);
        let status = demo.status().context("start `unshare`")?;
        // So short a demo may not measure everything that it is asked for.
        if !matches!(status.code(), Some(0 | 3 | 4)) {
            bail!("the demo in an empty root directory, as {user}, ended with {status}");
        }
        if !root.path().join("tmp/run/report.html").is_file() {
            bail!("the demo in an empty root directory, as {user}, wrote no report");
        }
    }
    Ok(())
}

fn installs_deb(package: &Path) -> Result<()> {
    let listed = command::output(Command::new("dpkg-deb").arg("--contents").arg(package))?;
    let paths = listed.lines().filter_map(|line| line.split(" ./").nth(1));
    let installed: Vec<PathBuf> = paths
        .filter(|path| !path.ends_with('/'))
        .map(|path| Path::new("/").join(path))
        .collect();
    let there = |path: &&PathBuf| path.exists();
    if let Some(path) = installed.iter().find(there) {
        bail!(
            "{} is there already; remove what installed it",
            path.display()
        );
    }
    let is_installed = command::run(Command::new("dpkg").arg("--install").arg(package));
    let missing = installed.iter().find(|path| !path.exists()).cloned();
    let version = command::output(Command::new("/usr/bin/windage").arg("--version"));
    command::run(Command::new("dpkg").args(["--purge", "windage"]))?;
    is_installed?;
    if let Some(path) = missing {
        bail!("the package did not install {}", path.display());
    }
    has_version(&version?)?;
    match installed.iter().find(there) {
        Some(path) => bail!("{} stayed after the package was removed", path.display()),
        None => Ok(()),
    }
}

/// Into a folder, because the system's packages are of another family.
fn installs_rpm(package: &Path) -> Result<()> {
    debian::provide(&["rpm"])?;
    let root = tempfile::tempdir().context("make a root directory")?;
    let rpm = |words: &[&str]| {
        let mut rpm = Command::new("rpm");
        rpm.arg("--root").arg(root.path()).args(words);
        rpm
    };
    command::run(&mut rpm(&["--initdb"]))?;
    command::run(rpm(&["--install", "--nodeps"]).arg(package))?;
    let program = root.path().join("usr/bin/windage");
    has_version(&command::output(Command::new(&program).arg("--version"))?)?;
    command::run(&mut rpm(&["--erase", "windage"]))?;
    if program.exists() {
        bail!("the program stayed after the package was removed");
    }
    Ok(())
}

/// As another reader of such archives sees it.
fn is_an_image(archive: &Path) -> Result<()> {
    debian::provide(&["skopeo"])?;
    let mut inspect = Command::new("skopeo");
    let image = format!("oci-archive:{}", archive.display());
    let config = command::output(inspect.args(["inspect", "--config"]).arg(&image))?;
    let copied = tempfile::tempdir().context("make a folder")?;
    let to = format!("dir:{}", copied.path().display());
    command::run(Command::new("skopeo").args([
        "copy",
        "--quiet",
        "--insecure-policy",
        &image,
        &to,
    ]))?;
    if !config.contains("/usr/bin/windage") {
        bail!("the image starts something else: {config}");
    }
    Ok(())
}

fn has_version(said: &str) -> Result<()> {
    if !said.contains(env!("CARGO_PKG_VERSION")) {
        bail!("the installed program says that it is {said}");
    }
    Ok(())
}
