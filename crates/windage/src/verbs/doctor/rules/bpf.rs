//! What agents beside the process need: eBPF programs and the places to attach them.

use crate::verbs::doctor::finding::{Finding, NeededFor, Standing};
use crate::verbs::doctor::seen::Seen;

const AGENTS: NeededFor = NeededFor::Ability("eBPF agents");

pub(super) fn permission(seen: &Seen) -> Finding {
    let setting = seen.host.unprivileged_bpf_disabled;
    let text = match setting {
        Some(value) => format!("kernel.unprivileged_bpf_disabled={value}"),
        None => "the kernel has no bpf(2)".to_owned(),
    };
    let new = |standing, text: String, means| Finding::new("bpf", AGENTS, standing, text, means);
    let finding = match setting {
        None => new(Standing::Missing, text, "no eBPF agent can run")
            .remedy("use a kernel with CONFIG_BPF_SYSCALL"),
        Some(_) if seen.privileges.may_load_bpf() => new(
            Standing::Ok,
            format!("programs may be loaded ({text})"),
            "agents can be started",
        ),
        Some(_) => new(
            Standing::Missing,
            format!("programs may not be loaded ({text})"),
            "agents can't be started by this user; socket filters are no agents",
        )
        .remedy("run as root, or with CAP_BPF and CAP_PERFMON"),
    };
    match setting {
        // The setting is 0, 1 or 2.
        Some(value) => finding.with("unprivileged_bpf_disabled", value as f64),
        None => finding,
    }
}

pub(super) fn kprobes(seen: &Seen) -> Finding {
    facility(
        "kprobes",
        NeededFor::Ability("agents with kernel probes"),
        seen.bpf.kprobe,
        "agents can watch functions of the kernel",
        "agents that watch functions of the kernel (most network agents) can't run",
        "use a kernel with CONFIG_KPROBE_EVENTS",
    )
}

pub(super) fn uprobes(seen: &Seen) -> Finding {
    facility(
        "uprobes",
        NeededFor::Ability("agents with user probes"),
        seen.bpf.uprobe,
        "agents can watch functions of programs, such as those of TLS libraries",
        "agents that watch functions of programs, such as those of TLS libraries, can't run",
        "use a kernel with CONFIG_UPROBE_EVENTS",
    )
}

pub(super) fn btf(seen: &Seen) -> Finding {
    if seen.bpf.btf {
        let means = "agents find the kernel's types by themselves";
        return Finding::new("btf", AGENTS, Standing::Ok, "available", means);
    }
    let means = "agents that are compiled once for all kernels can't run; those that bring or \
                 build their own types can";
    Finding::new(
        "btf",
        AGENTS,
        Standing::Limited,
        "not offered by this kernel",
        means,
    )
    .remedy("use a kernel with CONFIG_DEBUG_INFO_BTF")
}

fn facility(
    id: &'static str,
    needed_for: NeededFor,
    there: bool,
    means: &'static str,
    means_without: &'static str,
    remedy: &'static str,
) -> Finding {
    if there {
        Finding::new(id, needed_for, Standing::Ok, "available", means)
    } else {
        let text = "not offered by this kernel";
        Finding::new(id, needed_for, Standing::Missing, text, means_without).remedy(remedy)
    }
}

pub(super) fn tracefs(seen: &Seen) -> Finding {
    let new = |standing, text, means| Finding::new("tracefs", AGENTS, standing, text, means);
    if seen.bpf.tracefs_mounted {
        new(Standing::Ok, "mounted", "agents find tracepoints")
    } else {
        let means = "agents that look tracepoints up, or place probes by file, can't run; others \
                     use perf_event_open(2)";
        new(Standing::Limited, "not mounted", means)
            .remedy("mount -t tracefs tracefs /sys/kernel/tracing")
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

pub(super) fn perf_events(seen: &Seen) -> Finding {
    let new = |standing, text: String, means| {
        let needed_for = NeededFor::Ability("agents that use perf events");
        Finding::new("perf_events", needed_for, standing, text, means)
    };
    let Some(value) = seen.host.perf_event_paranoid else {
        return new(
            Standing::Missing,
            "the kernel has no perf_event_open(2)".to_owned(),
            "profiling agents and probes of eBPF agents can't run",
        )
        .remedy("use a kernel with CONFIG_PERF_EVENTS");
    };
    let text = format!("kernel.perf_event_paranoid={value}");
    let finding = if seen.privileges.may_count_events() {
        let text = format!("allowed by privilege ({text})");
        new(Standing::Ok, text, "profiling agents can run")
    } else if value <= 0 {
        new(Standing::Ok, text, "profiling agents can run")
    } else if value <= 2 {
        let means = "a user's own processes can be profiled, the whole machine can't";
        new(Standing::Limited, text, means).remedy("run as root, or with CAP_PERFMON")
    } else {
        let means = "nothing can be profiled by this user";
        new(Standing::Missing, text, means).remedy("run as root, or with CAP_PERFMON")
    };
    // The setting is a small number, -1 to 4.
    finding.with("perf_event_paranoid", value as f64)
}
