//! Warnings as values: reasons to distrust a window, a metric or a run, with evidence.

use std::collections::BTreeMap;

/// How far a result can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Soundness {
    /// No warning.
    Valid,
    /// Read it with the warnings in mind.
    Suspect,
    /// Must not be used.
    Void,
}

impl Soundness {
    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Soundness::Valid => "valid",
            Soundness::Suspect => "suspect",
            Soundness::Void => "void",
        }
    }
}

macro_rules! warnings {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $soundness:ident;)+) => {
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
    };
}

warnings! {
    /// Requests were sent later than intended, by more than the window tolerates.
    SendLag = "send_lag", Suspect;
    /// The generator used most of its core: it may have been the bottleneck.
    GeneratorSaturated = "generator_saturated", Suspect;
    /// Intended starts were dropped: no free connection before the window ended.
    Dropped = "dropped", Suspect;
    /// Starts waited for a connection: the limit on connections shaped the load.
    ConnectionsBusy = "connections_busy", Suspect;
    /// The hypervisor took the processor away.
    Steal = "steal", Suspect;
    /// Another arm used CPU in this window.
    OtherArmActive = "other_arm_active", Suspect;
    /// Some requests failed or got an error status.
    Errors = "errors", Suspect;
    /// Every request failed or got an error status.
    OnlyErrors = "only_errors", Void;
    /// No request was completed in the window.
    NothingCompleted = "nothing_completed", Void;
    /// A service of the arm died.
    ServiceDied = "service_died", Void;
    /// An agent ended while it should have been attached.
    AgentDied = "agent_died", Void;
    /// BPF programs, links or processes of an agent were left after it was detached: windows
    /// measured without the agent were not free of it.
    AgentLeftBehind = "agent_left_behind", Void;
    /// The kernel does not allow listing BPF programs: it is unknown whether agents were detached.
    DetachUnverified = "detach_unverified", Suspect;
    /// No BPF program came with an agent, or none of them ever ran: it may have found no target.
    AgentIdle = "agent_idle", Suspect;
    /// The kernel timed BPF programs in all windows, because someone else switched that on.
    BpfStatisticsAlwaysOn = "bpf_statistics_always_on", Suspect;
    /// A batch program broke the protocol on its control descriptor.
    ProtocolViolation = "protocol_violation", Suspect;
    /// A command that should have switched the service to the arm failed.
    SwitchFailed = "switch_failed", Void;
    /// The CPU counter did not move, went backwards or could not be read.
    CpuUnreadable = "cpu_unreadable", Suspect;
    /// A service of an arm died; the arm was not measured further in that round.
    ArmDied = "arm_died", Suspect;
    /// A single round: launch luck can't be distinguished from overhead.
    SingleRound = "single_round", Suspect;
    /// Too few rounds: the interval is wide for that reason alone.
    FewRounds = "few_rounds", Suspect;
    /// The A/A control differs from the baseline: something other than telemetry differs too.
    ControlDiffers = "control_differs", Suspect;
    /// Arms were measured one after another: drift looks like overhead.
    SequentialOrder = "sequential_order", Suspect;
    /// Too many windows are void or suspect.
    ManyBadWindows = "many_bad_windows", Suspect;
    /// No usable window of the baseline, of the control or of any treatment.
    ArmVoid = "arm_void", Void;
    /// No usable window of some treatments; the others stand.
    ArmMissing = "arm_missing", Suspect;
    /// The run ended before its plan did.
    RunIncomplete = "run_incomplete", Suspect;
    /// The end of the journal was damaged and cut off.
    JournalCut = "journal_cut", Suspect;
    /// An open loop did not reach its rate: the subject or the connections are the bottleneck.
    RateNotReached = "rate_not_reached", Suspect;
    /// Telemetry was lost, beyond what sampling explains.
    TelemetryLost = "telemetry_lost", Suspect;
    /// Telemetry differs from what the plan expects, beyond what sampling explains.
    UnexpectedTelemetry = "unexpected_telemetry", Suspect;
    /// A batch program did not finish its last flush.
    FlushIncomplete = "flush_incomplete", Suspect;
    /// CPU was still being used when the deferred cost was read.
    NotDrained = "not_drained", Suspect;
    /// The deferred cost of an arm was not read.
    DeferredUnknown = "deferred_unknown", Suspect;
    /// The resolution of the CPU source is too coarse for this window.
    CoarseCpuClock = "coarse_cpu_clock", Suspect;
    /// The difference drifts over the run, even within blocks.
    Trend = "trend", Suspect;
    /// Launch results are bimodal: an estimate depends on the mix of launches.
    BimodalLaunches = "bimodal_launches", Suspect;
    /// The first blocks of a launch differ from the later ones: the warm-up was too short.
    WarmupTooShort = "warmup_too_short", Suspect;
    /// The run reached its time limit before its stop rule was met.
    StopNotReached = "stop_not_reached", Suspect;
    /// Some windows were void and left out.
    WindowsVoid = "windows_void", Suspect;
    /// No usable window is left.
    NoWindows = "no_windows", Void;
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// A figure; its unit is in the name.
    Number(f64),
    /// Text, such as a service's last log line.
    Text(String),
}

impl From<f64> for Evidence {
    fn from(n: f64) -> Self {
        Evidence::Number(n)
    }
}

impl From<&str> for Evidence {
    fn from(t: &str) -> Self {
        Evidence::Text(t.to_owned())
    }
}

impl From<String> for Evidence {
    fn from(t: String) -> Self {
        Evidence::Text(t)
    }
}

/// One reason to distrust a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// Its kind.
    pub code: WarningCode,
    /// A sentence for people: what was seen and what to do about it.
    pub text: String,
    /// The figures behind it, each named with its unit.
    pub evidence: BTreeMap<String, Evidence>,
}

impl Warning {
    /// A warning without evidence yet.
    #[must_use]
    pub fn new(code: WarningCode, text: impl Into<String>) -> Warning {
        Warning {
            code,
            text: text.into(),
            evidence: BTreeMap::new(),
        }
    }

    /// The same with one more piece of evidence.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Evidence>) -> Warning {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }
}

/// How far a result can be trusted, and the reasons.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Validity {
    /// The warnings; empty when there are none.
    pub reasons: Vec<Warning>,
}

impl Validity {
    /// The verdict of the gravest reason.
    #[must_use]
    pub fn soundness(&self) -> Soundness {
        self.reasons
            .iter()
            .map(|r| r.code.soundness())
            .max()
            .unwrap_or(Soundness::Valid)
    }

    /// Adds a reason.
    pub fn push(&mut self, warning: Warning) {
        self.reasons.push(warning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_reason_decides() {
        let mut validity = Validity::default();
        assert_eq!(validity.soundness(), Soundness::Valid);
        validity.push(Warning::new(WarningCode::SendLag, "late").with("send_lag_us_p99", 900.0));
        assert_eq!(validity.soundness(), Soundness::Suspect);
        validity.push(Warning::new(WarningCode::NoWindows, "nothing"));
        assert_eq!(validity.soundness(), Soundness::Void);
    }

    #[test]
    fn codes_lead_back() {
        for &code in WarningCode::ALL {
            assert_eq!(WarningCode::from_name(code.as_str()), Some(code));
        }
    }
}
