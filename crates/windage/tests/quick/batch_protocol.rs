//! The protocol of batch programs: what they send, and how violations are handled.

use windage_model::{ArmIndex, Phase, Soundness, Warning, WarningCode};
use windage_record::{Entry, Journal, RunDir};

use crate::contract;
use crate::workshop::Workshop;

/// An arm whose program misbehaves in the first launch, and one whose program never does.
const FATED: &str = r#"
name = 'fated'

[[service]]
name = 'job'
env = { FATE = 'fine', LAUNCH = '{launch}' }
ready = { within = '2s' }
stop = { within = '500ms' }
command = ['/bin/sh', '-c', '''
[ $LAUNCH = 0 ] || FATE=fine
exec 4<&"$WINDAGE_CONTROL_FD" 5>&"$WINDAGE_CONTROL_FD"
[ $FATE = leaves-at-once ] && { echo these are the last words; exit 3; }
[ $FATE = never-ready ] && sleep 60
echo "about shell sh" >&5
echo "about fate in $LAUNCH $FATE" >&5
echo "ready flush" >&5
asked=0
while read -r word times <&4; do
    if [ $word = flush ]; then
        [ $FATE = hangs ] && sleep 60
        echo flushed >&5
        continue
    fi
    asked=$((asked+1))
    [ $FATE = leaves ] && [ $asked -gt 2 ] && { echo these are the last words; exit 4; }
    i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done
    [ $FATE = twice ] && echo "done $times" >&5
    echo "done $times" >&5
done
''']

[[arm]]
name = 'off'
baseline = true

[[arm]]
name = 'fine'

[[arm]]
name = 'fated'
env = { FATE = 'THE FATE' }

[load]
model = 'batch'
batch = 'resident'
iterations = 2

[design]
rounds = 2
blocks = 2
# What is tested is what a program is asked in windows.
isolated = '100%'
window = '20ms'
warmup = '10ms'
drain = '10ms'
idle = '10ms'
on_death = 'THE POLICY'
"#;

fn fated(fate: &str, on_death: &str) -> String {
    FATED
        .replace("THE FATE", fate)
        .replace("THE POLICY", on_death)
}

/// All entries of a run's journal.
pub(crate) fn journal(shop: &Workshop) -> Vec<Entry> {
    let run = RunDir::open(shop.of_run("")).unwrap();
    let entries: Result<Vec<Entry>, _> = Journal::open(&run).unwrap().collect();
    entries.unwrap()
}

#[test]
fn the_other_arms_go_on_without_a_failing_program() {
    let table: [(&str, &str); 4] = [
        (
            "leaves-at-once",
            "exited with code 3 instead of saying `ready`",
        ),
        ("never-ready", "did not say `ready` within 2s"),
        // Read after the answer, or before the next request for iterations.
        ("twice", "said `done 2` "),
        ("leaves", "exited with code 4 instead of saying `done 2`"),
    ];
    for (fate, words) in table {
        let shop = Workshop::new();
        let plan = fated(fate, "continue");
        let plan = match fate {
            // It exits in its third window, so there must be no warm-up iterations before.
            "leaves" => plan.replace("warmup = '10ms'", "warmup = '0s'\nsettle = '0s'"),
            _ => plan,
        };
        shop.write("plan.toml", &plan);
        let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
        let ended = ended.code(0).says(&["fated is no longer measured", words]);
        if fate.starts_with("leaves") {
            assert!(ended.stderr.contains("these are the last words"), "{fate}");
        }
        let analysis = ended.json();
        contract::check(&analysis);
        assert!(contract::reasons(&analysis).contains(&"arm_died"), "{fate}");
        let windows = |launch: u32, arm: u16| {
            let of_arm = |entry: &&Entry| match entry {
                Entry::Window(window) => {
                    (window.place.launch, window.place.arm) == (launch, ArmIndex(arm))
                        && window.soundness() != Soundness::Void
                }
                _ => false,
            };
            journal(&shop).iter().filter(of_arm).count()
        };
        assert_eq!(
            (windows(0, 2), windows(1, 2)),
            (4, 4),
            "{fate}: the other arm goes on"
        );
        assert_eq!(windows(1, 3), 4, "{fate}: the next launch starts it again");
        let of_dead = windows(0, 3);
        assert_eq!(of_dead > 0, fate == "leaves", "{fate}: {of_dead}");
    }
}

#[test]
fn a_failing_program_ends_the_run_if_the_plan_asks_for_it() {
    let table = [
        ("leaves-at-once", "these are the last words"),
        ("never-ready", "did not say `ready` within 2s"),
        ("twice", "said `done 2` "),
        ("leaves", "exited with code 4"),
    ];
    for (fate, words) in table {
        let shop = Workshop::new();
        let ended = shop.start_plan(&fated(fate, "end")).end().code(5);
        ended.says(&["service `job` of arm `fated`", words]);
    }
}

#[test]
fn a_hanging_flush_is_a_warning_and_no_death() {
    let shop = Workshop::new();
    shop.write("plan.toml", &fated("hangs", "end"));
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let ended = ended.code(0).says(&["did not say `flushed` within 500ms"]);
    let analysis = ended.json();
    let reasons = contract::reasons(&analysis);
    assert!(reasons.contains(&"flush_incomplete"), "{reasons:?}");
    let entries = journal(&shop);
    let flushes: Vec<(u32, u16)> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Phase(spent) => {
                assert_eq!(spent.phase, Phase::Flush);
                assert!(spent.wall_ns > 0 && spent.cpu_ns.is_some(), "{spent:?}");
                Some((spent.launch, spent.arm.0))
            }
            _ => None,
        })
        .collect();
    // Every arm of both launches, except the one that hung.
    let expected: Vec<(u32, u16)> = (0..2)
        .flat_map(|launch| (0..4).map(move |arm| (launch, arm)))
        .filter(|place| *place != (0, 3))
        .collect();
    assert_eq!(flushes, expected);
}

#[test]
fn windows_flush_if_the_plan_asks_for_it() {
    // A launch has 2 blocks; each flush prints a line to the program's log.
    let flushes = |plan: &str| {
        let shop = Workshop::new();
        shop.start_plan(plan).end().code(0);
        let entries = journal(&shop);
        let windows = entries.iter().filter(|e| matches!(e, Entry::Window(_)));
        let logs = std::fs::read_dir(shop.of_run("logs")).unwrap();
        let logs: String = logs
            .map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap())
            .collect();
        (windows.count(), logs.matches("a flush").count())
    };
    let at_the_end = fated("fine", "end").replace("echo flushed", "echo a flush; echo flushed");
    let in_windows = at_the_end.replace("iterations = 2", "iterations = 2\nflush = 'window'");
    let (_, once) = flushes(&at_the_end);
    // Four programs (one is the control) in two launches.
    assert_eq!(once, 8);
    let (windows, more) = flushes(&in_windows);
    // After the settle time and at the end of each window, after each warm-up, and at the end of
    // each launch.
    assert_eq!(more, 2 * windows + 8 + 8);
}

#[test]
fn self_reports_are_recorded_once_per_launch() {
    let shop = Workshop::new();
    shop.write("plan.toml", &fated("fine", "end"));
    shop.windage(&["run", "plan.toml", "--out", &shop.run, "--quiet"])
        .code(0);
    let entries = journal(&shop);
    let reported = |name: &str| -> Vec<(u32, u16, String)> {
        let of_name = |entry: &Entry| match entry {
            Entry::SelfReport(report) if report.name == name => {
                Some((report.launch, report.arm.0, report.text.clone()))
            }
            _ => None,
        };
        entries.iter().filter_map(of_name).collect()
    };
    assert_eq!(reported("fate").len(), 8);
    assert_eq!(reported("fate")[7], (1, 3, "in 1 fine".to_owned()));
    // Every arm's environment has the same size, whatever its own variables.
    let bytes = reported("environment bytes");
    assert_eq!(bytes.len(), 8);
    assert!(
        bytes.iter().all(|(.., text)| *text == bytes[0].2),
        "{bytes:?}"
    );
    let (count, rest) = bytes[0].2.split_once(' ').unwrap();
    assert_eq!(
        (count.parse::<u64>().unwrap() % 4096, rest),
        (0, "with padding")
    );
    for entry in &entries {
        if let Entry::LaunchStarted(launch) = entry {
            for arm in &launch.arms {
                assert!(
                    arm.startup_ns > arm.startup_cpu_ns.filter(|ns| *ns > 0),
                    "{arm:?}"
                );
                // At least one set of the warm-up.
                assert!(arm.warmup_completed >= 2, "{arm:?}");
            }
        }
    }
}

/// A program that is one window, and that sends what the test wants about it.
fn telling(says: &str) -> (Workshop, i32) {
    let shop = Workshop::new();
    let plan = format!(
        "name = 'telling'\n\n[[service]]\nname = 'job'\ncommand = ['/bin/sh', '-c', '''\n\
         i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done\n{says}\n''']\n\n\
         [[arm]]\nname = 'off'\nbaseline = true\n\n[[arm]]\nname = 'on'\n\n\
         [load]\nmodel = 'batch'\niterations = 10\n\n\
         [design]\nrounds = 2\nblocks = 2\ndrain = '10ms'\nidle = '10ms'\n"
    );
    shop.write("plan.toml", &plan);
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    contract::check(&ended.json());
    let code = ended.status.code().unwrap();
    (shop, code)
}

#[test]
fn a_process_reports_its_phases() {
    let says = "exec 5>&$WINDAGE_CONTROL_FD\necho about shell sh >&5\necho phase setup 5000 4000 >&5\n\
                echo phase flush 30 20 >&5";
    let (shop, code) = telling(says);
    assert_eq!(code, 0);
    let entries = journal(&shop);
    let (mut windows, mut processes, mut phases, mut reports) = (0, 0, Vec::new(), 0);
    for entry in &entries {
        match entry {
            Entry::Window(window) => {
                windows += 1;
                assert!(
                    window
                        .warnings
                        .iter()
                        .all(|d| d.code() != WarningCode::ProtocolViolation)
                );
            }
            Entry::Process(times) => {
                processes += 1;
                assert!(times.user_ns + times.system_ns > 0, "{times:?}");
                assert!(times.wall_ns > 0, "{times:?}");
            }
            Entry::Phase(spent) => phases.push((spent.phase, spent.wall_ns, spent.cpu_ns)),
            Entry::SelfReport(about) if about.name == "shell" => reports += 1,
            _ => {}
        }
    }
    // Two rounds of two blocks, the baseline twice in each half.
    assert!(windows >= 24, "{windows}");
    assert_eq!(processes, windows);
    assert_eq!(phases.len(), 2 * windows);
    assert_eq!(phases[0], (Phase::Setup, 5000, Some(4000)));
    assert_eq!(phases[1], (Phase::Flush, 30, Some(20)));
    assert_eq!(reports, 2 * 3, "once per arm and launch");
}

#[test]
fn unexpected_lines_are_a_warning_for_the_window_and_no_death() {
    // More than any socket buffer holds; the writer must not block for long.
    let says = "exec 5>&$WINDAGE_CONTROL_FD\necho phase setup 5 4 >&5\necho 'hello' >&5\n\
                head -c 3000000 /dev/zero >&5";
    let (shop, code) = telling(says);
    assert_eq!(code, 0);
    let entries = journal(&shop);
    for entry in &entries {
        match entry {
            Entry::Window(window) => {
                let codes: Vec<WarningCode> = window.warnings.iter().map(Warning::code).collect();
                assert!(codes.contains(&WarningCode::ProtocolViolation), "{codes:?}");
                assert!(!codes.contains(&WarningCode::ServiceDied), "{codes:?}");
                assert_eq!(window.exchanges.completed, 10);
            }
            Entry::Phase(spent) => panic!("{spent:?} is not to be believed"),
            _ => {}
        }
    }
}
