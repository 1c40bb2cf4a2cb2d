//! What the sink counted for an arm, over all launches.

use windage_record::Delivered;

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $field:ident,)+) => {
        /// What the sink counted for an arm, over all launches. Sums saturate.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct DeliveredCounts { $($(#[doc = $doc])+ pub $field: u64,)+ }

        impl DeliveredCounts {
            /// Each count, under its name in files.
            #[must_use]
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field),)+]
            }

            /// Adds a launch.
            pub(super) fn add(&mut self, launch: &Delivered) {
                $(self.$field = self.$field.saturating_add(launch.$field);)+
            }
        }
    };
}

counts! {
    /// Requests that the subject answered since launch; `expected` is computed from them.
    completed_requests,
    /// Export requests.
    export_requests,
    /// Spans.
    spans,
    /// Spans without a parent.
    root_spans,
    /// Events on spans.
    span_events,
    /// Links on spans.
    links,
    /// Attributes on spans.
    attributes,
    /// Points of metrics.
    metric_points,
    /// Log records.
    log_records,
    /// Profiles.
    profiles,
    /// Accepted requests without telemetry from the service itself.
    side_requests,
    /// Bytes as they were on the wire.
    wire_bytes,
    /// Bytes of the bodies, uncompressed.
    body_bytes,
    /// Export requests that the sink could not take.
    rejected,
    /// Export requests that the sink could not read.
    malformed,
    /// Valid export requests that the backend refused on purpose.
    refused,
    /// Spans that were refused, counted each time.
    refused_spans,
    /// Metric points and log records that were refused, counted each time.
    refused_others,
    /// Export requests repeated after getting no success.
    retried_requests,
    /// Spans in those that had been counted before.
    repeated_spans,
}
