//! Warnings about a run with agents.

use super::*;
use windage_model::{IdleAgent, Soundness, Warning, WarningCode};

fn warnings(run: &Recorded) -> Vec<Warning> {
    let reasons = analysed(run).validity.reasons.into_iter();
    reasons.map(|reason| reason.warning).collect()
}

fn arm_of_run() -> String {
    "agent".to_owned()
}

#[test]
fn each_failure_of_attachments_is_a_warning() {
    type Spoil = fn(&mut AgentCycle);
    let forget_runs: Spoil = |cycle| {
        let programs = cycle.programs.iter_mut().flatten();
        programs.for_each(|program| (program.runs, program.run_ns) = (0, 0));
    };
    let failed = |attachments: u64, count: u64, why: &str| Warning::AgentsFailed {
        arm: arm_of_run(),
        attachments,
        failed: count,
        first_failure: why.to_owned(),
    };
    let idle = |count, idle| Warning::AgentIdle {
        arm: arm_of_run(),
        attachments: 6,
        attachments_idle: count,
        idle,
    };
    // name, change, number of the six attachments changed, the warnings
    let table: [(&str, Spoil, usize, Vec<Warning>); 10] = [
        ("nothing", |_| {}, 6, vec![]),
        (
            "left behind",
            |cycle| cycle.left_behind = vec!["process 4711".into(), "link 4".into()],
            1,
            vec![Warning::AgentLeftBehind {
                arm: arm_of_run(),
                attachment: 1,
                launch: 0,
                block: 0,
                attachments_that_left_some: 1,
                objects: vec!["process 4711".into(), "link 4".into()],
            }],
        ),
        (
            "an agent exited",
            |cycle| cycle.failed = Some("otel ended with status 2.".into()),
            2,
            vec![failed(6, 2, "otel ended with status 2.")],
        ),
        (
            "no right to list programs",
            |cycle| cycle.programs = None,
            6,
            vec![Warning::DetachUnverified {
                arm: arm_of_run(),
                attachments: 6,
                attachments_unknown: 6,
            }],
        ),
        (
            "no program loaded",
            |cycle| cycle.programs = Some(Vec::new()),
            6,
            vec![idle(6, IdleAgent::WithoutPrograms)],
        ),
        (
            "no program loaded once",
            |cycle| cycle.programs = Some(Vec::new()),
            1,
            vec![idle(1, IdleAgent::WithoutPrograms)],
        ),
        (
            "no program ever ran",
            forget_runs,
            6,
            vec![idle(6, IdleAgent::WithoutRuns)],
        ),
        (
            "no program ran in some",
            forget_runs,
            3,
            vec![idle(3, IdleAgent::WithoutRuns)],
        ),
        (
            "no requests",
            |cycle| {
                let programs = cycle.programs.iter_mut().flatten();
                programs.for_each(|program| program.runs = 0);
                cycle.statistics.as_mut().unwrap().requests = 0;
            },
            6,
            vec![],
        ),
        (
            "nearly all failed",
            |cycle| cycle.failed = Some("No.".into()),
            4,
            vec![
                failed(6, 4, "No."),
                Warning::FewAttachments {
                    arm: arm_of_run(),
                    attachments: 2,
                },
            ],
        ),
    ];
    for (what, spoil, of_six, expected) in table {
        let mut run = run(6, 1);
        cycles(&mut run).take(of_six).for_each(spoil);
        let found = warnings(&run);
        assert_eq!(found, expected, "{what}");
        let is_void = analysed(&run).validity.soundness() == Soundness::Void;
        assert_eq!(is_void, what == "left behind", "{what}");
    }
}

/// A warning noted for one arm does not apply to another.
#[test]
fn a_warning_noted_for_another_arm_does_not_suppress_it() {
    // the arms of the noted warning, how often it is reported
    let table: [(&[&str], usize); 4] = [
        (&["agent"], 1),
        (&["control", "agent"], 1),
        (&["control"], 2),
        (&["agent-2"], 2),
    ];
    for (arms, times) in table {
        let mut run = run(6, 1);
        cycles(&mut run).next().unwrap().failed = Some("It ended.".into());
        run.reported.push(Entry::Warning(Warning::ArmDied {
            arms: arms.iter().map(|&arm| arm.to_owned()).collect(),
            service: "agent".to_owned(),
            whose: "of arm `agent`".to_owned(),
            how: "ended".to_owned(),
            last_words: String::new(),
        }));
        assert_eq!(warnings(&run).len(), times, "{arms:?}");
    }
}

#[test]
fn idle_attachments_are_counted() {
    let mut run = run(6, 1);
    let mut all = cycles(&mut run);
    all.next().unwrap().programs = Some(Vec::new());
    let of_second = all.next().unwrap().programs.iter_mut().flatten();
    of_second.for_each(|program| program.runs = 0);
    drop(all);
    let found = warnings(&run);
    let [warning] = &found[..] else {
        panic!("{found:?}")
    };
    let expected = Warning::AgentIdle {
        arm: arm_of_run(),
        attachments: 6,
        attachments_idle: 2,
        idle: IdleAgent::Either,
    };
    assert_eq!(warning, &expected);
}

/// A scraper or a log shipper beside the service has no BPF program, and needs none.
#[test]
fn only_agents_with_needs_are_expected_to_have_programs() {
    for (have_needs, expected) in [(true, 1), (false, 0)] {
        let mut run = run(6, 1);
        run.manifest.arms[2].agents_have_needs = have_needs;
        cycles(&mut run).for_each(|cycle| cycle.programs = Some(Vec::new()));
        assert_eq!(warnings(&run).len(), expected, "{have_needs}");
    }
}

#[test]
fn a_single_launch_has_its_own_warning() {
    // rounds, blocks per round, expected warnings
    let table = [
        (
            1,
            1,
            vec![WarningCode::SingleRound, WarningCode::FewAttachments],
        ),
        (1, 6, vec![WarningCode::SingleRound]),
        (2, 1, vec![WarningCode::FewRounds]),
        (3, 1, vec![]),
    ];
    for (rounds, blocks, expected) in table {
        let found = warnings(&run(rounds, blocks));
        let codes: Vec<WarningCode> = found.iter().map(Warning::code).collect();
        assert_eq!(codes, expected, "{rounds} {blocks}");
    }
}

#[test]
fn statistics_always_on_are_a_warning_with_agents() {
    let found = |run: &Recorded, setting: serde_json::Value| {
        let mut records = run.gathered();
        records.host["bpf_stats_enabled"] = setting;
        let analysis = crate::analyse(&records, std::iter::empty(), std::iter::empty());
        let reasons = analysis.validity.reasons.into_iter();
        let codes: Vec<WarningCode> = reasons.map(|reason| reason.code()).collect();
        codes.contains(&WarningCode::BpfStatisticsAlwaysOn)
    };
    let (with_agents, without) = (run(6, 1), fixture::records(10));
    let mut without_bpf = run(6, 1);
    for reported in &mut without_bpf.reported {
        if let Entry::Agent(cycle) = reported {
            cycle.programs = Some(Vec::new());
        }
    }
    // the run, the setting, whether it is a warning, why
    let table = [
        (&with_agents, serde_json::json!(1), true, "on"),
        (&with_agents, serde_json::json!(0), false, "off"),
        (&with_agents, serde_json::json!(null), false, "unknown"),
        (&without, serde_json::json!(1), false, "no agents"),
        (
            &without_bpf,
            serde_json::json!(1),
            false,
            "agents without BPF",
        ),
    ];
    for (run, setting, expected, why) in table {
        assert_eq!(found(run, setting), expected, "{why}");
    }
}
