//! Samples as OpenMetrics text.

use std::fmt;

use prometheus_client::encoding::text::encode_eof;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{self, Registry};

use crate::families::{Family, Kind, PREFIX, Sample, Samples};

/// The content type of [`text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Writes samples by family.
pub(crate) fn text(samples: Samples) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Collected(samples)));
    let mut text = String::new();
    prometheus_client::encoding::text::encode_registry(&mut text, &registry)?;
    encode_eof(&mut text)?;
    Ok(text)
}

#[derive(Debug)]
struct Collected(Samples);

impl prometheus_client::collector::Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (family, own) in self.0.by_family() {
            encode_family(&mut encoder, family, &own)?;
        }
        Ok(())
    }
}

fn encode_family(
    encoder: &mut DescriptorEncoder<'_>,
    family: &Family,
    samples: &[&Sample],
) -> fmt::Result {
    let unit = family.unit().suffix();
    let unit = unit.map(|suffix| registry::Unit::Other(suffix.to_owned()));
    // The crate adds a full stop to the help of registered metrics, but not to that of collectors.
    let help = format!("{}.", family.help());
    let kind = match family.kind() {
        Kind::Info => MetricType::Info,
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
    };
    let mut metric = encoder.encode_descriptor(family.stem(), &help, unit.as_ref(), kind)?;
    for sample in samples {
        encode_sample(&mut metric, family.kind(), sample)?;
    }
    Ok(())
}

fn encode_sample(metric: &mut MetricEncoder<'_>, kind: Kind, sample: &Sample) -> fmt::Result {
    if kind == Kind::Info {
        return metric.encode_info(&sample.labels);
    }
    if sample.labels.is_empty() {
        return encode_value(metric, kind, sample.value);
    }
    encode_value(
        &mut metric.encode_family(&sample.labels)?,
        kind,
        sample.value,
    )
}

fn encode_value(metric: &mut MetricEncoder<'_>, kind: Kind, value: f64) -> fmt::Result {
    match kind {
        Kind::Counter => metric.encode_counter::<NoLabelSet, _, f64>(&value, None),
        Kind::Info | Kind::Gauge => metric.encode_gauge(&value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families;

    #[test]
    fn samples_become_openmetrics() {
        let mut samples = Samples::default();
        samples.put(families::BLOCKS, 3.0, &[]);
        samples.put(families::SERVICE_CPU, 0.25, &[("arm", "off")]);
        samples.put(families::SERVICE_CPU, 1.5, &[("arm", "on"), ("regime", "")]);
        samples.put(
            families::OVERHEAD,
            -0.012,
            &[("arm", "on"), ("metric", "rss_peak")],
        );
        samples.put(
            families::OVERHEAD,
            f64::NAN,
            &[("arm", "off"), ("metric", "rss_peak")],
        );
        let expected = "\
# HELP windage_blocks Blocks that were measured.
# TYPE windage_blocks counter
windage_blocks_total 3.0
# HELP windage_service_cpu_seconds CPU of the services in their arm's windows.
# TYPE windage_service_cpu_seconds counter
# UNIT windage_service_cpu_seconds seconds
windage_service_cpu_seconds_total{arm=\"off\"} 0.25
windage_service_cpu_seconds_total{arm=\"on\"} 1.5
# HELP windage_overhead_ratio Overhead of the arm relative to the baseline, as a share of the baseline.
# TYPE windage_overhead_ratio gauge
# UNIT windage_overhead_ratio ratio
windage_overhead_ratio{arm=\"on\",metric=\"rss_peak\"} -0.012
# EOF
";
        assert_eq!(text(samples).unwrap(), expected);
    }

    #[test]
    fn label_values_are_escaped() {
        let table = [
            ("a\"b\n", r#"name="a\"b\n""#),
            ("back\\slash", r#"name="back\\slash""#),
            ("plain, {50 %}", r#"name="plain, {50 %}""#),
        ];
        for (name, written) in table {
            let mut samples = Samples::default();
            samples.put(families::ARM, 1.0, &[("arm", "a-b"), ("name", name)]);
            let text = text(samples).unwrap();
            assert!(text.contains(written), "{text}");
            assert_eq!(text.lines().count(), 4, "{text}");
        }
    }

    #[test]
    fn an_empty_exposition_is_valid() {
        assert_eq!(text(Samples::default()).unwrap(), "# EOF\n");
    }
}
