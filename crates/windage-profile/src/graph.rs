//! Draws a profile as a differential flame graph.
//!
//! As in B. Gregg's "Differential Flame Graphs" (2014): widths are those of the arm; colours show
//! where a function itself takes more (red) or less (blue) than in the baseline. Functions that
//! only the baseline calls have no width and do not appear.

use std::collections::BTreeSet;

use inferno::flamegraph::{self, Options, TextTruncateDirection};

use crate::ArmProfile;

/// Frames narrower than this share of the width, in percent, are left out as invisible.
const MIN_WIDTH_PERCENT: f64 = 0.1;

/// Width of a picture within a page, in pixels; determines how much text fits into a frame.
const WITHIN_A_PAGE: usize = 920;

/// Interaction with a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interaction {
    /// None: the picture contains no script, so that a page can embed it.
    None,
    /// Search and zoom, with a script in the picture.
    SearchAndZoom,
}

/// Draws where an arm's CPU goes compared with the baseline, in nanoseconds per iteration (or what
/// `each` says). `None` when the arm has no samples or took no time.
#[must_use]
pub fn differential_flame_graph(
    arm: &ArmProfile,
    baseline: &ArmProfile,
    title: &str,
    each: &str,
    interaction: Interaction,
) -> Option<String> {
    let lines = lines(arm, baseline);
    let mut options = Options::default();
    options.title = shown(title);
    options.count_name = format!("ns {each}");
    options.min_width = MIN_WIDTH_PERCENT;
    options.font_type = "monospace".to_owned();
    options.text_truncate_direction = TextTruncateDirection::Right;
    if interaction == Interaction::None {
        options.image_width = Some(WITHIN_A_PAGE);
    }
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg).ok()?;
    let svg = String::from_utf8(svg).ok()?;
    match interaction {
        Interaction::SearchAndZoom => Some(svg),
        Interaction::None => Some(without_script(&svg)),
    }
}

/// Reduces the picture to what a page can embed: removes the script, its hooks and controls, and
/// the document head, and makes it as wide as its container.
fn without_script(svg: &str) -> String {
    let mut alone = svg[svg.find("<svg").unwrap_or(0)..].replacen(" onload=\"init(evt)\"", "", 1);
    let answering = [
        ("<script", "</script>"),
        ("<text id=\"search\"", "</text>"),
        ("<text id=\"unzoom\"", "</text>"),
    ];
    let (width, whole) = (format!(" width=\"{WITHIN_A_PAGE}\""), " width=\"100%\"");
    alone = alone.replacen(&width, whole, 1);
    if let Some(from) = alone.find(" height=\"")
        && let Some(length) = alone[from..].find(" viewBox")
    {
        alone.replace_range(from..from + length, "");
    }
    for (begin, end) in answering {
        while let Some(from) = alone.find(begin)
            && let Some(length) = alone[from..].find(end)
        {
            alone.replace_range(from..from + length + end.len(), "");
        }
    }
    alone
}

/// Each stack with its weight in the baseline and in the arm.
fn lines(arm: &ArmProfile, baseline: &ArmProfile) -> Vec<String> {
    let names: BTreeSet<&str> = [arm, baseline]
        .iter()
        .flat_map(|profile| profile.stacks.iter())
        .map(|(stack, _)| stack)
        .collect();
    let weights = [baseline, arm].map(Weights::of);
    names
        .into_iter()
        .map(|stack| (stack, weights.each_ref().map(|weights| weights.ns(stack))))
        .filter(|(_, weights)| *weights != [0, 0])
        .map(|(stack, [before, after])| format!("{stack} {before} {after}"))
        .collect()
}

/// The weights of a profile's stacks.
struct Weights<'a> {
    seen: std::collections::BTreeMap<&'a str, u64>,
    ns_a_sample: f64,
}

impl Weights<'_> {
    fn of(profile: &ArmProfile) -> Weights<'_> {
        let samples = profile.stacks.samples();
        let ns = profile.cpu_us * 1e3 / samples as f64;
        Weights {
            seen: profile.stacks.iter().collect(),
            ns_a_sample: if samples > 0 && ns.is_finite() {
                ns.max(0.0)
            } else {
                0.0
            },
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and limited so that the sum fits"
    )]
    fn ns(&self, stack: &str) -> u64 {
        /// Keeps the sum of all stacks below 2^64: 10^12 ns are minutes.
        const MOST_NS: f64 = 1e12;
        let seen = self.seen.get(stack).copied().unwrap_or(0);
        (seen as f64 * self.ns_a_sample).round().min(MOST_NS) as u64
    }
}

fn shown(title: &str) -> String {
    title.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stacks;

    fn profile(text: &str, cpu_us: f64) -> ArmProfile {
        ArmProfile {
            stacks: Stacks::of_text(text),
            cpu_us,
            cpu_half_width_us: 0.0,
        }
    }

    fn drawn(interaction: Interaction) -> String {
        let arm = profile("main;work 60\nmain;<span> 40\n", 100.0);
        let baseline = profile("main;work 90\nmain;gone 10\n", 50.0);
        let title = "otel \u{7}& co";
        differential_flame_graph(&arm, &baseline, title, "per iteration", interaction).unwrap()
    }

    #[test]
    fn widths_are_the_arms_and_colours_the_difference() {
        let svg = drawn(Interaction::None);
        // 60 µs compared with 45 µs, of 100 µs.
        assert!(
            svg.contains("work (60,000 ns per iteration, 60.00%; +15.00%)"),
            "{svg}"
        );
        assert!(svg.contains("&lt;span&gt; (40,000 ns per iteration, 40.00%; +40.00%)"));
        assert!(!svg.contains(">gone"), "it has no width");
        assert!(svg.contains("otel &amp; co"));
    }

    #[test]
    fn scripts_are_included_only_on_request() {
        let still = drawn(Interaction::None);
        for alive in [
            "<script",
            "onload",
            "<?xml",
            "<!DOCTYPE",
            "id=\"search\"",
            "Reset Zoom",
        ] {
            assert!(!still.contains(alive), "{alive}: {still}");
        }
        let begins = "<svg version=\"1.1\" width=\"100%\" viewBox=\"0 0 920 ";
        assert!(
            still.starts_with(begins) && still.ends_with("</svg>"),
            "{still}"
        );
        let alive = drawn(Interaction::SearchAndZoom);
        assert!(alive.contains("<script"));
        for svg in [drawn(Interaction::None), alive] {
            let elsewhere = ["src=\"http", "href=\"http", "@import", "url(http"];
            assert!(elsewhere.iter().all(|from| !svg.contains(from)));
        }
    }

    #[test]
    fn drawing_is_deterministic() {
        assert_eq!(drawn(Interaction::None), drawn(Interaction::None));
    }

    #[test]
    fn an_empty_profile_has_no_picture() {
        let some = profile("a 1\n", 10.0);
        let table = [
            (profile("", 10.0), "no samples"),
            (profile("a 1\n", 0.0), "no time"),
            (profile("a 1\n", f64::NAN), "not a number"),
        ];
        for (arm, why) in table {
            let svg = differential_flame_graph(&arm, &some, "t", "per request", Interaction::None);
            assert_eq!(svg, None, "{why}");
        }
    }
}
