//! The parts of the sink's study.

use super::*;

#[test]
fn goals_name_existing_contenders() {
    let scenarios = scenarios(10_000);
    let contenders = |name: &str| {
        let found = scenarios.iter().find(|scenario| scenario.name == name);
        &found
            .unwrap_or_else(|| panic!("no scenario {name}"))
            .contenders
    };
    for goal in GOALS {
        for (scenario, contender) in std::iter::once(goal.of).chain(goal.against) {
            let of = contenders(scenario);
            assert!(
                contender == Goal::WORST || of.contains(&contender),
                "{goal:?}"
            );
        }
    }
}

#[test]
fn commands_contain_no_local_paths() {
    let sink = Sink {
        lasts: Duration::from_secs(2),
        spans: 1,
        connections: 1,
        programs: vec![("windage", "/of/this/machine".to_owned())],
    };
    let scenarios = scenarios(1);
    // Seven receivers over HTTP, six over gRPC, and the load.
    assert_eq!(sink.commands(&scenarios[0]).len(), 8);
    let commands = sink.commands(&scenarios[5]);
    assert_eq!(commands.len(), 7);
    for expected in [
        "env LISTEN=ADDRESS collector --config subjects/receivers/collector/otlp-grpc.yaml",
        "taskset --cpu-list 0 receive --otlp-grpc ADDRESS",
        "taskset --cpu-list 1 windage load http://ADDRESS/opentelemetry.proto.collector.trace.v1.TraceService/Export \
         --data-file BODY --grpc --connections 8 --for 2000ms --timeout 20000ms --warmup 0s --json",
    ] {
        assert!(
            commands.contains(&expected.to_owned()),
            "{expected}\n{commands:#?}"
        );
    }
}
