//! Warnings: reasons to distrust a window, a metric or a run, each with typed evidence.
//!
//! A warning is stored and passed on as a code and its evidence. The sentence that people read is
//! written by the report alone.

use std::collections::BTreeMap;

use crate::Soundness;

/// A piece of evidence, as files hold it.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// A figure; its unit is in the name.
    Number(f64),
    /// Text, such as a service's last log line.
    Text(String),
    /// Several texts, such as the ids of arms.
    List(Vec<String>),
}

/// Evidence by name.
pub type EvidenceMap = BTreeMap<String, Evidence>;

/// A type of evidence. `None` stands for evidence that is not there.
trait Fact: Sized {
    fn to_evidence(&self) -> Option<Evidence>;
    fn from_evidence(evidence: Option<&Evidence>) -> Option<Self>;
}

impl Fact for f64 {
    fn to_evidence(&self) -> Option<Evidence> {
        Some(Evidence::Number(*self))
    }

    fn from_evidence(evidence: Option<&Evidence>) -> Option<f64> {
        match evidence? {
            Evidence::Number(number) => Some(*number),
            Evidence::Text(_) | Evidence::List(_) => None,
        }
    }
}

impl Fact for u64 {
    fn to_evidence(&self) -> Option<Evidence> {
        Some(Evidence::Number(*self as f64))
    }

    fn from_evidence(evidence: Option<&Evidence>) -> Option<u64> {
        let number = f64::from_evidence(evidence)?;
        (number >= 0.0).then_some(number as u64)
    }
}

impl Fact for String {
    fn to_evidence(&self) -> Option<Evidence> {
        Some(Evidence::Text(self.clone()))
    }

    fn from_evidence(evidence: Option<&Evidence>) -> Option<String> {
        match evidence? {
            Evidence::Text(text) => Some(text.clone()),
            Evidence::Number(_) | Evidence::List(_) => None,
        }
    }
}

impl Fact for Vec<String> {
    fn to_evidence(&self) -> Option<Evidence> {
        Some(Evidence::List(self.clone()))
    }

    fn from_evidence(evidence: Option<&Evidence>) -> Option<Vec<String>> {
        match evidence? {
            Evidence::List(list) => Some(list.clone()),
            Evidence::Number(_) | Evidence::Text(_) => None,
        }
    }
}

impl<T: Fact> Fact for Option<T> {
    fn to_evidence(&self) -> Option<Evidence> {
        self.as_ref()?.to_evidence()
    }

    fn from_evidence(evidence: Option<&Evidence>) -> Option<Option<T>> {
        match evidence {
            None => Some(None),
            some => T::from_evidence(some).map(Some),
        }
    }
}

/// Kinds that are stored as a word.
macro_rules! words {
    ($($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $of:literal])+ $variant:ident = $word:literal,)+ })+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $name { $($(#[doc = $of])+ $variant,)+ }

            impl $name {
                /// The word used in files.
                #[must_use]
                pub fn as_str(self) -> &'static str {
                    match self { $($name::$variant => $word,)+ }
                }
            }

            impl Fact for $name {
                fn to_evidence(&self) -> Option<Evidence> {
                    Some(Evidence::Text(self.as_str().to_owned()))
                }

                fn from_evidence(evidence: Option<&Evidence>) -> Option<$name> {
                    match evidence? {
                        Evidence::Text(word) => match word.as_str() {
                            $($word => Some($name::$variant),)+
                            _ => None,
                        },
                        _ => None,
                    }
                }
            }
        )+
    };
}

words! {
    /// Why the generator sent late.
    LagCause {
        /// It was busy all the time.
        Busy = "busy",
        /// The hypervisor took the processor away.
        Steal = "steal",
        /// It waited for a core that others used.
        RunQueue = "run_queue",
        /// It slept, and was woken up late.
        LateWakeup = "late_wakeup",
    }
    /// Whether the subject kept its cores busy.
    SubjectLoad {
        /// It did.
        Busy = "busy",
        /// It had CPU to spare.
        Spare = "spare",
        /// Its CPU is unknown.
        Unknown = "unknown",
    }
    /// What kept an open loop below its rate.
    Bottleneck {
        /// The generator was late.
        Generator = "generator",
        /// The subject kept its cores busy.
        Subject = "subject",
        /// Most of the missing requests failed.
        Errors = "errors",
        /// All connections were in use.
        Connections = "connections",
        /// No bottleneck was hit; answers just take long.
        AnswerTime = "answer time",
    }
    /// How attachments of an agent were idle.
    IdleAgent {
        /// The agent loaded no program.
        WithoutPrograms = "without_programs",
        /// No program ran, though there were requests.
        WithoutRuns = "without_runs",
        /// Some attachments of either kind.
        Either = "either",
    }
    /// Over what a difference drifts.
    DriftOver {
        /// From the beginning of a launch to its end.
        Launch = "launch",
        /// From the first launch to the last.
        Run = "run",
    }
    /// How an incomplete run ended.
    IncompleteEnding {
        /// It was interrupted.
        Interrupted = "interrupted",
        /// It could not continue.
        Died = "died",
        /// Its end is not recorded.
        Unrecorded = "unrecorded",
    }
    /// Where most of lost telemetry went.
    LossCause {
        /// The subject reported that it dropped it.
        Reported = "reported",
        /// The backend refused it.
        Refused = "refused",
        /// It is unknown.
        Unexplained = "unexplained",
    }
}

macro_rules! warnings {
    ($($(#[doc = $doc:literal])+ $variant:ident $({ $($field:ident: $type:ty),+ $(,)? })? = $name:literal, $soundness:ident;)+) => {
        /// One reason to distrust a result. Evidence has its unit in its name; `docs/FORMAT.md`
        /// describes each.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "docs/FORMAT.md describes the evidence")]
        pub enum Warning { $($(#[doc = $doc])+ $variant $({ $($field: $type),+ })?,)+ }

        /// The kinds of warning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum WarningCode { $($(#[doc = $doc])+ $variant,)+ }

        impl WarningCode {
            /// Every code.
            pub const ALL: &'static [WarningCode] = &[$(WarningCode::$variant,)+];

            /// The code used in files.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(WarningCode::$variant => $name,)+ }
            }

            /// The effect of the warning on what it is about.
            #[must_use]
            pub fn soundness(self) -> Soundness {
                match self { $(WarningCode::$variant => Soundness::$soundness,)+ }
            }

            /// The code of that name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<WarningCode> {
                match name { $($name => Some(WarningCode::$variant),)+ _ => None }
            }
        }

        impl Warning {
            /// Its kind.
            #[must_use]
            pub fn code(&self) -> WarningCode {
                match self { $(Warning::$variant { .. } => WarningCode::$variant,)+ }
            }

            /// The evidence by name, without what is unknown.
            #[must_use]
            pub fn evidence(&self) -> EvidenceMap {
                match self {
                    $(Warning::$variant $({ $($field),+ })? => {
                        let known = [$($((stringify!($field), $field.to_evidence()),)+)?];
                        let known: &[(&str, Option<Evidence>)] = &known;
                        let some = |(name, evidence): &(&str, Option<Evidence>)| {
                            Some(((*name).to_owned(), evidence.clone()?))
                        };
                        known.iter().filter_map(some).collect()
                    })+
                }
            }

            /// The warning of that kind with that evidence; `None` when some is missing or of
            /// another type. Further evidence is ignored.
            #[must_use]
            pub fn from_evidence(code: WarningCode, evidence: &EvidenceMap) -> Option<Warning> {
                let _ = evidence;
                match code {
                    $(WarningCode::$variant => Some(Warning::$variant $({
                        $($field: Fact::from_evidence(evidence.get(stringify!($field)))?),+
                    })?),)+
                }
            }
        }
    };
}

warnings! {
    /// Requests were sent later than intended, by more than the window tolerates.
    SendLag {
        cause: LagCause,
        send_lag_us_p99: f64,
        send_lag_us_max: f64,
        steal_us: Option<f64>,
        generator_cores: f64,
        generator_preemptions: Option<u64>,
        generator_run_queue_us: Option<f64>,
        longest_stall_us: Option<f64>,
    } = "send_lag", Suspect;
    /// The generator used most of its core: it may have been the bottleneck.
    GeneratorSaturated {
        subject: SubjectLoad,
        subject_cores: Option<f64>,
        generator_threads: u64,
        generator_cores: f64,
        generator_preemptions: Option<u64>,
        generator_run_queue_us: Option<f64>,
        longest_stall_us: Option<f64>,
    } = "generator_saturated", Suspect;
    /// In a closed loop the generator waited for a core: it sent more slowly than it could, and
    /// answers waited for it.
    GeneratorStarved {
        generator_threads: u64,
        generator_run_queue_us: f64,
        window_us: f64,
        generator_preemptions: Option<u64>,
    } = "generator_starved", Suspect;
    /// Intended starts were dropped: no free connection before the window ended.
    Dropped { dropped: u64, intended: u64, connections: u64 } = "dropped", Suspect;
    /// Starts waited for a connection: the limit on connections shaped the load.
    ConnectionsBusy { waited: u64, intended: u64, connections: u64 } = "connections_busy", Suspect;
    /// The hypervisor took the processor away.
    Steal { steal_ns: u64, window_ns: u64 } = "steal", Suspect;
    /// Another arm used CPU in this window.
    OtherArmActive { others_cpu_ns: u64, own_cpu_ns: u64 } = "other_arm_active", Suspect;
    /// Programs outside the run used CPU that arms or the generator may have needed.
    OutsideLoad {
        cores: f64,
        pinned_core: Option<u64>,
        programs: Vec<String>,
    } = "outside_load", Suspect;
    /// Processes of an arm came or went while its CPU was read by process.
    ProcessesChanged { appeared: u64, ended: u64 } = "processes_changed", Suspect;
    /// The kernel held a subject back because it had reached its CPU limit.
    Throttled { throttled_us: f64, stretch_us: f64 } = "throttled", Suspect;
    /// The machine was suspended.
    Suspended { seconds: f64 } = "suspended", Void;
    /// The wall clock, by which spans are timed, was set.
    ClockStepped { step_s: f64 } = "clock_stepped", Suspect;
    /// Some requests of a window failed or got an error status.
    Errors {
        failed: u64,
        sent: u64,
        connect_errors: Option<u64>,
        timeouts: Option<u64>,
        closed: Option<u64>,
        protocol_errors: Option<u64>,
        answers_4xx: Option<u64>,
        answers_5xx: Option<u64>,
    } = "errors", Suspect;
    /// Some requests to an arm failed or got an error status, over the run.
    ArmErrors { arm: String, failed: u64, sent: u64 } = "arm_errors", Suspect;
    /// Every request failed or got an error status.
    OnlyErrors { answers: u64, answers_4xx: u64, answers_5xx: u64 } = "only_errors", Void;
    /// Every answer of an arm had an error status, in a whole round: the run ended there.
    ServiceErrors {
        arms: Vec<String>,
        answers: u64,
        answers_4xx: u64,
        answers_5xx: u64,
        answer: Option<String>,
        last_words: String,
    } = "service_errors", Void;
    /// No request was completed in the window.
    NothingCompleted {
        sent: u64,
        timeouts: u64,
        connect_errors: u64,
        closed: u64,
        protocol_errors: u64,
    } = "nothing_completed", Void;
    /// A service of the arm died.
    ServiceDied { service: String, whose: String, how: String } = "service_died", Void;
    /// An agent ended while it should have been attached.
    AgentDied { agent: String, whose: String, how: String } = "agent_died", Void;
    /// BPF programs, links or processes of an agent were left after it was detached: windows
    /// measured without the agent were not free of it.
    AgentLeftBehind {
        arm: String,
        attachment: u64,
        launch: u64,
        block: u64,
        attachments_that_left_some: u64,
        objects: Vec<String>,
    } = "agent_left_behind", Void;
    /// The kernel does not allow listing BPF programs: it is unknown whether agents were detached.
    DetachUnverified {
        arm: String,
        attachments: u64,
        attachments_unknown: u64,
    } = "detach_unverified", Suspect;
    /// BPF programs ran before the run began that no process holds: all arms pay for them.
    BpfLeftBehind { objects: Vec<String>, commands: Vec<String> } = "bpf_left_behind", Suspect;
    /// No BPF program came with an agent, or none of them ever ran: it may have found no target.
    AgentIdle {
        arm: String,
        attachments: u64,
        attachments_idle: u64,
        idle: IdleAgent,
    } = "agent_idle", Suspect;
    /// Agents of an arm failed in some attachments; the run relies on the others.
    AgentsFailed {
        arm: String,
        attachments: u64,
        failed: u64,
        first_failure: String,
    } = "agents_failed", Suspect;
    /// Agents were attached so few times that the intervals of what they use are wide.
    FewAttachments { arm: String, attachments: u64 } = "few_attachments", Suspect;
    /// The kernel timed BPF programs in all windows, because someone else switched that on.
    BpfStatisticsAlwaysOn { bpf_stats_enabled: u64 } = "bpf_statistics_always_on", Suspect;
    /// A batch program broke the protocol on its control descriptor.
    ProtocolViolation { message: String } = "protocol_violation", Suspect;
    /// A command that should have switched the service to the arm failed.
    SwitchFailed { how: String } = "switch_failed", Void;
    /// The CPU counter did not move, went backwards or could not be read.
    CpuUnreadable = "cpu_unreadable", Suspect;
    /// A service of an arm died; the arm was not measured further in that round.
    ArmDied {
        arms: Vec<String>,
        service: String,
        whose: String,
        how: String,
        last_words: String,
    } = "arm_died", Suspect;
    /// A single round: launch luck can't be distinguished from overhead.
    SingleRound = "single_round", Suspect;
    /// Too few rounds: the interval is wide for that reason alone.
    FewRounds { rounds: u64 } = "few_rounds", Suspect;
    /// The A/A control differs from the baseline: something other than telemetry differs too.
    ControlDiffers {
        relative_low: f64,
        relative_high: f64,
        confidence: f64,
    } = "control_differs", Suspect;
    /// The baseline costs another amount while the heaviest arm takes turns with it.
    ArmsInterfere { relative_low: f64, relative_high: f64 } = "arms_interfere", Suspect;
    /// Changeovers between arms are another share of an arm's CPU than of the baseline's.
    CarryOver {
        relative_low: f64,
        relative_high: f64,
        confidence: f64,
    } = "carry_over", Suspect;
    /// Turns and isolated windows give different effects.
    MeasuresDisagree {
        relative_low: f64,
        relative_high: f64,
        confidence: f64,
    } = "measures_disagree", Suspect;
    /// Arms were measured one after another: drift looks like overhead.
    SequentialOrder = "sequential_order", Suspect;
    /// Too many windows are void or suspect.
    ManyBadWindows { windows_with_warnings: u64, windows: u64 } = "many_bad_windows", Suspect;
    /// No usable window of the baseline, of the control or of any treatment.
    ArmVoid { arms: Vec<String> } = "arm_void", Void;
    /// No usable window of some treatments; the others stand.
    ArmMissing { arms: Vec<String> } = "arm_missing", Suspect;
    /// The run ended before its plan did.
    RunIncomplete {
        ending: IncompleteEnding,
        reason: Option<String>,
    } = "run_incomplete", Suspect;
    /// The end of the journal was damaged and cut off.
    JournalCut { cut_bytes: u64 } = "journal_cut", Suspect;
    /// Records before the end of the journal were damaged; the blocks that they are a part of were
    /// left out.
    JournalDamaged {
        damaged_bytes: u64,
        blocks_lost: u64,
        blocks: Vec<String>,
    } = "journal_damaged", Suspect;
    /// Lines of the histogram logs could not be read; the times of their windows were left out.
    HistogramsDamaged {
        damaged_bytes: u64,
        lines_lost: u64,
        files: Vec<String>,
    } = "histograms_damaged", Suspect;
    /// An open loop did not reach its rate in a window.
    RateNotReached {
        bottleneck: Bottleneck,
        subject: SubjectLoad,
        cause: Option<LagCause>,
        intended_per_s: f64,
        achieved_per_s: f64,
        overrun_us: f64,
        window_us: f64,
        waited: u64,
        connections: u64,
        steal_us: Option<f64>,
        generator_run_queue_us: Option<f64>,
        service_time_us_p50: Option<f64>,
    } = "rate_not_reached", Suspect;
    /// Some starts of an open loop were not completed, over the run.
    StartsNotCompleted {
        intended: u64,
        completed: u64,
        bottleneck: Option<Bottleneck>,
    } = "starts_not_completed", Suspect;
    /// Telemetry was lost, beyond what sampling explains.
    TelemetryLost {
        arm: String,
        of: String,
        expected: f64,
        delivered: u64,
        lost: f64,
        reasons: Option<Vec<String>>,
        reported_beyond_lost: Option<f64>,
        not_understood: u64,
        largest: LossCause,
    } = "telemetry_lost", Suspect;
    /// More telemetry arrived than the plan expects, beyond what sampling explains.
    UnexpectedTelemetry {
        arm: String,
        of: String,
        expected: f64,
        delivered: u64,
    } = "unexpected_telemetry", Suspect;
    /// Traces have another number of spans than the plan expects.
    UnexpectedSpans {
        arm: String,
        expected_spans_per_trace: f64,
        spans_per_trace: f64,
    } = "unexpected_spans", Suspect;
    /// A batch program did not finish its last flush.
    FlushIncomplete {
        arm: String,
        service: String,
        whose: String,
        how: String,
        last_words: String,
    } = "flush_incomplete", Suspect;
    /// A service wrote so much into its log that the middle of it was left out.
    LogCut {
        service: String,
        arms: Vec<String>,
        left_out_bytes: u64,
        limit_bytes: u64,
    } = "log_cut", Suspect;
    /// Metrics could not be scraped, so that what a scrape costs is in part missing.
    ScrapesFailed {
        arm: String,
        service: String,
        failed: u64,
        scrapes: u64,
        reason: String,
    } = "scrapes_failed", Suspect;
    /// CPU was still being used when the deferred cost was read.
    NotDrained { idle_cores: f64, baseline_idle_cores: f64 } = "not_drained", Suspect;
    /// Most of the error of an arm's cost is from readings of idle CPU that differ between launches.
    IdleUncertain {
        idle_s: f64,
        idle_cores_low: f64,
        idle_cores_high: f64,
        half_width: f64,
    } = "idle_uncertain", Suspect;
    /// Deferred cost is negative: idle CPU was read at busier moments than those between windows.
    DeferredNegative {
        relative_low: f64,
        relative_high: f64,
        confidence: f64,
    } = "deferred_negative", Suspect;
    /// An arm exports on a timer that is slow compared with a round.
    TimerLongerThanRound { arm: String, timer_s: f64, round_s: f64 } = "timer_longer_than_round", Suspect;
    /// The deferred cost of an arm was not read.
    DeferredUnknown { rounds: u64, rounds_known: u64 } = "deferred_unknown", Suspect;
    /// The resolution of the CPU source is too coarse for this window.
    CoarseCpuClock {
        resolution_ns: u64,
        smallest_cpu_ns_in_a_window: u64,
    } = "coarse_cpu_clock", Suspect;
    /// The difference drifts over the run, even within blocks.
    Trend { change: f64, over: DriftOver } = "trend", Suspect;
    /// Launch results are bimodal: an estimate depends on the mix of launches.
    BimodalLaunches {
        low: f64,
        high: f64,
        launches_low: u64,
        launches_high: u64,
    } = "bimodal_launches", Suspect;
    /// The first blocks of a launch differ from the later ones: the warm-up was too short.
    WarmupTooShort { excess: f64 } = "warmup_too_short", Suspect;
    /// The run reached its time limit before its stop rule was met.
    StopNotReached { metric: String, half_width: f64, within_s: f64 } = "stop_not_reached", Suspect;
    /// No usable window is left.
    NoWindows { windows: u64 } = "no_windows", Void;
    /// A load was interrupted before its end.
    LoadInterrupted { seconds: f64, seconds_planned: f64 } = "load_interrupted", Suspect;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn codes_lead_back() {
        for &code in WarningCode::ALL {
            assert_eq!(WarningCode::from_name(code.as_str()), Some(code));
        }
    }

    #[test]
    fn evidence_leads_back() {
        for &code in WarningCode::ALL {
            let warning = fixtures::warning(code);
            assert_eq!(warning.code(), code);
            let back = Warning::from_evidence(code, &warning.evidence());
            assert_eq!(back, Some(warning));
        }
    }

    #[test]
    fn evidence_of_another_type_is_no_warning() {
        let text = |text: &str| Evidence::Text(text.to_owned());
        let table = [
            ("missing", None),
            ("a figure", Some(Evidence::Number(1.0))),
            ("an unknown word", Some(text("decade"))),
        ];
        for (why, over) in table {
            let mut evidence = EvidenceMap::from([("change".to_owned(), Evidence::Number(0.1))]);
            evidence.extend(over.map(|over| ("over".to_owned(), over)));
            let found = Warning::from_evidence(WarningCode::Trend, &evidence);
            assert_eq!(found, None, "{why}");
        }
    }
}
