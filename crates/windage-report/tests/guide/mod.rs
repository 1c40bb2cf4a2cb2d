//! Guides of sweeps, and several runs side by side.

use unicode_width::UnicodeWidthStr;
use windage_analysis::{Analysis, Missing};
use windage_model::fixtures::warning;
use windage_model::{Metric, WarningCode};
use windage_report::{
    GuideError, GuideOptions, TerminalOptions, guide, summary_of_runs, summary_of_runs_markdown,
};

use crate::fixtures::{self, sweep};
use crate::{unwrapped, without_escapes};

fn options(width: usize) -> GuideOptions {
    GuideOptions {
        terminal: TerminalOptions {
            width,
            color: false,
            all: true,
        },
        budget: 0.05,
    }
}

/// The guide in one line, to search for sentences.
fn guide_of(analysis: &Analysis) -> String {
    unwrapped(&guide(std::slice::from_ref(analysis), options(100)).expect("a guide"))
}

/// The sweep with something changed.
fn changed(change: impl Fn(&mut Analysis)) -> Analysis {
    let mut analysis = fixtures::sweep();
    change(&mut analysis);
    analysis
}

fn runs() -> [Analysis; 3] {
    [fixtures::sweep(), fixtures::regimes(), fixtures::demo()]
}

#[test]
fn text_forms() {
    let [sweep, regimes, _] = runs();
    for (name, analysis) in [("sweep", sweep), ("regimes", regimes)] {
        let text = guide(&[analysis], options(100)).unwrap();
        insta::assert_snapshot!(format!("{name}_guide"), text);
    }
    let summary = summary_of_runs(&runs(), options(100).terminal);
    insta::assert_snapshot!("summary", summary);
    insta::assert_snapshot!("summary_markdown", summary_of_runs_markdown(&runs()));
}

#[test]
fn several_guides_end_with_a_summary() {
    let [one, two, _] = runs();
    let summary = summary_of_runs(&[one.clone(), two.clone()], options(100).terminal);
    let all = guide(&[one.clone(), two], options(100)).unwrap();
    assert!(all.ends_with(&summary), "{all}");
    assert!(!guide(&[one], options(100)).unwrap().contains("Summary"));
}

#[test]
fn no_line_is_wider_than_asked() {
    let [one, two, three] = runs();
    let hostile = fixtures::hostile_sweep();
    for width in [72, 80, 100] {
        let options = options(width);
        let runs = [one.clone(), two.clone(), hostile.clone(), three.clone()];
        let texts = [
            guide(&runs[..3], options).unwrap(),
            summary_of_runs(&runs, options.terminal),
        ];
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.width() <= width, "at {width}: {line:?}");
            let steers = line.chars().any(|c| c.is_control() || c == '\u{202e}');
            assert!(!steers, "{line:?}");
            let is_number = |word: &str| !["NaN", "inf", "−inf"].contains(&word);
            assert!(line.split([' ', '(']).all(is_number), "{line:?}");
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let mut colored = options(100);
    colored.terminal.color = true;
    let runs = [fixtures::sweep()];
    let text = guide(&runs, colored).unwrap();
    assert!(text.contains("\u{1b}["));
    assert_eq!(without_escapes(&text), guide(&runs, options(100)).unwrap());
}

#[test]
fn a_narrow_page_has_two_tables() {
    let text = guide(&[fixtures::sweep()], options(80)).unwrap();
    let is_row = |line: &&str| line.starts_with("100.0 ");
    let rows: Vec<_> = text.lines().filter(is_row).map(unwrapped).collect();
    let expected = [
        "100.0 27,584 275 µs 27.8 (27.2 to 28.4)",
        "100.0 28.5 33.8 (32.8 to 34.8) !0.62/1.00 1.29",
    ];
    assert_eq!(rows, expected);
    assert_eq!(text.matches("columns  ").count(), 1, "{text}");
}

#[test]
fn observations_follow_the_figures() {
    let fit = |analysis: &mut Analysis, p: Option<f64>| {
        analysis.curves[0].fits[0].lack_of_fit = p.map(sweep::lack);
    };
    let table: Vec<(Analysis, &str)> = vec![
        (
            changed(|_| {}),
            "shape CPU per request rises linearly with rate: no significant lack of fit (F = 0.82, \
             p = 0.54)",
        ),
        (
            changed(|a| fit(a, Some(0.004))),
            "shape CPU per request is not linear in rate: a straight line has a significant lack \
             of fit (F = 6.40, p = 0.004), and no bend explains it better: levels scatter by more \
             than their own error",
        ),
        (
            changed(|a| sweep::bend(&mut a.curves[0].fits[0], 0.3)),
            "shape CPU per request is not linear in rate: part of it grows with the square root; \
             with that, no significant lack of fit (F = 0.82, p = 0.30)",
        ),
        (
            changed(|a| sweep::bend(&mut a.curves[0].fits[0], 0.01)),
            "and a bend does not explain it either (F = 6.40, p = 0.010): read the levels",
        ),
        (
            changed(|a| fit(a, None)),
            "shape unknown whether CPU per request is linear in rate: no level is left",
        ),
        (
            changed(|a| a.curves[0].fits.clear()),
            "shape unknown whether CPU per request is linear in rate: no curve was fitted: 5 \
             points are too few",
        ),
        (
            stopped_early(),
            "shape unknown whether CPU per request is linear in rate: no curve was fitted, because \
             the run could stop early",
        ),
        (
            changed(|a| a.curves[0].fits[0].terms[1].coefficient.low = -0.01),
            "shape unknown whether CPU per request changes with rate: the slope's interval",
        ),
        (
            changed(|_| {}),
            "attached `filter, rate 0.0` costs 2.0 % of CPU per request (1.0 to 3.0 %), 0.420 µs",
        ),
        (
            changed(|a| a.curves.iter_mut().for_each(|c| drop(c.points.remove(0)))),
            "attached unknown what it costs before anything is recorded: rate 0.0 was not measured",
        ),
        (changed(|_| {}), "other `disabled`: inconclusive, between"),
        (
            changed(|_| {}),
            "budget up to rate 2.5 the cost lies within 5 % of CPU per request: 3.1 % (2.1 to 4.1); \
             the curve reaches it at 7.02 (4.83 to 9.21)",
        ),
        (
            changed(|_| {}),
            "bottleneck the subject: it kept its cores busy at every level",
        ),
        (
            changed(|a| saturated(a, |_| false)),
            "bottleneck not the subject, at any level: the generator (0.213 cores), what is behind \
             the subject, or too few connections (unknown which)",
        ),
        (
            changed(|a| {
                saturated(a, |name| name != "off");
                let busy = warning(WarningCode::GeneratorSaturated);
                a.validity.reasons.push(busy.into());
            }),
            "bottleneck the subject, but not of `off`: the generator used most of its core (0.213 \
             cores). Throughput lost understates the cost there; CPU does not",
        ),
        (
            fixtures::regimes(),
            "bottleneck none: at 12000/s the subject stays below saturation at every level",
        ),
        (
            changed(|_| {}),
            "loss 18.1 % at 75.0, 37.9 % at 100.0 of the expected telemetry; telemetry is dropped \
             above a rate of 50.0 to 75.0: at most 6,980 traces/s arrive",
        ),
        (
            changed(|a| {
                let all = a.arms.iter_mut().filter_map(|arm| arm.fidelity.as_mut());
                all.for_each(|of| of.beyond_sampling = Some(false));
            }),
            "loss none of 7 levels lost more than sampling explains",
        ),
        (
            changed(|a| a.arms.iter_mut().for_each(|arm| arm.fidelity = None)),
            "loss unknown whether telemetry was lost: the plan's arms have no `expect`",
        ),
        (
            changed(|_| {}),
            "control A/A control: inconclusive (95 % CI",
        ),
    ];
    for (analysis, expected) in table {
        let text = guide_of(&analysis);
        assert!(text.contains(expected), "{expected:?} not in {text}");
    }
}

/// Without fits, because confidence sequences have no standard error to weight points with.
fn stopped_early() -> Analysis {
    changed(|a| {
        a.design.stop = fixtures::stopped().design.stop;
        a.curves.iter_mut().for_each(|curve| curve.fits.clear());
    })
}

/// Sets for each arm whether its subject was saturated.
fn saturated(analysis: &mut Analysis, is_saturated: impl Fn(&str) -> bool) {
    for arm in &mut analysis.arms {
        for result in arm.metrics.values_mut() {
            result.saturated = is_saturated(&arm.name);
        }
    }
}

#[test]
fn a_budget_is_compared_with_intervals() {
    let table = [
        (
            0.05,
            "up to rate 2.5 the cost lies within 5 % of CPU per request: 3.1 % (2.1 to 4.1)",
        ),
        (
            0.04,
            "up to rate 0.0 the cost lies within 4 % of CPU per request: 2.0 % (1.0 to 3.0)",
        ),
        (
            0.02,
            "unknown whether any level lies within 2 % of CPU per request: 0.0 costs 2.0 %",
        ),
        (
            0.005,
            "no level lies within 0.5 % of CPU per request: already 0.0 costs 2.0 % (1.0 to 3.0)",
        ),
        (
            0.5,
            "up to rate 100.0 the cost lies within 50 % of CPU per request: 33.8 % (32.8 to 34.8)",
        ),
        (
            0.5,
            "the curve stays below it up to 50, as far as it was fitted",
        ),
        (0.23, "the curve reaches it at 49.4 (47.2 to beyond 50)"),
        (
            0.005,
            "the curve lies above it from 0 on, its interval from 0 on",
        ),
    ];
    for (budget, expected) in table {
        let options = GuideOptions {
            budget,
            ..options(100)
        };
        let text = unwrapped(&guide(&[fixtures::sweep()], options).unwrap());
        assert!(text.contains(expected), "{expected:?} not in {text}");
    }
}

#[test]
fn a_budget_stops_at_the_first_level_that_exceeds_it() {
    // Beyond its drop limit, a tracer may cost less.
    let analysis = changed(|a| {
        let cheap = a.arms[8].metrics.clone();
        a.arms[3].metrics = cheap;
    });
    assert_eq!(
        (
            analysis.arms[3].name.as_str(),
            analysis.arms[8].name.as_str()
        ),
        ("filter, rate 100.0", "filter, rate 2.5")
    );
    assert!(guide_of(&analysis).contains("up to rate 2.5 the cost lies within 5 %"));
}

#[test]
fn missing_figures_are_reported() {
    let without = |metric: Metric| {
        changed(move |a| {
            for arm in &mut a.arms {
                arm.metrics.remove(&metric);
            }
        })
    };
    let table = [
        (
            without(Metric::Throughput),
            "100.0 2,000 275 µs n/a 28.5 33.8",
        ),
        (
            without(Metric::CpuPerRequest),
            "100.0 27,584 275 µs 27.8 (27.2 to 28.4) n/a n/a !0.62",
        ),
        (
            without(Metric::CpuPerRequest),
            "budget unknown what lies within 5 % of CPU per request: no level has an interval in \
             percent",
        ),
        (
            without(Metric::CpuPerRequest),
            "bottleneck unknown: nothing was measured",
        ),
        (
            without(Metric::CpuPerRequest),
            "`filter, rate 0.0` was not measured",
        ),
        (without(Metric::CpuPerSpan), "!0.62/1.00 –"),
        (
            changed(|a| {
                let result = a.arms[3].metrics.get_mut(&Metric::CpuPerRequest).unwrap();
                result.difference = Err(Missing::OneValue);
            }),
            "28.5 n/a !0.62/1.00 1.29",
        ),
        (
            changed(|a| a.arms.iter_mut().for_each(|arm| arm.load = None)),
            "100.0 27,584 n/a 27.8",
        ),
        (
            changed(|a| a.arms.retain(|arm| arm.name != "off")),
            "disabled 38,180 210 µs 0.1 (−0.5 to 0.7)",
        ),
    ];
    for (analysis, expected) in table {
        let text = guide_of(&analysis);
        assert!(text.contains(expected), "{expected:?} not in {text}");
    }
}

#[test]
fn a_run_without_a_sweep_has_no_guide() {
    let refused = |analysis: Analysis| guide(&[fixtures::sweep(), analysis], options(100));
    let error = refused(fixtures::batch()).unwrap_err();
    assert!(matches!(error, GuideError::NoSweep { .. }), "{error:?}");
    let text = error.to_string();
    for part in [
        "20261001T120000Z-go-http",
        "sweep = { rate",
        "--format terminal",
    ] {
        assert!(text.contains(part), "{part:?} not in {text}");
    }
    let swept = changed(|a| a.curves.clear());
    let text = refused(swept).unwrap_err().to_string();
    assert!(
        text.contains("swept `rate`") && text.contains("fewer than three"),
        "{text}"
    );
}

#[test]
fn a_load_without_a_curve_is_reported() {
    let mut analysis = fixtures::regimes();
    analysis.other_loads[0].curves.clear();
    assert!(guide_of(&analysis).contains("There is no curve under this load."));
}

#[test]
fn runs_of_one_plan_are_labelled() {
    let (mut one, mut two) = (fixtures::sweep(), fixtures::sweep());
    one.run = "first".to_owned();
    two.run = "second".to_owned();
    let text = unwrapped(&summary_of_runs(&[one, two], options(100).terminal));
    for heading in [
        "haproxy-cmp (first) haproxy-cmp (second)",
        "haproxy-cmp (first): rate 100.0",
    ] {
        assert!(text.contains(heading), "{heading:?} not in {text}");
    }
}

#[test]
fn different_runs_share_one_table() {
    let mut envoy = fixtures::sweep();
    envoy.plan = "envoy".to_owned();
    // It has fewer levels and no `disabled`.
    for curve in &mut envoy.curves {
        curve.points.retain(|point| point.level != 75.0);
    }
    envoy
        .arms
        .retain(|arm| arm.name != "disabled" && arm.name != "filter, rate 75.0");
    let text = summary_of_runs(&[fixtures::sweep(), envoy], options(100).terminal);
    for row in ["75.0 25.1 (24.5 to 25.7) –", "disabled 0.1 (−0.5 to 0.7) –"] {
        assert!(unwrapped(&text).contains(row), "{row:?} not in {text}");
    }
}

#[test]
fn runs_without_treatments_are_reported() {
    let mut analysis = fixtures::demo();
    analysis.arms.truncate(2);
    let expected = "No run has a treatment, so there is nothing to compare.";
    let analyses = [analysis];
    assert!(summary_of_runs(&analyses, options(100).terminal).contains(expected));
    assert!(summary_of_runs_markdown(&analyses).contains(expected));
}

#[test]
fn hostile_names_stay_in_their_cells() {
    let text = summary_of_runs_markdown(&[fixtures::hostile_sweep(), fixtures::suspect()]);
    assert!(
        !text.contains("<script>") && !text.contains("<b>"),
        "{text}"
    );
    let columns = |line: &str| line.matches('|').count();
    let mut expected = None;
    for line in text.lines() {
        expected = line
            .starts_with('|')
            .then(|| expected.unwrap_or(columns(line)));
        assert_eq!(expected.unwrap_or(columns(line)), columns(line), "{line}");
    }
}
