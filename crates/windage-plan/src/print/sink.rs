//! Prints `[sink]`, and the keys of telemetry in services and arms.

use super::toml_text::{Toml, list, quote, template};
use crate::plan::Service;
use crate::{Drops, SinkPlan, ToldBy, units};

pub(super) fn print(out: &mut Toml, sink: Option<&SinkPlan>) {
    let Some(sink) = sink else { return };
    out.table("[sink]");
    let keep = sink.keep_bytes.map(units::print_bytes);
    out.optional("keep", keep.as_deref().map(quote));
    out.entry("client_drop_p0s", sink.client_drop_p0s);
    out.entry("detail", quote(sink.detail.as_str()));
}

pub(super) fn print_drops(out: &mut Toml, service: &Service) {
    out.optional("metrics", service.metrics.as_ref().map(template));
    out.entry("drops", list(service.drops.iter().map(drops)));
}

fn drops(drops: &Drops) -> String {
    let told_by = match &drops.told_by {
        ToldBy::Log { pattern } => format!("log = {}", quote(pattern)),
        ToldBy::Metric { name } => format!("metric = {}", quote(name)),
    };
    format!("{{ reason = {}, {told_by} }}", quote(&drops.reason))
}
