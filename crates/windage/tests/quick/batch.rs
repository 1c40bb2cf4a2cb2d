//! Batch loads: one process per window, and a resident program.

use windage_analysis::wire::AnalysisWire;

use crate::contract;
use crate::workshop::Workshop;

/// Counts to its last argument: once, or if ASKED is set, as a resident program.
const COUNTING: &str = r#"
name = 'counting'

[[service]]
name = 'job'
env = { ASKED = '' }
command = ['/bin/sh', '-c', '''
count() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }
[ -n "$ASKED" ] || { count $1; exit; }
exec 4<&"$WINDAGE_CONTROL_FD" 5>&"$WINDAGE_CONTROL_FD"
echo ready >&5
while read -r word times <&4; do
    done=0
    while [ $done -lt $times ]; do count $1; done=$((done+1)); done
    echo "done $times" >&5
done
''', 'job']

[[arm]]
name = 'off'
baseline = true
args = { job = ['2000'] }

[[arm]]
name = 'thrice'
args = { job = ['6000'] }

[design]
rounds = 3
blocks = 4
drain = '10ms'
idle = '10ms'

[load]
model = 'batch'
"#;

/// The same plan with a resident program.
fn resident(load: &str) -> String {
    let plan = COUNTING.replace("ASKED = ''", "ASKED = 'yes'");
    let plan = plan.replace("[design]", "[design]\nwindow = '20ms'\nwarmup = '50ms'");
    format!("{plan}batch = 'resident'\n{load}\n")
}

fn measured(plan: &str) -> AnalysisWire {
    let shop = Workshop::new();
    shop.write("plan.toml", plan);
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    contract::checked(&ended.code(0))
}

#[test]
fn a_process_that_works_longer_costs_more() {
    // A verdict needs 13 launches.
    let plan = COUNTING.replace("rounds = 3\nblocks = 4", "rounds = 14\nblocks = 1");
    let analysis = measured(&format!("{plan}batch = 'process'\n"));
    for name in ["cpu_per_iteration", "wall_per_iteration"] {
        let metric = &contract::arm(&analysis, "thrice").metrics[name];
        assert!(contract::relative(metric) > 0.2, "{metric:?}");
        assert_eq!(metric.windows % 14, 0, "{metric:?}");
    }
    let cpu = &contract::arm(&analysis, "thrice").metrics["cpu_per_iteration"];
    assert_eq!(cpu.exceeds_zero, Some(true), "{cpu:?}");
    assert_eq!(cpu.verdict.as_deref(), Some("costs"), "{cpu:?}");
}

#[test]
fn a_resident_program_is_asked_for_iterations() {
    for iterations in ["iterations = 5", "iterations = 'auto'"] {
        let analysis = measured(&resident(iterations));
        let cpu = &contract::arm(&analysis, "thrice").metrics["cpu_per_iteration"];
        // Three times the counting and hardly anything else, because no launch is included.
        let ratio = 1.0 + contract::relative(cpu);
        assert!((2.0..4.5).contains(&ratio), "{iterations}: {cpu:?}");
        assert_eq!(cpu.exceeds_zero, Some(true), "{iterations}: {cpu:?}");
    }
}

#[test]
fn a_program_that_breaks_the_protocol_ends_the_run() {
    let shop = Workshop::new();
    let plan = resident("").replace("echo ready", "echo hello");
    shop.start_plan(&plan).end().code(5).says(&[
        "said `hello` instead of `ready`",
        "arm `",
        "docs/FORMAT.md",
    ]);
}

#[test]
fn a_resident_program_is_refused_as_a_process_per_window() {
    let shop = Workshop::new();
    let plan = COUNTING.replace("ASKED = ''", "ASKED = 'yes'");
    shop.start_plan(&plan)
        .end()
        .code(5)
        .says(&["said `ready`", "batch = \"resident\""]);
}

#[test]
fn a_process_that_fails_ends_the_run() {
    let shop = Workshop::new();
    let plan = COUNTING.replace("count $1; exit;", "exit 3;");
    shop.start_plan(&plan)
        .end()
        .code(5)
        .says(&["error: ", "exited with code 3"]);
}

#[test]
fn work_right_after_the_answer_is_in_its_window() {
    // The same work as `thrice`, two thirds of it after the answer, as in an exporter's thread.
    let late = "\n    if [ -n \"$LATE\" ]; then count $LATE; fi\ndone\n''', 'job']";
    let plan = resident("iterations = 1")
        .replace("\ndone\n''', 'job']", late)
        .replace(
            "args = { job = ['6000'] }",
            "args = { job = ['2000'] }\nenv = { LATE = '4000' }",
        );
    let analysis = measured(&plan);
    let thrice = contract::arm(&analysis, "thrice");
    let relative = |name: &str| contract::relative(&thrice.metrics[name]);
    assert!(
        (1.0..3.5).contains(&relative("cpu_in_window")),
        "{thrice:?}"
    );
    // At the time of the answer a third of the work was done.
    assert!(relative("wall_per_iteration") < 1.0, "{thrice:?}");
}
