//! What happens while agents attach and detach: services of other arms continue or end, and an
//! agent that does not become ready leaves nothing behind.

use windage_record::{Entry, LaunchArmEnd};

use crate::batch_protocol::journal;
use crate::contract;
use crate::shell_agents::{cycles_of, noted, plan, run};
use crate::workshop::Workshop;

/// An arm with its own processes, in addition to those of the baseline.
const OTHER: &str = "[[arm]]\nname = 'other'\nenv = { OTHER = 'yes' }\n\n[design]";

/// An agent that needs some time to become ready.
const SLOW: &str = "sleep 0.4; echo watching $1; exec sleep 60";

#[test]
fn cpu_of_other_arms_while_attaching_counts_as_outside_their_windows() {
    let (shop, ended) = run(&plan(SLOW, "", "").replace("[design]", OTHER));
    let analysis = ended.code(0).analysis();
    let id = |index: usize| analysis.under_first_load.arms[index].id.as_str();
    let entries = journal(&shop);
    let attaching_ns: u64 = cycles_of(&entries)
        .iter()
        .map(|cycle| cycle.attach_ns)
        .sum();
    let at_end = ends_of(&entries).filter(|end| id(end.arm.get()) == "other");
    let outside_ns: u64 = at_end.map(|end| end.drain_ns).sum();
    assert!(attaching_ns > 0);
    assert!(
        outside_ns > attaching_ns,
        "{outside_ns} ns of {attaching_ns} ns of attaching are counted"
    );
}

/// The counters that were read for arms at the end of launches.
fn ends_of(entries: &[Entry]) -> impl Iterator<Item = &LaunchArmEnd> {
    let ends = entries.iter().filter_map(|entry| match entry {
        Entry::LaunchEnded(end) => Some(&end.arms),
        _ => None,
    });
    ends.flatten()
}

#[test]
fn a_service_of_another_arm_that_ends_while_attaching_drops_only_that_arm() {
    let script = "touch come; sleep 0.4; echo watching $1; exec sleep 60";
    let waits_for_it = "['/bin/sh', '-c', '''
        if [ -n \"$OTHER\" ]; then
            ( until [ -e come ]; do sleep 0.01; done; echo it has come; kill -9 $$ ) &
        fi
        exec \"$@\"
        ''', 'app', '{windage}'";
    let more = "[[arm]]\nname = 'fine'\nenv = { FINE = 'yes' }\n\n";
    let plan = plan(script, "", "on_death = 'continue'")
        .replace("['{windage}'", waits_for_it)
        .replace("[design]", &format!("{more}{OTHER}"))
        .replace("rounds = 2", "rounds = 1");
    let (_shop, ended) = run(&plan);
    let ended = ended.code(0).says(&["other", "killed by signal 9"]);
    let analysis = contract::checked(&ended);
    assert!(contract::reasons(&ended.json()).contains(&"arm_died"));
    let windows = |id| {
        let cpu = contract::arm(&analysis, id).metrics.get("cpu_per_request");
        cpu.map_or(0, |cpu| cpu.windows)
    };
    for id in ["watched", "fine", "control"] {
        assert!(windows(id) > windows("other"), "{id}");
    }
}

/// An agent that never gets ready. Its helper leaves its process group, and it notes helpers of
/// earlier attachments that are still alive.
const NEVER_READY: &str = "touch helpers
    while read -r pid; do
        grep -q sleep /proc/$pid/cmdline 2> /dev/null && echo $pid >> still-there
    done < helpers
    setsid sh -c 'read -r pid rest < /proc/self/stat; echo $pid >> helpers; exec sleep 61' &
    exec sleep 60";

#[test]
fn helpers_of_an_agent_that_never_gets_ready_end_before_the_next_window() {
    let second = "[[arm]]\nname = 'second'\nenv = { SECOND = 'yes' }\nagents = ['watcher']\n\n";
    let plan = plan(NEVER_READY, "", "on_death = 'continue'")
        .replace("[design]", &format!("{second}{OTHER}"))
        .replace("rounds = 2", "rounds = 1");
    let (shop, ended) = run(&plan);
    ended.code(0);
    assert_eq!(noted(&shop, "helpers").len(), 2, "one per arm");
    assert!(!shop.dir().join("still-there").exists());
    assert_failed_attachments(&shop, 2);
}

#[test]
fn an_agent_whose_failure_ends_the_run_is_recorded() {
    let (shop, ended) = run(&plan(NEVER_READY, "", ""));
    ended.code(5).says(&["watcher", "was not ready within 2s"]);
    assert_failed_attachments(&shop, 1);
}

/// Checks that this many attachments are recorded, all of agents that did not become ready.
fn assert_failed_attachments(shop: &Workshop, expected: usize) {
    let entries = journal(shop);
    let cycles = cycles_of(&entries);
    assert_eq!(cycles.len(), expected);
    for cycle in cycles {
        let failed = cycle.failed.as_deref().unwrap_or_default();
        assert!(failed.contains("was not ready within 2s"), "{failed}");
        assert!(cycle.left_behind.is_empty(), "{:?}", cycle.left_behind);
    }
}
