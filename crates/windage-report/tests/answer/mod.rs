//! The answer in words, and the lines below it.

use windage_analysis::Analysis;
use windage_model::fixtures::warning;
use windage_model::{Metric, WarningCode};
use windage_report::{TerminalOptions, markdown, summary, terminal};

use crate::{fixtures, plain, unwrapped};

#[test]
fn the_answer_follows_the_data() {
    let table = [
        (
            fixtures::demo(),
            "`otel, sampling 1.0` costs 22.7 % of CPU per request (22.2 to 23.2 %), 13.9 µs",
        ),
        (
            fixtures::demo(),
            "`otel, sampling 0.0` costs no more than 0.4 %",
        ),
        (
            fixtures::demo(),
            "A/A control: no significant difference (95 % CI −0.2 to +0.4 %)",
        ),
        (
            fixtures::few_launches(),
            "A/A control: inconclusive (95 % CI",
        ),
        (
            fixtures::demo(),
            "`otel, sampling 1.0` lost 0.01 % of its traces",
        ),
        (
            fixtures::suspect(),
            "inconclusive, between −0.4 and +1.1 % of CPU per request, minimum detectable effect \
             1.1 %: about 90 more minutes would settle it",
        ),
        (
            fixtures::family(),
            "`spans only` costs 1.1 % (0.6 to 1.6 %), 0.643 µs (but not when adjusted for all 4 \
             comparisons)",
        ),
        (
            fixtures::family(),
            "`metrics only` costs something, +0.0 to +1.2 %, but it is inconclusive whether this \
             exceeds the margin of 0.5 % (likewise not when adjusted): about 7 more minutes \
             would settle it",
        ),
        (
            fixtures::not_reached(),
            "no reasonable time would settle it, because the estimate lies near the margin of ±0.5 \
             %",
        ),
        (fixtures::suspect(), "Warning: the A/A control"),
        (fixtures::suspect(), "One more reason is listed below."),
        (
            fixtures::void(),
            "This run is void; do not use its figures: No window could be used",
        ),
        (
            fixtures::batch(),
            "`profiler` saves 5.1 % of CPU per iteration (3.8 to 6.4 %), 118 ms",
        ),
    ];
    for (analysis, expected) in table {
        let summary = summary(&analysis);
        assert!(
            summary.contains(expected),
            "{expected:?} not in {summary:?}"
        );
    }
}

#[test]
fn too_few_launches_are_counted_once() {
    let figures = "`otel, sampling 1.0`: inconclusive, +22.7 % of CPU per request (+22.2 to \
                   +23.2 %); `otel, sampling 0.1`: inconclusive, +3.4 % (+3.0 to +3.8 %); `otel, \
                   sampling 0.0`: inconclusive, +0.1 % (−0.2 to +0.4 %). ";
    let primary = |analysis: &mut Analysis, arm: usize, needed, rounds| {
        let of = analysis.arms[arm].metrics.get_mut(&Metric::CpuPerRequest);
        let of = of.expect("the primary metric");
        (of.inference.launches_needed, of.rounds) = (Some(needed), rounds);
    };
    type Change<'a> = &'a dyn Fn(&mut Analysis);
    let table: [(Change<'_>, &str); 2] = [
        (&|_| {}, "13 launches (`rounds`), this run has 6. A/A"),
        (
            &|analysis| primary(analysis, 3, 20, 5),
            "20 launches (`rounds`), this run has 5. A/A",
        ),
    ];
    for (change, expected) in table {
        let mut analysis = fixtures::few_launches();
        change(&mut analysis);
        let summary = summary(&analysis);
        let expected = format!("{figures}A verdict needs {expected}");
        assert!(
            summary.starts_with(&expected),
            "{expected:?} not in {summary}"
        );
        assert_eq!(summary.matches("launches").count(), 1, "{summary}");
    }
    let markdown = markdown(&fixtures::few_launches());
    assert!(
        markdown.contains("| otel, sampling 1.0 | 0.7 % | 13 launches |"),
        "{markdown}"
    );
}

#[test]
fn arms_whose_isolated_effect_differs_are_named() {
    let with = |differences: [f64; 3]| {
        let mut analysis = fixtures::demo();
        for (arm, difference) in analysis.arms[2..].iter_mut().zip(differences) {
            let of = arm.isolated_less_interleaved.as_mut().expect("both");
            *of = windage_model::Interval {
                estimate: difference,
                low: difference - 0.015,
                high: difference + 0.015,
                ..*of
            };
        }
        unwrapped(&terminal(&analysis, TerminalOptions::default()))
    };
    let line = "isolated − interleaved ";
    assert!(!with([0.0, 0.01, -0.01]).contains(line));
    let table = [
        (
            [0.026, 0.01, 0.0],
            "otel, sampling 1.0 +2.6 % (+1.1 to +4.1) Also",
        ),
        (
            [0.026, -0.031, -0.02],
            "otel, sampling 0.1 −3.1 % (−4.6 to −1.6); otel, sampling 1.0 +2.6 % (+1.1 to +4.1); \
             1 more Also",
        ),
    ];
    for (differences, expected) in table {
        let report = with(differences);
        let expected = format!("{line}{expected}");
        assert!(report.contains(&expected), "{expected:?} not in {report}");
    }
}

#[test]
fn of_many_treatments_the_most_expensive_are_described() {
    let mut analysis = fixtures::demo();
    let mut more = analysis.arms[2..].to_vec();
    for (i, arm) in more.iter_mut().enumerate() {
        arm.name = format!("again {i}");
    }
    analysis.arms.extend(more);
    let summary = summary(&analysis);
    assert!(
        summary.contains("; 3 more lie between +0.1 and +3.4 %."),
        "{summary}"
    );
    for told in ["`otel, sampling 1.0`", "`again 0`", "`otel, sampling 0.1`"] {
        assert!(summary.contains(told), "{told} not in {summary}");
    }
}

#[test]
fn arms_without_a_figure_are_counted_separately() {
    let counted = |without: usize| {
        let mut analysis = fixtures::demo();
        let more = analysis.arms[2..].to_vec();
        analysis.arms.extend(more);
        for arm in analysis.arms.iter_mut().rev().take(without) {
            arm.metrics.remove(&Metric::CpuPerRequest);
        }
        summary(&analysis)
    };
    let table = [
        (0, "; 3 more lie between +0.1 and +3.4 %."),
        (
            1,
            "; 2 more lie between +0.1 and +3.4 %, 1 more has no figure.",
        ),
        (3, "; 3 more have no figure."),
        (2, "; 1 more lies at +0.1 %, 2 more have no figure."),
    ];
    for (without, expected) in table {
        let summary = counted(without);
        assert!(summary.contains(expected), "{without}: {summary}");
    }
}

#[test]
fn counted_throughput_has_the_signs_of_the_table() {
    let mut analysis = fixtures::without_cpu();
    for i in 0..4 {
        let mut arm = analysis.arms[2].clone();
        arm.name = format!("otel {i}");
        analysis.arms.push(arm);
    }
    let summary = summary(&analysis);
    let expected = "; 2 more lie at −10.0 %.";
    assert!(summary.contains(expected), "{summary}");
}

#[test]
fn without_cpu_the_answer_is_in_throughput() {
    let analysis = fixtures::without_cpu();
    let summary = summary(&analysis);
    let expected = "`otel` costs 10.0 % of throughput (8.0 to 12.0 %), 1234/s.";
    assert!(summary.starts_with(expected), "{summary}");
}

#[test]
fn the_precision_is_below_the_answer() {
    let table = [
        (
            fixtures::family(),
            "minimum detectable effect 0.7 to 0.9 % of CPU per request",
        ),
        (
            fixtures::family(),
            "scatter launches 0 to 0.52 %, drift between blocks 0.78 to 0.81 %, windows 1.9 %; \
             more rounds, with about 12 blocks each, would narrow the interval most",
        ),
        (
            fixtures::stopped(),
            "scatter launches 0.52 %, blocks 2.1 %; more blocks per round, about 40, would",
        ),
        (
            fixtures::not_reached(),
            "scatter launches unknown (only one), drift between blocks 1.2 %",
        ),
        (
            fixtures::stopped(),
            "stopped when CPU per request was known to ±0.5 %; 5 min were allowed",
        ),
        (fixtures::stopped(), "intervals are confidence sequences"),
        (
            fixtures::not_reached(),
            "±0.5 % of CPU per request was not reached within 5 min: ±0.8 %",
        ),
        (
            fixtures::family(),
            "machine calibrated 2026-11-21: minimum detectable effect in 60 s 0.5 % of CPU per \
             request; truth inside 38 of 40 intervals; 2 of 40 false positives",
        ),
        (
            fixtures::not_reached(),
            "machine calibrated 2026-11-20 [2J: truth inside 37 of 40 intervals run",
        ),
        (
            fixtures::stopped(),
            "machine not calibrated; run: windage calibrate",
        ),
    ];
    for (analysis, expected) in table {
        let report = unwrapped(&plain(&analysis, 80));
        assert!(report.contains(expected), "{expected:?} not in {report}");
    }
    assert!(!markdown(&fixtures::stopped()).contains("not calibrated"));
}

#[test]
fn an_interrupted_run_did_not_run_out_of_time() {
    let mut analysis = fixtures::not_reached();
    let broken_off = warning(WarningCode::RunIncomplete);
    analysis.validity.reasons.push(broken_off.into());
    let report = unwrapped(&plain(&analysis, 80));
    let expected =
        "±0.5 % of CPU per request was not reached before the run was interrupted: ±0.8 %";
    assert!(report.contains(expected), "{report}");
}
