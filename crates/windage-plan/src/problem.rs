//! What is wrong with a plan, and where.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Why a plan can't be read.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file can't be read.
    #[error("can't read the plan `{}`: {source}; check the path and its permissions", path.display())]
    Unreadable {
        /// The file as it was named.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a plan.
    #[error("{0}")]
    Invalid(Problems),
}

impl PlanError {
    /// The error as text: each problem with its source line and a caret below.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let renderer = renderer.decor_style(DecorStyle::Ascii);
        match self {
            PlanError::Unreadable { .. } => {
                let title = Level::ERROR.primary_title(self.to_string());
                renderer.render(&[Group::with_title(title)])
            }
            PlanError::Invalid(problems) => {
                let rendered: Vec<String> = problems
                    .iter()
                    .map(|p| renderer.render(&[problems.group(p)]))
                    .collect();
                rendered.join("\n\n")
            }
        }
    }
}

/// All problems of one file, in file order; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    file_name: String,
    source: String,
    list: Vec<Problem>,
}

impl Problems {
    pub(crate) fn new(file_name: &str, source: &str, mut list: Vec<Problem>) -> Problems {
        list.sort_by_key(|problem| problem.span.start);
        list.dedup();
        Problems {
            file_name: file_name.to_owned(),
            source: source.to_owned(),
            list,
        }
    }

    /// The problems, in file order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let annotation = AnnotationKind::Primary
            .span(within(&self.source, &problem.span))
            .label(problem.label.as_str());
        let snippet = Snippet::source(self.source.as_str())
            .path(self.file_name.as_str())
            .annotation(annotation);
        let group = Level::ERROR
            .primary_title(problem.message.as_str())
            .element(snippet);
        match &problem.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        }
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    /// One line per problem: `file:line: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            let line = line_of(&self.source, problem.span.start);
            write!(
                f,
                "{separator}{}:{line}: {}",
                self.file_name, problem.message
            )?;
        }
        Ok(())
    }
}

/// One problem of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in a sentence.
    pub message: String,
    /// Where, in bytes from the start of the file.
    pub span: Range<usize>,
    /// A few words to print next to the caret.
    pub label: String,
    /// What to do.
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        span: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Problem {
        Problem {
            message: message.into(),
            span,
            label: label.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// Rewords an error of the TOML parser or of serde.
    pub(crate) fn from_toml(error: &toml::de::Error, source: &str) -> Problem {
        let span = error.span().unwrap_or(0..0);
        let message = error.message();
        if let Some(fields) = message.strip_prefix("unknown field ") {
            let key = source
                .get(span.clone())
                .unwrap_or_default()
                .trim_matches(['"', '\'']);
            let allowed: Vec<&str> = fields
                .rsplit_once(", expected")
                .map(|(_, list)| list.split('`').skip(1).step_by(2).collect())
                .unwrap_or_default();
            let problem = Problem::new(
                span.clone(),
                format!("unknown key `{key}`"),
                "not a key of this table",
            );
            let renamed = RENAMED_KEYS.iter().find(|(old, _)| *old == key);
            return problem.help(match renamed {
                Some((old, new)) => format!("`{old}` is now called `{new}`"),
                None => choices(key, &allowed),
            });
        }
        if let Some(key) = message.strip_prefix("missing field ") {
            return Problem::new(
                span,
                format!("the key {key} is missing"),
                format!("needs {key}"),
            );
        }
        if message == "duplicate key" {
            let key = source.get(span.clone()).unwrap_or_default();
            return Problem::new(
                span.clone(),
                format!("the key `{key}` is given twice"),
                "again here",
            );
        }
        if let Some((found, expected)) = message
            .strip_prefix("invalid type: ")
            .and_then(|types| types.split_once(", expected "))
        {
            let problem = Problem::new(
                span,
                format!("expected {expected}, not {found}"),
                "wrong type",
            );
            return match expected {
                "a string" => {
                    problem.help("put the value in quotes; durations and rates are strings, too")
                }
                _ => problem,
            };
        }
        Problem::new(span, message, "here")
    }
}

/// Keys of plans written before 0.1.0, and their names today.
const RENAMED_KEYS: &[(&str, &str)] = &[("interest", "margin"), ("turn", "agent_stretch")];

/// "did you mean `x`? allowed: a, b", or only the latter.
pub(crate) fn choices(word: &str, allowed: &[&str]) -> String {
    let list = allowed
        .iter()
        .map(|a| format!("`{a}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match closest(word, allowed) {
        Some(best) => format!("did you mean `{best}`? allowed: {list}"),
        None => format!("allowed: {list}"),
    }
}

/// The candidate of which `word` is probably a misspelling.
fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let length = word.chars().count();
    // A single letter is never taken for a misspelling of another.
    let bound = (length / 3).max(1).min(length.saturating_sub(1));
    candidates
        .iter()
        .map(|&candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|&(distance, _)| distance <= bound)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// The span, clamped to the source and to character boundaries, as the renderer requires.
fn within(source: &str, span: &Range<usize>) -> Range<usize> {
    let start = source.floor_char_boundary(span.start);
    let end = source.ceil_char_boundary(span.end.max(start));
    start..end
}

fn line_of(source: &str, offset: usize) -> usize {
    let before = &source.as_bytes()[..offset.min(source.len())];
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}
