//! Static pictures: their content, and that it is readable.

mod layout;

use layout::tree;
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree::{Document, Node};
use windage_analysis::{Analysis, BatchFacts};
use windage_model::fixtures::warning;
use windage_model::{Metric, Role, WarningCode};
use windage_report::{PictureError, PictureKind, PictureOptions, Theme, png, svg};

use crate::fixtures;

fn of(kind: PictureKind) -> PictureOptions {
    PictureOptions {
        kind,
        ..PictureOptions::default()
    }
}

fn forest(analysis: &Analysis) -> String {
    svg(analysis, &of(PictureKind::Forest)).expect("a forest")
}

/// The demo with this many treatments, which take these names in turn.
fn arms(count: usize, names: &[&str]) -> Analysis {
    let mut analysis = fixtures::demo();
    let is_treatment = |role: Role| role == Role::Treatment;
    let (treatments, others): (Vec<_>, Vec<_>) = analysis
        .arms
        .drain(..)
        .partition(|arm| is_treatment(arm.role));
    let treatments = treatments.iter().cycle().take(count).cloned();
    analysis.arms = others.into_iter().chain(treatments).collect();
    let named = analysis
        .arms
        .iter_mut()
        .filter(|arm| is_treatment(arm.role));
    for (arm, name) in named.zip(names.iter().cycle()) {
        arm.name = (*name).to_owned();
    }
    analysis
}

/// Every picture of every fixture, in three widths.
fn every() -> Vec<(String, String)> {
    let mut analyses = fixtures::every();
    analyses.push((
        "many",
        arms(36, &["otel, sampling 1.0, batch 512, export 5s"]),
    ));
    let mut long = fixtures::demo();
    long.plan = "common-measurement-of-how-a-server-waits-".repeat(9);
    analyses.push(("long", long));
    let mut wordy = fixtures::regimes();
    wordy.plan = "summed up, now and how a man measures some".to_owned();
    analyses.push(("wordy", wordy));
    let mut every = Vec::new();
    for (name, analysis) in analyses {
        for (i, kind) in PictureKind::ALL.iter().enumerate() {
            for width in [480, 900, 1600] {
                let options = PictureOptions {
                    width: Some(width),
                    theme: Theme::ALL[i % 2],
                    ..of(*kind)
                };
                if let Ok(drawn) = svg(&analysis, &options) {
                    every.push((format!("{name} {} {width}", kind.as_str()), drawn));
                }
            }
        }
    }
    every
}

/// The text of every element of that name and class.
fn texts(document: &Document, name: &str, class: &str) -> Vec<String> {
    let of_class = |node: &Node| {
        let classes = node.attribute("class").unwrap_or_default();
        class.is_empty() || classes.split(' ').any(|one| one == class)
    };
    let nodes = document
        .descendants()
        .filter(|node| node.has_tag_name(name));
    let nodes = nodes.filter(of_class);
    nodes
        .map(|node| node.text().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn every_kind_is_drawn_for_some_fixture() {
    let every = every();
    for kind in PictureKind::ALL {
        let word = format!(" {} ", kind.as_str());
        assert!(every.iter().any(|(name, _)| name.contains(&word)), "{word}");
    }
}

#[test]
fn pictures_are_self_contained() {
    for (name, drawn) in every() {
        let document = Document::parse(&drawn).unwrap_or_else(|e| panic!("{name}: {e}"));
        for forbidden in [
            "<script", "href", "url(", "var(", "@media", "@import", "<image",
        ] {
            assert!(!drawn.contains(forbidden), "{forbidden} in {name}");
        }
        for node in document.descendants() {
            for attribute in node.attributes() {
                let is_figure = |word: &&str| ["NaN", "inf"].contains(word);
                let words = attribute.value().split(|c: char| !c.is_alphabetic());
                assert_eq!(
                    words.into_iter().find(is_figure),
                    None,
                    "{name}: {attribute:?}"
                );
            }
        }
        for told in ["title", "desc"] {
            let texts = texts(&document, told, "");
            assert!(!texts[0].is_empty(), "{name} has no {told}");
        }
        let soft = texts(&document, "text", "soft").join(" ");
        assert!(
            soft.contains("windage\u{a0}0.1.0"),
            "{name} does not name its origin"
        );
    }
}

#[test]
fn a_forest_has_a_row_for_each_arm_but_the_baseline() {
    let table = [
        (fixtures::demo(), 4, "control and three arms"),
        (arms(36, &["otel"]), 37, "equal names"),
        (arms(200, &["a", "b"]), 201, "as many as a run may have"),
    ];
    for (analysis, expected, why) in table {
        let drawn = forest(&analysis);
        let document = Document::parse(&drawn).expect(why);
        let estimates = texts(&document, "text", "ink");
        let estimates = estimates.iter().filter(|text| text.contains(" to "));
        assert_eq!(estimates.count(), expected, "{why}");
        assert_eq!(
            texts(&document, "line", "interval").len(),
            expected,
            "{why}"
        );
    }
}

#[test]
fn figures_are_those_of_the_terminal() {
    let drawn = forest(&fixtures::demo());
    let document = Document::parse(&drawn).unwrap();
    let texts = texts(&document, "text", "");
    let expected = [
        "go-http: CPU per request, difference from the baseline",
        "control",
        "+0.1 % (−0.2 to +0.4)",
        "otel, sampling 1.0",
        "+22.7 % (+22.2 to +23.2)",
        "within ±0.5 %",
        "← saves",
        "costs →",
    ];
    for part in expected {
        assert!(
            texts.iter().any(|text| text == part),
            "{part:?} not in {texts:?}"
        );
    }
}

#[test]
fn names_are_shown_as_they_are_written_or_shortened() {
    let long = "otel with every instrumentation there is, ".repeat(5);
    let drawn = forest(&arms(2, &["<script>alert(1)</script>", &long]));
    let document = Document::parse(&drawn).unwrap();
    let names = texts(&document, "text", "ink");
    assert!(
        names.iter().any(|name| name == "<script>alert(1)</script>"),
        "{names:?}"
    );
    let cut = names.iter().find(|name| name.contains('…'));
    assert!(
        cut.is_some_and(|name| name.starts_with("otel with every")),
        "{names:?}"
    );
    let tooltips = texts(&document, "title", "");
    assert!(
        tooltips.iter().any(|title| title == long.trim()),
        "{tooltips:?}"
    );
}

#[test]
fn marks_of_differences_without_a_verdict_are_in_the_key() {
    let options = PictureOptions {
        metric: Some(Metric::WireBytesPerRequest),
        ..of(PictureKind::Forest)
    };
    let drawn = svg(&fixtures::demo(), &options).unwrap();
    let document = Document::parse(&drawn).unwrap();
    let soft = texts(&document, "text", "soft");
    assert!(soft.iter().any(|text| text == "not judged"), "{soft:?}");
}

#[test]
fn the_measured_amount_is_shown_per_load() {
    let mut fixed = fixtures::batch();
    fixed.design.batch = Some(BatchFacts {
        whole_processes: false,
        iterations_chosen: false,
        iterations_fewest: 10,
        iterations_most: 10,
    });
    let loads = fixtures::regimes().regimes().count();
    let table = [
        (
            fixtures::demo(),
            "rounds: 14, blocks: 412, windows of 100 ms, 104 s interleaved in turns of 20 requests",
            1,
            "one load",
        ),
        (
            fixtures::batch(),
            "windows of about 2.4 s",
            1,
            "as many iterations as fit",
        ),
        (
            fixed,
            "windows as long as their iterations take",
            1,
            "iterations from the plan",
        ),
        (
            fixtures::regimes(),
            "rounds: ",
            loads,
            "each load has a line",
        ),
    ];
    for (analysis, expected, times, why) in table {
        let drawn = forest(&analysis);
        let document = Document::parse(&drawn).expect(why);
        let soft = texts(&document, "text", "soft").join(" ");
        let soft = soft.replace('\u{a0}', " ");
        assert_eq!(soft.matches(expected).count(), times, "{why}: {soft}");
        assert_eq!(soft.matches("blocks: ").count(), times, "{why}: {soft}");
    }
}

#[test]
fn an_arm_without_a_figure_keeps_its_row() {
    let mut analysis = fixtures::demo();
    let last = analysis.arms.last_mut().unwrap();
    last.metrics.remove(&Metric::CpuPerRequest);
    let drawn = forest(&analysis);
    let document = Document::parse(&drawn).unwrap();
    assert_eq!(texts(&document, "line", "interval").len(), 3);
    let soft = texts(&document, "text", "soft");
    assert_eq!(soft.iter().filter(|text| *text == "n/a").count(), 1);
}

#[test]
fn a_suspect_run_is_shown_as_such() {
    let suspect = "suspect: the run's report names the reasons";
    let warned = |code| {
        let mut analysis = fixtures::demo();
        analysis.validity.reasons.push(warning(code).into());
        analysis
    };
    let table = [
        (fixtures::demo(), vec![], "valid"),
        (warned(WarningCode::RunIncomplete), vec![suspect], "suspect"),
        (
            warned(WarningCode::ServiceDied),
            vec![
                "VOID",
                "do not use the figures",
                "void: do not use the figures",
            ],
            "void",
        ),
    ];
    for (run, expected, why) in table {
        let drawn = svg(&run, &of(PictureKind::Forest)).expect(why);
        let document = Document::parse(&drawn).expect(why);
        let texts = texts(&document, "text", "");
        let is_warning = |text: &&String| {
            let words = ["VOID", "void: ", "suspect: ", "do not use"];
            words.iter().any(|word| text.starts_with(word))
        };
        let found: Vec<&String> = texts.iter().filter(is_warning).collect();
        assert_eq!(found, expected, "{why}");
    }
}

#[test]
fn errors_name_the_pictures_that_exist() {
    let mut nothing = fixtures::demo();
    nothing.arms.iter_mut().for_each(|arm| arm.metrics.clear());
    let of_metric = |kind, metric| PictureOptions {
        metric: Some(metric),
        ..of(kind)
    };
    let table = [
        (
            fixtures::demo(),
            of(PictureKind::Curve),
            "this run has no curve; it has: forest",
        ),
        (
            nothing,
            of(PictureKind::Forest),
            "nothing that could be drawn",
        ),
        (
            fixtures::batch(),
            of_metric(PictureKind::Forest, Metric::Throughput),
            "no forest of throughput; it has: rss_peak, ",
        ),
        (
            fixtures::sweep(),
            of_metric(PictureKind::Curve, Metric::Pss),
            "no curve of pss; it has: ",
        ),
    ];
    for (analysis, options, expected) in table {
        let refused = svg(&analysis, &options).expect_err(expected);
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

#[test]
fn pixels_are_twice_as_many_and_not_blank() {
    for (theme, paper) in [(Theme::Light, [255, 255, 255]), (Theme::Dark, [20, 24, 29])] {
        let options = PictureOptions {
            theme,
            width: Some(640),
            ..PictureOptions::default()
        };
        let drawn = svg(&fixtures::demo(), &options).unwrap();
        let pixels = Pixmap::decode_png(&png(&drawn).unwrap()).unwrap();
        let height = tree(&drawn).size().height();
        assert_eq!(pixels.width(), 1280);
        assert!((pixels.height() as f32 - 2.0 * height).abs() < 0.5);
        let is_paper = |pixel: &[u8]| pixel[..3] == paper;
        let corners = [
            pixels.data().first_chunk::<4>(),
            pixels.data().last_chunk::<4>(),
        ];
        for corner in corners {
            assert!(is_paper(corner.unwrap()), "paper from corner to corner");
        }
        let drawn = pixels
            .data()
            .chunks(4)
            .filter(|pixel| !is_paper(pixel))
            .count();
        let share = drawn as f64 / f64::from(pixels.width() * pixels.height());
        assert!((0.01..0.5).contains(&share), "{share} is drawn on");
    }
}

#[test]
fn invalid_input_is_not_rasterised() {
    assert!(matches!(png("<p>words</p>"), Err(PictureError::NotSvg)));
    let endless = "<svg xmlns='http://www.w3.org/2000/svg' width='900' height='3000000000'/>";
    assert!(matches!(png(endless), Err(PictureError::TooLarge { .. })));
}
