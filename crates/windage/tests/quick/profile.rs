//! Profiles: extra load after the measured windows, with a shell script as the profiler.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use windage_analysis::wire::{AnalysisWire, ProfileWire};

use nix::sys::signal::Signal;

use crate::contract;
use crate::interruption::send;
use crate::workshop::{Ended, Workshop};

/// Counts to its last argument in each iteration.
const PLAN: &str = r#"
name = 'profiled'

[[service]]
name = 'job'
command = ['/bin/sh', '-c', '''
exec 4<&"$WINDAGE_CONTROL_FD" 5>&"$WINDAGE_CONTROL_FD"
echo ready >&5
while read -r word times <&4; do
    done=0
    while [ $done -lt $times ]; do
        i=0; while [ $i -lt $1 ]; do i=$((i+1)); done
        done=$((done+1))
    done
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
rounds = 4
blocks = 2
warmup = '10ms'
drain = '10ms'
idle = '10ms'

[load]
model = 'batch'
batch = 'resident'
iterations = 5

[profile]
with = 'py-spy'
program = './profiler'
for = '1s'
"#;

/// Reads the program's last argument, and writes what py-spy would write about such a program.
const PROFILER: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo 'py-spy 0.4.3'; exit; }
echo "$@" >> asked
while [ $# -gt 0 ]; do
    case $1 in --pid) pid=$2;; --output) output=$2;; esac
    shift
done
sleep 0.5
if tr '\0' ' ' < /proc/$pid/cmdline | grep -q 6000; then
    stacks='main (a.py);count (a.py) 100
process 7:"sh --secret x; y";main (a.py);span (a.py) 200'
else
    stacks='main (a.py);count (a.py) 300'
fi
echo "$stacks" > "$output"
"#;

fn shop(profiler: &str) -> Workshop {
    let shop = Workshop::new();
    shop.write("plan.toml", PLAN);
    shop.write("profiler", profiler);
    let program = shop.dir().join("profiler");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    shop
}

fn run(shop: &Workshop) -> Ended {
    shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"])
}

fn profile<'a>(analysis: &'a AnalysisWire, arm: &str) -> &'a ProfileWire {
    let mut profiles = analysis.under_first_load.profiles.iter();
    profiles.find(|one| one.arm == arm).unwrap()
}

/// Checks that no profiled iteration is among the measured ones.
fn windows_are_the_plans(ended: &Ended) -> AnalysisWire {
    let analysis = contract::checked(ended);
    assert_eq!(analysis.under_first_load.design.rounds, 4);
    for arm in ["control", "thrice"] {
        let cpu = &contract::arm(&analysis, arm).metrics["cpu_per_iteration_isolated"];
        assert_eq!(cpu.windows, 4 * 2 * 2, "{arm}: {cpu:?}");
    }
    analysis
}

#[test]
fn added_time_is_reported_by_function() {
    let shop = shop(PROFILER);
    let ended = run(&shop).code(0);
    let analysis = windows_are_the_plans(&ended);
    let of_arm = profile(&analysis, "thrice");
    assert_eq!(of_arm.samples, Some(300), "{of_arm:?}");
    assert_eq!(of_arm.version.as_deref(), Some("py-spy 0.4.3"));
    assert_eq!(of_arm.scale.as_deref(), Some("measured"));
    assert!(of_arm.iterations > Some(0), "{of_arm:?}");
    let span = &of_arm.functions[0];
    assert_eq!(span.function, "span (a.py)", "{of_arm:?}");
    assert!(span.is_added && !span.itself.within_noise, "{span:?}");
    let whole = of_arm.cpu_us_per_iteration.unwrap();
    let added = span.itself.added_us.estimate.unwrap();
    assert!(
        (added / whole - 2.0 / 3.0).abs() < 1e-6,
        "{added} of {whole}"
    );
    let of_control = profile(&analysis, "control");
    assert_eq!(of_control.functions_compared, 2, "{of_control:?}");
    assert!(profile(&analysis, "off").functions.is_empty());
}

#[test]
fn stacks_and_pictures_are_kept_without_command_lines() {
    let shop = shop(PROFILER);
    let ended = run(&shop).code(0);
    assert!(
        ended
            .stderr
            .contains("profiles: py-spy records each of 3 arms"),
        "{}",
        ended.stderr
    );
    let of_run = |name: &str| fs::read_to_string(shop.of_run(name)).unwrap();
    assert_eq!(
        of_run("profiles/thrice.collapsed"),
        "main (a.py);count (a.py) 100\nmain (a.py);span (a.py) 200\n"
    );
    let picture = of_run("profiles/thrice.svg");
    assert!(picture.contains("span (a.py) ("), "{picture}");
    let document = contract::document_in(&of_run("report.html"));
    let graph = &document["loads"][0]["flame_graphs"][0];
    assert_eq!(graph["arm"], "thrice");
    let svg = graph["svg"].as_str().unwrap();
    assert!(svg.starts_with("<svg") && !svg.contains("<script"));
    let asked = fs::read_to_string(shop.dir().join("asked")).unwrap();
    assert_eq!(
        asked.matches("--duration 1 ").count(),
        3,
        "once per arm: {asked}"
    );
    let left = shop.windage(&["report", &shop.run, "--all"]).code(0);
    assert!(left.stdout.contains("What thrice added"), "{}", left.stdout);
    for entry in fs::read_dir(shop.of_run("work")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(!name.to_string_lossy().contains("profiler"), "{name:?}");
    }
}

#[test]
fn a_failing_profiler_does_not_harm_the_run() {
    let table = [
        (
            "#!/bin/sh\n[ \"$1\" = --version ] && exit\necho 'Error: Permission Denied' >&2\nexit 1\n",
            "Permission Denied",
            "ptrace_scope",
        ),
        ("#!/bin/sh\nexit 3\n", "exited with code 3", "log"),
        ("#!/bin/sh\nexit 0\n", "recorded no samples", "profile.for"),
        ("#!/nowhere/sh\n", "was not started", "install it"),
    ];
    for (profiler, why, remedy) in table {
        let shop = shop(profiler);
        let ended = run(&shop).code(0);
        let analysis = windows_are_the_plans(&ended);
        for arm in ["off", "control", "thrice"] {
            let failure = profile(&analysis, arm).failure.as_ref().unwrap();
            assert!(failure.text.contains(why), "{failure:?}");
            assert!(failure.remedy.contains(remedy), "{failure:?}");
        }
        assert!(
            ended.stderr.contains("no profile of thrice"),
            "{}",
            ended.stderr
        );
        let report = shop.windage(&["report", &shop.run, "--all"]).code(0);
        assert!(report.stdout.contains("Profiles"), "{}", report.stdout);
    }
}

#[test]
fn a_process_per_window_has_no_profile() {
    let shop = shop(PROFILER);
    let plan = PLAN.replace("'resident'", "'process'").replace(
        "exec 4<",
        "i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; exit; exec 4<",
    );
    shop.write("plan.toml", &plan);
    let analysis = run(&shop).code(0).analysis();
    let failure = profile(&analysis, "thrice").failure.as_ref().unwrap();
    assert!(failure.remedy.contains("resident"), "{failure:?}");
}

#[test]
fn an_interrupt_while_profiling_ends_the_run_at_once() {
    let shop = shop(&PROFILER.replace("sleep 0.5", "touch looking; sleep 60"));
    let mut going = shop.start(&["run", "plan.toml", "--out", &shop.run], &[]);
    let looking = shop.dir().join("looking");
    going.until("looked at", || looking.exists());
    send(&going, Signal::SIGINT);
    let ended = going.end().code(0);
    assert!(
        ended.stderr.contains("profiles were not finished"),
        "{}",
        ended.stderr
    );
    assert!(
        shop.of_run("report.html").exists(),
        "the run itself is complete"
    );
}
