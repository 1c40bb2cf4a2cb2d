//! Real BPF programs, attached by bpftrace: they are attached and counted, and none is left.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windage_analysis::wire;

use crate::in_kernel::{assert_gone, attached, can_attach};
use crate::measurements::arm;
use crate::skip::skip;
use crate::workshop::Workshop;
use crate::{alone, leftovers};

/// How soon no process of a run may be left.
const GONE_WITHIN: Duration = Duration::from_secs(10);

fn plan(agent: &str, turn: &str) -> String {
    format!(
        r#"
name = 'ebpf'

[[service]]
name    = 'web'
command = ['nginx', '-c', '{{dir}}/nginx.conf', '-p', '{{dir}}', '-e', 'stderr']
files   = [{{ template = 'nginx.conf', to = 'nginx.conf' }}]
ready   = {{ http = '/', within = '20s' }}

[[agent]]
name    = 'bpftrace'
command = {agent}
ready   = {{ log = '^watching', within = '20s' }}
stop    = {{ signal = 'INT', within = '10s' }}
needs   = ['bpf', 'uprobe']

[load]
model       = 'closed'
connections = 4
request     = 'GET http://{{web}}/'

[[arm]]
name     = 'nginx'
baseline = true

[[arm]]
name   = 'watched'
agents = ['bpftrace']

[[arm]]
name         = 'beside'
bystander_of = 'watched'

[design]
window         = '20ms'
rounds         = 2
for            = '1s'
agent_stretch  = '{turn}'
warmup         = '100ms'
drain          = '50ms'
idle           = '50ms'
agent_warmup   = '100ms'
bpf_statistics = '200ms'
"#
    )
}

/// Counts what all processes receive, at the function of the C library by which nginx reads a
/// request. The output of `BEGIN` appears when bpftrace reads its events, which is after it has
/// attached everything.
fn script() -> String {
    let library = c_library();
    format!("BEGIN {{ printf(\"watching\\n\"); }} uprobe:{library}:recv {{ @ = count(); }}")
}

/// The C library of this process, which is that of the machine's programs.
fn c_library() -> String {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut files = maps.lines().filter_map(|map| map.split_whitespace().nth(5));
    let is_library = |path: &&str| {
        let name = Path::new(path).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        name.starts_with("libc.so") || name.starts_with("libc-")
    };
    files.find(is_library).unwrap().to_owned()
}

fn bpftrace() -> String {
    format!("['bpftrace', '-e', '{}']", script())
}

fn shop(plan: &str) -> Workshop {
    let shop = Workshop::new();
    let template = crate::experiment("aa-nginx").join("nginx.conf");
    shop.write("nginx.conf", &fs::read_to_string(template).unwrap());
    shop.write("plan.toml", plan);
    shop
}

#[test]
fn programs_are_attached_timed_and_detached() {
    let _alone = alone();
    if !can_attach("programs_are_attached_timed_and_detached") {
        return;
    }
    let shop = shop(&plan(&bpftrace(), "300ms"));
    let before = attached(&shop.run);
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let analysis = ended.code(0).analysis();
    assert_gone(&shop.run, &before);
    let agent = arm(&analysis, "watched").agent.as_ref().unwrap();
    let counter = &agent.bpf.as_ref().unwrap().programs[0];
    assert_eq!(counter.kind, "kprobe", "{counter:#?}");
    // Each request is received, whatever else this machine receives.
    assert!(counter.runs_per_request > Some(0.9), "{counter:#?}");
    assert!(counter.ns_per_run > Some(0.0), "{counter:#?}");
    assert_eq!(agent.cycles.len(), 2);
    for cycle in &agent.cycles {
        assert!(cycle.attach_s > Some(0.0), "{cycle:#?}");
        for count in [cycle.statistics_requests, cycle.bpf_runs, cycle.bpf_run_ns] {
            assert!(count > Some(0), "{cycle:#?}");
        }
        assert!(cycle.left_behind.is_empty(), "{cycle:#?}");
    }
}

#[test]
fn killing_windage_leaves_no_program_and_no_agent() {
    let _alone = alone();
    if !can_attach("killing_windage_leaves_no_program_and_no_agent") {
        return;
    }
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let shop = shop(&plan(&bpftrace(), "3s"));
        let before = attached(&shop.run);
        let mut going = shop.start(&["run", "plan.toml", "--out", &shop.run], &[]);
        going.until("bpftrace has attached", || {
            let logs = shop.logs_of("bpftrace");
            logs.iter().any(|log| log.contains("watching"))
        });
        assert_ne!(attached(&shop.run), before);
        kill(Pid::from_raw(going.pid().cast_signed()), signal).unwrap();
        // `end` checks that no process is left.
        going.end();
        assert_gone(&shop.run, &before);
    }
}

#[test]
fn an_agents_child_in_another_session_is_counted_and_ended() {
    let _alone = alone();
    if !can_attach("what_an_agent_starts_in_a_session_of_its_own") {
        return;
    }
    let agent = format!(
        "['/bin/sh', '-c', '''
        setsid --fork bpftrace -e \"$1\" > words 2>&1
        until grep -q '^watching' words; do sleep 0.05; done
        rm words
        echo watching
        exec sleep 60
        ''', 'sh', '{}']",
        script()
    );
    let shop = shop(&plan(&agent, "300ms"));
    let before = attached(&shop.run);
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let analysis = ended.code(0).analysis();
    assert_gone(&shop.run, &before);
    let agent = arm(&analysis, "watched").agent.as_ref().unwrap();
    let counter = &agent.bpf.as_ref().unwrap().programs[0];
    assert!(counter.runs_per_request > Some(0.9), "{counter:#?}");
    for cycle in &agent.cycles {
        assert!(cycle.bpf_programs > Some(0), "{cycle:#?}");
        assert!(cycle.left_behind.is_empty(), "{cycle:#?}");
    }
}

/// Pins a program that does nothing under a name in `pins`, so that it outlives the agent.
const PINS_A_PROGRAM: &str = r#"
import ctypes, os, struct, time
LOAD, PIN, KPROBE = 5, 6, 2
SYSTEM_CALL = {"x86_64": 321, "aarch64": 280}[os.uname().machine]

def bpf(command, attributes):
    found = libc.syscall(SYSTEM_CALL, command, attributes, len(attributes))
    if found < 0:
        raise OSError(ctypes.get_errno(), "bpf()")
    return found

def address(of):
    return ctypes.cast(of, ctypes.c_void_p).value

libc = ctypes.CDLL(None, use_errno=True)
# r0 = 0; exit
code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xB7, 0, 0, 0, 0x95, 0, 0, 0))
licence = ctypes.create_string_buffer(b"GPL")
name = ctypes.create_string_buffer(b"pins/left")
program = bpf(LOAD, struct.pack("<IIQQ", KPROBE, 2, address(code), address(licence)))
bpf(PIN, struct.pack("<QI", address(name), program))
print("watching", flush=True)
time.sleep(60)
"#;

/// A BPF file system that only the run sees and that ends with it.
const WITH_PINS: &str = "mkdir pins && mount -t bpf bpf pins && exec \"$@\"";

#[test]
fn an_agent_that_leaves_a_program_behind_voids_the_run() {
    let _alone = alone();
    if !can_attach("an_agent_that_leaves_a_program_behind_voids_the_run") {
        return;
    }
    let pinning = plan("['python3', 'pins.py']", "300ms");
    assert_voided(&pinning, PINS_A_PROGRAM, &[]);
    // The agent's failure ends the run; leaving a program behind is graver and makes it void.
    let is_ready = "ready   = { log = '^watching', within = '20s' }";
    let hurried = pinning.replace(is_ready, "ready   = { log = '^watching', within = '2s' }");
    let never_ready = PINS_A_PROGRAM.replace("\"watching\"", "\"not yet\"");
    assert_voided(&hurried, &never_ready, &["was not ready within 2s"]);
}

/// Checks that a run with this agent is void because of the program that it left in the kernel, and
/// that its analysis says how the agent failed.
fn assert_voided(plan: &str, agent: &str, failed: &[&str]) {
    let shop = shop(plan);
    shop.write("pins.py", agent);
    let before = attached(&shop.run);
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", WITH_PINS, "sh"])
        .arg(env!("CARGO_BIN_EXE_windage"))
        .args(["run", "plan.toml", "--out", &shop.run, "--json"])
        .current_dir(shop.dir())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}");
    for part in [
        "watched",
        "left behind",
        "program",
        "void",
        "bpftool prog show",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let analyses = wire::read(&String::from_utf8(output.stdout).unwrap());
    let analysis = analyses.unwrap().remove(0);
    let validity = &analysis.under_first_load.validity;
    assert_eq!(validity.verdict, "void");
    let mut codes = validity.reasons.iter().map(|reason| reason.code.as_str());
    assert!(
        codes.any(|code| code == "agent_left_behind"),
        "{validity:#?}"
    );
    let agent = arm(&analysis, "watched").agent.as_ref().unwrap();
    let how = agent.cycles[0].failed.as_deref();
    assert_eq!(how.is_some(), !failed.is_empty(), "{how:?}");
    for words in failed {
        assert!(how.unwrap().contains(words), "{how:?}");
    }
    leftovers::assert_none(shop.dir(), &shop.run, GONE_WITHIN);
    assert_gone(&shop.run, &before);
}

#[test]
fn without_the_right_to_use_bpf_nothing_is_launched() {
    if !nix::unistd::geteuid().is_root() {
        return skip("without_the_right_to_use_bpf", "needs root, to give it up");
    }
    let shop = shop(&plan(&bpftrace(), "300ms"));
    // Everything must be accessible to an unprivileged user.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(shop.dir(), open).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_windage"))
        .args(["run", "plan.toml", "--out", &shop.run])
        .current_dir(shop.dir())
        .uid(65534)
        .gid(65534)
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            return skip(
                "without_the_right_to_use_bpf",
                &format!("another user can't run the binary: {error}"),
            );
        }
    };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{text}");
    for part in ["`bpftrace`", "`bpf`", "root"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!shop.of_run("logs").exists());
    leftovers::assert_none(shop.dir(), &shop.run, GONE_WITHIN);
}
