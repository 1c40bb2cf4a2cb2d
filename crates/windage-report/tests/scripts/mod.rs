//! Whole processes, and self-reported entries.

use std::collections::BTreeMap;

use windage_analysis::Analysis;
use windage_report::{GuideOptions, TerminalOptions, guide, markdown};

use crate::{fixtures, page, plain, unwrapped};

fn guide_of(analysis: &Analysis) -> String {
    let terminal = TerminalOptions {
        width: 80,
        color: false,
        all: true,
    };
    let options = GuideOptions {
        terminal,
        budget: 0.05,
    };
    guide(std::slice::from_ref(analysis), options).expect("a guide")
}

#[test]
fn the_guide_of_whole_processes() {
    insta::assert_snapshot!("script_guide", guide_of(&fixtures::script()));
}

#[test]
fn the_most_expensive_is_named_if_no_interval_overlaps() {
    let change = |of: fn(&mut Analysis)| {
        let mut analysis = fixtures::script();
        of(&mut analysis);
        analysis
    };
    let table = [
        (
            fixtures::script(),
            "`otel, sampling 1.0` takes the most CPU",
        ),
        (
            change(|a| a.arms[3].metrics = a.arms[2].metrics.clone()),
            "unknown: `otel, sampling 1.0` takes the most CPU by its estimate, but its interval \
             overlaps those of `otel, sampling 0.5`",
        ),
        (
            change(|a| a.arms.truncate(3)),
            "`otel, sampling 1.0` is the only treatment",
        ),
        (
            change(|a| a.arms[2..].iter_mut().for_each(|arm| arm.metrics.clear())),
            "unknown: no treatment has an interval",
        ),
        (
            change(|a| a.arms[2].metrics.clear()),
            "`otel, sampling 1.0`: CPU n/a, elapsed time n/a that of `off`",
        ),
        (
            fixtures::script(),
            "`otel, sampling 0.5`: CPU 2.72 times (2.70 to 2.74), elapsed time 2.71 times (2.69 to \
             2.73) that of `off`",
        ),
    ];
    for (analysis, expected) in table {
        let text = unwrapped(&guide_of(&analysis));
        assert!(text.contains(expected), "{expected:?} not in {text}");
    }
}

#[test]
fn a_single_run_has_times_without_an_interval() {
    let mut analysis = fixtures::script();
    for arm in &mut analysis.arms {
        let script = arm.script.as_mut().unwrap();
        script.runs = 1;
        script.iterations = None;
        script.real_s.interval = None;
    }
    let guide = guide_of(&analysis);
    let expected = "otel, sampling 1.0\nreal    0m17.505s    (1 run)\nuser    0m17.397s\n";
    assert!(guide.contains(expected), "{guide}");
    assert!(!guide.contains("N = "), "{guide}");
}

#[test]
fn figures_per_iteration_say_what_they_include() {
    let analysis = fixtures::script();
    let said = "the whole process, start to exit, over 10,000 iterations, including set-up and \
                flush";
    let words = page::words(&analysis);
    for text in [plain(&analysis, 80), markdown(&analysis), words] {
        // Once below CPU and once below elapsed time.
        assert_eq!(unwrapped(&text).matches(said).count(), 2, "{text}");
    }
    let mut resident = analysis;
    resident.design.batch.as_mut().unwrap().whole_processes = false;
    assert!(!plain(&resident, 80).contains("includes"));
}

#[test]
fn self_reported_entries_are_compared_with_the_baseline() {
    type Say<'a> = &'a [(usize, &'a str)];
    let table: [(Say, &[&str], &str); 5] = [
        (
            &[(0, "on"), (1, "on"), (2, "on"), (3, "on")],
            &["self-reported gc: on"],
            "all are equal",
        ),
        (
            &[(0, "on"), (1, "on"), (2, "off"), (3, "on")],
            &[
                "self-reported gc: on (`off`, `control`, `otel, sampling 0.5`); off (`otel, sampling 1.0`)",
                "differs from the baseline: gc (`otel, sampling 1.0`)",
            ],
            "one differs",
        ),
        (
            &[(2, "on"), (3, "off")],
            &["self-reported gc: on (`otel, sampling 1.0`); off (`otel, sampling 0.5`)"],
            "the baseline reports nothing, so no arm differs from it",
        ),
        (
            &[(0, "a\u{1b}[31m  b")],
            &["self-reported gc: a [31m b (`off`)"],
            "text from outside is made safe",
        ),
        (&[], &[], "no entries"),
    ];
    for (say, expected, why) in table {
        let mut analysis = fixtures::script();
        for arm in &mut analysis.arms {
            arm.self_reported = BTreeMap::new();
        }
        for (arm, text) in say {
            let gc = ("gc".to_owned(), (*text).to_owned());
            analysis.arms[*arm].self_reported.extend([gc]);
        }
        let told: Vec<String> = plain(&analysis, 200)
            .lines()
            .filter(|line| {
                ["self-reported ", "differs "]
                    .iter()
                    .any(|of| line.starts_with(of))
            })
            .map(unwrapped)
            .collect();
        assert_eq!(told, expected, "{why}");
        let (words, text) = (page::words(&analysis), markdown(&analysis));
        let is_told = !expected.is_empty();
        assert_eq!(
            words.lines().any(|line| line == "self-reported"),
            is_told,
            "{why}"
        );
        assert_eq!(text.contains("\n- self-reported: gc: "), is_told, "{why}");
    }
}

#[test]
fn of_many_arms_with_equal_entries_some_are_named() {
    let mut analysis = fixtures::script();
    let mut more = analysis.arms[2..].to_vec();
    for (i, arm) in more.iter_mut().enumerate() {
        arm.name = format!("again {i}");
    }
    analysis.arms.extend(more.clone());
    // Another load repeats the entries of the first.
    let mut further = analysis.clone();
    further.arms[0]
        .self_reported
        .insert("gc".into(), "disabled".into());
    analysis.other_loads = vec![further];
    let text = unwrapped(&plain(&analysis, 200));
    let expected = [
        "sdk: 1.38.0 (`otel, sampling 1.0`, `otel, sampling 0.5`, `again 0`, `again 1`)",
        "gc: enabled, 700 10 10 (`off`, `control`, `otel, sampling 1.0`, `otel, sampling 0.5`, 2 \
         more); disabled (`off`)",
    ];
    for expected in expected {
        assert!(text.contains(expected), "{expected:?} not in {text}");
    }
}
