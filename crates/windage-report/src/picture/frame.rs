//! The frame of every picture: title, key to the marks, and origin.

use maud::{Markup, PreEscaped, html};
use windage_analysis::Analysis;
use windage_model::{Metric, Soundness};

use super::lettering;
use super::plane::px;
use super::{PictureOptions, panels, title};
use crate::fact::one_line;
use crate::facts;
use crate::warnings;

/// Fonts for viewers, and the one that the rasteriser has.
const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
/// The margin around everything, in pixels.
const MARGIN: f64 = 24.0;

/// The results under one load.
struct Section {
    /// The load, and how much was measured under it; `None` in a run with a single load.
    heading: Option<[String; 2]>,
    soundness: Soundness,
    panels: Vec<Panel>,
}

/// A drawing as wide as the frame's content.
pub(super) struct Panel {
    pub(super) caption: Option<String>,
    /// In pixels.
    pub(super) height: f64,
    pub(super) drawing: Markup,
    pub(super) key: Vec<KeyEntry>,
    pub(super) note: Option<String>,
    /// The drawing in words, as alternative text.
    pub(super) description: String,
}

/// A mark and its meaning.
pub(super) struct KeyEntry {
    /// Drawn around the origin.
    pub(super) mark: Markup,
    /// Half the mark's width, in pixels.
    pub(super) reach: f64,
    pub(super) meaning: String,
}

/// The complete picture as a file.
pub(super) fn framed(analysis: &Analysis, metric: Metric, options: &PictureOptions) -> String {
    // The width that is left for drawings.
    let room = f64::from(options.width()) - 2.0 * MARGIN;
    let sections = sections(analysis, metric, options, room);
    let what = title(analysis, options.kind, metric);
    let title = format!("{}: {what}", one_line(&analysis.plan));
    let mut sheet = Sheet {
        room,
        down: MARGIN,
        drawn: Vec::new(),
    };
    sheet.text(&title, TITLE);
    for section in &sections {
        sheet.section(section);
    }
    sheet.gap(14.0);
    for line in provenance(analysis, &sections) {
        sheet.text(&line, SMALL_PRINT);
    }
    let (width, height) = (options.width(), (sheet.down + MARGIN - 8.0).ceil());
    let whole = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) role="img"
            aria-labelledby="windage-title windage-description" font-family=(FONTS) {
            title id="windage-title" { (title) }
            desc id="windage-description" { (description(&sections)) }
            style { (PreEscaped(options.theme.css())) }
            rect.paper width="100%" height="100%" {}
            g transform=(format!("translate({MARGIN} 0)")) {
                @for part in &sheet.drawn { (part) }
            }
        }
    };
    whole.into_string()
}

/// A section per load that has anything to draw.
fn sections(
    analysis: &Analysis,
    metric: Metric,
    options: &PictureOptions,
    room: f64,
) -> Vec<Section> {
    let is_one_of_several = !analysis.other_loads.is_empty();
    let section = |of: &Analysis| Section {
        heading: is_one_of_several.then(|| [facts::regime(of), facts::extent(of)]),
        soundness: of.validity.soundness(),
        panels: panels(of, options.kind, metric, room),
    };
    let mut sections: Vec<Section> = analysis.regimes().map(section).collect();
    sections.retain(|section| !section.panels.is_empty());
    sections
}

/// A text style.
#[derive(Clone, Copy, Debug)]
struct Lettering {
    class: &'static str,
    /// In pixels.
    size: f64,
    weight: u32,
    most_lines: usize,
}

impl Lettering {
    /// The size at regular weight that is equally wide.
    fn widest(self) -> f64 {
        match self.weight {
            ..=400 => self.size,
            _ => self.size * lettering::BOLD,
        }
    }
}

const TITLE: Lettering = Lettering {
    class: "ink",
    size: 17.0,
    weight: 600,
    most_lines: 3,
};
const HEADING: Lettering = Lettering {
    class: "ink",
    size: 14.0,
    weight: 600,
    most_lines: 2,
};
const CAPTION: Lettering = Lettering {
    class: "ink",
    size: 13.0,
    weight: 400,
    most_lines: 2,
};
const NOTE: Lettering = Lettering {
    class: "soft",
    size: 12.0,
    weight: 400,
    most_lines: 4,
};
const SMALL_PRINT: Lettering = Lettering {
    class: "soft",
    size: 11.0,
    weight: 400,
    most_lines: 4,
};

/// The frame, filled from the top.
struct Sheet {
    room: f64,
    down: f64,
    drawn: Vec<Markup>,
}

impl Sheet {
    fn gap(&mut self, pixels: f64) {
        self.down += pixels;
    }

    fn text(&mut self, text: &str, set: Lettering) {
        for line in lettering::wrapped(text, set.widest(), self.room, set.most_lines) {
            let y = px(self.down + set.size);
            self.drawn.push(html! {
                text class=(set.class) font-size=(set.size) font-weight=(set.weight) x="0" y=(y) { (line) }
            });
            self.gap(set.size * 1.4);
        }
    }

    fn section(&mut self, section: &Section) {
        if let Some([load, extent]) = &section.heading {
            self.gap(18.0);
            self.text(load, HEADING);
            self.text(&unbroken(extent), SMALL_PRINT);
        }
        if section.soundness == Soundness::Void {
            self.banner();
        }
        for panel in &section.panels {
            self.panel(panel);
        }
    }

    /// A banner, so that nobody uses a void run's figures by mistake.
    fn banner(&mut self) {
        const HEIGHT: f64 = 48.0;
        self.gap(10.0);
        self.place(
            HEIGHT,
            &html! {
                rect.banner x="1" y="1" width=(px(self.room - 2.0)) height=(HEIGHT - 2.0) rx="4" {}
                text.void font-size="30" font-weight="700" x="14" y="35" { "VOID" }
                text.ink font-size="14" x="118" y="30" { "do not use the figures" }
            },
        );
    }

    fn panel(&mut self, panel: &Panel) {
        self.gap(14.0);
        if let Some(caption) = &panel.caption {
            self.text(caption, CAPTION);
            self.gap(6.0);
        }
        self.place(panel.height, &panel.drawing);
        self.key(&panel.key);
        if let Some(note) = &panel.note {
            self.gap(4.0);
            self.text(note, NOTE);
        }
    }

    fn place(&mut self, height: f64, drawing: &Markup) {
        let at = format!("translate(0 {:.1})", self.down);
        self.drawn.push(html! { g transform=(at) { (drawing) } });
        self.gap(height);
    }

    /// Marks and their meanings side by side, on as many lines as necessary.
    fn key(&mut self, key: &[KeyEntry]) {
        const GAP: f64 = 7.0;
        const APART: f64 = 18.0;
        const LINE: f64 = 20.0;
        if key.is_empty() {
            return;
        }
        self.gap(6.0);
        let mut across = 0.0;
        for entry in key {
            let mark = 2.0 * entry.reach + GAP;
            let meaning = lettering::name(&entry.meaning, NOTE.size, self.room - mark);
            let width = mark + lettering::width(&meaning, NOTE.size);
            if across > 0.0 && across + width > self.room {
                across = 0.0;
                self.gap(LINE);
            }
            let at = format!(
                "translate({:.1} {:.1})",
                across + entry.reach,
                self.down + LINE / 2.0
            );
            self.drawn.push(html! {
                g transform=(at) {
                    (entry.mark)
                    text.soft font-size=(NOTE.size) x=(px(entry.reach + GAP)) y="4" { (meaning) }
                }
            });
            across += width + APART;
        }
        self.gap(LINE);
    }
}

fn description(sections: &[Section]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for section in sections {
        texts.extend(section.heading.iter().map(|[load, _]| format!("{load}.")));
        texts.extend(warning(section.soundness).map(|warning| format!("{warning}.")));
        texts.extend(section.panels.iter().map(|panel| panel.description.clone()));
    }
    texts.join(" ")
}

/// The run, how much was measured (with several loads each section shows it), and its gravest
/// warning.
fn provenance(analysis: &Analysis, sections: &[Section]) -> Vec<String> {
    let mut from = vec![
        one_line(&analysis.run),
        one_line(&analysis.started),
        format!("windage {}", one_line(&analysis.windage)),
    ];
    if analysis.other_loads.is_empty() {
        from.push(facts::extent(analysis));
    }
    let from: Vec<String> = from.iter().map(|of| unbroken(of)).collect();
    let gravest = sections.iter().map(|of| of.soundness).max();
    [Some(from.join(" · ")), gravest.and_then(warning)]
        .into_iter()
        .flatten()
        .collect()
}

/// Lets a long text break only after commas.
fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}").replace(",\u{a0}", ", ")
}

fn warning(soundness: Soundness) -> Option<String> {
    match soundness {
        Soundness::Valid => None,
        Soundness::Suspect => Some("suspect: the run's report names the reasons".to_owned()),
        Soundness::Void => Some(warnings::heading(Soundness::Void, true).to_owned()),
    }
}
