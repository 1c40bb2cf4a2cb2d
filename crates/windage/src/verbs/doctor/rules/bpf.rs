//! What agents need: eBPF programs, and places to attach them.

use windage_model::Facility;

use crate::verbs::doctor::facts::Seen;
use crate::verbs::doctor::finding::{Finding, NeededFor, Standing};

const AGENTS: NeededFor = NeededFor::Ability("eBPF agents");

pub(super) fn permission(seen: &Seen) -> Finding {
    let finding = Offer {
        facility: Facility::Bpf,
        id: "bpf",
        needed_for: AGENTS,
        without: Standing::Missing,
        means: "this user can start eBPF agents",
        means_without: "this user can't start eBPF agents (socket filters alone are not enough)",
    }
    .finding(seen);
    match seen.host.unprivileged_bpf_disabled {
        // The setting is 0, 1 or 2.
        Some(value) => finding.with("unprivileged_bpf_disabled", value as f64),
        None => finding,
    }
}

pub(super) fn kprobes(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::Kprobe,
        id: "kprobes",
        needed_for: NeededFor::Ability("agents with kernel probes"),
        without: Standing::Missing,
        means: "agents can watch kernel functions",
        means_without: "agents that watch kernel functions (most network agents) can't run",
    }
    .finding(seen)
}

pub(super) fn fentry(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::Fentry,
        id: "fentry",
        needed_for: NeededFor::Ability("agents with kernel trampolines"),
        without: Standing::Missing,
        means: "agents can watch kernel functions without the cost of a trap",
        means_without: "agents that watch kernel functions by trampolines (fentry, fexit) can't \
                        run; some use kernel probes instead",
    }
    .finding(seen)
}

pub(super) fn uprobes(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::Uprobe,
        id: "uprobes",
        needed_for: NeededFor::Ability("agents with user probes"),
        without: Standing::Missing,
        means: "agents can watch functions of programs, such as those of TLS libraries",
        means_without: "agents that watch functions of programs, such as those of TLS libraries, \
                        can't run",
    }
    .finding(seen)
}

pub(super) fn writing(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::ProbeWriteUser,
        id: "bpf_write_user",
        needed_for: NeededFor::Ability("agents that write to processes"),
        without: Standing::Missing,
        means: "agents can inject trace context into the requests of the services they watch",
        means_without: "agents that inject trace context into requests can't do so, or don't load",
    }
    .finding(seen)
}

pub(super) fn tracefs(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::Tracefs,
        id: "tracefs",
        needed_for: AGENTS,
        without: Standing::Limited,
        means: "agents find tracepoints",
        means_without: "agents that look up tracepoints, or attach probes through tracefs, can't run; \
                        others use perf_event_open(2)",
    }
    .finding(seen)
}

pub(super) fn tracepoints(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::Tracepoint,
        id: "tracepoints",
        needed_for: NeededFor::Ability("agents with tracepoints"),
        without: Standing::Missing,
        means: "agents can watch system calls and the scheduler",
        means_without: "agents that watch system calls and the scheduler by tracepoints can't run",
    }
    .finding(seen)
}

pub(super) fn raw_tracepoints(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::RawTracepoint,
        id: "raw_tracepoints",
        needed_for: NeededFor::Ability("agents with raw tracepoints"),
        without: Standing::Missing,
        means: "agents can use tracepoints without copying their arguments",
        means_without: "agents that use raw tracepoints can't run; some use ordinary tracepoints instead",
    }
    .finding(seen)
}

pub(super) fn btf(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::Btf,
        id: "btf",
        needed_for: AGENTS,
        without: Standing::Limited,
        means: "agents can read the kernel's types",
        means_without: "agents that are compiled once for all kernels (CO-RE) can't run; those that \
                        bring or build their own types can",
    }
    .finding(seen)
}

pub(super) fn perf_events(seen: &Seen) -> Finding {
    let mut finding = Offer {
        facility: Facility::PerfEvent,
        id: "perf_events",
        needed_for: NeededFor::Ability("agents that use perf events"),
        without: Standing::Missing,
        means: "profiling agents can run",
        means_without: "this user can't profile anything",
    }
    .finding(seen);
    let Some(value) = seen.host.perf_event_paranoid else {
        return finding;
    };
    let own_only = value > 0 && !seen.privileges.may_count_events();
    if finding.standing == Standing::Ok && own_only {
        finding.standing = Standing::Limited;
        finding.seen = format!("kernel.perf_event_paranoid={value}");
        finding.means = "this user can profile its own processes, but not the whole machine".into();
        finding = finding.remedy("run as root, or with CAP_PERFMON");
    }
    // The setting is a small number, -1 to 4.
    finding.with("perf_event_paranoid", value as f64)
}

pub(super) fn hardware_counters(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::HardwareCounters,
        id: "hardware_counters",
        needed_for: NeededFor::Ability("hardware counters"),
        without: Standing::Missing,
        means: "agents can count and sample cycles",
        means_without: "agents that count or sample cycles can't run; others sample by a clock",
    }
    .finding(seen)
}

/// A facility, and what it means to have or lack it.
struct Offer {
    facility: Facility,
    id: &'static str,
    needed_for: NeededFor,
    /// The standing without it.
    without: Standing,
    means: &'static str,
    means_without: &'static str,
}

impl Offer {
    fn finding(self, seen: &Seen) -> Finding {
        let Offer { id, needed_for, .. } = self;
        match seen.bpf.lack(self.facility) {
            None => Finding::new(id, needed_for, Standing::Ok, "available", self.means),
            Some(lack) => {
                Finding::new(id, needed_for, self.without, &*lack.why, self.means_without)
                    .remedy(&*lack.remedy)
            }
        }
    }
}

pub(super) fn run_time(seen: &Seen) -> Finding {
    let new = |standing, text, means| {
        let needed_for = NeededFor::Ability("BPF run-time figures");
        Finding::new("bpf_run_time", needed_for, standing, text, means)
    };
    match seen.bpf.run_time_statistics {
        None => new(
            Standing::Missing,
            "this kernel has no kernel.bpf_stats_enabled",
            "the run time of BPF programs can't be read",
        )
        .remedy("use Linux 5.1 or later with CONFIG_BPF_SYSCALL"),
        Some(true) => new(
            Standing::Limited,
            "kernel.bpf_stats_enabled=1",
            "every run of a BPF program adds two clock reads, so agents appear to cost more than they do",
        )
        .remedy("sysctl -w kernel.bpf_stats_enabled=0"),
        Some(false) if seen.privileges.may_administer() => new(
            Standing::Ok,
            "off, as it should be; Windage switches it on for separate windows",
            "the run time of BPF programs can be read",
        ),
        Some(false) => new(
            Standing::Missing,
            "off, and this user may not switch it on",
            "the run time of BPF programs can't be read",
        )
        .remedy("run as root"),
    }
}
