//! One run of one contender, and the quantities that are read from it.

use super::contender::Contender;
use super::parse::Answer;
use super::truth::Truth;
use crate::bench::child::Usage;

/// One run of one contender. A run that failed is a result.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) scenario: &'static str,
    /// From 1.
    pub(super) round: u32,
    /// Its place in the round's order, from 1.
    pub(super) place: usize,
    pub(super) contender: Contender,
    pub(super) outcome: Result<Reading, String>,
}

/// What a run gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) answer: Answer,
    pub(super) usage: Usage,
    /// What the origin made the answers be, where that is known.
    pub(super) truth: Option<Truth>,
    /// CPU that the hypervisor kept from the machine while it ran, of all cores.
    pub(super) steal_s: f64,
}

/// Something that is read from a run and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// By the contender's own clock.
    Throughput,
    /// By a clock outside: from the start of the process to its end.
    ThroughputOutside,
    /// Of the whole process, its start included.
    CpuPerRequest,
    /// The kernel's share of that.
    KernelShare,
    /// As the contender says it was, without its start.
    OwnCpuPerRequest,
    LatencyP50,
    LatencyP99,
    SendLagP99,
    SendLagP999,
    Memory,
}

impl Quantity {
    pub(super) const ALL: [Quantity; 10] = [
        Quantity::Throughput,
        Quantity::ThroughputOutside,
        Quantity::CpuPerRequest,
        Quantity::KernelShare,
        Quantity::OwnCpuPerRequest,
        Quantity::LatencyP50,
        Quantity::LatencyP99,
        Quantity::SendLagP99,
        Quantity::SendLagP999,
        Quantity::Memory,
    ];

    /// Its name in the record.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Quantity::Throughput => "throughput_per_s",
            Quantity::ThroughputOutside => "throughput_outside_per_s",
            Quantity::CpuPerRequest => "cpu_us_per_request",
            Quantity::KernelShare => "kernel_share",
            Quantity::OwnCpuPerRequest => "own_cpu_us_per_request",
            Quantity::LatencyP50 => "latency_us_p50",
            Quantity::LatencyP99 => "latency_us_p99",
            Quantity::SendLagP99 => "send_lag_us_p99",
            Quantity::SendLagP999 => "send_lag_us_p999",
            Quantity::Memory => "rss_peak_bytes",
        }
    }

    /// Its name on the page.
    pub(super) fn title(self) -> &'static str {
        match self {
            Quantity::Throughput => "requests/s",
            Quantity::ThroughputOutside => "requests/s, by the clock outside",
            Quantity::CpuPerRequest => "CPU a request",
            Quantity::KernelShare => "of it in the kernel",
            Quantity::OwnCpuPerRequest => "CPU a request, by its own account",
            Quantity::LatencyP50 => "latency p50",
            Quantity::LatencyP99 => "latency p99",
            Quantity::SendLagP99 => "send lag p99",
            Quantity::SendLagP999 => "send lag p99.9",
            Quantity::Memory => "peak memory",
        }
    }

    /// The unit in which [`Quantity::number`] writes it; none where the title has it.
    pub(super) fn unit(self) -> Option<&'static str> {
        match self {
            Quantity::Throughput | Quantity::ThroughputOutside => None,
            Quantity::KernelShare => Some("%"),
            Quantity::Memory => Some("MB"),
            _ => Some("µs"),
        }
    }

    /// A value without its unit.
    pub(super) fn number(self, value: f64) -> String {
        match self {
            Quantity::Throughput | Quantity::ThroughputOutside => format!("{value:.0}"),
            Quantity::KernelShare => format!("{:.0}", value * 100.0),
            Quantity::CpuPerRequest | Quantity::OwnCpuPerRequest => format!("{value:.2}"),
            Quantity::Memory => format!("{:.1}", value / 1e6),
            _ => format!("{value:.1}"),
        }
    }

    /// Puts the unit behind what [`Quantity::number`] wrote.
    pub(super) fn with_unit(self, number: &str) -> String {
        match self.unit() {
            Some(unit) => format!("{number} {unit}"),
            None => number.to_owned(),
        }
    }
}

impl Reading {
    /// The value of a quantity; `None` where the contender does not tell it.
    pub(super) fn value(&self, quantity: Quantity) -> Option<f64> {
        let Reading { answer, usage, .. } = self;
        let requests = (answer.requests > 0).then_some(answer.requests as f64);
        match quantity {
            Quantity::Throughput => Some(answer.throughput_per_s),
            Quantity::ThroughputOutside => {
                (usage.wall_s > 0.0).then(|| answer.requests as f64 / usage.wall_s)
            }
            Quantity::CpuPerRequest => Some(usage.cpu_s() * 1e6 / requests?),
            Quantity::KernelShare => (usage.cpu_s() > 0.0).then(|| usage.system_s / usage.cpu_s()),
            Quantity::OwnCpuPerRequest => answer.own_cpu_us_per_request,
            Quantity::LatencyP50 => answer.latency_us.p50,
            Quantity::LatencyP99 => answer.latency_us.p99,
            Quantity::SendLagP99 => answer.send_lag_us.p99,
            Quantity::SendLagP999 => answer.send_lag_us.p999,
            Quantity::Memory => Some(usage.rss_peak_bytes as f64),
        }
    }

    /// What a quantity would be without error, where that is known.
    pub(super) fn true_value(&self, quantity: Quantity) -> Option<f64> {
        let truth = self.truth?;
        match quantity {
            Quantity::LatencyP50 => Some(truth.p50_us),
            Quantity::LatencyP99 => Some(truth.p99_us),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::Percentiles;
    use super::*;

    #[test]
    fn quantities_of_a_run() {
        let reading = Reading {
            answer: Answer {
                requests: 1000,
                throughput_per_s: 510.0,
                latency_us: Percentiles {
                    p50: Some(1030.0),
                    ..Percentiles::default()
                },
                ..Answer::default()
            },
            usage: Usage {
                wall_s: 2.0,
                user_s: 0.001,
                system_s: 0.003,
                rss_peak_bytes: 5_000_000,
                preemptions: 0,
            },
            truth: Some(Truth {
                p50_us: 1000.0,
                p99_us: 1010.0,
                p99_us_uncertain_by: 0.0,
            }),
            steal_s: 0.0,
        };
        let table = [
            (Quantity::Throughput, Some("510")),
            (Quantity::ThroughputOutside, Some("500")),
            (Quantity::CpuPerRequest, Some("4.00 µs")),
            (Quantity::KernelShare, Some("75 %")),
            (Quantity::LatencyP50, Some("1030.0 µs")),
            (Quantity::LatencyP99, None),
            (Quantity::Memory, Some("5.0 MB")),
        ];
        for (quantity, expected) in table {
            let shown = reading
                .value(quantity)
                .map(|value| quantity.with_unit(&quantity.number(value)));
            assert_eq!(shown.as_deref(), expected, "{quantity:?}");
        }
        assert_eq!(reading.true_value(Quantity::LatencyP99), Some(1010.0));
        assert_eq!(reading.true_value(Quantity::Memory), None);
        assert_eq!(Reading::default().value(Quantity::CpuPerRequest), None);
    }
}
