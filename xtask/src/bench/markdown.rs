//! What the pages of studies have in common.

use std::fmt::Write as _;

use super::median::Median;

/// Where there is nothing to show.
pub(super) fn dash() -> String {
    "–".to_owned()
}

/// A figure with its interval, each shown in the same way.
pub(super) fn or_dash(figure: Option<Median>, show: impl Fn(f64) -> String) -> String {
    figure.map_or_else(dash, |figure| figure.show(show))
}

/// The section with what was run, as it would be typed.
pub(super) fn commands<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::from("\n## Commands\n\n```console\n");
    for line in lines {
        let _ = writeln!(text, "$ {line}");
    }
    text + "```\n"
}

/// A run that gave nothing.
pub(super) struct Failed<'a> {
    pub(super) scenario: &'a str,
    pub(super) round: u32,
    /// Who ran.
    pub(super) name: &'a str,
    pub(super) why: &'a str,
}

/// The section with the runs that gave nothing; none where there are none.
pub(super) fn failures<'a>(failed: impl IntoIterator<Item = Failed<'a>>) -> String {
    let mut text = String::new();
    for run in failed {
        let Failed {
            scenario,
            round,
            name,
            why,
        } = run;
        let _ = writeln!(text, "- {scenario}, round {round}, {name}: {why}");
    }
    if text.is_empty() {
        return text;
    }
    format!("\n## Failed runs\n\n{text}")
}

#[cfg(test)]
mod tests {
    use super::super::median::median;
    use super::*;

    #[test]
    fn sections_have_a_line_each() {
        assert_eq!(
            commands(["wrk", "oha"]),
            "\n## Commands\n\n```console\n$ wrk\n$ oha\n```\n"
        );
        assert_eq!(failures([]), "");
        let failed = Failed {
            scenario: "closed",
            round: 2,
            name: "wrk",
            why: "it died",
        };
        assert_eq!(
            failures([failed]),
            "\n## Failed runs\n\n- closed, round 2, wrk: it died\n"
        );
    }

    #[test]
    fn nothing_is_a_dash() {
        let whole = |value: f64| format!("{value:.0}");
        assert_eq!(or_dash(None, whole), "–");
        assert_eq!(or_dash(median([2.0]), whole), "2");
    }
}
