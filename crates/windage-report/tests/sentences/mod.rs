//! Sentences of warnings and of missing figures.

use windage_analysis::wire::Sentences;
use windage_analysis::{
    ComparisonEvidence, ComparisonWarning, ComparisonWarningCode, Item, Missing, RunSide,
};
use windage_model::{
    Bottleneck, IdleAgent, IncompleteEnding, LagCause, LossCause, Reason, Stretches, SubjectLoad,
    Warning, WarningCode, WindowShare, fixtures,
};
use windage_report::{Words, warning};

#[test]
fn every_warning_has_a_sentence() {
    let sentences = WarningCode::ALL.iter().map(|&code| {
        let text = warning(&fixtures::warning(code));
        assert_ne!(text, code.as_str(), "there is no sentence");
        format!("{}: {text}\n", code.as_str())
    });
    insta::assert_snapshot!(sentences.collect::<String>());
}

#[test]
fn lateness_is_explained() {
    let table = [
        (LagCause::Busy, "It was busy all the time"),
        (
            LagCause::Steal,
            "The hypervisor took the processor away for 3.0 ms.",
        ),
        (
            LagCause::RunQueue,
            "It waited 4.2 ms for a core that others used.",
        ),
        (LagCause::LateWakeup, "its wake-ups came late"),
    ];
    for (of, words) in table {
        let mut late = fixtures::warning(WarningCode::SendLag);
        if let Warning::SendLag {
            cause,
            steal_us,
            generator_run_queue_us,
            ..
        } = &mut late
        {
            *cause = of;
            (*steal_us, *generator_run_queue_us) = (Some(3_000.0), Some(4_200.0));
        }
        says(&late, words);
    }
}

#[test]
fn the_bottleneck_is_explained() {
    let spare = SubjectLoad::Spare;
    let table = [
        (
            (Bottleneck::Generator, spare),
            "The generator was late and is the bottleneck. It was busy",
        ),
        (
            (Bottleneck::Subject, SubjectLoad::Busy),
            "The subject kept its cores busy: it is saturated.",
        ),
        ((Bottleneck::Errors, spare), "Failed requests do not count"),
        (
            (Bottleneck::Connections, spare),
            "while the subject had CPU to spare",
        ),
        (
            (Bottleneck::Connections, SubjectLoad::Unknown),
            "they or the subject are the bottleneck",
        ),
        (
            (Bottleneck::AnswerTime, spare),
            "although connections were free",
        ),
    ];
    for ((of, load), words) in table {
        let mut slow = fixtures::warning(WarningCode::RateNotReached);
        if let Warning::RateNotReached {
            bottleneck,
            subject,
            cause,
            ..
        } = &mut slow
        {
            (*bottleneck, *subject, *cause) = (of, load, Some(LagCause::Busy));
        }
        says(&slow, words);
    }
}

#[test]
fn answers_of_forty_milliseconds_have_a_likely_cause() {
    for (p50_us, is_likely) in [(41_200.0, true), (12_000.0, false), (200_000.0, false)] {
        let mut slow = fixtures::warning(WarningCode::RateNotReached);
        if let Warning::RateNotReached {
            service_time_us_p50,
            ..
        } = &mut slow
        {
            *service_time_us_p50 = Some(p50_us);
        }
        assert_eq!(
            warning(&slow).contains("TCP_NODELAY"),
            is_likely,
            "{p50_us}"
        );
    }
}

#[test]
fn what_agents_left_behind_is_listed_with_a_remedy() {
    let many: Vec<String> = (0..9).map(|id| format!("program {id}")).collect();
    let table = [
        (
            vec!["program 17 (count_requests, kprobe)".to_owned()],
            1,
            "1st time",
        ),
        (
            vec!["process 4711".to_owned()],
            2,
            "2nd time, these were left: process 4711. What was measured without the agents was \
             measured with them. End them (`kill N`",
        ),
        (
            vec!["process 4711".to_owned(), "link 4".to_owned()],
            13,
            "Remove programs and links (`bpftool",
        ),
        (many, 23, "program 4 and 4 more"),
    ];
    for (objects, attachment, words) in table {
        let left = Warning::AgentLeftBehind {
            arm: "otel".to_owned(),
            attachment,
            launch: 0,
            block: 3,
            attachments_that_left_some: 1,
            objects,
        };
        says(&left, words);
    }
}

#[test]
fn kinds_of_idle_agents_losses_and_endings_have_words_of_their_own() {
    let idle = |idle| Warning::AgentIdle {
        arm: "otel".to_owned(),
        attachments: 6,
        attachments_idle: 2,
        idle,
    };
    let lost = |largest, reasons: &[&str]| Warning::TelemetryLost {
        arm: "otel".to_owned(),
        of: "traces".to_owned(),
        expected: 10_000.0,
        delivered: 9_000,
        lost: 1_000.0,
        reasons: (!reasons.is_empty()).then(|| reasons.iter().map(|&of| of.to_owned()).collect()),
        reported_beyond_lost: (!reasons.is_empty()).then_some(500.0),
        not_understood: reasons.len() as u64,
        largest,
    };
    let ended = |ending, reason: Option<&str>| Warning::RunIncomplete {
        ending,
        reason: reason.map(str::to_owned),
    };
    let table = [
        (idle(IdleAgent::WithoutPrograms), "no BPF program came with"),
        (idle(IdleAgent::WithoutRuns), "none of the BPF programs ran"),
        (
            idle(IdleAgent::Either),
            "In 2 of 6 attachments no BPF program came, or none of them ran",
        ),
        (
            lost(LossCause::Unexplained, &[]),
            "9000 of 10000 expected traces: 10.00 % were lost, so its cost is that of less \
             telemetry than intended. Check queue sizes",
        ),
        (
            lost(LossCause::Reported, &["1500 spans (gave up)"]),
            "Of that: 1500 spans (gave up). That is 500 more than were lost: some were counted \
             twice or arrived later. 1 export requests were rejected",
        ),
        (
            lost(LossCause::Refused, &["900 spans (refused by the backend)"]),
            "The exporter did not retry",
        ),
        (
            ended(IncompleteEnding::Interrupted, None),
            "`windage run --resume RUN` continues it.",
        ),
        (
            ended(IncompleteEnding::Died, Some("the disk is full")),
            "The run ended before its plan did: the disk is full",
        ),
        (
            ended(IncompleteEnding::Unrecorded, None),
            "The run's end is not recorded",
        ),
    ];
    for (warning, words) in table {
        says(&warning, words);
    }
}

#[test]
fn a_reason_about_stretches_of_load_says_how_many() {
    for (unit, word) in [
        (Stretches::Windows, "windows"),
        (Stretches::Blocks, "blocks of turns"),
    ] {
        let reason = Reason {
            warning: fixtures::warning(WarningCode::Steal),
            windows: Some(WindowShare {
                affected: 7,
                of: 90,
                unit,
            }),
        };
        let expected = format!("In 7 of 90 {word}: The hypervisor took the processor away.");
        assert_eq!(Words.reason(&reason), expected);
    }
}

#[test]
fn what_turns_distort_is_in_percent() {
    let table = [
        (
            Warning::ArmsInterfere {
                relative_low: 0.012,
                relative_high: 0.0291,
            },
            "the baseline's CPU per request changes by +1.2 to +2.9 %.",
        ),
        (
            Warning::MeasuresDisagree {
                relative_low: -0.034,
                relative_high: -0.01,
                confidence: 0.99,
            },
            "isolated less interleaved is −3.4 to −1.0 % of the baseline (99 % CI).",
        ),
    ];
    for (warning, words) in table {
        says(&warning, words);
    }
}

#[test]
fn missing_figures_say_why() {
    let of_b = Missing::InRun(RunSide::B, Box::new(Missing::OneValue));
    let all = [
        Missing::Baseline,
        Missing::NoValue,
        Missing::NeverTogether,
        Missing::NoneComputed,
        Missing::OneValue,
        Missing::UnboundedSequence,
        Missing::BaselineZero,
        Missing::NoRatio,
        Missing::NoBaselinePer(Item::Span),
        Missing::NothingDelivered(Item::Event),
        Missing::UnboundedPer(Item::Span),
        Missing::NoEvents,
        Missing::FewAttachments,
        Missing::UnboundedPerRun,
        Missing::StageNotMeasured,
        Missing::StageNeverTogether,
        Missing::NotInRun(RunSide::A),
        of_b,
        Missing::UnboundedInRun,
    ];
    let lines = all
        .iter()
        .map(|why| format!("{}: {}\n", why.code().as_str(), Words.missing(why)));
    insta::assert_snapshot!(lines.collect::<String>());
}

#[test]
fn every_warning_about_a_comparison_has_a_sentence() {
    use ComparisonWarningCode as Code;
    let values = [Some("4".to_owned()), None];
    let of = |code| match code {
        Code::SameRun | Code::NoCommonLoad | Code::NoCommonMetric => ComparisonEvidence::Nothing,
        Code::OtherMachine => {
            ComparisonEvidence::Fact("cpu_model", ["6502", "Z80"].map(str::to_owned))
        }
        Code::ControlDiffers | Code::SingleLaunch => ComparisonEvidence::Run(RunSide::B),
        Code::SuspectMetric => {
            let arms = vec!["off".to_owned(), "otel".to_owned()];
            ComparisonEvidence::OfArms(RunSide::A, vec![(WarningCode::SendLag, arms)])
        }
        Code::Void
        | Code::Suspect
        | Code::LoadMissing
        | Code::SaturatedInOne
        | Code::DeferredInOne => {
            ComparisonEvidence::Items(Some(RunSide::B), vec!["otel".to_owned()])
        }
        Code::OtherLevel => ComparisonEvidence::Items(None, vec!["otel".to_owned()]),
        _ => ComparisonEvidence::Values(values.clone()),
    };
    let sentences = Code::ALL.iter().map(|&code| {
        let text = Words.comparison(&ComparisonWarning {
            code,
            regime: None,
            evidence: of(code),
        });
        assert!(
            !text.starts_with(code.as_str()),
            "there is no sentence: {text}"
        );
        assert!(text.ends_with('.'), "{text}");
        format!("{}: {text}\n", code.as_str())
    });
    insta::assert_snapshot!(sentences.collect::<String>());
}

fn says(of: &Warning, words: &str) {
    let text = warning(of);
    assert!(text.contains(words), "{words:?} not in {text:?}");
}
