//! Agents beside the process, in every renderer.

use windage_analysis::{Analysis, BillItem};
use windage_model::{LoadModel, Metric};
use windage_report::{bill_csv, bpf_csv, markdown, summary};

use crate::{fixtures, page, plain, unwrapped};

#[test]
fn text_forms() {
    let fixtures = [
        ("agents", fixtures::agents()),
        ("ladder", fixtures::ladder()),
        ("amiss", fixtures::agents_amiss()),
    ];
    for (name, analysis) in fixtures {
        insta::assert_snapshot!(format!("{name}_terminal"), plain(&analysis, 80));
    }
    let amiss = [fixtures::agents_amiss()];
    insta::assert_snapshot!("amiss_bill_csv", bill_csv(&amiss).unwrap());
    insta::assert_snapshot!("amiss_bpf_csv", bpf_csv(&amiss).unwrap());
}

#[test]
fn the_answer_describes_agents_and_bystanders() {
    let table = [
        (
            fixtures::agents(),
            "The agent of `agent, sampling 1.0`, the most expensive of 3 arms with agents, itself \
             uses 0.208 cores (0.204 to 0.212) and 48.9 MB of memory (at most 66.3 MB); in total, \
             the machine uses 39.0 µs more CPU per request while attached (37.2 to 40.8); 479,312 \
             of 480,000 spans were delivered.",
        ),
        (
            fixtures::agents(),
            "`bystander`, which the agents of `agent, sampling 1.0` do not watch, costs 1.4 % of CPU \
             per request (0.8 to 2.0 %), 0.857 µs.",
        ),
        (
            changed(|analysis| {
                analysis.arms.remove(3);
            }),
            "The agent of `agent, no exporter` itself uses 0.164 cores",
        ),
        (
            bystander((0.001, 0.002)),
            "do not watch, costs no more than 0.3 % of CPU per request.",
        ),
        (
            bystander((0.002, 0.02)),
            "do not watch: inconclusive, between −1.8 and +2.2 % of CPU per request",
        ),
        (
            in_all(0.4),
            "in total, the machine's CPU per request changes by +0.40 µs (−1.40 to +2.20) while \
             attached;",
        ),
        (
            in_all(-12.0),
            "in total, the machine uses 12.0 µs less CPU per request while attached (10.2 to \
             13.8);",
        ),
        (
            changed(|analysis| {
                let of = analysis.arms[4].agent.as_mut().unwrap();
                of.cycles.clear();
                of.up = None;
            }),
            "arms with agents, was never attached.",
        ),
        (
            changed(|analysis| {
                let of = analysis.arms[4].agent.as_mut().unwrap();
                of.names.push("collector".to_owned());
                of.up = None;
            }),
            "The agents of `agent, sampling 1.0`, the most expensive of 3 arms with agents, were \
             never attached without failing.",
        ),
    ];
    for (analysis, expected) in table {
        let summary = summary(&analysis);
        assert!(
            summary.contains(expected),
            "{expected:?} not in {summary:?}"
        );
    }
    let summary = summary(&fixtures::agents());
    assert!(
        !summary.contains("; `bystander`") && summary.matches("`bystander`").count() == 1,
        "a bystander's cost is reported once, and not as an arm's cost: {summary}"
    );
}

fn changed(change: impl Fn(&mut Analysis)) -> Analysis {
    let mut analysis = fixtures::agents();
    change(&mut analysis);
    analysis
}

/// The bystander with this cost, as a share, and half-width.
fn bystander(effect: (f64, f64)) -> Analysis {
    let against = fixtures::of_bystander(effect);
    changed(|analysis| {
        let of = analysis.arms[5].bystander.as_mut();
        let of = of.expect("a bystander");
        of.against_control = against.clone();
    })
}

/// The most expensive arm, with this much more CPU of the machine.
fn in_all(us: f64) -> Analysis {
    changed(|analysis| {
        analysis.arms.drain(2..4);
        let bill = analysis.arms[2].bill.as_mut().expect("a bill");
        let line = &mut bill.with_deferred;
        line.difference_us = Some(us);
        let interval = line.interval.as_mut().expect("an interval");
        (interval.estimate, interval.low, interval.high) = (us, us - 1.8, us + 1.8);
    })
}

#[test]
fn delivered_by_rate_is_shown_once_for_all_loads() {
    let ladder = fixtures::ladder();
    for (renderer, text) in [
        ("terminal", plain(&ladder, 80)),
        ("markdown", markdown(&ladder)),
        ("page", page::words(&ladder)),
    ] {
        assert_eq!(text.matches("Delivered by rate").count(), 1, "{renderer}");
    }
}

#[test]
fn plans_without_agents_show_no_bill_but_write_it_out() {
    let mut analysis = fixtures::demo();
    let bill = fixtures::agents().arms[2].bill.clone();
    for arm in &mut analysis.arms {
        arm.bill.clone_from(&bill);
    }
    for (renderer, text) in [
        ("terminal", plain(&analysis, 80)),
        ("markdown", markdown(&analysis)),
        ("page", page::words(&analysis)),
        ("summary", summary(&analysis)),
    ] {
        for word in ["CPU bill", "Agents", "BPF", "Bystander", "in total"] {
            assert!(!text.contains(word), "{word} in {renderer}");
        }
    }
    let arms = analysis.arms.len();
    let table = bill_csv(&[analysis]).unwrap();
    assert_eq!(table.lines().count(), 1 + arms * (BillItem::ALL.len() + 4));
}

#[test]
fn the_lines_of_a_bill_add_up_to_the_machine() {
    let table = bill_csv(&[fixtures::agents(), fixtures::ladder()]).unwrap();
    let rows = Rows::of(&table);
    let mut sum = 0.0;
    let mut machines = 0;
    for record in &rows.records {
        let us: f64 = rows.cell(record, "arm_us_per_request").parse().unwrap();
        match rows.cell(record, "line") {
            "machine" => {
                assert!((us - sum).abs() < 1e-9, "{us} is not {sum}");
                (sum, machines) = (0.0, machines + 1);
            }
            "agent_outside_windows" | "service_outside_windows" | "with_deferred" => {}
            _ => sum += us,
        }
    }
    let arms = fixtures::agents().arms.len() + 2 * fixtures::ladder().arms.len();
    assert_eq!(machines, arms, "a machine for each arm and load");
}

#[test]
fn figures_of_programs_can_be_recomputed_from_each_other() {
    let table = bpf_csv(&[fixtures::agents()]).unwrap();
    let rows = Rows::of(&table);
    let figure = |record, column| rows.cell(record, column).parse::<f64>().unwrap();
    let mut lines = Vec::new();
    for record in &rows.records {
        lines.push(rows.cell(record, "line"));
        if ["program", "all"].contains(lines.last().unwrap()) {
            let product = figure(record, "runs_per_request") * figure(record, "ns_per_run");
            let ns = figure(record, "ns_per_request");
            assert!((ns - product).abs() < 1e-6 * ns, "{ns} is not {product}");
        }
    }
    let of_an_arm = [
        "program",
        "program",
        "all",
        "service",
        "outside_bpf",
        "statistics",
    ];
    assert_eq!(lines, of_an_arm.repeat(3));
}

/// A CSV table by the names of its columns.
struct Rows {
    columns: Vec<String>,
    records: Vec<::csv::StringRecord>,
}

impl Rows {
    fn of(table: &str) -> Rows {
        let mut reader = ::csv::Reader::from_reader(table.as_bytes());
        Rows {
            columns: reader
                .headers()
                .expect("headings")
                .iter()
                .map(str::to_owned)
                .collect(),
            records: reader.records().filter_map(Result::ok).collect(),
        }
    }

    fn cell<'a>(&self, record: &'a ::csv::StringRecord, column: &str) -> &'a str {
        let at = self.columns.iter().position(|name| name == column);
        let at = at.expect("a column");
        &record[at]
    }
}

#[test]
fn batch_figures_are_per_iteration() {
    let mut analysis = fixtures::agents();
    analysis.design.load = LoadModel::Batch;
    for arm in &mut analysis.arms {
        arm.bill = None;
        if let Some(bystander) = &mut arm.bystander {
            bystander.metric = Metric::CpuPerIteration;
        }
    }
    let report = unwrapped(&plain(&analysis, 80));
    for part in [
        "Agents, attached CPU, cores µs per iteration",
        "runs per iteration ns per run ns per iteration",
        "more CPU per iteration seen",
        "costs 1.4 % of CPU per iteration (0.8 to 2.0 %)",
    ] {
        assert!(report.contains(part), "{part:?} not in {report}");
    }
}

/// A program that takes less time than the clock read that is counted with it.
#[test]
fn the_unexplained_part_is_never_negative() {
    // service, outside, at most, and the expected sentence
    let table = [
        (
            [26.7, 26.5, 26.9],
            [-8.7, -9.0, -8.4],
            Some([26.7, 25.9, 27.5]),
            [
                "uses 26.7 µs (26.5 to 26.9) more CPU per request",
                "not seen nothing measurable outside them, at most 27.5 µs: statistics include",
            ],
        ),
        (
            [-0.9, -1.2, -0.6],
            [-1.3, -1.9, -0.7],
            Some([-0.9, -1.7, -0.1]),
            [
                "uses 0.90 µs (0.60 to 1.20) less CPU per request",
                "measurable outside them, at most 0 µs: statistics include a clock read per run",
            ],
        ),
        (
            [-0.2, -0.5, 0.1],
            [-0.3, -0.7, 0.1],
            None,
            [
                "its CPU per request changes by −0.20 µs (−0.50 to +0.10)",
                "not seen nothing measurable outside them: statistics include",
            ],
        ),
        (
            [13.9, 13.5, 14.3],
            [9.9, 9.4, 10.4],
            None,
            [
                "uses 13.9 µs (13.5 to 14.3) more CPU per request",
                "not seen +9.9 µs (+9.4 to +10.4) outside them: traps,",
            ],
        ),
    ];
    for (service, outside, at_most, expected) in table {
        let analysis = changed(|analysis| {
            let of = analysis.arms[4].agent.as_mut().unwrap();
            let probes = of.probes.as_mut().unwrap();
            let with = |[estimate, low, high]: [f64; 3]| windage_model::Interval {
                estimate,
                low,
                high,
                ..probes.service_us_per_request
            };
            let (service, outside, at_most) = (with(service), with(outside), at_most.map(with));
            probes.service_us_per_request = service;
            probes.outside_bpf_us_per_request = outside;
            probes.outside_bpf_at_most_us_per_request = at_most;
        });
        let report = unwrapped(&plain(&analysis, 80));
        for part in expected {
            assert!(report.contains(part), "{part:?} not in {report}");
        }
        assert!(!report.contains("not seen −"), "{report}");
    }
}

/// A bystander is not a treatment, whether or not it could be compared.
#[test]
fn a_bystander_without_figures_is_no_treatment() {
    let without = changed(|analysis| analysis.arms[5].bystander = None);
    let summary = summary(&without);
    assert!(!summary.contains("`bystander`"), "{summary}");
}

#[test]
fn failures_of_agents_are_reported() {
    let report = unwrapped(&plain(&fixtures::agents_amiss(), 80));
    for part in [
        "agent, no exporter 12, 2 failed",
        "agent, sampling 0.1 12, 12 failed – –",
        "failed agent, no exporter: in launch 2, block 4: otel ended before it was ready; in launch \
         4, block 8: otel <b>died</b> [2J in a window",
        "left behind agent, no exporter: program 3 (count_requests, kprobe); program 3 \
         (count_requests, kprobe); 2 more",
        "4 more 1.00 210 210",
        "statistics none were collected",
        "bystander +1.4 % (+0.8 to +2.0) costs n/a¹",
        "agent_idle (suspect) In 10 of 65 attachments no BPF program came",
    ] {
        assert!(report.contains(part), "{part:?} not in {report}");
    }
}

#[test]
fn a_rung_is_compared_with_the_one_below() {
    let report = unwrapped(&plain(&fixtures::ladder(), 80));
    for part in [
        "+ no target 0.00200 (+0.00200) 46.0 (+46.0) 64.4 (+64.4)",
        "+ one service 0.0620 (+0.0600) 47.9 (+1.90) 64.4 (0)",
    ] {
        assert!(report.contains(part), "{part:?} not in {report}");
    }
    let without = plain(&fixtures::agents(), 80);
    assert!(
        !without.contains("Rungs"),
        "agents without stages are no ladder"
    );
}

#[test]
fn the_memory_bill_sums_only_an_arms_own_memory() {
    let rows = |analysis: &Analysis| -> Vec<String> {
        let text = plain(analysis, 100);
        let lines = text.split("\n\n");
        let tables = lines.filter_map(|table| table.strip_prefix("Memory bill"));
        // The rest of the first line belongs to the heading.
        let first = tables.map(|table| table.split_once('\n').map_or("", |(_, rows)| rows));
        let rows = first.take(1).flat_map(str::lines);
        rows.map(str::to_owned).collect()
    };
    let ends = |row: &str, expected: &str| assert!(row.ends_with(expected), "{row}");
    // Service, agent, BPF and the sum, of the arms that fit in one table.
    let on_the_baselines = rows(&fixtures::agents());
    ends(&on_the_baselines[0], "–");
    ends(&on_the_baselines[3], "+50.1");
    let with_own = changed(|analysis| {
        for of in &mut analysis.arms[2..5] {
            let memory = fixtures::of_memory(Some((0.5, 0.01)));
            of.metrics.insert(Metric::RssSteady, memory);
        }
    });
    ends(&rows(&with_own)[3], "+57.2");
    let unread = changed(|analysis| {
        for of in &mut analysis.arms {
            of.metrics.remove(&Metric::RssSteady);
            if let Some(agent) = &mut of.agent {
                (agent.up, agent.bpf) = (None, None);
            }
        }
    });
    assert_eq!(rows(&unread), Vec::<String>::new());
}

#[test]
fn with_many_arms_a_terminal_shows_the_most_expensive_programs() {
    let analysis = fixtures::agents();
    let arms = ["no exporter", "sampling 0.1", "sampling 1.0"];
    let shows = |text: &str| arms.map(|arm| text.contains(&format!("BPF, agent, {arm}")));
    assert_eq!(shows(&plain(&analysis, 80)), [false, false, true]);
    let text = markdown(&analysis);
    let (before, after) = text.split_once("<details>").expect("details");
    assert_eq!((shows(before), shows(after)), ([false; 3], [true; 3]));
    assert_eq!(shows(&page::words(&analysis)), [true; 3]);
}
