//! What there is to export: every family of series, with its kind, unit and meaning.

use std::collections::HashMap;

/// A set of series that differ in their labels alone.
#[derive(Debug)]
pub struct Family {
    name: &'static str,
    unit: Unit,
    kind: Kind,
    help: &'static str,
}

/// How values of a family behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Always 1; what it says stands in its labels.
    Info,
    /// Only grows while a run goes on.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// What values of a family are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number, or a unit that stands in a label.
    None,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share: 0.01 is one per cent.
    Ratio,
}

impl Unit {
    /// The suffix of names in OpenMetrics; `None` without a unit.
    #[must_use]
    pub fn suffix(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::Seconds => Some("seconds"),
            Unit::Bytes => Some("bytes"),
            Unit::Ratio => Some("ratio"),
        }
    }

    /// The abbreviation in OTLP (UCUM).
    pub(crate) fn ucum(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Seconds => "s",
            Unit::Bytes => "By",
            Unit::Ratio => "1",
        }
    }
}

impl Family {
    /// Its name without prefix and suffixes.
    pub(crate) fn stem(&self) -> &'static str {
        self.name
    }

    /// What it is counted in.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// How its values behave.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// One sentence of meaning, without its full stop.
    pub(crate) fn help(&self) -> &'static str {
        self.help.trim().trim_end_matches('.')
    }

    /// The name of its series as Prometheus shows them.
    #[must_use]
    pub fn series_name(&self) -> String {
        let unit = self.unit.suffix().map(|suffix| format!("_{suffix}"));
        let kind = match self.kind {
            Kind::Info => "_info",
            Kind::Counter => "_total",
            Kind::Gauge => "",
        };
        format!("{PREFIX}_{}{}{kind}", self.name, unit.unwrap_or_default())
    }
}

/// What all names begin with.
pub(crate) const PREFIX: &str = "windage";

macro_rules! families {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal, $kind:ident, $unit:ident;)+) => {
        $(
            $(#[doc = $doc])+
            pub(crate) const $constant: &Family = &Family {
                name: $name,
                unit: Unit::$unit,
                kind: Kind::$kind,
                help: concat!($($doc,)+),
            };
        )+

        /// Every family, in the order of the exposition.
        pub const FAMILIES: &[&Family] = &[$($constant,)+];
    };
}

families! {
    /// The run: its plan, its id and the version of windage that measures.
    RUN = "run", Info, None;
    /// An arm: its id, its name for people and its role.
    ARM = "arm", Info, None;
    /// When the run began, since 1970.
    RUN_STARTED = "run_start_timestamp", Gauge, Seconds;
    /// 1 for the state that the run is in, 0 for the others.
    RUN_STATE = "run_state", Gauge, None;
    /// Rounds that are planned.
    ROUNDS_PLANNED = "rounds_planned", Gauge, None;
    /// Rounds that were begun.
    ROUNDS_BEGUN = "rounds_begun", Gauge, None;
    /// Blocks that are planned.
    BLOCKS_PLANNED = "blocks_planned", Gauge, None;
    /// Blocks that were measured.
    BLOCKS = "blocks", Counter, None;
    /// Windows that were measured, by how far they may be believed.
    WINDOWS = "windows", Counter, None;
    /// Time inside measured windows.
    WINDOW_TIME = "window", Counter, Seconds;
    /// Requests (of a batch load iterations) that were completed in windows.
    REQUESTS = "requests", Counter, None;
    /// Requests in windows that failed, by cause: without an answer, or with a status of 400 and above.
    FAILED = "requests_failed", Counter, None;
    /// Starts in windows for which no connection came free in time.
    DROPPED = "starts_dropped", Counter, None;
    /// CPU of the services in windows of their arm.
    SERVICE_CPU = "service_cpu", Counter, Seconds;
    /// Resident memory of the services at the end of their last window.
    SERVICE_MEMORY = "service_resident_memory", Gauge, Bytes;
    /// Completed requests per second in the last block that has the arm.
    BLOCK_RATE = "block_requests_per_second", Gauge, None;
    /// CPU of the services for a request in the last block that has the arm.
    BLOCK_CPU = "block_service_cpu_per_request", Gauge, Seconds;
    /// CPU of the agents in windows of the arm, a bystander's included.
    AGENT_WINDOW_CPU = "agent_window_cpu", Counter, Seconds;
    /// CPU of the agents in attachments that ended, by phase.
    AGENT_CPU = "agent_cpu", Counter, Seconds;
    /// Resident memory of the agents at the end of the arm's last window.
    AGENT_MEMORY = "agent_resident_memory", Gauge, Bytes;
    /// Highest resident memory of the agents in the last attachment that ended.
    AGENT_MEMORY_PEAK = "agent_resident_memory_peak", Gauge, Bytes;
    /// Attachments of the arm's agents that ended.
    ATTACHMENTS = "agent_attachments", Counter, None;
    /// Attachments in which agents failed.
    ATTACHMENTS_FAILED = "agent_attachments_failed", Counter, None;
    /// From the start of the agents until they were ready, in the last attachment that ended.
    ATTACH_TIME = "agent_attach", Gauge, Seconds;
    /// From asking the agents to end until they were gone, in the last attachment that ended.
    DETACH_TIME = "agent_detach", Gauge, Seconds;
    /// BPF programs that came with the agents in the last attachment that ended.
    BPF_PROGRAMS = "agent_bpf_programs", Gauge, None;
    /// BPF links that came with the agents in the last attachment that ended.
    BPF_LINKS = "agent_bpf_links", Gauge, None;
    /// Memory of the agents' BPF programs and maps in the last attachment that ended.
    BPF_MEMORY = "agent_bpf_memory", Gauge, Bytes;
    /// Time in the agents' BPF programs for a request, by the kernel's own count in the last attachment that has it.
    BPF_TIME = "agent_bpf_run_per_request", Gauge, Seconds;
    /// BPF programs, links and processes that were still there when their agents were gone.
    LEFT_BEHIND = "agent_left_behind", Counter, None;
    /// Busy CPU of the whole machine in windows of the arm.
    MACHINE_BUSY = "machine_busy", Counter, Seconds;
    /// Time in windows that the hypervisor took away, of all cores together.
    MACHINE_STEAL = "machine_steal", Counter, Seconds;
    /// Time in windows that some task waited for a core (pressure).
    MACHINE_PRESSURE = "machine_cpu_pressure", Counter, Seconds;
    /// CPU of the kernel's own threads in windows of the arm.
    KERNEL_THREADS_CPU = "kernel_threads_cpu", Counter, Seconds;
    /// CPU of windage itself in windows, by part.
    OWN_CPU = "own_cpu", Counter, Seconds;
    /// What the arm differs by from the baseline, as a share of the baseline.
    OVERHEAD = "overhead", Gauge, Ratio;
    /// The lower end of the 95 % interval of windage_overhead_ratio; without a stop in the plan it holds at the planned end alone.
    OVERHEAD_LOW = "overhead_low", Gauge, Ratio;
    /// The upper end of the 95 % interval of windage_overhead_ratio; without a stop in the plan it holds at the planned end alone.
    OVERHEAD_HIGH = "overhead_high", Gauge, Ratio;
    /// What the arm differs by from the baseline, in the unit that the label names.
    DIFFERENCE = "difference", Gauge, None;
    /// The lower end of the 95 % interval of windage_difference.
    DIFFERENCE_LOW = "difference_low", Gauge, None;
    /// The upper end of the 95 % interval of windage_difference.
    DIFFERENCE_HIGH = "difference_high", Gauge, None;
    /// Telemetry that the plan expects for the requests that were completed, in rounds that ended.
    EXPECTED = "telemetry_expected", Gauge, None;
    /// Telemetry that was delivered in rounds that ended.
    DELIVERED = "telemetry_delivered", Gauge, None;
    /// 1 for how far the run may be believed, 0 for the other words.
    VALIDITY = "validity", Gauge, None;
    /// 1 for each kind of warning that speaks against the run.
    WARNING = "warning", Gauge, None;
    /// When the estimates were made, since 1970.
    ESTIMATED = "estimate_timestamp", Gauge, Seconds;
    /// How long the run directory was last read: for counts what was new in its journal, for estimates all of it.
    READING = "metrics_reading", Gauge, Seconds;
}

/// One series and its value.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) family: &'static Family,
    pub(crate) labels: Labels,
    pub(crate) value: f64,
}

/// Names and values of labels; an empty value is as good as no label.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// Collects samples; what is not finite is left out.
#[derive(Debug, Default)]
pub(crate) struct Samples(pub(crate) Vec<Sample>);

impl Samples {
    /// In the order of the exposition; without families that have none.
    pub(crate) fn by_family(&self) -> impl Iterator<Item = (&'static Family, Vec<&Sample>)> {
        let mut by_name: HashMap<&str, Vec<&Sample>> = HashMap::new();
        for sample in &self.0 {
            by_name.entry(sample.family.name).or_default().push(sample);
        }
        let own = move |family: &&'static Family| Some((*family, by_name.remove(family.name)?));
        FAMILIES.iter().filter_map(own)
    }

    pub(crate) fn put(
        &mut self,
        family: &'static Family,
        value: impl Into<Option<f64>>,
        labels: &[(&'static str, &str)],
    ) {
        let Some(value) = value.into().filter(|value: &f64| value.is_finite()) else {
            return;
        };
        let labels = labels.iter().filter(|(_, text)| !text.is_empty());
        self.0.push(Sample {
            family,
            labels: labels
                .map(|(name, text)| (*name, (*text).to_owned()))
                .collect(),
            value,
        });
    }

    /// One sample for each of some words: 1 for the word that holds, 0 for the others.
    pub(crate) fn put_state(
        &mut self,
        family: &'static Family,
        label: &'static str,
        words: &[&str],
        holds: &str,
        further: &[(&'static str, &str)],
    ) {
        for word in words {
            let labels = [further, &[(label, *word)]].concat();
            self.put(family, f64::from(u8::from(*word == holds)), &labels);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_what_prometheus_shows() {
        let table = [
            (RUN, "windage_run_info"),
            (SERVICE_CPU, "windage_service_cpu_seconds_total"),
            (BLOCKS, "windage_blocks_total"),
            (OVERHEAD, "windage_overhead_ratio"),
            (VALIDITY, "windage_validity"),
        ];
        for (family, name) in table {
            assert_eq!(family.series_name(), name);
        }
    }

    #[test]
    fn each_name_is_there_once_and_explained() {
        let names: BTreeSet<String> = FAMILIES.iter().map(|f| f.series_name()).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for family in FAMILIES {
            assert!(family.help().len() > 10, "{}", family.stem());
            assert!(!family.help().contains('\n'), "{}", family.stem());
        }
    }
}
