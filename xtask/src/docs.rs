//! `cargo xtask docs`: the documents as a site with a search, in `target/site`.
//!
//! mdBook draws every Markdown page of the repository. The list of chapters is made from the pages
//! themselves, because one that somebody keeps would miss new ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{command, workspace};

const MDBOOK: &[&str] = &[
    "mdbook@0.5.4",
    "--no-default-features",
    "--features",
    "search",
];

/// The parts of the site: each page belongs to the first part that has its beginning.
const PARTS: &[(&str, &[&str])] = &[
    ("Windage", &["README.md"]),
    ("Guide", &["docs/guide/"]),
    (
        "Reference",
        &["docs/FORMAT.md", "docs/GLOSSARY.md", "docs/STABILITY.md"],
    ),
    ("Method", &["docs/"]),
    ("Experiments", &["experiments/"]),
    ("Records", &["record/"]),
    ("Development", &[""]),
];

pub(crate) fn run() -> Result<ExitCode> {
    let root = workspace::root();
    let tools = workspace::install(MDBOOK)?;
    let to = root.join("target/site");
    let book = root.join("target/site-source");
    if book.exists() {
        fs::remove_dir_all(&book).with_context(|| format!("remove {}", book.display()))?;
    }
    let pages = pages(root)?;
    stage(root, &pages, &book.join("src"))?;
    fs::write(book.join("book.toml"), BOOK).context("write book.toml")?;
    fs::write(book.join("wide.css"), WIDE).context("write wide.css")?;
    let mut build = Command::new(tools.join("mdbook"));
    command::run(build.arg("build").arg(&book).arg("--dest-dir").arg(&to))?;
    anstream::println!("{}", to.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

const BOOK: &str = r#"[book]
title = "Windage"
language = "en"

[output.html]
no-section-label = true
smart-punctuation = false
additional-css = ["wide.css"]
"#;

/// Reference tables need the room.
const WIDE: &str = ":root { --content-max-width: 1100px; }\n";

/// Folders that builds, tests and runs make.
const MADE: &[&str] = &[
    "build",
    "node_modules",
    "target",
    "test-results",
    "windage-runs",
];

/// Every Markdown page of the checkout by its path, except in folders made by builds and runs.
pub(crate) fn pages(root: &Path) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    find(root, root, &mut pages)?;
    pages.sort();
    Ok(pages)
}

fn find(root: &Path, folder: &Path, pages: &mut Vec<String>) -> Result<()> {
    let listed = || format!("list {}", folder.display());
    for entry in fs::read_dir(folder).with_context(listed)? {
        let path = entry.with_context(listed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_made = MADE.contains(&&*name);
        if path.is_dir() && !is_made && !name.starts_with('.') {
            find(root, &path, pages)?;
        } else if name.ends_with(".md") {
            let page = path.strip_prefix(root).unwrap_or(&path);
            pages.push(page.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Copies the pages, the files that they link to, and the list of chapters.
fn stage(root: &Path, pages: &[String], to: &Path) -> Result<()> {
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    let mut titles = Vec::new();
    for page in pages {
        let text = fs::read_to_string(root.join(page)).with_context(|| format!("read {page}"))?;
        titles.push((page.as_str(), title(&text).unwrap_or(page).to_owned()));
        let targets = targets(&text).filter_map(|target| beside(page, target));
        files.extend(targets.filter(|file| root.join(file).is_file()));
        let copy = to.join(page);
        make_folder_of(&copy)?;
        fs::write(&copy, relinked(root, page, &text)).with_context(|| format!("copy {page}"))?;
    }
    for file in files.iter().filter(|file| !to.join(file).exists()) {
        let copy = to.join(file);
        make_folder_of(&copy)?;
        fs::copy(root.join(file), &copy).with_context(|| format!("copy {}", file.display()))?;
    }
    fs::write(to.join("SUMMARY.md"), summary(&titles)).context("write SUMMARY.md")
}

fn make_folder_of(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))
}

/// A page whose links to READMEs, and to folders that have one, lead to what mdBook makes of these.
fn relinked(root: &Path, page: &str, text: &str) -> String {
    let mut parts = text.split("](");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find([')', ' ', '#']).unwrap_or(part.len());
        let (target, rest) = part.split_at(end);
        let is_folder =
            || beside(page, target).is_some_and(|of| root.join(of).join("README.md").exists());
        let target = match target.strip_suffix("README.md") {
            Some(folder) => format!("{folder}index.md"),
            None if !target.is_empty() && !target.contains(':') && is_folder() => {
                format!("{}/index.md", target.trim_end_matches('/'))
            }
            None => target.to_owned(),
        };
        whole.push_str("](");
        whole.push_str(&target);
        whole.push_str(rest);
    }
    whole
}

/// The list of chapters: a page in a folder that has a README stands below it.
fn summary(titles: &[(&str, String)]) -> String {
    let mut text = String::from("# Windage\n");
    let part_of = |page: &str| {
        let begins =
            |(_, beginnings): &&(&str, &[&str])| beginnings.iter().any(|of| page.starts_with(of));
        PARTS.iter().find(begins).map(|(name, _)| *name)
    };
    for (part, _) in PARTS {
        let own = titles
            .iter()
            .filter(|(page, _)| part_of(page) == Some(part));
        let mut own: Vec<&(&str, String)> = own.collect();
        own.sort_by_key(|(page, _)| order(page));
        text.push_str(&format!("\n# {part}\n\n"));
        for (page, title) in &own {
            let above = own.iter().filter(|(of, _)| is_above(of, page)).count();
            let title = title.replace(['[', ']'], "");
            text.push_str(&format!("{}- [{title}]({page})\n", "  ".repeat(above)));
        }
    }
    text
}

/// A folder's README comes before its other pages, and these before its folders.
fn order(page: &str) -> Vec<(bool, bool, String)> {
    let names: Vec<&str> = page.split('/').collect();
    let place = |(i, name): (usize, &&str)| {
        let is_folder = i + 1 < names.len();
        (is_folder, *name != "README.md", (*name).to_owned())
    };
    names.iter().enumerate().map(place).collect()
}

/// Whether a page is the README of a folder that the other one is in.
fn is_above(readme: &str, page: &str) -> bool {
    let folder = readme.strip_suffix("README.md");
    folder.is_some_and(|folder| !folder.is_empty() && readme != page && page.starts_with(folder))
}

/// A page's first heading.
fn title(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("# "))
}

/// The targets of a page's links, without anchors.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split([')', ' ', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains(':'))
}

/// A target of a page's link, as a path from the root; `None` outside of it.
fn beside(page: &str, target: &str) -> Option<PathBuf> {
    let mut path = PathBuf::from(page).parent()?.to_owned();
    for component in Path::new(target).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_a_chapter_once() {
        let root = workspace::root();
        let pages = pages(root).unwrap();
        let dir = tempfile::tempdir().unwrap();
        stage(root, &pages, dir.path()).unwrap();
        let summary = fs::read_to_string(dir.path().join("SUMMARY.md")).unwrap();
        for page in &pages {
            let chapter = format!("]({page})");
            assert_eq!(summary.matches(&chapter).count(), 1, "{page}: {summary}");
            let copy = fs::read_to_string(dir.path().join(page)).unwrap();
            // mdBook makes an index of each.
            assert!(
                targets(&copy).all(|of| !of.ends_with("README.md")),
                "{page}"
            );
        }
        let picture = dir.path().join("docs/pictures/page.png");
        assert!(picture.exists(), "files that pages link to are copied");
    }

    #[test]
    fn chapters_are_in_parts_and_below_their_folders() {
        let titles = [
            "README.md",
            "docs/guide/sdk.md",
            "docs/guide/README.md",
            "docs/BIAS.md",
        ]
        .into_iter()
        .chain([
            "experiments/a/b/README.md",
            "experiments/a/README.md",
            "web/README.md",
        ])
        .map(|page| (page, format!("[{page}]")));
        let titles: Vec<_> = titles.collect();
        let expected = "# Windage\n\n# Windage\n\n- [README.md](README.md)\n\
            \n# Guide\n\n- [docs/guide/README.md](docs/guide/README.md)\n  \
            - [docs/guide/sdk.md](docs/guide/sdk.md)\n\
            \n# Reference\n\n\
            \n# Method\n\n- [docs/BIAS.md](docs/BIAS.md)\n\
            \n# Experiments\n\n- [experiments/a/README.md](experiments/a/README.md)\n  \
            - [experiments/a/b/README.md](experiments/a/b/README.md)\n\
            \n# Records\n\n\
            \n# Development\n\n- [web/README.md](web/README.md)\n";
        assert_eq!(summary(&titles), expected);
    }

    #[test]
    fn links_are_followed_from_their_page() {
        let table = [
            ("docs/a.md", "guide/b.md", Some("docs/guide/b.md")),
            (
                "docs/guide/a.md",
                "../../record/c.svg",
                Some("record/c.svg"),
            ),
            ("README.md", "./LICENSE", Some("LICENSE")),
            ("README.md", "../outside", None),
            ("README.md", "/etc/passwd", None),
        ];
        for (page, target, expected) in table {
            assert_eq!(
                beside(page, target),
                expected.map(PathBuf::from),
                "{target}"
            );
        }
        let root = workspace::root();
        let text = "[a](../README.md#b), [c](guide/) and [d](../web \"e\"), [f](BIAS.md), [g](https://h.example/README)";
        let expected = "[a](../index.md#b), [c](guide/index.md) and [d](../web/index.md \"e\"), [f](BIAS.md), \
                        [g](https://h.example/README)";
        assert_eq!(relinked(root, "docs/FORMAT.md", text), expected);
        let text = "[a](b.md#c) ![d](e.svg \"f\") [g](#h) [i](https://j.example)";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["b.md", "e.svg"]);
    }
}
