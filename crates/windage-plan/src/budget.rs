//! The limits of budgets, as plans write them, and the metrics that can have one.

use std::time::Duration;

use windage_model::{Budget, BudgetOf, Limit, LoadModel, Metric, Unit};

use crate::{Plan, units};

impl Plan {
    /// Ends the overrides whose last day is before `today`, such as `2027-01-31`. Returns a sentence
    /// for the user about each.
    pub fn end_overrides(&mut self, today: &str) -> Vec<String> {
        let end = |budget: &mut Budget| {
            let of = budget.overridden.take_if(|of| of.until.as_str() < today)?;
            Some(format!(
                "the override of the budget for `{}` ended on {} ({}): remove it, or renew it with a \
                 later day in `until`",
                budget.metric.as_str(),
                of.until,
                of.reason
            ))
        };
        self.budgets.iter_mut().filter_map(end).collect()
    }
}

/// Whether a text is a day such as `2027-01-31`.
pub(crate) fn is_day(text: &str) -> bool {
    text.len() == "2027-01-31".len()
        && humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).is_ok()
}

/// Reads a limit such as `"5%"` of the baseline, or one in a metric's unit such as `"12us"`.
///
/// The error is a sentence for the user.
pub(crate) fn parse(unit: Unit, text: &str) -> Result<Limit, String> {
    let trimmed = text.trim();
    if let Some(percent) = trimmed.strip_suffix('%') {
        let percent = units::decimal(percent.trim_end());
        let is_possible = |percent: &f64| unit != Unit::Share || *percent < 100.0;
        let limit = percent.filter(is_possible).map(|percent| match unit {
            Unit::Share => Limit::InUnit(percent / 100.0),
            _ => Limit::Percent(percent),
        });
        return limit.ok_or_else(|| wrong(unit, text));
    }
    let nanoseconds = || {
        let duration = units::parse_duration(trimmed).ok()?;
        u64::try_from(duration.as_nanos()).ok().map(|ns| ns as f64)
    };
    let bytes = |text: &str| match units::parse_bytes(text) {
        Ok(bytes) => Some(bytes as f64),
        Err(_) => text
            .strip_suffix('B')
            .and_then(|number| units::decimal(number.trim_end())),
    };
    let found = match unit {
        Unit::Nanoseconds => nanoseconds(),
        Unit::Microseconds => nanoseconds().map(|ns| ns / 1e3),
        Unit::Seconds => nanoseconds().map(|ns| ns / 1e9),
        Unit::Bytes => bytes(trimmed),
        Unit::BytesPerHour => trimmed.strip_suffix("/h").and_then(bytes),
        Unit::PerHour => trimmed.strip_suffix("/h").and_then(units::decimal),
        Unit::PerSecond => units::parse_rate_or_zero(trimmed).ok(),
        Unit::Cores => trimmed
            .strip_suffix("cores")
            .and_then(|number| units::decimal(number.trim_end())),
        Unit::One | Unit::Share => units::decimal(trimmed),
    };
    // Nothing exceeds the whole, so that "1" is rather meant as "1%".
    let found = found.filter(|value| unit != Unit::Share || *value < 1.0);
    found.map(Limit::InUnit).ok_or_else(|| wrong(unit, text))
}

/// Reads the limit of what a budget limits, which may have no share of a baseline.
pub(crate) fn limit_of(of: BudgetOf, metric: Metric, text: &str) -> Result<Limit, String> {
    match parse(metric.unit(), text) {
        Ok(Limit::Percent(_)) if of == BudgetOf::Own => Err(format!(
            "an arm's own figure is no share of the baseline's: give an amount, such as \"{}\"",
            example(metric.unit())
        )),
        Ok(Limit::Percent(_)) if metric.has_no_ratio() => Err(format!(
            "the baseline's {} is or may be zero, so there is no share of it: give an amount, such as \"{}\"",
            metric.as_str(),
            example(metric.unit())
        )),
        found => found,
    }
}

fn wrong(unit: Unit, text: &str) -> String {
    let example = example(unit);
    let of_baseline = match unit {
        Unit::Share => "",
        _ => "\"5%\" of the baseline, or ",
    };
    format!("`{text}` is not a limit such as {of_baseline}\"{example}\"")
}

fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "500ns",
        Unit::Microseconds => "12us",
        Unit::Seconds => "200ms",
        Unit::Bytes => "16MiB",
        Unit::BytesPerHour => "1MiB/h",
        Unit::PerHour => "0.5/h",
        Unit::PerSecond => "100/s",
        Unit::Cores => "0.05cores",
        Unit::One => "0.01",
        Unit::Share => "0.1%",
    }
}

/// A limit that [`parse`] reads back to the same value.
pub(crate) fn print(unit: Unit, limit: Limit) -> String {
    let value = match limit {
        Limit::Percent(percent) => return format!("{percent}%"),
        Limit::InUnit(value) => value,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was read from a whole number of nanoseconds"
    )]
    let time = |ns: f64| units::print_duration(Duration::from_nanos(ns.round() as u64));
    match unit {
        Unit::Nanoseconds => time(value),
        Unit::Microseconds => time(value * 1e3),
        Unit::Seconds => time(value * 1e9),
        Unit::Bytes => format!("{value}B"),
        Unit::BytesPerHour => format!("{value}B/h"),
        Unit::PerHour => format!("{value}/h"),
        Unit::PerSecond => units::print_rate(value),
        Unit::Cores => format!("{value}cores"),
        Unit::One | Unit::Share => format!("{value}"),
    }
}

/// Whether a metric can have a budget under a load: it is measured in every arm, and neither the
/// load nor the generator fixes it.
pub(crate) fn can_have(metric: Metric, model: LoadModel) -> bool {
    use Metric::{
        CpuIdle, CpuPerEvent, CpuPerIteration, CpuPerIterationIsolated, CpuPerRecord, CpuPerSpan,
        DescriptorsGrowth, FlushCpu, FlushTime, GeneratorCpuPerRequest, Pss, RssGrowth, RssPeak,
        RssSteady, StartupCpu, StartupTime, TelemetryLost, ThreadsGrowth, Throughput,
        TypicalCpuPerRequest, WallPerIteration,
    };
    match metric {
        CpuPerSpan | CpuPerEvent | CpuPerRecord | GeneratorCpuPerRequest | TypicalCpuPerRequest => {
            false
        }
        CpuIdle | RssSteady | RssPeak | RssGrowth | ThreadsGrowth | DescriptorsGrowth | Pss
        | StartupTime | StartupCpu | TelemetryLost => true,
        CpuPerIteration | CpuPerIterationIsolated | WallPerIteration | FlushTime | FlushCpu => {
            model == LoadModel::Batch
        }
        Throughput => model == LoadModel::Closed,
        _ => model != LoadModel::Batch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits() {
        use Limit::{InUnit, Percent};
        let table = [
            (Unit::Microseconds, "5%", Some(Percent(5.0))),
            (Unit::Microseconds, "0.5 %", Some(Percent(0.5))),
            (Unit::Microseconds, "12us", Some(InUnit(12.0))),
            (Unit::Microseconds, "1ms", Some(InUnit(1000.0))),
            (Unit::Seconds, "200ms", Some(InUnit(0.2))),
            (Unit::Bytes, "16MiB", Some(InUnit(16_777_216.0))),
            (Unit::Bytes, "300B", Some(InUnit(300.0))),
            (Unit::BytesPerHour, "1MiB/h", Some(InUnit(1_048_576.0))),
            (Unit::BytesPerHour, "1MiB", None),
            (Unit::PerHour, "2.5/h", Some(InUnit(2.5))),
            (Unit::PerHour, "2.5", None),
            (Unit::PerSecond, "100/s", Some(InUnit(100.0))),
            (Unit::Cores, "0.05cores", Some(InUnit(0.05))),
            (Unit::One, "0.01", Some(InUnit(0.01))),
            (Unit::Share, "0.5 %", Some(InUnit(0.005))),
            (Unit::Share, "0.01", Some(InUnit(0.01))),
            (Unit::Share, "1", None),
            (Unit::Share, "200%", None),
            (Unit::Microseconds, "12", None),
            (Unit::Microseconds, "16MiB", None),
            (Unit::Microseconds, "-5%", None),
            (Unit::Microseconds, "inf%", None),
            (Unit::Bytes, "12us", None),
            (Unit::One, "", None),
        ];
        for (unit, text, expected) in table {
            assert_eq!(parse(unit, text).ok(), expected, "{text}");
        }
        let of = |metric, text| limit_of(BudgetOf::Cost, metric, text);
        let refused = of(Metric::CpuIdle, "5%").unwrap_err();
        assert!(refused.contains("0.05cores"), "{refused}");
        assert_eq!(of(Metric::CpuIdle, "0.1cores"), Ok(InUnit(0.1)));
        assert_eq!(of(Metric::RssPeak, "5%"), Ok(Percent(5.0)));
        assert_eq!(of(Metric::TelemetryLost, "0.5%"), Ok(InUnit(0.005)));
        let own = |metric, text| limit_of(BudgetOf::Own, metric, text);
        let refused = own(Metric::RssPeak, "5%").unwrap_err();
        assert!(refused.contains("16MiB"), "{refused}");
        assert_eq!(own(Metric::ErrorsPerRequest, "1%"), Ok(InUnit(0.01)));
    }

    proptest! {
        #[test]
        fn printed_limits_lead_back(ns in 0_u64..1 << 50, value in 0.0..1e6, whole in 0_u32..1 << 30) {
            let whole = f64::from(whole);
            let of_time = ns as f64;
            for (unit, limit) in [
                (Unit::Seconds, Limit::Percent(value)),
                (Unit::Nanoseconds, Limit::InUnit(of_time)),
                (Unit::Microseconds, Limit::InUnit(of_time / 1e3)),
                (Unit::Seconds, Limit::InUnit(of_time / 1e9)),
                (Unit::Bytes, Limit::InUnit(whole)),
                (Unit::PerSecond, Limit::InUnit(value)),
                (Unit::PerHour, Limit::InUnit(value)),
                (Unit::Cores, Limit::InUnit(value)),
                (Unit::One, Limit::InUnit(value)),
                (Unit::Share, Limit::InUnit(value / 1e6)),
            ] {
                let printed = print(unit, limit);
                prop_assert_eq!(parse(unit, &printed), Ok(limit), "{}", printed);
            }
        }
    }
}
