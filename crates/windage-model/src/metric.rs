//! The metrics, their units and directions.

/// The unit of a metric's `baseline`, `arm` and `difference`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Microseconds.
    Microseconds,
    /// Events per second.
    PerSecond,
    /// Processor cores, kept busy on average.
    Cores,
    /// Bytes.
    Bytes,
    /// Bytes per hour.
    BytesPerHour,
    /// A plain count per hour, such as threads.
    PerHour,
    /// A plain count, such as page faults per request.
    One,
    /// A share of one, such as errors per request; shown in per cent.
    Share,
    /// Seconds.
    Seconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// The abbreviation used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Microseconds => "us",
            Unit::PerSecond => "1/s",
            Unit::Cores => "cores",
            Unit::Bytes => "bytes",
            Unit::BytesPerHour => "bytes/h",
            Unit::PerHour => "1/h",
            Unit::One | Unit::Share => "1",
            Unit::Seconds => "s",
            Unit::Nanoseconds => "ns",
        }
    }
}

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Less is better: time, CPU, memory.
    Lower,
    /// More is better: throughput.
    Higher,
}

impl Direction {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Lower => "lower",
            Direction::Higher => "higher",
        }
    }
}

macro_rules! metrics {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident = $name:literal, $label:literal, $unit:ident, $direction:ident;
    )+) => {
        /// What is measured of every arm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Metric { $($(#[doc = $doc])+ $variant,)+ }

        impl Metric {
            /// Every metric, in the order of reports.
            pub const ALL: &'static [Metric] = &[$(Metric::$variant,)+];

            /// The name used in plans, flags, files and reports.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Metric::$variant => $name,)+ }
            }

            /// Its name within a sentence.
            #[must_use]
            pub fn label(self) -> &'static str {
                match self { $(Metric::$variant => $label,)+ }
            }

            /// The unit of its figures.
            #[must_use]
            pub fn unit(self) -> Unit {
                match self { $(Metric::$variant => Unit::$unit,)+ }
            }

            /// Which direction is better.
            #[must_use]
            pub fn direction(self) -> Direction {
                match self { $(Metric::$variant => Direction::$direction,)+ }
            }

            /// A one-sentence description, for tooltips and `--help`.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Metric::$variant => concat!($($doc,)+).trim_ascii_start(),)+ }
            }

            /// The metric of that name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Metric> {
                match name { $($name => Some(Metric::$variant),)+ _ => None }
            }
        }
    };
}

impl Metric {
    /// Whether there is no ratio to the baseline, because its figure is or may be zero.
    #[must_use]
    pub fn has_no_ratio(self) -> bool {
        use Metric::{
            AgentAttachCpu, AgentAttachTime, AgentCpu, AgentCpuPerRequest, AgentDescriptorsGrowth,
            AgentRssGrowth, AgentRssPeak, AgentRssSteady, AgentThreadsGrowth, BpfNsPerRequest,
            BpfRunsPerRequest, ContextSwitchesPerRequest, CpuDeferred, CpuIdle, DescriptorsGrowth,
            ErrorsPerRequest, FlushCpu, FlushTime, KernelThreadsCpuPerRequest,
            PageFaultsPerRequest, RssGrowth, TelemetryLost, ThreadsGrowth, WireBytesPerRequest,
        };
        matches!(
            self,
            AgentAttachCpu
                | AgentAttachTime
                | AgentCpu
                | AgentCpuPerRequest
                | AgentDescriptorsGrowth
                | AgentRssGrowth
                | AgentRssPeak
                | AgentRssSteady
                | AgentThreadsGrowth
                | BpfNsPerRequest
                | BpfRunsPerRequest
                | ContextSwitchesPerRequest
                | CpuDeferred
                | CpuIdle
                | DescriptorsGrowth
                | ErrorsPerRequest
                | FlushCpu
                | FlushTime
                | KernelThreadsCpuPerRequest
                | PageFaultsPerRequest
                | RssGrowth
                | TelemetryLost
                | ThreadsGrowth
                | WireBytesPerRequest
        )
    }
}

metrics! {
    /// CPU that the subject uses per request: all CPU of a launch, deferred work and the idle CPU at
    /// the plan's rate included, divided by its requests.
    CpuPerRequest = "cpu_per_request", "CPU per request", Microseconds, Lower;
    /// The same figure from isolated windows, when `cpu_per_request` is from interleaved turns.
    CpuPerRequestIsolated = "cpu_per_request_isolated", "CPU per request, isolated", Microseconds, Lower;
    /// CPU of a typical request: 20 % trimmed mean of log ratios of isolated windows. Bursts, such as
    /// garbage collections, are trimmed.
    TypicalCpuPerRequest = "typical_cpu_per_request", "CPU of a typical request", Microseconds, Lower;
    /// The part of `cpu_per_request` that grows with requests: all CPU of a launch less idle CPU.
    CpuOfRequests = "cpu_of_requests", "CPU of requests", Microseconds, Lower;
    /// CPU that the subject uses during its own windows, per request.
    CpuInWindow = "cpu_in_window", "CPU in the window", Microseconds, Lower;
    /// CPU that the subject uses outside its own windows, less its idle CPU, per request.
    CpuDeferred = "cpu_deferred", "deferred CPU", Microseconds, Lower;
    /// CPU that the subject uses after a long time without requests.
    CpuIdle = "cpu_idle", "subject idle", Cores, Lower;
    /// Completed requests per second.
    Throughput = "throughput", "throughput", PerSecond, Higher;
    /// Response time (from the intended start), 10th percentile: a cost that every request pays, at
    /// the quantile least affected by noise.
    ResponseTimeP10 = "response_time_p10", "response time at p10", Microseconds, Lower;
    /// Response time (from the intended start), median.
    ResponseTimeP50 = "response_time_p50", "median response time", Microseconds, Lower;
    /// Response time (from the intended start), 90th percentile.
    ResponseTimeP90 = "response_time_p90", "response time at p90", Microseconds, Lower;
    /// Response time (from the intended start), 99th percentile.
    ResponseTimeP99 = "response_time_p99", "response time at p99", Microseconds, Lower;
    /// Response time (from the intended start), 99.9th percentile.
    ResponseTimeP999 = "response_time_p999", "response time at p99.9", Microseconds, Lower;
    /// Service time (from the actual send), 10th percentile: a cost that every request pays, at the
    /// quantile least affected by noise.
    ServiceTimeP10 = "service_time_p10", "service time at p10", Microseconds, Lower;
    /// Service time (from the actual send), median.
    ServiceTimeP50 = "service_time_p50", "median service time", Microseconds, Lower;
    /// Service time (from the actual send), 90th percentile.
    ServiceTimeP90 = "service_time_p90", "service time at p90", Microseconds, Lower;
    /// Service time (from the actual send), 99th percentile.
    ServiceTimeP99 = "service_time_p99", "service time at p99", Microseconds, Lower;
    /// Service time (from the actual send), 99.9th percentile.
    ServiceTimeP999 = "service_time_p999", "service time at p99.9", Microseconds, Lower;
    /// Busy CPU of the whole machine per request: service, generator, sink, kernel and the rest.
    MachineCpuPerRequest = "machine_cpu_per_request", "the machine's CPU per request", Microseconds, Lower;
    /// CPU that the load generator uses per request; an arm should not change it.
    GeneratorCpuPerRequest = "generator_cpu_per_request", "the generator's CPU per request", Microseconds, Lower;
    /// Resident memory of the subject under load, mean over windows.
    RssSteady = "rss_steady", "RSS, steady", Bytes, Lower;
    /// Highest resident memory of the subject from launch to end.
    RssPeak = "rss_peak", "RSS, peak", Bytes, Lower;
    /// How fast the subject's resident memory grows in the second half of launches of ten minutes and more.
    RssGrowth = "rss_growth", "RSS, growth", BytesPerHour, Lower;
    /// How many threads the subject has more per hour, in the second half of launches of ten minutes and more.
    ThreadsGrowth = "threads_growth", "growth of threads", PerHour, Lower;
    /// How many open file descriptors the subject has more per hour, in the second half of launches of ten
    /// minutes and more.
    DescriptorsGrowth = "descriptors_growth", "growth of open descriptors", PerHour, Lower;
    /// Proportional set size of the subject, read once per round.
    Pss = "pss", "PSS", Bytes, Lower;
    /// Share of requests that failed or got a status of 400 and above.
    ErrorsPerRequest = "errors_per_request", "errors per request", Share, Lower;
    /// How often a thread of the subject was given a core, per request.
    ContextSwitchesPerRequest = "context_switches_per_request", "context switches per request", One, Lower;
    /// Page faults of the subject, minor and major, per request.
    PageFaultsPerRequest = "page_faults_per_request", "page faults per request", One, Lower;
    /// Bytes of telemetry that the subject sent per request, as on the wire.
    WireBytesPerRequest = "wire_bytes_per_request", "wire bytes per request", Bytes, Lower;
    /// Share of the telemetry expected by the plan that did not arrive.
    TelemetryLost = "telemetry_lost", "telemetry lost", Share, Lower;
    /// From the launch of the service until it was ready.
    StartupTime = "startup_time", "start-up", Seconds, Lower;
    /// CPU of the subject from its launch until it was ready.
    StartupCpu = "startup_cpu", "start-up CPU", Seconds, Lower;
    /// Batch load: from the request to flush until everything buffered is sent.
    FlushTime = "flush_time", "flush", Seconds, Lower;
    /// Batch load: CPU of the subject during the flush.
    FlushCpu = "flush_cpu", "flush CPU", Seconds, Lower;
    /// Batch load: CPU that the subject uses per iteration, deferred work included.
    CpuPerIteration = "cpu_per_iteration", "CPU per iteration", Microseconds, Lower;
    /// The same figure from isolated windows, when `cpu_per_iteration` is from interleaved turns.
    CpuPerIterationIsolated = "cpu_per_iteration_isolated", "CPU per iteration, isolated", Microseconds, Lower;
    /// Batch load: elapsed time per iteration.
    WallPerIteration = "wall_per_iteration", "time per iteration", Microseconds, Lower;
    /// The arm's CPU overhead over the baseline, per span delivered.
    CpuPerSpan = "cpu_per_span", "CPU per span delivered", Microseconds, Lower;
    /// The arm's CPU overhead over the baseline, per span event delivered; includes the cost of the
    /// spans.
    CpuPerEvent = "cpu_per_event", "CPU per event delivered", Microseconds, Lower;
    /// The arm's CPU overhead over the baseline, per log record delivered; includes the cost of the
    /// spans.
    CpuPerRecord = "cpu_per_record", "CPU per log record delivered", Microseconds, Lower;
    /// CPU of the arm's agents in the arm's own windows.
    AgentCpu = "agent_cpu", "agent CPU", Cores, Lower;
    /// CPU of the arm's agents per request of the arm, without attaching, detaching and windows of
    /// bystanders.
    AgentCpuPerRequest = "agent_cpu_per_request", "agent CPU per request", Microseconds, Lower;
    /// CPU of the kernel's own threads per request.
    KernelThreadsCpuPerRequest = "kernel_threads_cpu_per_request", "kernel threads' CPU per request", Microseconds, Lower;
    /// Resident memory of the arm's agents under load.
    AgentRssSteady = "agent_rss_steady", "agent RSS, steady", Bytes, Lower;
    /// Highest resident memory of the arm's agents from start to end.
    AgentRssPeak = "agent_rss_peak", "agent RSS, peak", Bytes, Lower;
    /// How fast the resident memory of the arm's agents grows in the second half of attachments of ten
    /// minutes and more.
    AgentRssGrowth = "agent_rss_growth", "agent RSS, growth", BytesPerHour, Lower;
    /// How many threads the arm's agents have more per hour, in the second half of attachments of ten minutes
    /// and more.
    AgentThreadsGrowth = "agent_threads_growth", "growth of agents' threads", PerHour, Lower;
    /// How many open file descriptors the arm's agents have more per hour, in the second half of attachments
    /// of ten minutes and more.
    AgentDescriptorsGrowth = "agent_descriptors_growth", "growth of agents' open descriptors", PerHour, Lower;
    /// From the start of the arm's agents until they were ready.
    AgentAttachTime = "agent_attach_time", "attaching", Seconds, Lower;
    /// CPU of the arm's agents while they attach.
    AgentAttachCpu = "agent_attach_cpu", "attaching, CPU", Seconds, Lower;
    /// Time in the agents' BPF programs per request, as the kernel counts it; includes about one
    /// clock read per run, but not the cost of entering the programs.
    BpfNsPerRequest = "bpf_ns_per_request", "time in BPF per request", Nanoseconds, Lower;
    /// Runs of the agents' BPF programs per request.
    BpfRunsPerRequest = "bpf_runs_per_request", "BPF runs per request", One, Lower;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &metric in Metric::ALL {
            assert_eq!(Metric::from_name(metric.as_str()), Some(metric));
            assert!(metric.about().ends_with('.'), "{}", metric.as_str());
        }
        assert_eq!(Metric::from_name("latency"), None);
    }
}
