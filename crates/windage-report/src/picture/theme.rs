//! Colours, in figures: a picture that stands alone can't ask its reader's settings, and renderers
//! know no variables.

/// The ground on which a picture stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on nearly black.
    Dark,
}

/// The page's colours (`web/src/style/colours.css`): Okabe and Ito's, told apart by every kind of
/// colour vision, some of them darker on white so that thin lines can be seen. Every one is
/// accompanied by a word, a sign or a shape.
struct Palette {
    paper: &'static str,
    ink: &'static str,
    soft: &'static str,
    line: &'static str,
    costs: &'static str,
    saves: &'static str,
    negligible: &'static str,
    inconclusive: &'static str,
    void: &'static str,
    /// How strongly the interest margin and ribbons are shaded.
    shade: &'static str,
    /// The arms of a plot of lines.
    series: [&'static str; 6],
    /// Who takes CPU: service, agent, generator, windage, kernel and the remainder.
    parts: [&'static str; 6],
    /// Letters within the parts' bars; the first is for the service and for agents.
    within: [&'static str; 2],
}

const LIGHT: Palette = Palette {
    paper: "#ffffff",
    ink: "#1b1f24",
    soft: "#57606a",
    line: "#d8dee4",
    costs: "#d55e00",
    saves: "#008f68",
    negligible: "#0072b2",
    inconclusive: "#b87a00",
    void: "#c44f00",
    shade: ".12",
    series: [
        "#0072b2", "#d55e00", "#009e73", "#b8609a", "#c68400", "#3a9bd6",
    ],
    parts: [
        "#8a6642", "#0072b2", "#c68400", "#b8609a", "#009e73", "#8c959f",
    ],
    within: ["#ffffff", "#000000"],
};

const DARK: Palette = Palette {
    paper: "#14181d",
    ink: "#e6e9ec",
    soft: "#9aa4ae",
    line: "#333b44",
    costs: "#f07f2e",
    saves: "#1fbf92",
    negligible: "#56b4e9",
    inconclusive: "#f0b429",
    void: "#f07f2e",
    shade: ".18",
    series: [
        "#56b4e9", "#f07f2e", "#1fbf92", "#d98fb9", "#f0b429", "#9db4ff",
    ],
    parts: [
        "#c9a273", "#3d9bd6", "#f0b429", "#d98fb9", "#1fbf92", "#7d8791",
    ],
    within: ["#14181d", "#14181d"],
};

impl Theme {
    /// Both.
    pub const ALL: &'static [Theme] = &[Theme::Light, Theme::Dark];

    /// The word used in flags.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    fn palette(self) -> Palette {
        match self {
            Theme::Light => LIGHT,
            Theme::Dark => DARK,
        }
    }

    /// The picture's style sheet.
    pub(super) fn css(self) -> String {
        let Palette {
            paper,
            ink,
            soft,
            line,
            costs,
            saves,
            negligible,
            inconclusive,
            void,
            shade,
            series,
            parts: [service, agent, generator, windage, kernel, remainder],
            within: [within_deep, within],
        } = self.palette();
        let series: String = (0..)
            .zip(series)
            .map(|(i, colour)| format!(".series{i}{{stroke:{colour};fill:{colour}}}\n"))
            .collect();
        format!(
            "\
.paper{{fill:{paper}}}
.ink{{fill:{ink}}}
.soft{{fill:{soft}}}
.void{{fill:{void}}}
.banner{{fill:none;stroke:{void};stroke-width:2}}
.grid{{stroke:{line}}}
.zero{{stroke:{soft};stroke-width:1.5}}
.shade{{fill:{negligible};fill-opacity:{shade}}}
.interval{{stroke-width:3;stroke-linecap:round}}
.point{{stroke-width:2.5}}
.costs{{stroke:{costs};fill:{costs}}}
.saves{{stroke:{saves};fill:{saves}}}
.negligible{{stroke:{negligible};fill:{negligible}}}
.inconclusive{{stroke:{inconclusive};fill:{paper}}}
.control,.unjudged{{stroke:{soft};fill:{soft}}}
.measured,.sum{{stroke:{ink};fill:{ink}}}
.beyond{{stroke:{soft};fill:{paper}}}
.fitted{{fill:none;stroke:{negligible};stroke-width:2}}
.part{{stroke:{paper};stroke-width:.8}}
.service{{fill:{service}}}
.agent{{fill:{agent}}}
.generator{{fill:{generator}}}
.windage{{fill:{windage}}}
.kernel{{fill:{kernel}}}
.remainder{{fill:{remainder}}}
.outside{{fill-opacity:.45}}
.within{{fill:{within}}}
.within-deep{{fill:{within_deep}}}
{series}.line{{fill:none;stroke-width:2}}
.hollow{{fill:{paper}}}
"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_THE_PAGE: &str = include_str!("../../../../web/src/style/colours.css");

    /// The page's value of that name in a theme.
    fn of_the_page(theme: Theme, name: &str) -> String {
        let (light, dark) = OF_THE_PAGE
            .split_once("(prefers-color-scheme: dark)")
            .expect("a dark theme");
        let declared = match theme {
            Theme::Light => light,
            Theme::Dark => dark,
        };
        let (_, rest) = declared.split_once(&format!("--{name}: ")).expect(name);
        let value = rest.split(';').next().expect("a value");
        match value.strip_prefix('#').map(|digits| (digits, digits.len())) {
            Some((digits, 3)) => {
                let twice = digits.chars().flat_map(|digit| [digit, digit]);
                format!("#{}", twice.collect::<String>())
            }
            _ => value.to_owned(),
        }
    }

    /// Every colour that stands on paper or means something, by the page's name of it.
    fn named(of: &Palette) -> Vec<(String, &'static str)> {
        let marks = [
            ("ink", of.ink),
            ("soft", of.soft),
            ("costs", of.costs),
            ("saves", of.saves),
            ("negligible", of.negligible),
            ("inconclusive", of.inconclusive),
            ("void", of.void),
        ];
        let parts = [
            "service",
            "agent",
            "generator",
            "windage",
            "kernel",
            "remainder",
        ];
        let series = (0..)
            .zip(of.series)
            .map(|(i, is)| (format!("series-{i}"), is));
        let marks = marks.into_iter().chain(parts.into_iter().zip(of.parts));
        let marks = marks.map(|(name, is)| (name.to_owned(), is));
        marks.chain(series).collect()
    }

    #[test]
    fn pictures_have_the_colours_of_the_page() {
        for &theme in Theme::ALL {
            let of = theme.palette();
            let ground = [("paper", of.paper), ("line", of.line), ("control", of.soft)];
            let ground = ground.map(|(name, is)| (name.to_owned(), is));
            for (name, is) in named(&of).into_iter().chain(ground) {
                assert_eq!(is, of_the_page(theme, &name), "{name}, {}", theme.as_str());
            }
            let shade = format!("{})", of.shade);
            assert!(of_the_page(theme, "interest").ends_with(&shade));
        }
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let digits = colour.get(at..at + 2).expect("six digits");
            let share = f64::from(u8::from_str_radix(digits, 16).expect("digits")) / 255.0;
            if share <= 0.04045 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        one.max(other) / one.min(other)
    }

    #[test]
    fn everything_can_be_seen_on_paper_and_letters_read() {
        for &theme in Theme::ALL {
            let of = theme.palette();
            for (name, colour) in named(&of) {
                let found = contrast(colour, of.paper);
                assert!(found >= 3.0, "{name}, {}: {found:.2}", theme.as_str());
            }
            for letters in [of.ink, of.soft] {
                assert!(contrast(letters, of.paper) >= 4.5, "{letters}");
            }
            let [deep, pale] = of.within;
            for (i, part) in of.parts.into_iter().enumerate() {
                let letters = if i < 2 { deep } else { pale };
                let found = contrast(letters, part);
                assert!(found >= 4.5, "{part}, {}: {found:.2}", theme.as_str());
            }
        }
    }
}
