//! What a study found, as a page.

use std::fmt::Write as _;

use anyhow::Result;

use super::one_by_one::{LASTS, RUNS};
use super::rules::{Quantity, Rule};
use super::{Args, Bounds, Comparison, Found, Head, PLAN};
use crate::bench::median::median;
use crate::machine;

pub(super) fn page(args: &Args, done: &[Comparison]) -> Result<String> {
    let Args {
        identical,
        slower,
        unbatched,
        within,
        resume: _,
        at_most: _,
    } = args;
    let mut page = format!(
        "# Checks of identical commits and of regressions\n\n- Date: {}\n\
         - Command: `cargo xtask checks --identical {identical} --slower {slower} --unbatched {unbatched} \
         --within {within}`\n\
         - Machine: {}\n- Versions: {}\n- Comparisons: {} of {}\n\n",
        machine::today()?,
        machine::in_words()?,
        machine::versions()?,
        done.len(),
        args.count(),
    );
    let _ = write!(
        page,
        "Each comparison is `windage check {PLAN} --base base --head HEAD`. The head is the base's own commit \
         (identical), the same server with some 3 µs more work in each request (slower), or with a simple span \
         processor instead of a batch processor (unbatched). The same pair is then measured as others do: {RUNS} runs \
         of {LASTS} of the base, then {RUNS} of the head, with telemetry on, under the same load, each server \
         launched afresh.\n\n"
    );
    page += &alarms(done);
    page += &found(done);
    Ok(page)
}

fn of(done: &[Comparison], head: Head) -> impl Iterator<Item = &Comparison> {
    done.iter().filter(move |of| of.head == head)
}

/// How many comparisons of each kind are alarms.
fn alarms(done: &[Comparison]) -> String {
    let row = |gate: &str, judged: &str, alarms: &dyn Fn(&Comparison) -> bool| {
        let counts = Head::ALL.map(|head| {
            let alarms = of(done, head).filter(|of| alarms(of)).count();
            format!("{alarms} of {}", of(done, head).count())
        });
        format!("| {gate} | {judged} | {} |\n", counts.join(" | "))
    };
    let mut table = String::from(
        "## Alarms\n\n| gate | judged by | identical | slower | unbatched |\n|---|---|---:|---:|---:|\n",
    );
    let exits = |code: i32| move |of: &Comparison| of.check.exit_code == Some(code);
    table += &row(
        "`windage check --base`: exceeded",
        "CPU per request",
        &exits(1),
    );
    table += &row("the same: undecided", "CPU per request", &exits(3));
    for rule in Rule::ALL {
        for quantity in Quantity::ALL {
            let alarms = |of: &Comparison| rule.alarms(quantity, &of.base_runs, &of.head_runs);
            table += &row(&name(rule), quantity.name(), &alarms);
        }
    }
    table
}

fn name(rule: Rule) -> String {
    match rule {
        Rule::Above(multiple) => {
            format!("one run each, alarm above {:.0} %", multiple * 100.0)
        }
        Rule::Welch(most) => format!("{RUNS} runs each, Welch's test, p ≤ {most}"),
    }
}

/// What the changes were, and how long it took.
fn found(done: &[Comparison]) -> String {
    let mut table = String::from(
        "\n## Changes of CPU per request\n\nMedians over comparisons, in per cent of the base's service without \
         telemetry; of a check its first run, and half the width between its bounds of 95 % on one side each.\n\n\
         | head | change of | estimate | half-width | lowest | highest |\n|---|---|---:|---:|---:|---:|\n",
    );
    for head in Head::ALL {
        for (arm, what) in [("off", "the service"), ("otel", "the cost of telemetry")] {
            let costs: Vec<Bounds> = of(done, head)
                .filter_map(|of| of.check.first.iter().find(|found| is_of(found, arm))?.cost)
                .collect();
            let percent = |value: Option<f64>| {
                value.map_or_else(String::new, |value| format!("{:+.2} %", value * 100.0))
            };
            let middle = |value: fn(&Bounds) -> f64| {
                percent(median(costs.iter().map(value)).map(|median| median.estimate))
            };
            let estimates = || costs.iter().map(|cost| cost.estimate);
            let _ = writeln!(
                table,
                "| {} | {what} | {} | {} | {} | {} |",
                head.name(),
                middle(|cost| cost.estimate),
                middle(|cost| (cost.high - cost.low) / 2.0),
                percent(estimates().reduce(f64::min)),
                percent(estimates().reduce(f64::max)),
            );
        }
    }
    table +=
        "\n## Time of a check, with both builds\n\n| head | median | longest |\n|---|---:|---:|\n";
    let kinds = Head::ALL.map(|head| (head.name(), of(done, head).collect::<Vec<_>>()));
    let all = [("all", done.iter().collect::<Vec<_>>())];
    for (name, comparisons) in kinds.into_iter().chain(all) {
        let times = || comparisons.iter().map(|of| of.check.seconds);
        let middle = median(times()).map_or(f64::NAN, |median| median.estimate);
        let longest = times().fold(0.0, f64::max);
        let _ = writeln!(table, "| {name} | {middle:.0} s | {longest:.0} s |");
    }
    let others = median(done.iter().map(|of| of.one_by_one_s));
    if let Some(others) = others {
        let _ = writeln!(
            table,
            "\nThe {} runs of the same pair one after the other took {:.0} s.",
            2 * RUNS,
            others.estimate
        );
    }
    table
}

/// An arm's id begins with its name: `otel-sampling-1.0-head`.
fn is_of(found: &Found, arm: &str) -> bool {
    found.arm.starts_with(arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Checked;
    use crate::checks::one_by_one::Reading;

    fn comparison(head: Head, exit_code: i32, cpu: [f64; 2]) -> Comparison {
        let runs = |cpu_us_per_request: f64| {
            let of = |i: usize| Reading {
                cpu_us_per_request: cpu_us_per_request + i as f64 / 100.0,
                p99_us: 6_000.0,
            };
            (0..RUNS).map(of).collect()
        };
        let estimate = cpu[1] / cpu[0] - 1.0;
        Comparison {
            head,
            check: Checked {
                exit_code: Some(exit_code),
                seconds: 200.0,
                first: vec![Found {
                    arm: "off-head".to_owned(),
                    verdict: "within".to_owned(),
                    cost: Some(Bounds {
                        estimate,
                        low: estimate - 0.01,
                        high: estimate + 0.01,
                    }),
                }],
                again: None,
            },
            base_runs: runs(cpu[0]),
            head_runs: runs(cpu[1]),
            one_by_one_s: 60.0,
        }
    }

    #[test]
    fn alarms_are_counted_by_gate_and_head() {
        let done = [
            comparison(Head::Identical, 0, [100.0, 106.0]),
            comparison(Head::Identical, 3, [100.0, 100.0]),
            comparison(Head::Slower, 1, [100.0, 103.0]),
        ];
        let table = alarms(&done);
        for line in [
            "| `windage check --base`: exceeded | CPU per request | 0 of 2 | 1 of 1 | 0 of 0 |",
            "| the same: undecided | CPU per request | 1 of 2 | 0 of 1 | 0 of 0 |",
            "| one run each, alarm above 110 % | CPU per request | 0 of 2 | 0 of 1 | 0 of 0 |",
            "| one run each, alarm above 105 % | CPU per request | 1 of 2 | 0 of 1 | 0 of 0 |",
            "| 5 runs each, Welch's test, p ≤ 0.05 | CPU per request | 1 of 2 | 1 of 1 | 0 of 0 |",
            "| 5 runs each, Welch's test, p ≤ 0.05 | p99 | 0 of 2 | 0 of 1 | 0 of 0 |",
        ] {
            assert!(table.contains(line), "{line} is not in\n{table}");
        }
        let found = found(&done);
        for line in [
            "| identical | the service | +3.00 % | +1.00 % | +0.00 % | +6.00 % |",
            "| slower | the cost of telemetry |  |  |  |  |",
            "| all | 200 s | 200 s |",
        ] {
            assert!(found.contains(line), "{line} is not in\n{found}");
        }
    }
}
