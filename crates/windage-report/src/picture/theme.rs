//! Colours as literals: a standalone picture can't read its viewer's settings, and renderers don't
//! support CSS variables.

/// The background of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on nearly black.
    Dark,
}

/// The page's colours (`web/src/style/colours.css`): Okabe and Ito's, which people with any colour
/// vision can distinguish, some darker on white so that thin lines are visible. Each comes with a
/// word, a sign or a shape.
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
    /// Opacity of the shaded equivalence margin and confidence bands.
    shade: &'static str,
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
};

impl Theme {
    /// Both themes.
    pub const ALL: &'static [Theme] = &[Theme::Light, Theme::Dark];

    /// Its name in flags.
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
        } = self.palette();
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
.measured,.differs{{stroke:{ink};fill:{ink}}}
.beyond{{stroke:{soft};fill:{paper}}}
.fitted{{fill:none;stroke:{negligible};stroke-width:2}}
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

    /// The page's own test checks that these colours are visible on its background.
    #[test]
    fn pictures_have_the_colours_of_the_page() {
        for &theme in Theme::ALL {
            let of = theme.palette();
            let named = [
                ("paper", of.paper),
                ("ink", of.ink),
                ("soft", of.soft),
                ("control", of.soft),
                ("line", of.line),
                ("costs", of.costs),
                ("saves", of.saves),
                ("negligible", of.negligible),
                ("inconclusive", of.inconclusive),
                ("void", of.void),
            ];
            for (name, is) in named {
                assert_eq!(is, of_the_page(theme, name), "{name}, {}", theme.as_str());
            }
            let shade = format!("{})", of.shade);
            assert!(of_the_page(theme, "margin").ends_with(&shade));
        }
    }
}
