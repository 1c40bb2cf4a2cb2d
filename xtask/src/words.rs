//! Prose, strings and comments use the words of the glossary: phrases listed in `xtask/words.toml` appear nowhere.

use std::fs;
use std::process::Command;

use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::{command, workspace};

/// What people read. Go is left out: `nil` is a word of the language.
const READ: &[&str] = &[
    "*.rs", "*.ts", "*.tsx", "*.css", "*.md", "*.toml", "*.py", "*.sh", "*.mjs", "*.js", "*.java",
    "*.snap", "*.cfg", "*.yml", "*.yaml",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    exempt: Vec<String>,
    phrase: Vec<Phrase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrase {
    pattern: String,
    instead: String,
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
fn phrases_are_found_and_ordinary_words_are_not() {
    let words = Words::read();
    let rules = words.rules();
    let table = [
        ("the difference is nil", 1),
        ("exceeds_nil", 1),
        ("vanilla, nilpotent", 0),
        ("CPU a request", 1),
        ("CPU per request", 0),
        ("4 µs a span", 1),
        ("what a request costs", 0),
        ("it is told to the display", 1),
        ("as the user said", 0),
        ("held against the baseline", 1),
        ("an ill backend", 1),
        ("the agent is gone", 1),
        ("a request that has gone out", 0),
        ("an interesting result", 0),
    ];
    for (line, expected) in table {
        assert_eq!(offences(line, &rules).len(), expected, "{line}");
    }
}
