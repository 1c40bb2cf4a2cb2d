//! Warnings about a run with agents.

use super::*;
use windage_model::{Soundness, Warning, WarningCode};

fn warnings(run: &Recorded) -> Vec<Warning> {
    analysed(run).validity.reasons
}

#[test]
fn each_failure_of_attachments_is_reported_with_advice() {
    use WarningCode::{AgentIdle, AgentLeftBehind, ArmDied, DetachUnverified, FewRounds};
    type Spoil = fn(&mut AgentCycle);
    type Reported = Option<(WarningCode, &'static str)>;
    let forget_runs: Spoil = |cycle| {
        let programs = cycle.programs.iter_mut().flatten();
        programs.for_each(|program| (program.runs, program.run_ns) = (0, 0));
    };
    // name, change, number of the six attachments changed, the warning and part of its text
    let table: [(&str, Spoil, usize, Reported); 13] = [
        ("nothing", |_| {}, 6, None),
        (
            "one program left behind",
            |cycle| cycle.left_behind = vec!["program 17 (count_requests, kprobe)".into()],
            1,
            Some((AgentLeftBehind, "1st time")),
        ),
        (
            "a process could not be killed",
            |cycle| cycle.left_behind = vec!["process 4711".into()],
            1,
            Some((AgentLeftBehind, "End them (`kill N`")),
        ),
        (
            "one of each kind",
            |cycle| cycle.left_behind = vec!["process 4711".into(), "link 4".into()],
            1,
            Some((AgentLeftBehind, "Remove programs and links (`bpftool")),
        ),
        (
            "many left behind",
            |cycle| cycle.left_behind = (0..9).map(|id| format!("program {id}")).collect(),
            6,
            Some((AgentLeftBehind, "program 4 and 4 more")),
        ),
        (
            "an agent exited",
            |cycle| cycle.failed = Some("otel ended with status 2.".into()),
            2,
            Some((ArmDied, "In 2 of 6 attachments")),
        ),
        (
            "no right to list programs",
            |cycle| cycle.programs = None,
            6,
            Some((DetachUnverified, "Run as root")),
        ),
        (
            "no program loaded",
            |cycle| cycle.programs = Some(Vec::new()),
            6,
            Some((AgentIdle, "In 6 of 6 attachments no BPF program came")),
        ),
        (
            "no program loaded once",
            |cycle| cycle.programs = Some(Vec::new()),
            1,
            Some((AgentIdle, "In 1 of 6 attachments no BPF program came")),
        ),
        (
            "no program ever ran",
            forget_runs,
            6,
            Some((AgentIdle, "may have found no target")),
        ),
        (
            "no program ran in some",
            forget_runs,
            3,
            Some((
                AgentIdle,
                "In 3 of 6 attachments none of the BPF programs ran",
            )),
        ),
        (
            "no requests",
            |cycle| {
                let programs = cycle.programs.iter_mut().flatten();
                programs.for_each(|program| program.runs = 0);
                cycle.statistics.as_mut().unwrap().requests = 0;
            },
            6,
            None,
        ),
        (
            "nearly all failed",
            |cycle| cycle.failed = Some("No.".into()),
            4,
            Some((FewRounds, "were attached 2 times")),
        ),
    ];
    for (what, spoil, of_six, expected) in table {
        let mut run = run(6, 1);
        cycles(&mut run).take(of_six).for_each(spoil);
        let found = warnings(&run);
        let Some((code, words)) = expected else {
            assert_eq!(found, [], "{what}");
            continue;
        };
        let warning = found.iter().find(|warning| warning.code == code);
        let warning = warning.unwrap_or_else(|| panic!("{what}: {found:?}"));
        assert!(warning.text.contains(words), "{what}: {}", warning.text);
        assert!(
            warning.text.contains("agent"),
            "names the arm: {}",
            warning.text
        );
        let is_void = analysed(&run).validity.soundness() == Soundness::Void;
        assert_eq!(is_void, code == AgentLeftBehind, "{what}");
    }
}

#[test]
fn warnings_noted_during_the_run_are_not_repeated() {
    let mut run = run(6, 1);
    for cycle in cycles(&mut run) {
        cycle.left_behind = vec!["link 4".into()];
    }
    let noted = Warning::new(WarningCode::AgentLeftBehind, "Link 4 is still there.");
    run.reported.push(Entry::Warning(noted.clone()));
    assert_eq!(warnings(&run), [noted]);
}

/// A warning noted for one arm does not apply to another.
#[test]
fn a_warning_noted_for_another_arm_does_not_suppress_it() {
    // the arms of the noted warning, how often it is reported
    let table = [
        ("agent", 1),
        ("control, agent", 1),
        ("control", 2),
        ("agent-2", 2),
    ];
    for (arms, times) in table {
        let mut run = run(6, 1);
        cycles(&mut run).next().unwrap().failed = Some("It ended.".into());
        let noted = Warning::new(WarningCode::ArmDied, "It ended.").with("arm", arms);
        run.reported.push(Entry::Warning(noted));
        let found = warnings(&run);
        let found = found.iter().filter(|of| of.code == WarningCode::ArmDied);
        assert_eq!(found.count(), times, "{arms}");
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
    let words = "In 2 of 6 attachments no BPF program came, or none of them ran";
    assert!(warning.text.contains(words), "{}", warning.text);
    let of = |key: &str| warning.evidence[key].clone();
    assert_eq!(of("attachments"), 6.0.into());
    assert_eq!(of("attachments_idle"), 2.0.into());
}

#[test]
fn a_single_launch_has_its_own_warning() {
    // rounds, blocks per round, expected warnings
    let table = [
        (1, 1, vec![WarningCode::SingleRound, WarningCode::FewRounds]),
        (1, 6, vec![WarningCode::SingleRound]),
        (2, 1, vec![WarningCode::FewRounds]),
        (3, 1, vec![]),
    ];
    for (rounds, blocks, expected) in table {
        let found = warnings(&run(rounds, blocks));
        let codes: Vec<WarningCode> = found.iter().map(|warning| warning.code).collect();
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
        let codes: Vec<WarningCode> = reasons.map(|warning| warning.code).collect();
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
