//! Two plans line by line.

mod variables;

use similar::{Change, ChangeTag, TextDiff};

use self::variables::Environments;

/// One line of a line-by-line difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLine {
    /// Which plan it is in.
    pub tag: PlanTag,
    /// The line without its end; for a gap, how many lines are omitted.
    pub text: String,
}

/// Which plan a line is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlanTag {
    /// In both.
    Equal,
    /// In A only.
    Delete,
    /// In B only.
    Insert,
    /// Omitted lines, of both or either plan.
    Gap,
}

impl PlanTag {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PlanTag::Equal => "equal",
            PlanTag::Delete => "delete",
            PlanTag::Insert => "insert",
            PlanTag::Gap => "gap",
        }
    }
}

/// Lines shown around one that differs.
const CONTEXT: usize = 2;
/// At most so many lines are shown.
const SHOWN: usize = 200;
/// At most so many lines of a plan are read: the cost of comparing grows with their square.
const READ: usize = 4_000;

/// The lines that differ with some context, without the values of environment variables; empty when
/// there are none.
pub(super) fn plan_diff(a: &str, b: &str) -> Vec<PlanLine> {
    let [of_a, of_b] = [a, b].map(|text| text.lines().take(READ).collect::<Vec<_>>());
    let unread = [a, b].map(|text| text.lines().count().saturating_sub(READ));
    let [in_a, in_b] = [&of_a, &of_b].map(|lines| Environments::of(lines));
    let shown = |change: &Change<&str>| match (change.old_index(), change.new_index()) {
        (Some(number), _) => in_a.shown(number, change.value(), &in_b),
        (None, Some(number)) => in_b.shown(number, change.value(), &in_a),
        (None, None) => change.value().to_owned(),
    };
    let diff = TextDiff::from_slices(&of_a, &of_b);
    let mut lines = Vec::new();
    let mut told_to = 0;
    for group in diff.grouped_ops(CONTEXT) {
        let begins = group.first().map_or(0, |op| op.old_range().start);
        push_gap(&mut lines, begins.saturating_sub(told_to), "equal");
        told_to = group.last().map_or(told_to, |op| op.old_range().end);
        let changes = group.iter().flat_map(|op| diff.iter_changes(op));
        lines.extend(changes.map(|change| PlanLine {
            tag: match change.tag() {
                ChangeTag::Equal => PlanTag::Equal,
                ChangeTag::Delete => PlanTag::Delete,
                ChangeTag::Insert => PlanTag::Insert,
            },
            text: shown(&change),
        }));
    }
    if !lines.is_empty() {
        push_gap(&mut lines, of_a.len().saturating_sub(told_to), "equal");
    }
    let beyond = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    push_gap(&mut lines, beyond, "more");
    push_gap(&mut lines, unread.into_iter().max().unwrap_or(0), "unread");
    lines
}

fn push_gap(lines: &mut Vec<PlanLine>, count: usize, which: &str) {
    if count > 0 {
        let word = if count == 1 { "line" } else { "lines" };
        lines.push(PlanLine {
            tag: PlanTag::Gap,
            text: format!("{count} {which} {word}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_lines(a: &str, b: &str) -> Vec<String> {
        let mark = |tag| match tag {
            PlanTag::Equal => ' ',
            PlanTag::Delete => '-',
            PlanTag::Insert => '+',
            PlanTag::Gap => '…',
        };
        let lines = plan_diff(a, b);
        let reported = lines
            .iter()
            .map(|line| format!("{}{}", mark(line.tag), line.text));
        reported.collect()
    }

    #[test]
    fn differing_lines_are_shown_with_context() {
        let table: [(&str, &str, &[&str]); 5] = [
            ("a\nb\n", "a\nb\n", &[]),
            ("a\nb\n", "a\nb", &[]),
            ("", "a\n", &["+a"]),
            (
                "1\n2\n3\n4\n5\n6\n7\n",
                "1\n2\n3\nfour\n5\n6\n7\n",
                &[
                    "…1 equal line",
                    " 2",
                    " 3",
                    "-4",
                    "+four",
                    " 5",
                    " 6",
                    "…1 equal line",
                ],
            ),
            (
                "x\n1\n2\n3\n4\n5\n6\n7\ny\n",
                "1\n2\n3\n4\n5\n6\n7\n",
                &["-x", " 1", " 2", "…3 equal lines", " 6", " 7", "-y"],
            ),
        ];
        for (a, b, expected) in table {
            assert_eq!(shown_lines(a, b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        let plan = |sampling: &str, more: &str, arm: &str| {
            format!(
                "[[service]]\nname = \"db\"\nenv = {{ DB_PASSWORD = \"hunter2\" }}\n\
                 [[service]]\nname = \"app\"\ncwd = \".\"\n\
                 env = {{ DB_PASSWORD = \"hunter2\", \"OTEL.X\" = \"{sampling}\"{more} }}\n\
                 [[arm]]\nname = \"otel\"\nenv = {{ TOKEN = \"s3cret\" }}\n\
                 [[arm]]\nname = \"otel\"\nenv = {{ TOKEN = \"abc\"{arm} }}\n"
            )
        };
        let before = plan("0.1", "", "");
        // plan B, the expected lines about environments, why
        let table: [(&str, &[&str], &str); 4] = [
            (&before, &[], "the same"),
            (
                &plan("0.2", "", ""),
                &[
                    "-env = { DB_PASSWORD = <value>, \"OTEL.X\" = <changed> }",
                    "+env = { DB_PASSWORD = <value>, \"OTEL.X\" = <changed> }",
                ],
                "one value differs",
            ),
            (
                &plan("0.1", ", NEW = \"k3y\"", ""),
                &[
                    "-env = { DB_PASSWORD = <value>, \"OTEL.X\" = <value> }",
                    "+env = { DB_PASSWORD = <value>, NEW = <value>, \"OTEL.X\" = <value> }",
                ],
                "one is new",
            ),
            (
                &plan("0.1", "", ", NEW = \"k3y\""),
                &[
                    "-env = { TOKEN = <value> }",
                    "+env = { NEW = <value>, TOKEN = <value> }",
                ],
                "arms of the same name are distinguished",
            ),
        ];
        for (after, expected, why) in table {
            let lines = shown_lines(&before, after);
            let about: Vec<_> = lines.iter().filter(|line| line.contains("env")).collect();
            assert_eq!(about, expected, "{why}");
            let text = lines.concat();
            for value in ["hunter2", "s3cret", "abc", "k3y", "0.1", "0.2"] {
                assert!(!text.contains(value), "{why}: {text}");
            }
        }
    }

    #[test]
    fn variables_are_hidden_however_they_are_written() {
        // A line of A and how it is shown; B has a different one.
        let table = [
            ("env = {}", "-env = {}"),
            ("env={A='x'}", "-env = { A = <value> }"),
            ("env = { A = \"x", "-env = {}"),
            ("env = 7", "-env = {}"),
            ("environment = 7", "-environment = 7"),
        ];
        for (line, expected) in table {
            assert_eq!(shown_lines(line, "")[0], expected, "{line}");
        }
    }

    #[test]
    fn entirely_different_plans_are_truncated() {
        let of = |name: &str, lines: usize| {
            (0..lines)
                .map(|i| format!("{name} {i}\n"))
                .collect::<String>()
        };
        let lines = shown_lines(&of("a", 150), &of("b", 150));
        assert_eq!(lines.len(), SHOWN + 1);
        assert_eq!(lines.last().unwrap(), "…100 more lines");
        let alike = shown_lines(&of("a", READ + 1), &of("a", READ));
        assert_eq!(alike, ["…1 unread line"]);
    }
}
