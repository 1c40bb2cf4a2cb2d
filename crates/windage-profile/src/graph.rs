//! A profile as a picture: a differential flame graph.
//!
//! As B. Gregg draws them ("Differential Flame Graphs", 2014): widths are those of the arm, and
//! colours say where a function itself takes more (red) or less (blue) than in the baseline. What
//! only the baseline does has no width, and is not there.

use std::collections::BTreeSet;

use inferno::flamegraph::{self, Options, TextTruncateDirection};

use crate::ArmProfile;

/// Frames narrower than this share of the width, in percent, are left out: they could not be seen.
const MIN_WIDTH_PERCENT: f64 = 0.1;

/// How wide a picture is drawn that is to stand within a page, in pixels: what fits into a frame is
/// written for this width.
const WITHIN_A_PAGE: usize = 920;

/// What can be done with a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interaction {
    /// It is looked at: no script is in it, so that a page may hold it.
    None,
    /// It can be searched and enlarged, by a script within it.
    SearchAndZoom,
}

/// Draws where an arm's CPU goes, against the baseline, in nanoseconds an iteration (or whatever
/// `each` is called). `None` when nothing was sampled of the arm or it took no time.
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

/// The picture alone, as it may stand within a page: without the script, what starts it and what
/// it answers to, and without the head of a document; as wide as its place.
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

/// What a profile's stacks weigh.
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
        reason = "not negative, and cut to what a picture can add up"
    )]
    fn ns(&self, stack: &str) -> u64 {
        /// So that even all stacks together are a number of 64 bits: 10^12 ns are minutes.
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
        differential_flame_graph(&arm, &baseline, title, "an iteration", interaction).unwrap()
    }

    #[test]
    fn widths_are_the_arms_and_colours_the_difference() {
        let svg = drawn(Interaction::None);
        // 60 µs against 45, of 100.
        assert!(
            svg.contains("work (60,000 ns per iteration, 60.00%; +15.00%)"),
            "{svg}"
        );
        assert!(svg.contains("&lt;span&gt; (40,000 ns per iteration, 40.00%; +40.00%)"));
        assert!(!svg.contains(">gone"), "it has no width");
        assert!(svg.contains("otel &amp; co"));
    }

    #[test]
    fn scripts_are_there_only_where_they_are_asked_for() {
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
    fn the_same_is_drawn_the_same() {
        assert_eq!(drawn(Interaction::None), drawn(Interaction::None));
    }

    #[test]
    fn of_nothing_there_is_no_picture() {
        let some = profile("a 1\n", 10.0);
        let table = [
            (profile("", 10.0), "no samples"),
            (profile("a 1\n", 0.0), "no time"),
            (profile("a 1\n", f64::NAN), "no figure"),
        ];
        for (arm, why) in table {
            let svg = differential_flame_graph(&arm, &some, "t", "a request", Interaction::None);
            assert_eq!(svg, None, "{why}");
        }
    }
}
