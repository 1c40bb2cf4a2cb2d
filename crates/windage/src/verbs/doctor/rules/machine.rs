//! The machine itself: how its nature and its present state affect figures.

use std::time::Duration;

use crate::verbs::doctor::facts::Seen;
use crate::verbs::doctor::finding::{Finding, NeededFor, Standing};

/// A share of all cores that other processes may use without a noticeable effect.
const BUSY_SHARE_QUIET: f64 = 0.15;
/// A share of stolen time that is noticeable in a window.
const STEAL_SHARE_FELT: f64 = 0.01;
/// A start may be this late without mattering for usual response times.
const LATE_P99_GOOD: Duration = Duration::from_millis(1);
/// Clock sources that are read without a system call.
const FAST_CLOCKS: [&str; 4] = [
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
];

pub(super) fn linux(seen: &Seen) -> Finding {
    let make = |standing, text: String| {
        let means = "Windage reads procfs and control groups, which only Linux has";
        Finding::new("linux", NeededFor::Measuring, standing, text, means)
    };
    if seen.os != "linux" {
        return make(Standing::Missing, seen.os.to_owned()).remedy("run Windage on Linux");
    }
    let kernel = seen.host.kernel.as_deref().unwrap_or("of unknown release");
    match &seen.host.os_release {
        Some(os) => make(Standing::Ok, format!("Linux {kernel} ({os})")),
        None => make(Standing::Ok, format!("Linux {kernel}")),
    }
}

pub(super) fn cores(seen: &Seen) -> Finding {
    let allowed = seen.cores_allowed;
    let online = seen.host.cpus_online.unwrap_or(allowed);
    let model = seen.host.cpu_model.iter().map(|model| format!(", {model}"));
    let of = if online > allowed {
        format!(" of {online}")
    } else {
        String::new()
    };
    let plural = if allowed == 1 && of.is_empty() {
        ""
    } else {
        "s"
    };
    let text = format!(
        "{allowed}{of} core{plural} usable{}",
        model.collect::<String>()
    );
    let finding = if allowed < 2 {
        let means = "the generator shares the core with the service, so throughput and response \
                     time include both; CPU per request is still separate";
        Finding::new(
            "cores",
            NeededFor::Precision,
            Standing::Limited,
            text,
            means,
        )
        .remedy("use a machine with two or more cores, or lift the limit on this process")
    } else {
        let means = "service and generator have separate cores";
        Finding::new("cores", NeededFor::Precision, Standing::Ok, text, means)
    };
    // Core counts are far below 2^53.
    finding
        .with("cores_allowed", allowed as f64)
        .with("cores_online", online as f64)
}

pub(super) fn load(seen: &Seen) -> Finding {
    let new = |standing, text: String, means| {
        Finding::new("load", NeededFor::Precision, standing, text, means)
    };
    let average = seen.host.load_average.map(|load| load.tasks_1min);
    let words = average.map_or(String::new(), |tasks| format!("; load average {tasks:.2}"));
    let unreadable = match &seen.sample {
        Ok(sample) => match sample.busy_cores {
            Some(busy) => return busy_now(seen, busy, sample.lasted, &words, average),
            None => "busy time can't be read",
        },
        Err(error) => error,
    };
    new(
        Standing::Limited,
        format!("{unreadable}{words}"),
        "it is unknown whether other processes disturb; the control arm shows it",
    )
    .remedy("make /proc/stat readable")
}

fn busy_now(
    seen: &Seen,
    busy_cores: f64,
    lasted: Duration,
    words: &str,
    average: Option<f64>,
) -> Finding {
    let cores = seen.host.cpus_online.unwrap_or(seen.cores_allowed).max(1) as f64;
    let seconds = lasted.as_secs_f64();
    let text = format!(
        "other processes keep {busy_cores:.2} of {cores} cores busy over {seconds:.1} s{words}"
    );
    let mut finding = if busy_cores / cores > BUSY_SHARE_QUIET {
        let means = "they take cores and caches from all arms alike: intervals get wider, and \
                     throughput and response time are those of a loaded machine";
        Finding::new("load", NeededFor::Precision, Standing::Limited, text, means)
            .remedy("stop programs that are not needed (see `top`), or measure later")
    } else {
        let means = "other processes hardly disturb";
        Finding::new("load", NeededFor::Precision, Standing::Ok, text, means)
    };
    finding = finding.with("busy_cores", busy_cores);
    match average {
        Some(tasks) => finding.with("load_average_1min", tasks),
        None => finding,
    }
}

pub(super) fn steal(seen: &Seen) -> Finding {
    let now = seen.sample.as_ref().ok().map(|sample| sample.steal);
    let shares = [(now, "now"), (seen.steal_since_boot, "since boot")];
    let words: Vec<String> = shares
        .iter()
        .filter_map(|(share, when)| Some(format!("{:.2} % {when}", (*share)? * 100.0)))
        .collect();
    let text = if words.is_empty() {
        "unknown".to_owned()
    } else {
        format!("the hypervisor takes {}", words.join(", "))
    };
    let worst = shares
        .iter()
        .filter_map(|(share, _)| *share)
        .reduce(f64::max);
    let mut finding = match worst {
        Some(share) if share <= STEAL_SHARE_FELT => {
            let means = "the hypervisor takes too little to matter";
            Finding::new("steal", NeededFor::Precision, Standing::Ok, text, means)
        }
        Some(_) => {
            let means = "windows with stolen time become suspect; many of them make the whole run \
                     suspect";
            Finding::new(
                "steal",
                NeededFor::Precision,
                Standing::Limited,
                text,
                means,
            )
            .remedy("use a machine with cores of its own, or measure longer")
        }
        None => {
            let means = "windows with stolen time are not recognized";
            Finding::new(
                "steal",
                NeededFor::Precision,
                Standing::Limited,
                text,
                means,
            )
            .remedy("make /proc/stat and /proc/uptime readable")
        }
    };
    if let Some(share) = now {
        finding = finding.with("steal_share_now", share);
    }
    match seen.steal_since_boot {
        Some(share) => finding.with("steal_share_since_boot", share),
        None => finding,
    }
}

pub(super) fn timer(seen: &Seen) -> Finding {
    let us = |duration: Duration| duration.as_secs_f64() * 1e6;
    let (p50, p99) = (us(seen.timer.p50), us(seen.timer.p99));
    let text = format!("sleeps of 1 ms end late by {p50:.0} µs (p50), {p99:.0} µs (p99)");
    let finding = if seen.timer.p99 <= LATE_P99_GOOD {
        let means = "an open loop keeps its schedule";
        Finding::new("timer", NeededFor::Precision, Standing::Ok, text, means)
    } else {
        let means = "requests of an open loop sometimes start that late; lateness of the generator \
                     itself is reported as send lag";
        Finding::new(
            "timer",
            NeededFor::Precision,
            Standing::Limited,
            text,
            means,
        )
        .remedy("give the generator a core that nothing else uses (`load.cpus`)")
    };
    finding.with("late_us_p50", p50).with("late_us_p99", p99)
}

pub(super) fn tick(seen: &Seen) -> Finding {
    let Some(hz) = seen.host.tick_hz.filter(|&hz| hz > 0) else {
        let means = "it is unknown how stale the CPU counters of a busy task are; they are read \
                     while the service sleeps, because windows end drained";
        return Finding::new(
            "tick",
            NeededFor::Precision,
            Standing::Limited,
            "CONFIG_HZ unknown",
            means,
        )
        .remedy("nothing to do; /proc/config.gz or /boot/config-* would show it");
    };
    // Ticks are 100 to 1000 per second.
    let tick_ms = 1000.0 / hz as f64;
    let text = format!("CONFIG_HZ={hz}: counters of a busy task are up to {tick_ms:.0} ms old");
    let means = "counters are exact, because they are read while the service sleeps; the split \
                     of user and system time needs 10 s or more";
    Finding::new("tick", NeededFor::Precision, Standing::Ok, text, means)
        .with("tick_hz", hz as f64)
        .with("counters_late_ms", tick_ms)
}

pub(super) fn clocksource(seen: &Seen) -> Finding {
    let (standing, name) = match seen.host.clocksource.as_deref() {
        Some(name) if FAST_CLOCKS.contains(&name) => (Standing::Ok, name),
        Some(name) => (Standing::Limited, name),
        None => (Standing::Limited, "unknown"),
    };
    let means = match standing {
        Standing::Ok => "reading the clock takes tens of nanoseconds, without a system call",
        _ => {
            "reading the clock may take a system call of about a microsecond, for the generator \
              and for every span that telemetry times"
        }
    };
    let finding = Finding::new("clocksource", NeededFor::Precision, standing, name, means)
        .with("clocksource", name);
    if standing == Standing::Ok {
        return finding;
    }
    finding.remedy(
        "see /sys/devices/system/clocksource/clocksource0/available_clocksource for a faster one",
    )
}

pub(super) fn frequency(seen: &Seen) -> Finding {
    let host = &seen.host;
    let mut governors = host.cpu_governors.clone();
    governors.sort();
    governors.dedup();
    let boost = match host.boost {
        Some(true) => ", boost on",
        Some(false) => ", boost off",
        None => "",
    };
    let new = |standing, text: String, means| {
        Finding::new("frequency", NeededFor::Precision, standing, text, means)
    };
    if governors.is_empty() {
        return new(
            Standing::Ok,
            format!("not controlled by this kernel{boost}"),
            "the clock may change unseen, but affects arms alike, because they alternate within 100 ms",
        );
    }
    let text = format!("governor {}{boost}", governors.join(", "));
    let finding = if governors == ["performance"] && host.boost != Some(true) {
        new(Standing::Ok, text, "the clock is steady")
    } else {
        let means = "the clock follows load and heat, but affects arms alike, because they \
                     alternate within 100 ms; don't compare absolute figures of different days";
        new(Standing::Limited, text, means)
            .remedy("for steadier figures: cpupower frequency-set -g performance, and boost off")
    };
    finding.with("governors", governors.join(","))
}

pub(super) fn aslr(seen: &Seen) -> Finding {
    let setting = seen.host.randomize_va_space;
    let text = setting.map_or("unknown".to_owned(), |value| {
        format!("kernel.randomize_va_space={value}")
    });
    let finding = if setting == Some(2) {
        let means = "each launch gets a new memory layout, so rounds average over its effect";
        Finding::new("aslr", NeededFor::Precision, Standing::Ok, text, means)
    } else {
        let means = "all launches share one memory layout, whose effect appears in the figures as \
                     overhead";
        Finding::new("aslr", NeededFor::Precision, Standing::Limited, text, means)
            .remedy("sysctl -w kernel.randomize_va_space=2")
    };
    match setting {
        // The setting is 0, 1 or 2.
        Some(value) => finding.with("randomize_va_space", value as f64),
        None => finding,
    }
}
