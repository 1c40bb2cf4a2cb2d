//! `cargo xtask size`: lines of production code by crate.
//!
//! A line counts when a token of production code lies on it. Blank lines, comments, tests, fixtures, examples and
//! generated files do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::workspace;

/// The folders whose code runs in production or checks the project.
const COUNTED: &[&str] = &["crates", "xtask", "web/src"];
const NOT_PRODUCTION: &[&str] = &["tests", "examples", "benches", "fixtures", "assets"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also count this revision and show the difference
    #[arg(long, value_name = "REVISION")]
    before: Option<String>,
}

/// Prints a Markdown table of the lines of each crate.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let now = count(workspace::root())?;
    let before = args.before.as_deref().map(count_revision).transpose()?;
    anstream::print!("{}", table(&now, before.as_ref()));
    Ok(ExitCode::SUCCESS)
}

type Lines = BTreeMap<String, usize>;

fn table(now: &Lines, before: Option<&Lines>) -> String {
    let sum = |lines: &Lines| lines.values().sum::<usize>();
    let Some(before) = before else {
        let rows = now.iter().map(|(name, n)| format!("| {name} | {n} |\n"));
        return format!(
            "| part | lines |\n|---|---:|\n{}| **all** | {} |\n",
            rows.collect::<String>(),
            sum(now)
        );
    };
    let row = |name: &str, before: usize, now: usize| {
        let change = i128::try_from(now).unwrap_or(0) - i128::try_from(before).unwrap_or(0);
        format!("| {name} | {before} | {now} | {change:+} |\n")
    };
    let names: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    let of = |lines: &Lines, name: &String| lines.get(name).copied().unwrap_or(0);
    let rows = names
        .iter()
        .map(|name| row(name, of(before, name), of(now, name)));
    format!(
        "| part | before | now | change |\n|---|---:|---:|---:|\n{}{}",
        rows.collect::<String>(),
        row("**all**", sum(before), sum(now))
    )
}

/// Counts a commit by unpacking it into a temporary folder.
fn count_revision(revision: &str) -> Result<Lines> {
    let folder = tempfile::tempdir()?;
    let mut git = Command::new("git")
        .args(["archive", "--", revision])
        .args(COUNTED)
        .current_dir(workspace::root())
        .stdout(Stdio::piped())
        .spawn()
        .context("git archive")?;
    let archive = git.stdout.take().context("git archive has no output")?;
    let unpacked = Command::new("tar")
        .args(["-x", "-C"])
        .arg(folder.path())
        .stdin(archive)
        .status()
        .context("tar")?;
    if !git.wait()?.success() || !unpacked.success() {
        bail!("revision {revision} could not be unpacked");
    }
    count(folder.path())
}

fn count(root: &Path) -> Result<Lines> {
    let mut sources = Vec::new();
    for folder in COUNTED {
        find_sources(&root.join(folder), &mut sources)?;
    }
    let mut lines = Vec::new();
    let mut test_modules = BTreeSet::new();
    for path in sources {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let n = if path.extension().is_some_and(|extension| extension == "rs") {
            let rust = RustLines::of(&text).with_context(|| path.display().to_string())?;
            test_modules.extend(rust.test_modules.iter().map(|module| module.path(&path)));
            rust.production.len()
        } else {
            script_lines(&text)
        };
        lines.push((path, n));
    }
    let mut sums = Lines::new();
    for (path, n) in lines {
        let in_test = path
            .ancestors()
            .any(|part| test_modules.contains(&part.with_extension("")));
        if !in_test {
            *sums.entry(part_of(root, &path)).or_default() += n;
        }
    }
    Ok(sums)
}

/// `windage-lab` for `crates/windage-lab/src/run.rs`; `web` and `xtask` for the files there.
fn part_of(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let mut parts = inside
        .iter()
        .map(|part| part.to_string_lossy().into_owned());
    match parts.next() {
        Some(folder) if folder != "crates" => folder,
        _ => parts.next().unwrap_or_default(),
    }
}

fn find_sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if !NOT_PRODUCTION.contains(&name.as_str()) {
                find_sources(&path, found)?;
            }
            continue;
        }
        let counted = [".rs", ".ts", ".tsx", ".css"]
            .iter()
            .any(|end| name.ends_with(end));
        if counted && !name.contains(".test.") {
            found.push(path);
        }
    }
    Ok(())
}

/// A module that `#[cfg(test)]` keeps out of production.
struct TestModule {
    name: String,
    /// The value of `#[path]`.
    path: Option<String>,
}

impl TestModule {
    /// Where its file is, without `.rs`; also its folder.
    fn path(&self, declared_in: &Path) -> PathBuf {
        let folder = declared_in.parent().unwrap_or(Path::new(""));
        if let Some(path) = &self.path {
            return folder.join(path).with_extension("");
        }
        let stem = declared_in
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        if ["lib", "main", "mod"].contains(&stem.as_ref()) {
            folder.join(&self.name)
        } else {
            folder.join(stem.as_ref()).join(&self.name)
        }
    }
}

#[derive(Default)]
struct RustLines {
    production: BTreeSet<usize>,
    test_modules: Vec<TestModule>,
}

impl RustLines {
    fn of(source: &str) -> Result<RustLines> {
        let tokens: TokenStream = source
            .parse()
            .map_err(|error| anyhow::anyhow!("not Rust: {error}"))?;
        let mut lines = RustLines::default();
        lines.walk(tokens);
        Ok(lines)
    }

    fn walk(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let mut path = None;
        while let Some(token) = tokens.next() {
            let hash = matches!(&token, TokenTree::Punct(hash) if hash.as_char() == '#');
            // `#!` of an inner attribute.
            let inner = tokens.next_if(
                |next| matches!(next, TokenTree::Punct(mark) if hash && mark.as_char() == '!'),
            );
            let attribute = match tokens.peek() {
                Some(TokenTree::Group(group)) if hash => group.stream().to_string(),
                _ => String::new(),
            };
            if attribute.starts_with("doc =") {
                tokens.next();
            } else if inner.is_none() && attribute.starts_with("cfg") && is_test_only(&attribute) {
                tokens.next();
                self.skip_item(&mut tokens, path.take());
            } else {
                if let Some(value) = attribute.strip_prefix("path =") {
                    path = Some(value.trim().trim_matches('"').to_owned());
                }
                self.add(token);
            }
        }
    }

    fn add(&mut self, token: TokenTree) {
        match token {
            TokenTree::Group(group) => {
                self.add_span(group.span_open());
                self.walk(group.stream());
                self.add_span(group.span_close());
            }
            token => self.add_span(token.span()),
        }
    }

    fn add_span(&mut self, span: proc_macro2::Span) {
        self.production.extend(span.start().line..=span.end().line);
    }

    /// Skips the item after `#[cfg(test)]`, and records the file if it is a module.
    fn skip_item(&mut self, tokens: &mut impl Iterator<Item = TokenTree>, path: Option<String>) {
        let mut words = Vec::new();
        let mut path = path;
        for token in tokens {
            match token {
                TokenTree::Punct(end) if end.as_char() == ';' => break,
                TokenTree::Group(group) if ends_item(&group, &words) => return,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                    if let Some(value) = group.stream().to_string().strip_prefix("path =") {
                        path = Some(value.trim().trim_matches('"').to_owned());
                    }
                }
                TokenTree::Ident(word) => words.push(word.to_string()),
                _ => {}
            }
        }
        if let Some(at) = words.iter().position(|word| word == "mod")
            && let Some(name) = words.get(at + 1)
        {
            self.test_modules.push(TestModule {
                name: name.clone(),
                path,
            });
        }
    }
}

/// Whether the group ends an item: braces end every item except those that end in a semicolon.
fn ends_item(group: &Group, words: &[String]) -> bool {
    let open_ended = ["use", "const", "static", "let", "type"];
    group.delimiter() == Delimiter::Brace
        && (words.iter().any(|word| word == "fn")
            || !words.iter().any(|word| open_ended.contains(&word.as_str())))
}

fn is_test_only(attribute: &str) -> bool {
    let words: Vec<&str> = attribute
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    words.contains(&"test") && !words.contains(&"not")
}

/// Lines of TypeScript or CSS that are neither blank nor a comment.
fn script_lines(text: &str) -> usize {
    let mut in_comment = false;
    let mut n = 0;
    for line in text.lines().map(str::trim) {
        let starts = line.starts_with("/*") || line.starts_with("{/*");
        if in_comment || starts {
            in_comment = !line.contains("*/");
        } else if !line.is_empty() && !line.starts_with("//") {
            n += 1;
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_production_code_count() {
        let table = [
            ("fn a() {}\n", 1),
            (
                "//! Doc.\n\n/// Doc.\nfn a() {\n    // why\n    b(); // c\n}\n",
                3,
            ),
            (
                "#[cfg(test)]\nmod tests {\n    fn a() {}\n}\nfn b() {}\n",
                1,
            ),
            ("#[cfg(test)]\nuse a::{b, c};\nfn d() {}\n", 1),
            (
                "#[cfg(test)]\n#[allow(x)]\nfn a() -> [u8; 2] {\n    [1, 2]\n}\nfn b() {}\n",
                1,
            ),
            ("#[cfg(not(test))]\nfn a() {}\n", 2),
            ("const A: &str = \"x\ny\";\n", 2),
            (
                "impl A {\n    #[cfg(test)]\n    fn a(&self) {\n    }\n}\n",
                2,
            ),
        ];
        for (source, expected) in table {
            assert_eq!(
                RustLines::of(source).unwrap().production.len(),
                expected,
                "{source}"
            );
        }
    }

    #[test]
    fn the_file_of_a_test_module_is_found() {
        let table = [
            ("#[cfg(test)]\nmod a;", "src/lib.rs", "src/a"),
            ("#[cfg(test)]\nmod a;", "src/b.rs", "src/b/a"),
            ("#[cfg(test)]\nmod a;", "src/b/mod.rs", "src/b/a"),
            (
                "#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;",
                "src/b.rs",
                "src/b_tests",
            ),
            (
                "#[path = \"b_tests.rs\"]\n#[cfg(test)]\nmod tests;",
                "src/b.rs",
                "src/b_tests",
            ),
        ];
        for (source, file, expected) in table {
            let lines = RustLines::of(source).unwrap();
            let [module] = &lines.test_modules[..] else {
                panic!("{source}: not one module");
            };
            assert_eq!(
                module.path(Path::new(file)),
                Path::new(expected),
                "{source}"
            );
        }
    }

    #[test]
    fn comments_of_scripts_do_not_count() {
        assert_eq!(
            script_lines("// a\n\nlet b = 1; // c\n/* d\n e\n*/\n/* f */\nlet g;\n"),
            2
        );
    }

    #[test]
    fn the_checkout_has_all_its_parts() {
        let lines = count(workspace::root()).unwrap();
        for part in ["windage", "windage-lab", "xtask", "web"] {
            assert!(lines[part] > 500, "{part}: {lines:?}");
        }
    }

    #[test]
    fn a_table_has_the_sums() {
        let lines = |n| Lines::from([("a".to_owned(), n), ("b".to_owned(), 1)]);
        assert!(table(&lines(3), None).ends_with("| **all** | 4 |\n"));
        assert!(table(&lines(3), Some(&lines(5))).ends_with("| **all** | 6 | 4 | -2 |\n"));
    }
}
