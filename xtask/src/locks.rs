//! Checks that commands in scripts, plans and documents take dependencies from lock files only.

use std::fs;
use std::path::Path;

use crate::command;
use crate::workspace;

/// Cargo's verbs that would otherwise change or ignore a lock file.
const LOCKED: &[&str] = &[
    "build", "run", "test", "install", "clippy", "check", "metadata",
];
/// Folders whose files tell what was done before.
const PAST: &[&str] = &["record/", "CHANGELOG.md"];

/// Lines that run a package manager without its lock file.
fn open_commands(text: &str) -> Vec<&str> {
    let is_open = |line: &&str| {
        let npm = ["npm install", "npm i ", "npm update"];
        npm.iter().any(|command| line.contains(command)) || runs_open_cargo(line)
    };
    text.lines().filter(is_open).collect()
}

fn runs_open_cargo(line: &str) -> bool {
    let is_open = |command: &str| {
        let verb = command.split_whitespace().next().unwrap_or_default();
        // Without an option it is a mention in prose.
        let has_options = command.contains(" -");
        LOCKED.contains(&verb) && has_options && !command.contains("--locked")
    };
    line.split("cargo ").skip(1).any(is_open)
}

#[test]
fn every_command_uses_its_lock_file() {
    let mut list = std::process::Command::new("git");
    list.args(["-c", "safe.directory=*", "ls-files", "-z"]);
    let listed = command::output(list.current_dir(workspace::root())).unwrap();
    let is_read = |path: &&str| {
        let has_commands = [".md", ".toml", ".sh", "run"]
            .iter()
            .any(|end| path.ends_with(end));
        has_commands && !PAST.iter().any(|past| path.starts_with(past))
    };
    let paths: Vec<&str> = listed.split_terminator('\0').filter(is_read).collect();
    assert!(paths.len() > 100, "only {paths:?}");
    let open: Vec<String> = paths.iter().flat_map(|path| open_in(path)).collect();
    assert!(open.is_empty(), "without a lock file:\n{}", open.join("\n"));
}

fn open_in(path: &str) -> Vec<String> {
    // A file that is listed may have been removed since.
    let text = fs::read_to_string(workspace::root().join(path)).unwrap_or_default();
    let named = |line: &str| format!("{path}: {}", line.trim());
    open_commands(&text).into_iter().map(named).collect()
}

#[test]
fn open_commands_are_found() {
    let table = [
        ("$ cargo build --release", true),
        ("$ cargo build --locked --release", false),
        ("`cargo test` captures it", false),
        ("cargo fmt --all", false),
        ("cargo build --locked -p a && cargo run -p b", true),
        ("npm install --silent", true),
        ("npm ci --ignore-scripts", false),
        ("apt-get install npm", false),
    ];
    for (line, is_open) in table {
        assert_eq!(!open_commands(line).is_empty(), is_open, "{line}");
    }
}

#[test]
fn every_package_of_node_has_a_lock_file() {
    for folder in [
        "web",
        "subjects/exporters/node",
        "subjects/node-express",
        "subjects/shop/cart",
    ] {
        let folder = workspace::root().join(folder);
        let read = |name: &str| -> serde_json::Value {
            serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
        };
        let (package, lock) = (read("package.json"), read("package-lock.json"));
        let root = &lock["packages"][""];
        for kind in ["dependencies", "devDependencies"] {
            assert_eq!(package[kind], root[kind], "{}", folder.display());
        }
        assert_every_package_has_a_hash(&lock, &folder);
    }
}

/// Without an address a package comes from the registry; its hash says which.
fn assert_every_package_has_a_hash(lock: &serde_json::Value, folder: &Path) {
    let packages = lock["packages"].as_object().unwrap();
    for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
        let is_pinned = package["integrity"].is_string() && package["resolved"].is_null();
        assert!(is_pinned, "{}: {name}", folder.display());
    }
}
