//! Where the machine's CPU per request goes.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::{Bill, BillItem, BillLine};
use windage_model::{LoadModel, Method};

fn bill(run: &Recorded, of: ArmIndex) -> Bill {
    arm(&analysed(run), of).bill.clone().unwrap()
}

fn line(bill: &Bill, item: BillItem) -> &BillLine {
    let found = bill.lines.iter().find(|(of, _)| *of == item);
    &found.unwrap().1
}

/// Machine − sum of lines: baseline, arm and difference.
fn left_over(bill: &Bill) -> [f64; 3] {
    [
        |of: &BillLine| of.baseline_us,
        |of: &BillLine| of.arm_us,
        |of: &BillLine| of.difference_us,
    ]
    .map(|us| {
        let parts: f64 = bill.lines.iter().filter_map(|(_, line)| us(line)).sum();
        us(&bill.machine).unwrap_or(0.0) - parts
    })
}

#[test]
fn each_line_has_its_known_cost() {
    // item, baseline, the watched arm, its bystander
    let table = [
        (BillItem::Service, 50.0, 62.0, 53.0),
        (BillItem::Agent, 0.0, 20.0, 20.0),
        (BillItem::Generator, 6.0, 6.0, 6.0),
        (BillItem::Windage, 1.0, 1.0, 1.0),
        (BillItem::KernelThreads, 2.0, 2.5, 2.5),
        (BillItem::Remainder, 3.0, 3.0, 3.0),
    ];
    for (rounds, blocks) in [(6, 1), (1, 8)] {
        let run = run(rounds, blocks);
        for (of, column) in [(WATCHED, 0), (BYSTANDER, 1)] {
            let bill = bill(&run, of);
            assert_eq!(bill.rounds, rounds as usize);
            for (item, baseline, watched, bystander) in table {
                let expected = [watched, bystander][column];
                let line = line(&bill, item);
                let what = format!("{item:?} {line:?}");
                assert!((line.baseline_us.unwrap() - baseline).abs() < 0.1, "{what}");
                assert!((line.arm_us.unwrap() - expected).abs() < 0.1, "{what}");
                let interval = line.interval.as_ref().unwrap();
                assert_eq!(Some(interval.estimate), line.difference_us);
                let truth = expected - baseline;
                let slack = 0.05;
                assert!(
                    interval.low - slack < truth && truth < interval.high + slack,
                    "{what}"
                );
                let expected = if rounds > 1 {
                    Method::MeanByLaunch
                } else {
                    Method::MeanWithinLaunch
                };
                assert_eq!(interval.method, expected, "{what}");
            }
            assert!(left_over(&bill).iter().all(|us| us.abs() < 1e-9));
        }
    }
}

#[test]
fn the_baseline_has_a_bill_and_no_difference() {
    let bill = bill(&run(3, 1), ArmIndex::BASELINE);
    assert_eq!(bill.machine.baseline_us, bill.machine.arm_us);
    let lines = bill.lines.iter().map(|(_, line)| line);
    for line in lines.chain([&bill.machine, &bill.with_deferred]) {
        assert_eq!((line.difference_us, line.interval.as_ref()), (None, None));
    }
    assert_eq!(bill.agent_outside_windows, None);
}

/// The agent uses 23 µs per request in all, 20 of them in windows of the arm; the watched service
/// flushes 2 µs in the baseline's windows.
#[test]
fn deferred_cost_has_lines_of_its_own_and_a_sum() {
    let mut run = run(6, 1);
    for window in &mut run.windows {
        if window.place.arm == ArmIndex::CONTROL {
            window.cpu.others_before.push(windage_model::ArmCpu {
                arm: WATCHED,
                cpu_ns: 2_200_000,
            });
        }
    }
    let found = bill(&run, WATCHED);
    let agent = found.agent_outside_windows.clone().unwrap();
    assert!((agent.arm_us.unwrap() - 3.0).abs() < 0.1, "{agent:?}");
    assert_eq!(agent.baseline_us, Some(0.0));
    let service = found.service_outside_windows.clone().unwrap();
    assert!(service.difference_us.unwrap() > 1.0, "{service:?}");
    for us in [
        |of: &BillLine| of.baseline_us,
        |of: &BillLine| of.arm_us,
        |of: &BillLine| of.difference_us,
    ] {
        let parts = [&found.machine, &agent, &service].map(|line| us(line).unwrap());
        let sum = us(&found.with_deferred).unwrap();
        assert!((sum - parts.iter().sum::<f64>()).abs() < 1e-9);
    }
    let interval = found.with_deferred.interval.unwrap();
    assert!(interval.low < interval.estimate && interval.estimate < interval.high);

    // The deferred cost is unknown: the sum is the machine's.
    run.ends.clear();
    cycles(&mut run).for_each(|cycle| cycle.up_cpu_ns = None);
    let found = bill(&run, WATCHED);
    assert_eq!(found.agent_outside_windows, None);
    assert_eq!(found.service_outside_windows, None);
    assert_eq!(found.with_deferred, found.machine);
}

/// One launch was cut short, so its deferred cost is unknown.
#[test]
fn the_sum_uses_launches_with_all_lines() {
    let whole = bill(&run(5, 1), WATCHED);
    let mut cut = run(6, 1);
    cut.ends.pop();
    // Its in-window cost would shift the machine's line.
    let costly = cut.windows.iter_mut().filter(|of| of.place.launch == 5);
    for window in costly.filter(|of| of.place.arm == WATCHED) {
        window.machine.busy_ns = window.machine.busy_ns.map(|ns| ns * 2);
    }
    let found = bill(&cut, WATCHED);
    assert!(found.machine.arm_us.unwrap() > whole.machine.arm_us.unwrap() + 5.0);
    for us in [
        |of: &BillLine| of.baseline_us,
        |of: &BillLine| of.arm_us,
        |of: &BillLine| of.difference_us,
        |of: &BillLine| Some(of.interval.as_ref()?.low),
        |of: &BillLine| Some(of.interval.as_ref()?.high),
    ] {
        let both = [&found.with_deferred, &whole.with_deferred].map(|line| us(line).unwrap());
        assert!((both[0] - both[1]).abs() < 1e-9, "{both:?}");
    }
}

/// An agent works all the time, regardless of which arm has load: what it uses in the bystander's
/// windows is not for the arm's requests.
#[test]
fn a_bystander_in_the_plan_does_not_change_the_agents_figures() {
    let of = |run: &Recorded| {
        let analysis = analysed(run);
        let found = arm(&analysis, WATCHED);
        let metric = |metric| found.metrics[&metric].arm.unwrap();
        let up = found.agent.as_ref().unwrap().up.as_ref().unwrap();
        let outside = found.bill.as_ref().unwrap().agent_outside_windows.clone();
        [
            metric(Metric::AgentCpu),
            metric(Metric::AgentCpuPerRequest),
            up.cpu_cores.as_ref().unwrap().estimate,
            up.cpu_us_per_request.as_ref().unwrap().estimate,
            outside.unwrap().arm_us.unwrap(),
        ]
    };
    let with = run(6, 2);
    let mut without = with.clone();
    for cycle in cycles(&mut without) {
        let windows = with.windows.iter();
        let beside =
            windows.filter(|of| (of.place.block, of.place.arm) == (cycle.block, BYSTANDER));
        let ns: u64 = beside.filter_map(|of| of.beside.agent_ns).sum();
        cycle.up_cpu_ns = cycle.up_cpu_ns.map(|of| of - ns);
    }
    without.windows.retain(|of| of.place.arm != BYSTANDER);
    without.manifest.arms.pop();
    let mut void = with.clone();
    let of_bystander = void.windows.iter_mut().find(|of| of.place.arm == BYSTANDER);
    let warning = windage_model::fixtures::warning(windage_model::WarningCode::SwitchFailed);
    of_bystander.unwrap().warnings.push(warning);
    let expected = of(&with);
    for (what, run) in [("none", without), ("one with a void window", void)] {
        for (found, expected) in of(&run).into_iter().zip(expected) {
            let off = (found - expected).abs();
            assert!(off < 1e-9 * expected, "{what}: {found} {expected}");
        }
    }
}

#[test]
fn unread_parts_are_in_the_remainder() {
    let mut run = run(6, 1);
    for window in &mut run.windows {
        window.beside.kernel_threads_ns = None;
        window.cpu.in_window_ns = None;
    }
    let found = bill(&run, WATCHED);
    for item in [BillItem::KernelThreads, BillItem::Service] {
        assert_eq!(line(&found, item), &BillLine::default());
    }
    let rest = line(&found, BillItem::Remainder).arm_us.unwrap();
    assert!((rest - 67.5).abs() < 0.1, "{rest}");
    assert!(left_over(&found).iter().all(|us| us.abs() < 1e-9));
    let analysis = analysed(&run);
    let metrics = &arm(&analysis, WATCHED).metrics;
    assert!(!metrics.contains_key(&Metric::KernelThreadsCpuPerRequest));

    // A reading that failed once costs the window, not the line.
    let mut run = super::run(6, 1);
    run.windows[10].beside.agent_ns = None;
    let found = bill(&run, WATCHED);
    let agent = line(&found, BillItem::Agent).arm_us.unwrap();
    assert!((agent - 20.0).abs() < 0.1, "{agent}");

    for window in &mut run.windows {
        window.machine.busy_ns = None;
    }
    assert_eq!(arm(&analysed(&run), WATCHED).bill, None);
}

#[test]
fn batch_loads_have_no_bill_and_sequential_order_has_one() {
    let mut run = run(3, 1);
    run.manifest.load.model = LoadModel::Batch;
    assert!(analysed(&run).arms.iter().all(|arm| arm.bill.is_none()));

    let mut run = fixture::records(3);
    run.manifest.design.order = Order::Sequential;
    for window in &mut run.windows {
        window.place.block = window.place.block * 6 + u32::from(window.place.arm.0);
    }
    let found = bill(&run, ArmIndex(2));
    assert_eq!(found.rounds, 3);
    let service = line(&found, BillItem::Service);
    assert!(service.difference_us.unwrap() > 5.0 && service.interval.is_some());
    assert!(left_over(&found).iter().all(|us| us.abs() < 1e-9));
}

/// In-process plans have the same figures as before bills existed.
#[test]
fn a_bill_agrees_with_the_metrics() {
    let analysis = analysed(&fixture::records(5));
    let found = arm(&analysis, ArmIndex(2));
    let bill = found.bill.as_ref().unwrap();
    for (line, metric) in [
        (&bill.machine, Metric::MachineCpuPerRequest),
        (line(bill, BillItem::Service), Metric::CpuInWindow),
        (
            line(bill, BillItem::Generator),
            Metric::GeneratorCpuPerRequest,
        ),
    ] {
        let of_metric = &found.metrics[&metric];
        let (us, expected) = (line.arm_us.unwrap(), of_metric.arm.unwrap());
        assert!((us - expected).abs() < 1e-6 * expected, "{us} {expected}");
    }
}

#[test]
fn lines_in_the_file_add_up() {
    let json = fixture::to_json(&analysed(&run(6, 1)));
    let of = &json["arms"][2]["bill"];
    for key in [
        "baseline_us_per_request",
        "arm_us_per_request",
        "difference_us_per_request",
    ] {
        let number = |line: &Value| line[key].as_f64().unwrap();
        let lines = of["lines"].as_array().unwrap();
        let sum: f64 = lines.iter().map(number).sum();
        assert!((sum - number(&of["machine"])).abs() < 1e-9, "{key}");
    }
    let words: Vec<&str> = of["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["item"].as_str().unwrap())
        .collect();
    let all = "service agent generator windage kernel_threads remainder";
    assert_eq!(words.join(" "), all);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is missing and whatever counters show, the lines add up to the machine.
    #[test]
    fn lines_always_add_up(
        rounds in 1..4_u32,
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        wild in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..1_u64 << 40, option_of_counter(), option_of_counter()),
            0..20,
        ),
    ) {
        let mut run = run(rounds, 2);
        for (index, busy_ns, agent_ns, kernel_threads_ns) in wild {
            let window = index.get(&run.windows).clone();
            let place = run.windows.iter().position(|w| *w == window).unwrap();
            let window = &mut run.windows[place];
            window.machine.busy_ns = Some(busy_ns);
            window.beside.agent_ns = agent_ns;
            window.beside.kernel_threads_ns = kernel_threads_ns;
        }
        for index in lost {
            let place = index.index(run.windows.len());
            run.windows.remove(place);
        }
        let analysis = analysed(&run);
        for bill in analysis.arms.iter().filter_map(|arm| arm.bill.as_ref()) {
            let scale = bill.machine.arm_us.unwrap().abs().max(1.0);
            for us in left_over(bill) {
                prop_assert!(us.abs() < 1e-9 * scale, "{us} {bill:?}");
            }
        }
    }
}

fn option_of_counter() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(0..1_u64 << 40)
}
