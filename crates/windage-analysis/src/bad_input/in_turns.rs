//! Runs in which arms take turns.

use windage_model::ArmTurns;

use super::*;
use crate::fixture::in_turns::records_with_turns;

/// A run of two launches with turns, and something wrong in it; the expectations are those of [`Case`].
const CASES: &[Case] = &[
    Case {
        what: "turns as they should be",
        spoil: |_| {},
        cpu: Ok(()),
        warning: Some(WarningCode::FewRounds),
    },
    Case {
        what: "turns without any window",
        spoil: |run| run.windows.clear(),
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "no request in any turn",
        spoil: |run| each_arm(run, |of| of.exchanges = Default::default()),
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        what: "arms without a turn",
        spoil: |run| {
            each_arm(run, |of| {
                (of.turns, of.exchanges) = (0, Default::default());
            });
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        what: "counters that could not be read in turns",
        spoil: |run| each_arm(run, |of| of.cpu_ns = None),
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        // Less idle CPU, the baseline's requests cost less than nothing.
        what: "counters that did not move in turns",
        spoil: |run| each_arm(run, |of| of.cpu_ns = Some(0)),
        cpu: Err(MissingCode::BaselineZero),
        warning: None,
    },
    Case {
        what: "a treatment that used nothing",
        spoil: |run| {
            each_arm(run, |of| {
                of.cpu_ns = of.cpu_ns.filter(|_| of.arm != TREATMENT).or(Some(0));
            });
        },
        cpu: Err(MissingCode::TooFew),
        warning: None,
    },
    Case {
        what: "counters of turns at their limit",
        spoil: |run| {
            each_arm(run, |of| {
                of.turns = u32::MAX;
                of.cpu_ns = Some(u64::MAX);
                of.exchanges.intended = u64::MAX;
                of.exchanges.sent = u64::MAX;
                of.exchanges.completed = u64::MAX;
                of.exchanges.errors.timeout = u64::MAX;
            });
            for block in &mut run.turns {
                block.lasted_ns = u64::MAX;
                block.load_ns = u64::MAX;
                block.turn = u64::MAX;
                block.exchanges.intended = u64::MAX;
                block.exchanges.completed = u64::MAX;
                (block.generator_ns, block.sink_ns) = (u64::MAX, u64::MAX);
                block.windage_ns = 0;
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "a counter of the treatment that jumped",
        spoil: |run| run.turns[1].arms[TREATMENT.get()].cpu_ns = Some(u64::MAX),
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "blocks of no length",
        spoil: |run| {
            for block in &mut run.turns {
                (block.lasted_ns, block.load_ns) = (0, 0);
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "blocks without arms",
        spoil: |run| {
            for block in &mut run.turns {
                block.arms.clear();
            }
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        what: "an arm in turns that the manifest does not know",
        spoil: |run| {
            for block in &mut run.turns {
                let mut unknown = block.arms[0].clone();
                unknown.arm = ArmIndex(u16::MAX);
                block.arms.push(unknown);
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "blocks of launches that never began",
        spoil: |run| {
            for (launch, block) in (700..).zip(&mut run.turns) {
                block.launch = launch;
            }
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        what: "turns that are void throughout",
        spoil: |run| {
            for block in &mut run.turns {
                let died = fixtures::warning(WarningCode::ServiceDied);
                block.warnings.push(died);
            }
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: Some(WarningCode::ServiceDied),
    },
    Case {
        what: "launches that never ended",
        spoil: |run| run.ends.clear(),
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        what: "an idle reading at its limit",
        spoil: |run| {
            for end in &mut run.ends {
                end.arms.iter_mut().for_each(|of| {
                    (of.idle_cpu_ns, of.idle_ns) = (Some(u64::MAX), 1);
                });
            }
        },
        cpu: Err(MissingCode::BaselineZero),
        warning: None,
    },
    Case {
        what: "a rate of zero",
        spoil: |run| run.manifest.load.rate_per_s = Some(0.0),
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "a single block of turns",
        spoil: |run| run.turns.truncate(1),
        cpu: Err(MissingCode::TooFew),
        warning: None,
    },
    Case {
        what: "turns that the plan does not have",
        spoil: |run| run.manifest.design.turns = None,
        cpu: Ok(()),
        warning: None,
    },
];

fn each_arm(run: &mut Recorded, spoil: fn(&mut ArmTurns)) {
    let blocks = run.turns.iter_mut();
    blocks.for_each(|block| block.arms.iter_mut().for_each(spoil));
}

#[test]
fn any_record_of_turns_has_a_defined_answer() {
    for case in CASES {
        for model in [LoadModel::Closed, LoadModel::Open, LoadModel::Batch] {
            let mut run = records_with_turns(2, 1);
            run.manifest.load.model = model;
            (case.spoil)(&mut run);
            let analysis = analysed(&run);
            let what = format!("{}, {model:?}", case.what);
            assert_eq!(cpu(&analysis, model), case.cpu, "{what}");
            if let Some(code) = case.warning {
                assert!(analysis.validity.has(code), "{what}");
            }
            assert_whole(&analysis, &what);
        }
    }
}
