//! One run of one receiver, and the quantities that are read from it.

use super::receiver::Receiver;

/// One run of one receiver. A run that failed is a result.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) scenario: &'static str,
    /// From 1.
    pub(super) round: u32,
    /// Its place in the round's order, from 1.
    pub(super) place: usize,
    pub(super) receiver: Receiver,
    pub(super) outcome: Result<Reading, String>,
}

/// What a run gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// Requests that the generator had answered well.
    pub(super) requests: u64,
    /// What was in them.
    pub(super) spans: u64,
    /// Their bodies, as they went over the wire: compressed where they were.
    pub(super) body_bytes: u64,
    /// By the generator's clock.
    pub(super) seconds: f64,
    /// Of the receiver's process, from before the load until after it; its start and its warm-up
    /// are not in it.
    pub(super) cpu_s: f64,
    /// Of the receiver, since its start.
    pub(super) rss_peak_bytes: u64,
    /// Whether the receiver's own count of spans, warm-up included, was asked for and agreed.
    pub(super) is_confirmed: bool,
    /// CPU that the hypervisor kept from the machine meanwhile, of all cores.
    pub(super) steal_s: f64,
}

/// Something that is read from a run and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    SpansPerCpuSecond,
    BytesPerCpuSecond,
    CpuPerRequest,
    SpansPerSecond,
    Cores,
    Memory,
}

impl Quantity {
    pub(super) const ALL: [Quantity; 6] = [
        Quantity::SpansPerCpuSecond,
        Quantity::BytesPerCpuSecond,
        Quantity::CpuPerRequest,
        Quantity::SpansPerSecond,
        Quantity::Cores,
        Quantity::Memory,
    ];

    /// Its name in the record.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Quantity::SpansPerCpuSecond => "spans_per_cpu_s",
            Quantity::BytesPerCpuSecond => "body_bytes_per_cpu_s",
            Quantity::CpuPerRequest => "cpu_us_per_request",
            Quantity::SpansPerSecond => "spans_per_s",
            Quantity::Cores => "cores",
            Quantity::Memory => "rss_peak_bytes",
        }
    }

    /// Its name and unit on the page.
    pub(super) fn title(self) -> &'static str {
        match self {
            Quantity::SpansPerCpuSecond => "spans a CPU second, thousands",
            Quantity::BytesPerCpuSecond => "bytes a CPU second, MB",
            Quantity::CpuPerRequest => "CPU a request, µs",
            Quantity::SpansPerSecond => "spans a second, thousands",
            Quantity::Cores => "cores busy",
            Quantity::Memory => "peak memory, MB",
        }
    }

    /// A value in the unit of the title.
    pub(super) fn number(self, value: f64) -> String {
        match self {
            Quantity::SpansPerCpuSecond | Quantity::SpansPerSecond => format!("{:.0}", value / 1e3),
            Quantity::BytesPerCpuSecond => format!("{:.0}", value / 1e6),
            Quantity::CpuPerRequest | Quantity::Cores => format!("{value:.2}"),
            Quantity::Memory => format!("{:.1}", value / 1e6),
        }
    }
}

impl Reading {
    /// The value of a quantity; `None` where it would be a division by nothing.
    pub(super) fn value(&self, quantity: Quantity) -> Option<f64> {
        let per = |value: u64, divisor: f64| (divisor > 0.0).then(|| value as f64 / divisor);
        match quantity {
            Quantity::SpansPerCpuSecond => per(self.spans, self.cpu_s),
            Quantity::BytesPerCpuSecond => per(self.body_bytes, self.cpu_s),
            Quantity::CpuPerRequest => {
                (self.requests > 0).then(|| self.cpu_s * 1e6 / self.requests as f64)
            }
            Quantity::SpansPerSecond => per(self.spans, self.seconds),
            Quantity::Cores => (self.seconds > 0.0).then(|| self.cpu_s / self.seconds),
            Quantity::Memory => Some(self.rss_peak_bytes as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_of_a_run() {
        let reading = Reading {
            requests: 1000,
            spans: 512_000,
            body_bytes: 200_000_000,
            seconds: 2.0,
            cpu_s: 0.25,
            rss_peak_bytes: 5_000_000,
            ..Reading::default()
        };
        let table = [
            (Quantity::SpansPerCpuSecond, "2048"),
            (Quantity::BytesPerCpuSecond, "800"),
            (Quantity::CpuPerRequest, "250.00"),
            (Quantity::SpansPerSecond, "256"),
            (Quantity::Cores, "0.12"),
            (Quantity::Memory, "5.0"),
        ];
        for (quantity, expected) in table {
            let value = reading.value(quantity).unwrap();
            assert_eq!(quantity.number(value), expected, "{quantity:?}");
        }
        for quantity in Quantity::ALL {
            let nothing = Reading::default().value(quantity);
            assert_eq!(nothing.is_none(), quantity != Quantity::Memory);
        }
    }
}
