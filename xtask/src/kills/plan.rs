//! The plans whose runs are killed. Each is measured in two short rounds, so that a kill in the
//! second has the first to lose.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A plan, and what is beside it in its folder.
pub(super) struct Plan {
    pub(super) name: &'static str,
    text: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Whether it needs the right to load BPF programs.
    pub(super) needs_bpf: bool,
}

pub(super) const PLANS: [Plan; 6] = [
    Plan::new("agents", AGENTS),
    Plan {
        files: &[("agent.py", BPF_AGENT)],
        needs_bpf: true,
        ..Plan::new("bpf-agents", BPF_AGENTS)
    },
    Plan::new("switches", SWITCHES),
    Plan::new("batch-process", BATCH_PROCESS),
    Plan::new("batch-resident", BATCH_RESIDENT),
    Plan::new("demo", DEMO),
];

impl Plan {
    const fn new(name: &'static str, text: &'static str) -> Plan {
        Plan {
            name,
            text,
            files: &[],
            needs_bpf: false,
        }
    }

    /// Writes it into a folder as `plan.toml`.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        for (name, text) in self.files.iter().chain([&("plan.toml", self.text)]) {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(())
    }
}

/// A service and an agent whose processes are hard to find: in another session, with a parent that
/// has ended, with an empty environment.
const AGENTS: &str = r#"
name = "agents"

[[service]]
name = "app"
command = ["/bin/sh", "-c", '''
setsid --fork setsid --fork sleep 301
env -i /bin/sh -c '(/bin/sleep 302 & /bin/sleep 303 &)'
exec "$@"
''', "app", "{windage}", "__demo-service", "--listen", "{listen}"]
ready = { http = "/healthz", within = "20s" }

[[agent]]
name = "watcher"
command = ["/bin/sh", "-c", '''
setsid --fork sleep 304
echo watching $1
trap 'exit 0' TERM
while :; do sleep 0.02; done
''', "watcher", "{app.pid}"]
ready = { log = "watching [0-9]+", within = "20s" }
stop = { signal = "TERM", within = "5s" }

[load]
model = "closed"
connections = 2
request = "GET http://{app}/orders/17?limit=10"

[[arm]]
name = "off"
baseline = true

[[arm]]
name = "watched"
agents = ["watcher"]

[design]
window = "20ms"
settle = "2ms"
rounds = 2
blocks = 2
warmup = "50ms"
drain = "50ms"
idle = "50ms"
agent_stretch = "100ms"
agent_warmup = "20ms"
bpf_statistics = "0s"
"#;

const BPF_AGENTS: &str = r#"
name = "bpf-agents"

[[service]]
name = "app"
command = ["{windage}", "__demo-service", "--listen", "{listen}"]
ready = { http = "/healthz", within = "20s" }

[[agent]]
name = "tracer"
command = ["python3", "agent.py"]
ready = { log = "^watching", within = "20s" }
stop = { signal = "INT", within = "5s" }
needs = ["bpf"]

[load]
model = "closed"
connections = 2
request = "GET http://{app}/orders/17?limit=10"

[[arm]]
name = "off"
baseline = true

[[arm]]
name = "watched"
agents = ["tracer"]

[design]
window = "20ms"
settle = "2ms"
rounds = 2
blocks = 2
warmup = "50ms"
drain = "50ms"
idle = "50ms"
agent_stretch = "60ms"
agent_warmup = "20ms"
bpf_statistics = "50ms"
"#;

/// Attaches a program that does nothing to every system call, by a link that ends with it.
const BPF_AGENT: &str = r#"
import ctypes, os, struct, time
LOAD, RAW_TRACEPOINT_OPEN, RAW_TRACEPOINT = 5, 17, 17
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
name = ctypes.create_string_buffer(b"sys_enter")
program = bpf(LOAD, struct.pack("<IIQQ", RAW_TRACEPOINT, 2, address(code), address(licence)))
link = bpf(RAW_TRACEPOINT_OPEN, struct.pack("<QI4x", address(name), program))
print("watching", flush=True)
time.sleep(60)
"#;

/// Arms that share a process: one is switched by a request, one by a command.
const SWITCHES: &str = r#"
name = "switches"

[[service]]
name = "app"
command = ["{windage}", "__demo-service", "--listen", "{listen}"]
ready = { http = "/healthz", within = "20s" }

[load]
model = "closed"
connections = 2
request = "GET http://{app}/orders/17?limit=10"

[[arm]]
name = "off"
baseline = true
instance = "one"
switch = [{ http = "GET http://{app}/healthz" }]

[[arm]]
name = "on"
instance = "one"
switch = ["echo {arm} >> switched"]

[design]
window = "20ms"
settle = "2ms"
rounds = 2
blocks = 5
warmup = "50ms"
drain = "50ms"
idle = "50ms"
"#;

const BATCH_PROCESS: &str = r#"
name = "batch-process"

[[service]]
name = "job"
command = ["/bin/sh", "-c", "i=0; while [ $i -lt $1 ]; do i=$((i+1)); done", "job"]

[load]
model = "batch"
batch = "process"

[[arm]]
name = "off"
baseline = true
args = { job = ["4000"] }

[[arm]]
name = "twice"
args = { job = ["8000"] }

[design]
rounds = 2
blocks = 12
drain = "10ms"
idle = "10ms"
"#;

const BATCH_RESIDENT: &str = r#"
name = "batch-resident"

[[service]]
name = "job"
command = ["/bin/sh", "-c", '''
exec 4<&"$WINDAGE_CONTROL_FD" 5>&"$WINDAGE_CONTROL_FD"
echo ready >&5
while read -r word times <&4; do
    done=0
    while [ $done -lt $times ]; do
        i=0
        while [ $i -lt $1 ]; do i=$((i+1)); done
        done=$((done+1))
    done
    echo "done $times" >&5
done
''', "job"]

[load]
model = "batch"
batch = "resident"
iterations = 5

[[arm]]
name = "off"
baseline = true
args = { job = ["1000"] }

[[arm]]
name = "twice"
args = { job = ["2000"] }

[design]
window = "20ms"
rounds = 2
block = "200ms"
blocks = 2
warmup = "50ms"
drain = "10ms"
idle = "10ms"
"#;

/// The service of `windage demo`, which exports spans to the receivers.
const DEMO: &str = r#"
name = "demo"

[[service]]
name = "app"
command = ["{windage}", "__demo-service", "--listen", "{listen}"]
ready = { http = "/orders/1", within = "20s" }
stop = { within = "10s" }

[load]
model = "open"
rate = "300/s"
connections = 4
request = "GET http://{app}/orders/17?limit=10"

[[arm]]
name = "off"
baseline = true

[[arm]]
name = "sdk"
args = { app = ["--telemetry", "otlp", "--endpoint", "{otlp_http}"] }
env = { OTEL_BSP_SCHEDULE_DELAY = "50", NO_PROXY = "127.0.0.1" }
expect = { traces_per_request = 1 }

[design]
window = "20ms"
settle = "2ms"
rounds = 2
block = "200ms"
blocks = 2
warmup = "50ms"
drain = "150ms"
idle = "50ms"
"#;
