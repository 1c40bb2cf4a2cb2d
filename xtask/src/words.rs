//! Prose, strings and comments use the words of the glossary: phrases listed in `xtask/words.toml` appear nowhere.

use std::fs;
use std::process::Command;

use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::{command, workspace};

/// What people read. Go is left out: some of the phrases are words of the language.
const READ: &[&str] = &[
    "*.rs", "*.ts", "*.tsx", "*.css", "*.md", "*.toml", "*.py", "*.sh", "*.mjs", "*.js", "*.java",
    "*.snap", "*.cfg", "*.yml", "*.yaml",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    exempt: Vec<String>,
    /// Lines in which nothing is to be found.
    ordinary: Vec<String>,
    phrase: Vec<Phrase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrase {
    pattern: String,
    instead: String,
    /// Lines in which it is to be found.
    finds: Vec<String>,
    /// Names of other people's that the pattern would find.
    #[serde(default)]
    except: Vec<String>,
}

impl Words {
    fn read() -> Words {
        toml::from_str(include_str!("../words.toml")).unwrap()
    }

    fn rules(&self) -> Vec<Rule<'_>> {
        let rule = |phrase: &'_ Phrase| {
            RegexBuilder::new(&phrase.pattern)
                .case_insensitive(true)
                .build()
                .unwrap()
        };
        let rules = self.phrase.iter();
        rules.map(|phrase| (rule(phrase), phrase)).collect()
    }
}

type Rule<'a> = (Regex, &'a Phrase);

/// `LINE: phrase (write: …)` for each offence.
fn offences(text: &str, rules: &[Rule<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (rule, phrase) in rules {
            let is_offence = |hit: &str| !phrase.except.iter().any(|except| hit.contains(except));
            if let Some(hit) = rule.find(line).filter(|_| is_offence(line)) {
                let instead = &phrase.instead;
                found.push(format!("{number}: \"{}\" (write: {instead})", hit.as_str()));
            }
        }
    }
    found
}

#[test]
fn listed_phrases_appear_nowhere() {
    let words = Words::read();
    let rules = words.rules();
    let mut list = Command::new("git");
    list.args(["ls-files", "--"])
        .args(READ)
        .current_dir(workspace::root());
    let files = command::output(&mut list).unwrap();
    let mut found = Vec::new();
    let mut looked_at = 0;
    for file in files.lines().filter(|file| {
        !words
            .exempt
            .iter()
            .any(|start| file.starts_with(start.as_str()))
    }) {
        // A file that was deleted and not committed yet is still listed.
        let Ok(text) = fs::read_to_string(workspace::root().join(file)) else {
            continue;
        };
        looked_at += 1;
        found.extend(
            offences(&text, &rules)
                .into_iter()
                .map(|offence| format!("{file}:{offence}")),
        );
    }
    assert!(looked_at > 500, "only {looked_at} files");
    assert!(
        found.is_empty(),
        "{} phrases to replace:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn each_pattern_finds_its_own_examples_and_no_ordinary_words() {
    let words = Words::read();
    let rules = words.rules();
    for (rule, phrase) in &rules {
        assert!(!phrase.finds.is_empty(), "{rule}: give an example");
        for line in &phrase.finds {
            assert!(rule.is_match(line), "{rule} does not find {line:?}");
        }
    }
    for line in &words.ordinary {
        assert_eq!(offences(line, &rules), Vec::<String>::new());
    }
}
