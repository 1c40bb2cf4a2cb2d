//! What agents beside the process need: eBPF programs and the places to attach them.

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
        means: "agents can be started",
        means_without: "agents can't be started by this user; socket filters are no agents",
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
        means: "agents can watch functions of the kernel",
        means_without: "agents that watch functions of the kernel (most network agents) can't run",
    }
    .finding(seen)
}

pub(super) fn fentry(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::Fentry,
        id: "fentry",
        needed_for: NeededFor::Ability("agents with kernel trampolines"),
        without: Standing::Missing,
        means: "agents can watch functions of the kernel without the cost of a trap",
        means_without: "agents that watch functions of the kernel by trampolines (fentry, fexit) \
                        can't run; some use kernel probes instead",
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
        means: "agents can put trace contexts into the requests of what they watch",
        means_without: "agents that put trace contexts into the requests of what they watch can't, \
                        or don't load",
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
        means_without: "agents that look tracepoints up, or place probes by file, can't run; \
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
        means: "agents can watch the kernel's static probes",
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
        means: "agents can watch the kernel's static probes without copied arguments",
        means_without: "agents that use raw tracepoints can't run; some use others instead",
    }
    .finding(seen)
}

pub(super) fn btf(seen: &Seen) -> Finding {
    Offer {
        facility: Facility::Btf,
        id: "btf",
        needed_for: AGENTS,
        without: Standing::Limited,
        means: "agents find the kernel's types by themselves",
        means_without: "agents that are compiled once for all kernels can't run; those that bring \
                        or build their own types can",
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
        means_without: "nothing can be profiled by this user",
    }
    .finding(seen);
    let Some(value) = seen.host.perf_event_paranoid else {
        return finding;
    };
    let own_only = value > 0 && !seen.privileges.may_count_events();
    if finding.standing == Standing::Ok && own_only {
        finding.standing = Standing::Limited;
        finding.seen = format!("kernel.perf_event_paranoid={value}");
        finding.means = "a user's own processes can be profiled, the whole machine can't".into();
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
        means: "agents can sample by cycles",
        means_without: "agents that count or sample by cycles can't run; others sample by a clock",
    }
    .finding(seen)
}

/// A facility, and what it means to have it or not.
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
        let needed_for = NeededFor::Ability("the time of BPF programs");
        Finding::new("bpf_run_time", needed_for, standing, text, means)
    };
    match seen.bpf.run_time_statistics {
        None => new(
            Standing::Missing,
            "the kernel has no kernel.bpf_stats_enabled",
            "the time that BPF programs take can't be read",
        )
        .remedy("use Linux 5.1 or later with CONFIG_BPF_SYSCALL"),
        Some(true) => new(
            Standing::Limited,
            "kernel.bpf_stats_enabled=1",
            "each run of a BPF program takes two more clock reads: agents look dearer than they are",
        )
        .remedy("sysctl -w kernel.bpf_stats_enabled=0"),
        Some(false) if seen.privileges.may_administer() => new(
            Standing::Ok,
            "off, as it should be; can be switched on for windows of their own",
            "the time that BPF programs take can be read",
        ),
        Some(false) => new(
            Standing::Missing,
            "off, and may not be switched on",
            "the time that BPF programs take can't be read",
        )
        .remedy("run as root"),
    }
}
