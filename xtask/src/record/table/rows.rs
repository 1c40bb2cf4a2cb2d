//! `rows.toml`: which recorded run and arm makes which row of the page.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The file beside the recorded analyses.
pub(super) const FILE: &str = "rows.toml";

/// The file as it is written; an unknown key is an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    #[serde(default)]
    pub(super) run: Vec<RunKey>,
    #[serde(default)]
    pub(super) row: Vec<RowKey>,
    #[serde(default)]
    pub(super) events: Vec<EventsKey>,
    #[serde(default)]
    pub(super) published: Vec<PublishedKey>,
}

/// `[[run]]`: one run under one load.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunKey {
    /// By what name the other tables mean it.
    pub(super) name: String,
    /// The analysis as `windage run --json` prints it, beside this file.
    pub(super) file: String,
    /// The plan's name; needed where the file holds several runs.
    pub(super) plan: Option<String>,
    /// The load's name; needed where the plan has several.
    pub(super) regime: Option<String>,
    /// The report as a page, beside this file.
    pub(super) page: Option<String>,
    /// The experiment's folder under `experiments/`.
    pub(super) experiment: String,
}

/// `[[row]]`: a line of the table across SDKs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowKey {
    pub(super) run: String,
    pub(super) arm: String,
    /// The language's runtime: `Python`, `Go`.
    pub(super) runtime: String,
    /// The framework and what traces it: `FastAPI, OpenTelemetry`.
    pub(super) what: String,
    pub(super) label: Label,
}

/// What is sampled at the head of a trace: it decides in which table a row stands.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum Label {
    #[serde(rename = "1.0")]
    All,
    #[serde(rename = "0.1")]
    Tenth,
    #[serde(rename = "0.0")]
    None,
    #[serde(rename = "loaded, exporter none")]
    Loaded,
}

impl Label {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Label::All => "1.0",
            Label::Tenth => "0.1",
            Label::None => "0.0",
            Label::Loaded => "loaded, exporter none",
        }
    }
}

/// `[[events]]`: two arms that record the same moments, one as spans and one as events on a span.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsKey {
    pub(super) label: String,
    pub(super) spans: ArmKey,
    pub(super) events: ArmKey,
}

/// `[[published]]`: the arm that repeats a figure of the public measurement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedKey {
    /// A name of `published::FIGURES`.
    pub(super) figure: String,
    pub(super) run: String,
    pub(super) arm: String,
}

/// An arm of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArmKey {
    pub(super) run: String,
    pub(super) arm: String,
}

impl Rows {
    pub(super) fn read(folder: &Path) -> Result<Rows> {
        let path = folder.join(FILE);
        let text =
            fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?;
        Rows::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Rows> {
        let rows: Rows = toml::from_str(text)?;
        for (index, run) in rows.run.iter().enumerate() {
            if rows.run[..index].iter().any(|other| other.name == run.name) {
                bail!("two runs are called `{}`; give each its own name", run.name);
            }
            // A record is one folder, so that it can be read and moved as a whole.
            for file in [Some(&run.file), run.page.as_ref()].into_iter().flatten() {
                if file.contains('/') {
                    bail!(
                        "run `{}`: `{file}` is not beside {FILE}; copy it there",
                        run.name
                    );
                }
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        [[run]]
        name = "a"
        file = "a.json"
        experiment = "go-http"

        [[row]]
        run = "a"
        arm = "otel"
        runtime = "Go"
        what = "otelhttp"
        label = "1.0"
    "#;

    #[test]
    fn rows_are_read() {
        let rows = Rows::parse(GOOD).unwrap();
        assert_eq!((rows.run.len(), rows.row.len()), (1, 1));
        assert_eq!(rows.row[0].label, Label::All);
        assert_eq!(rows.row[0].label.as_str(), "1.0");
    }

    #[test]
    fn mistakes_are_named() {
        let second = "[[run]]\nname = \"a\"\nfile = \"b.json\"\nexperiment = \"x\"\n";
        let table = [
            (GOOD.replace("arm =", "amr ="), "amr"),
            (GOOD.replace("\"1.0\"", "\"1\""), "exporter none"),
            (GOOD.replace("runtime = \"Go\"", ""), "runtime"),
            (GOOD.replace("a.json", "../a.json"), "not beside"),
            (format!("{GOOD}{second}"), "two runs are called `a`"),
            (GOOD.replace("[[row]]", "[[rows]]"), "rows"),
        ];
        for (text, named) in table {
            let error = format!("{:#}", Rows::parse(&text).unwrap_err());
            assert!(error.contains(named), "{named}: {error}");
        }
    }
}
