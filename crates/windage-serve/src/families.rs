//! Every exported family of series, with its kind, unit and meaning.

use std::collections::HashMap;

/// A set of series that differ only in their labels.
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
    /// Always 1; the labels hold the information.
    Info,
    /// Only grows during a run.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// The unit of a family's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number, or a unit given in a label.
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

    /// The unit of its values.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// How its values behave.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// One sentence of help, without its full stop.
    pub(crate) fn help(&self) -> &'static str {
        self.help.trim().trim_end_matches('.')
    }

    /// The name of its series in Prometheus.
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

/// The prefix of all names.
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
    /// 1 for the run's present state, 0 for the others.
    RUN_STATE = "run_state", Gauge, None;
    /// Rounds in the plan.
    ROUNDS_PLANNED = "rounds_planned", Gauge, None;
    /// Rounds begun so far.
    ROUNDS_BEGUN = "rounds_begun", Gauge, None;
    /// Blocks in the plan.
    BLOCKS_PLANNED = "blocks_planned", Gauge, None;
    /// Blocks that were measured.
    BLOCKS = "blocks", Counter, None;
    /// Measured windows, by validity.
    WINDOWS = "windows", Counter, None;
    /// Time inside measured windows.
    WINDOW_TIME = "window", Counter, Seconds;
    /// Requests (iterations of a batch load) completed in windows; those of turns are not counted.
    REQUESTS = "requests", Counter, None;
    /// Failed requests in windows by cause: without an answer, or with a status of 400 or above.
    FAILED = "requests_failed", Counter, None;
    /// Starts in windows for which no connection became free in time.
    DROPPED = "starts_dropped", Counter, None;
    /// CPU of the services in their arm's windows.
    SERVICE_CPU = "service_cpu", Counter, Seconds;
    /// Resident memory of the services at the end of their last window.
    SERVICE_MEMORY = "service_resident_memory", Gauge, Bytes;
    /// Completed requests per second in the last block that has the arm.
    BLOCK_RATE = "block_requests_per_second", Gauge, None;
    /// CPU per request of the services in the last block that has the arm.
    BLOCK_CPU = "block_service_cpu_per_request", Gauge, Seconds;
    /// CPU of the agents in the arm's windows, including a bystander's.
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
    /// From the stop signal to the agents until they were detached, in the last attachment that
    /// ended.
    DETACH_TIME = "agent_detach", Gauge, Seconds;
    /// BPF programs that the agents loaded in the last attachment that ended.
    BPF_PROGRAMS = "agent_bpf_programs", Gauge, None;
    /// BPF links that the agents created in the last attachment that ended.
    BPF_LINKS = "agent_bpf_links", Gauge, None;
    /// Memory of the agents' BPF programs and maps in the last attachment that ended.
    BPF_MEMORY = "agent_bpf_memory", Gauge, Bytes;
    /// Time per request in the agents' BPF programs, as counted by the kernel, in the last
    /// attachment that has it.
    BPF_TIME = "agent_bpf_run_per_request", Gauge, Seconds;
    /// BPF programs, links and processes that were left after their agents had ended.
    LEFT_BEHIND = "agent_left_behind", Counter, None;
    /// Busy CPU of the whole machine in windows of the arm.
    MACHINE_BUSY = "machine_busy", Counter, Seconds;
    /// Time in windows that the hypervisor took, summed over all cores.
    MACHINE_STEAL = "machine_steal", Counter, Seconds;
    /// Time in windows in which some task waited for a core (pressure).
    MACHINE_PRESSURE = "machine_cpu_pressure", Counter, Seconds;
    /// CPU of the kernel's own threads in windows of the arm.
    KERNEL_THREADS_CPU = "kernel_threads_cpu", Counter, Seconds;
    /// CPU of windage itself in windows, by part.
    OWN_CPU = "own_cpu", Counter, Seconds;
    /// Overhead of the arm relative to the baseline, as a share of the baseline.
    OVERHEAD = "overhead", Gauge, Ratio;
    /// Lower end of the 95 % interval of windage_overhead_ratio; without a stop in the plan it is
    /// valid at the planned end only.
    OVERHEAD_LOW = "overhead_low", Gauge, Ratio;
    /// Upper end of the 95 % interval of windage_overhead_ratio; without a stop in the plan it is
    /// valid at the planned end only.
    OVERHEAD_HIGH = "overhead_high", Gauge, Ratio;
    /// Overhead of the arm relative to the baseline, in the unit of the label.
    DIFFERENCE = "difference", Gauge, None;
    /// Lower end of the 95 % interval of windage_difference.
    DIFFERENCE_LOW = "difference_low", Gauge, None;
    /// Upper end of the 95 % interval of windage_difference.
    DIFFERENCE_HIGH = "difference_high", Gauge, None;
    /// Telemetry that the plan expects for the completed requests, in rounds that ended.
    EXPECTED = "telemetry_expected", Gauge, None;
    /// Telemetry delivered in rounds that ended.
    DELIVERED = "telemetry_delivered", Gauge, None;
    /// 1 for the run's validity, 0 for the other verdicts.
    VALIDITY = "validity", Gauge, None;
    /// 1 for each kind of warning about the run.
    WARNING = "warning", Gauge, None;
    /// When the estimates were computed, since 1970.
    ESTIMATED = "estimate_timestamp", Gauge, Seconds;
    /// How long the last read of the run directory took: new journal entries for counts, everything
    /// for estimates.
    READING = "metrics_reading", Gauge, Seconds;
}

/// One series and its value.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) family: &'static Family,
    pub(crate) labels: Labels,
    pub(crate) value: f64,
}

/// Names and values of labels; an empty value means no label.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// Collects samples; values that are not finite are left out.
#[derive(Debug, Default)]
pub(crate) struct Samples(pub(crate) Vec<Sample>);

impl Samples {
    /// In the order of the exposition, without empty families.
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

    /// One sample per word: 1 for the word that applies, 0 for the others.
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
    fn names_match_prometheus() {
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
    fn each_name_is_unique_and_explained() {
        let names: BTreeSet<String> = FAMILIES.iter().map(|f| f.series_name()).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for family in FAMILIES {
            assert!(family.help().len() > 10, "{}", family.stem());
            assert!(!family.help().contains('\n'), "{}", family.stem());
        }
    }
}
