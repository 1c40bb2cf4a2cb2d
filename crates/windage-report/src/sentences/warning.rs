//! Warnings in words.

use windage_model::{
    Bottleneck, DriftOver, IdleAgent, IncompleteEnding, LagCause, LossCause, Reason, Stretches,
    SubjectLoad, Unit, Warning,
};

use super::listed;
use crate::fact::one_line;

/// How to remove BPF programs and links.
const OF_KERNEL: &str = "(`bpftool link`, `bpftool prog`; a pin under /sys/fs/bpf holds one)";
/// How to end processes.
const ALIVE: &str = "(`kill N`; one that can't be killed waits in the kernel)";

/// The sentence of a reason to distrust a result.
pub(crate) fn reason(of: &Reason) -> String {
    let sentence = warning(&of.warning);
    match of.windows {
        Some(windows) => format!(
            "In {} of {} {}: {sentence}",
            windows.affected,
            windows.of,
            match windows.unit {
                Stretches::Windows => "windows",
                Stretches::Blocks => "blocks of turns",
            }
        ),
        None => sentence,
    }
}

/// The sentence of a warning: what was seen and what to do about it.
#[must_use]
pub fn warning(of: &Warning) -> String {
    of_load(of)
        .or_else(|| of_processes(of))
        .or_else(|| of_agents(of))
        .or_else(|| of_telemetry(of))
        .unwrap_or_else(|| of_run(of))
}

/// Both ends of an interval of shares, in per cent.
fn between(low: f64, high: f64) -> String {
    let percent = |share: f64| crate::number::Scale::PERCENT.signed_point_to(share, 1);
    format!("{} to {}", percent(low), percent(high))
}

/// Warnings about the load.
fn of_load(of: &Warning) -> Option<String> {
    Some(match of {
        Warning::SendLag {
            cause,
            steal_us,
            generator_run_queue_us,
            ..
        } => format!(
            "The generator sent late: the response times include its own lateness. {}",
            why_late(*cause, *steal_us, *generator_run_queue_us)
        ),
        Warning::GeneratorSaturated { subject, .. } => generator_saturated(*subject).to_owned(),
        Warning::GeneratorStarved {
            generator_threads,
            generator_run_queue_us,
            window_us,
            ..
        } => format!(
            "The generator waited for a core during {:.0} % of the time: throughput and response \
             times are those of a generator without a core, not of the subject. Of CPU per request, \
             only the idle part depends on it. Give the generator a core of its own (`cpus`).",
            percent(
                *generator_run_queue_us,
                window_us * *generator_threads as f64
            )
        ),
        Warning::Dropped { .. } => {
            "Intended starts were dropped because no connection was free, and the response times \
             do not include them. Allow more connections or lower `rate`."
                .to_owned()
        }
        Warning::ConnectionsBusy {
            waited,
            intended,
            connections,
        } => format!(
            "{:.1} % of the starts waited because all connections were in use ({connections} \
             exchanges at once). Response times include the wait, but the subject never had more \
             requests at a time, which keeps its service times low. Allow more connections.",
            percent(*waited as f64, *intended as f64),
        ),
        Warning::Steal { .. } => "The hypervisor took the processor away.".to_owned(),
        Warning::OutsideLoad {
            cores,
            pinned_core,
            programs,
        } => outside_load(*cores, *pinned_core, programs),
        Warning::Throttled {
            throttled_us,
            stretch_us,
        } => format!(
            "The kernel held the subject back for {:.1} ms of {:.0} ms (summed over cores), because it had \
             reached its CPU limit: response times and throughput are those of the limit. Raise it \
             (`limits.cpu` of a pod, `CPUQuota` of a unit), or compare arms under the same limit on purpose.",
            throttled_us / 1e3,
            stretch_us / 1e3,
        ),
        Warning::Suspended { seconds } => {
            format!("The machine was suspended for {seconds:.2} s: nothing measured then counts.")
        }
        Warning::ClockStepped { step_s } => clock_stepped(*step_s),
        Warning::Errors { .. } => {
            "Requests failed or were answered with an error: the figures partly measure errors."
                .to_owned()
        }
        Warning::ArmErrors { arm, failed, sent } => format!(
            "{:.1} % of the requests to {arm} failed or got an error status: its figures partly \
             measure failures.",
            percent(*failed as f64, *sent as f64)
        ),
        Warning::OnlyErrors { .. } => {
            "Every answer had a status of 400 or above: this measures errors. Check the request \
             and the service's log."
                .to_owned()
        }
        Warning::ServiceErrors {
            arms,
            answers_4xx,
            answers_5xx,
            answer,
            last_words,
            ..
        } => service_errors(
            arms,
            [*answers_4xx, *answers_5xx],
            answer.as_deref(),
            last_words,
        ),
        Warning::NothingCompleted { .. } => "Nothing was completed.".to_owned(),
        Warning::RateNotReached {
            bottleneck,
            subject,
            cause,
            intended_per_s,
            achieved_per_s,
            steal_us,
            generator_run_queue_us,
            service_time_us_p50,
            ..
        } => {
            let late = || {
                let cause = cause.unwrap_or(LagCause::LateWakeup);
                why_late(cause, *steal_us, *generator_run_queue_us)
            };
            format!(
                "{achieved_per_s:.0} of the intended {intended_per_s:.0} requests per second were \
                 completed. {}{}",
                below_rate(*bottleneck, *subject, late),
                delayed_acknowledgements(*service_time_us_p50).unwrap_or_default()
            )
        }
        Warning::StartsNotCompleted {
            intended,
            completed,
            bottleneck,
        } => {
            let bottleneck = bottleneck.map_or_else(
                || "the subject, the connections or the generator are the bottleneck".to_owned(),
                |of| format!("the bottleneck in most windows was: {}", of.as_str()),
            );
            format!(
                "Only {:.1} % of the intended starts were completed: {bottleneck}. Lower `rate` or \
                 allow more connections.",
                percent(*completed as f64, *intended as f64),
            )
        }
        Warning::LoadInterrupted { .. } => "The load was interrupted before its end.".to_owned(),
        _ => return None,
    })
}

fn service_errors(
    arms: &[String],
    [client, server]: [u64; 2],
    answer: Option<&str>,
    last_words: &str,
) -> String {
    let counted = |count: u64, class: &str| (count > 0).then(|| format!("{count} × {class}"));
    let classes = [counted(client, "4xx"), counted(server, "5xx")];
    let classes: Vec<String> = classes.into_iter().flatten().collect();
    let answer = answer.map_or(String::new(), |answer| {
        format!(" Asked once more, it answered {}.", one_line(answer))
    });
    format!(
        "Every answer of {} was an error ({}), so the run ended after this round.{answer} The \
         service's last lines: {}. Check the request and the service.",
        listed(arms),
        classes.join(", "),
        one_line(last_words),
    )
}

fn clock_stepped(step_s: f64) -> String {
    let direction = if step_s < 0.0 { "back" } else { "forward" };
    let step = crate::number::seconds(step_s.abs());
    format!(
        "The wall clock was set {direction} by {step}. Spans are timed by it: export delays, and \
         the windows in which spans ended, are wrong by as much around that time. CPU and response \
         times use another clock. Let the time service slew the clock instead of setting it."
    )
}

fn outside_load(cores: f64, pinned_core: Option<u64>, programs: &[String]) -> String {
    let place = match pinned_core {
        Some(core) => format!("of core {core}, which the plan pins"),
        None => "cores".to_owned(),
    };
    let most = match programs {
        [] => "they have ended, so their names are unknown".to_owned(),
        programs => format!("most: {}", listed(programs)),
    };
    format!(
        "Programs outside the run used {cores:.2} {place} ({most}): the arms competed with them. \
         Stop them, or measure on a quiet machine. Name programs that belong to the subject in the \
         plan, as services that are `shared`."
    )
}

/// Why the generator was late.
fn why_late(cause: LagCause, steal_us: Option<f64>, run_queue_us: Option<f64>) -> String {
    let ms = |us: Option<f64>| us.unwrap_or(0.0) / 1e3;
    match cause {
        LagCause::Busy => "It was busy all the time: the rate is too high for its threads. Lower \
                           `rate`."
            .to_owned(),
        LagCause::Steal => format!(
            "The hypervisor took the processor away for {:.1} ms.",
            ms(steal_us)
        ),
        LagCause::RunQueue => format!(
            "It waited {:.1} ms for a core that others used. Give it a core of its own (`cpus`).",
            ms(run_queue_us)
        ),
        LagCause::LateWakeup => "It was neither busy nor waiting for a core, so its wake-ups came \
                                 late. Give it a core of its own (`cpus`)."
            .to_owned(),
    }
}

fn generator_saturated(subject: SubjectLoad) -> &'static str {
    match subject {
        SubjectLoad::Spare => {
            "The generator kept its core busy and the subject did not: the generator was the \
             bottleneck, and overhead in throughput is compressed."
        }
        SubjectLoad::Busy => {
            "Generator and subject kept their cores busy: the rate is too high for both."
        }
        SubjectLoad::Unknown => {
            "The generator kept its core busy: it may have been the bottleneck rather than the \
             subject, whose CPU is unknown."
        }
    }
}

/// What kept an open loop below its rate.
fn below_rate(
    bottleneck: Bottleneck,
    subject: SubjectLoad,
    why_late: impl Fn() -> String,
) -> String {
    let words = match bottleneck {
        Bottleneck::Generator => {
            return format!(
                "The generator was late and is the bottleneck. {}",
                why_late()
            );
        }
        Bottleneck::Subject => {
            "The subject kept its cores busy: it is saturated. Lower `rate` to measure below \
             saturation."
        }
        Bottleneck::Errors => "Failed requests do not count as completed.",
        Bottleneck::Connections if subject == SubjectLoad::Spare => {
            "All connections were in use while the subject had CPU to spare: they are the \
             bottleneck, or something that the subject waits for. Allow more connections or lower \
             `rate`."
        }
        Bottleneck::Connections => {
            "All connections were in use: they or the subject are the bottleneck. Allow more \
             connections or lower `rate`."
        }
        Bottleneck::AnswerTime => {
            "The last answers came long after the schedule's end although connections were free: \
             the schedule is too short for such slow answers. Use longer windows."
        }
    };
    words.to_owned()
}

/// The likely cause of answers that take what Linux delays an acknowledgement by: 40 ms
/// (`TCP_DELACK_MIN`, in `include/net/tcp.h`).
fn delayed_acknowledgements(service_time_us_p50: Option<f64>) -> Option<&'static str> {
    let is_delay = (38_000.0..=48_000.0).contains(&service_time_us_p50?);
    is_delay.then_some(
        " Half of the answers took about 40 ms, as they do when an answer is sent in several \
         pieces: Nagle's algorithm holds the next piece back until a delayed acknowledgement \
         comes. Set TCP_NODELAY in the service, or send head and body at once.",
    )
}

/// Warnings about services and programs.
fn of_processes(of: &Warning) -> Option<String> {
    Some(match of {
        Warning::OtherArmActive { .. } => {
            "Other arms used CPU in this window, for deferred work. It is credited to them, but it \
             may have slowed this arm."
                .to_owned()
        }
        Warning::CpuUnreadable => {
            "The subject's CPU counter could not be read or did not move, although requests were \
             completed. The service may run elsewhere: attached by URL, or outside its cgroup."
                .to_owned()
        }
        Warning::ProcessesChanged { appeared, ended } => format!(
            "Processes of an arm came or went ({appeared} appeared, {ended} ended) while CPU was \
             read by process: what they used meanwhile is missing in part. Run as root, or in a \
             delegated scope (`systemd-run --user --scope -p Delegate=yes`), so that each arm has \
             a cgroup; attach a service that runs already by its `unit` or `cgroup`. If a switch \
             replaces them, lengthen `settle` until it has taken effect."
        ),
        Warning::ServiceDied {
            service: name,
            whose,
            how,
        }
        | Warning::AgentDied {
            agent: name,
            whose,
            how,
        }
        | Warning::ArmDied {
            service: name,
            whose,
            how,
            ..
        } => format!("Service `{name}` {whose} {how}."),
        Warning::ProtocolViolation { message } => format!(
            "The program {message}. The phases that it reported in this window are not used."
        ),
        Warning::SwitchFailed { how } => how.clone(),
        Warning::FlushIncomplete {
            service,
            whose,
            how,
            ..
        } => format!(
            "Service `{service}` {whose} {how}. Its last flush is not measured, and telemetry may \
             be missing. Raise `stop.within` if it only needs more time."
        ),
        Warning::LogCut {
            service,
            arms,
            left_out_bytes,
            limit_bytes,
        } => log_cut(service, arms, *left_out_bytes, *limit_bytes),
        Warning::ScrapesFailed {
            arm,
            service,
            failed,
            scrapes,
            reason,
        } => format!(
            "{failed} of {scrapes} scrapes of `{service}` of {arm} failed, the last one because: \
             {reason}. Their points are missing, and so is what they would have cost. Check its \
             `metrics`, or scrape it less often (`scrape`)."
        ),
        _ => return None,
    })
}

fn log_cut(service: &str, arms: &[String], left_out_bytes: u64, limit_bytes: u64) -> String {
    let bytes = |of: u64| crate::number::short(Unit::Bytes, of as f64);
    let whose = match arms {
        [] => "that all arms share".to_owned(),
        arms => format!("of {}", listed(arms)),
    };
    format!(
        "Service `{service}` {whose} wrote more than {} into its log in a launch: {} in the middle of \
         its logs were left out. No figure is affected, except that losses are unknown that `drops` \
         reads from the log. Let the service log less.",
        bytes(limit_bytes),
        bytes(left_out_bytes),
    )
}

/// Warnings about agents.
fn of_agents(of: &Warning) -> Option<String> {
    Some(match of {
        Warning::AgentLeftBehind {
            arm,
            attachment,
            objects,
            ..
        } => left_behind(arm, *attachment, objects),
        Warning::DetachUnverified { arm, .. } => format!(
            "The kernel does not allow listing BPF programs, so it is unknown whether those of \
             {arm} were detached in the other arms' windows. Run as root (or with CAP_SYS_ADMIN, \
             which allows listing them)."
        ),
        Warning::AgentIdle {
            arm,
            attachments,
            attachments_idle,
            idle,
        } => {
            let what = match idle {
                IdleAgent::WithoutPrograms => "no BPF program came with the agents of",
                IdleAgent::WithoutRuns => {
                    "none of the BPF programs ran that came with the agents of"
                }
                IdleAgent::Either => "no BPF program came, or none of them ran, with the agents of",
            };
            format!(
                "In {attachments_idle} of {attachments} attachments {what} {arm}: the agent may \
                 have found no target, and its measured cost is then that of an idle agent. Its \
                 log in the run directory says what it looks for; {{SERVICE.pid}} in its command \
                 names a process. This is expected of an agent that does not use BPF."
            )
        }
        Warning::AgentsFailed {
            arm,
            attachments,
            failed,
            first_failure,
        } => format!(
            "In {failed} of {attachments} attachments the agents of {arm} failed; the first \
             failure: {first_failure} See their logs in the run directory."
        ),
        Warning::FewAttachments { arm, attachments } => {
            let times = match attachments {
                1 => "once".to_owned(),
                count => format!("{count} times"),
            };
            format!(
                "The agents of {arm} were attached {times}: the intervals of what they use are \
                 wide for that reason, or missing. More `design.rounds` attach them more often; \
                 six are enough."
            )
        }
        Warning::BpfLeftBehind { objects, commands } => format!(
            "When the run began, the kernel had BPF programs that trace and that no process holds, \
             as a killed agent leaves them: {}. Every arm pays for them, the baseline included, so \
             that overheads may be too small. Remove them (`{}`) and run again.",
            listed(objects),
            commands.join("; ")
        ),
        Warning::BpfStatisticsAlwaysOn { .. } => {
            "The kernel timed every run of a BPF program throughout (kernel.bpf_stats_enabled was \
             on when the run began): all windows with agents paid for two clock reads per run, and \
             the cost of the statistics reads as zero. Switch it off (`sysctl -w \
             kernel.bpf_stats_enabled=0`) and run again: Windage switches it on itself, only in \
             separate stretches."
                .to_owned()
        }
        _ => return None,
    })
}

fn left_behind(arm: &str, attachment: u64, objects: &[String]) -> String {
    let is_process = |object: &&String| object.starts_with("process ");
    let remedy = match objects.iter().filter(is_process).count() {
        0 => format!("Remove them {OF_KERNEL}"),
        all if all == objects.len() => format!("End them {ALIVE}"),
        _ => format!("Remove programs and links {OF_KERNEL} and end processes {ALIVE}"),
    };
    format!(
        "After the agents of {arm} were detached for the {} time, these were left: {}. What was \
         measured without the agents was measured with them. {remedy}, let the agent detach on \
         `stop`, and run again.",
        ordinal(attachment),
        listed(objects)
    )
}

fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (1, of) if of != 11 => "st",
        (2, of) if of != 12 => "nd",
        (3, of) if of != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Warnings about what was delivered.
fn of_telemetry(of: &Warning) -> Option<String> {
    Some(match of {
        Warning::TelemetryLost {
            arm,
            of,
            expected,
            delivered,
            lost,
            reasons,
            reported_beyond_lost,
            not_understood,
            largest,
        } => {
            let reasons = reasons.as_deref().unwrap_or_default();
            let became = what_became_of_it(reasons, *reported_beyond_lost);
            let unread = match not_understood {
                0 => String::new(),
                requests => format!(
                    " {requests} export requests were rejected or malformed: check the exporter's \
                     address, its protocol and its batch size."
                ),
            };
            format!(
                "{arm} delivered {delivered} of {expected:.0} expected {of}: {:.2} % were lost, so \
                 its cost is that of less telemetry than intended.{became}{unread} {}",
                percent(*lost, *expected),
                against_loss(*largest),
            )
        }
        Warning::UnexpectedTelemetry {
            arm,
            of,
            expected,
            delivered,
        } => format!(
            "{arm} delivered {delivered} {of}, but {expected:.0} were expected: check its sampler \
             and the plan's `expect`."
        ),
        Warning::UnexpectedSpans {
            arm,
            expected_spans_per_trace,
            spans_per_trace,
        } => format!(
            "{arm} delivered {spans_per_trace:.2} spans per trace, but \
             {expected_spans_per_trace:.2} were expected: check its instrumentation and the plan's \
             `expect`."
        ),
        _ => return None,
    })
}

fn what_became_of_it(reasons: &[String], reported_beyond_lost: Option<f64>) -> String {
    if reasons.is_empty() {
        return String::new();
    }
    let beyond = reported_beyond_lost.map_or(String::new(), |beyond| {
        format!(
            " That is {beyond:.0} more than were lost: some were counted twice or arrived later."
        )
    });
    format!(" Of that: {}.{beyond}", reasons.join(", "))
}

/// Advice about the largest part of a loss.
fn against_loss(largest: LossCause) -> &'static str {
    match largest {
        LossCause::Reported => {
            "Give the exporter a longer queue or larger batches, or sample less."
        }
        LossCause::Refused => "The exporter did not retry what was refused: check its retries.",
        LossCause::Unexplained => {
            "Check queue sizes, the receiver, and whether the service flushes when it is stopped; \
             with `drops` of a `[[service]]` Windage reads the service's own reports."
        }
    }
}

/// Warnings about the run and its design.
fn of_run(of: &Warning) -> String {
    let text = match of {
        Warning::ArmVoid { arms } | Warning::ArmMissing { arms } => {
            return format!("No usable window of: {}.", arms.join(", "));
        }
        Warning::ManyBadWindows {
            windows_with_warnings,
            windows,
        } => return format!("{windows_with_warnings} of {windows} windows have warnings."),
        Warning::RunIncomplete { ending, reason } => return incomplete(*ending, reason.as_deref()),
        Warning::WarmupTooShort { excess } => {
            return format!(
                "The first blocks of launches give a difference that is {:+.2} % from that of the \
                 later ones: the warm-up was too short. Use a longer `design.warmup`.",
                excess * 100.0
            );
        }
        Warning::Trend { change, over } => {
            let over = match over {
                DriftOver::Launch => "from the beginning of a launch to its end",
                DriftOver::Run => "from the first launch to the last",
            };
            return format!(
                "The difference itself changes, by {:+.2} % {over}: the figure is a mean over that \
                 drift. Check whether the arm's cost grows with time, or whether something was \
                 started or ended on the machine.",
                change * 100.0
            );
        }
        Warning::BimodalLaunches {
            low,
            high,
            launches_low,
            launches_high,
        } => {
            return format!(
                "Launch results are bimodal, {launches_low} near {:+.2} % and {launches_high} near \
                 {:+.2} %: the mean depends on how many of each occurred. More rounds make it \
                 steadier; finding the cause is better.",
                low * 100.0,
                high * 100.0
            );
        }
        Warning::NoWindows { .. } => {
            "No window could be used. See the services' logs in the run directory."
        }
        Warning::StopNotReached { .. } => {
            "The run reached its limit on measuring time before the interval was as narrow as \
             `design.stop` asks. Use a longer `within` or a larger `half_width`."
        }
        Warning::JournalCut { .. } => {
            "The end of the journal was damaged; the unreadable part was left out."
        }
        Warning::JournalDamaged {
            blocks_lost,
            blocks,
            ..
        } => {
            let lost = match blocks_lost {
                0 => "no block is lost, but records between blocks are".to_owned(),
                1 => format!("block {} is lost", listed(blocks)),
                _ => format!("{blocks_lost} blocks are lost ({})", listed(blocks)),
            };
            return format!(
                "The journal is damaged: {lost}. Everything else was read. Restore the file from a \
                 copy if you have one, and check the disk."
            );
        }
        Warning::HistogramsDamaged {
            lines_lost, files, ..
        } => {
            let lines = match lines_lost {
                1 => "1 line".to_owned(),
                _ => format!("{lines_lost} lines"),
            };
            return format!(
                "{lines} of {} can't be read: the times of their windows are left out. Restore what \
                 is damaged from a copy if you have one, and check the disk.",
                files.join(" and ")
            );
        }
        Warning::SingleRound => {
            "A single round: the intervals hold for this launch of the processes alone. Several \
             rounds distinguish overhead from launch luck."
        }
        Warning::FewRounds { .. } => {
            "Two rounds: the intervals are wide for that reason (t with one degree of freedom is \
             12.7). Many short rounds help more than few long ones."
        }
        Warning::ArmsInterfere {
            relative_low,
            relative_high,
        } => {
            let change = between(*relative_low, *relative_high);
            return format!(
                "Arms interfere: while the heaviest arm takes turns with it, the baseline's CPU per \
                 request changes by {change} %. Differences between arms may be distorted as well. \
                 Compare the isolated figures, or measure fewer arms in one plan."
            );
        }
        Warning::CarryOver {
            relative_low,
            relative_high,
            confidence,
        } => {
            let more = between(*relative_low, *relative_high);
            let confidence = crate::number::percent_short(*confidence);
            return format!(
                "Changeovers between arms are another share of this arm's CPU per request than of the \
                 baseline, by {more} % ({confidence} CI): its turns begin with caches that other \
                 arms have filled. Its overhead is distorted by as much. Use longer turns (`turn`), \
                 or compare the isolated figures."
            );
        }
        Warning::MeasuresDisagree {
            relative_low,
            relative_high,
            confidence,
        } => {
            let difference = between(*relative_low, *relative_high);
            let confidence = crate::number::percent_short(*confidence);
            return format!(
                "Isolated windows and turns give different effects: isolated less interleaved is \
                 {difference} % of the baseline ({confidence} CI). Alone, an arm has its whole rate \
                 and exports larger batches; in turns, it shares caches with other arms. Prefer the \
                 figure that resembles production."
            );
        }
        Warning::SequentialOrder => {
            "Arms were measured one after another: drift of the machine looks like overhead, and \
             the intervals do not account for it. Use order = \"mirrored\" for a reliable result."
        }
        Warning::ControlDiffers { .. } => {
            "A/A control: the second, identical baseline differs significantly from the baseline. \
             Something other than telemetry differs between the arms' processes."
        }
        Warning::CoarseCpuClock { .. } => {
            "The resolution of the CPU counter is too coarse for windows of this length. Use \
             longer windows, or run as root so that each arm has a cgroup."
        }
        Warning::TimerLongerThanRound {
            arm,
            timer_s,
            round_s,
        } => {
            return format!(
                "Arm `{arm}` holds telemetry back for up to {timer_s:.1} s, and a round lasts \
                 {round_s:.1} s. That is fewer than three exports by the timer, so the cost of \
                 exports is that of a service that just started. Measure longer or in fewer \
                 rounds, make `design.drain` longer than the timer, or shorten the timer."
            );
        }
        Warning::DeferredUnknown {
            rounds,
            rounds_known,
        } if *rounds_known > 0 => {
            return format!(
                "Deferred or idle CPU was read in {rounds_known} of {rounds} launches: the others \
                 are left out. They were cut short, or a reading failed."
            );
        }
        Warning::DeferredUnknown { .. } => {
            "The arm's deferred cost is unknown, so this is its in-window cost alone. Set \
             `design.idle` in the plan and let rounds end normally."
        }
        Warning::NotDrained { .. } => {
            "The arm was still using CPU when its deferred cost was read. Use a longer \
             `design.drain`; if the CPU use never ends, it is the arm's idle cost."
        }
        Warning::IdleUncertain {
            idle_s,
            idle_cores_low,
            idle_cores_high,
            half_width,
        } => {
            return format!(
                "What the arm uses when idle differed between launches, from {idle_cores_low:.3} to \
                 {idle_cores_high:.3} cores. This makes up ±{:.1} % of its CPU per request, most of \
                 the error: something in it works on a timer, and the idle stretches hold {idle_s:.1} \
                 s in all. Set `design.idle` so that those of all rounds hold ten periods of the \
                 timer or more.",
                half_width * 100.0
            );
        }
        Warning::DeferredNegative {
            relative_low,
            relative_high,
            confidence,
        } => {
            let share = between(*relative_low, *relative_high);
            let confidence = crate::number::percent_short(*confidence);
            return format!(
                "The cost that is deferred beyond windows came out as {share} % of that within them \
                 ({confidence} CI), and true deferred cost is never negative: the idle stretches were busier than the \
                 time between windows, so the figure is too low. Use a longer `design.drain` if work \
                 was left, and a longer `design.idle` if the arm has a slow timer."
            );
        }
        other => other.code().as_str(),
    };
    text.to_owned()
}

fn incomplete(ending: IncompleteEnding, reason: Option<&str>) -> String {
    match ending {
        IncompleteEnding::Interrupted => {
            "The run was interrupted. `windage run --resume RUN` continues it.".to_owned()
        }
        IncompleteEnding::Died => format!(
            "The run ended before its plan did: {}",
            reason.unwrap_or("the reason is not recorded.")
        ),
        IncompleteEnding::Unrecorded => "The run's end is not recorded: it is in progress, or \
                                         windage was killed. In that case `windage run --resume \
                                         RUN` continues it."
            .to_owned(),
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    100.0 * part / whole.max(1.0)
}
