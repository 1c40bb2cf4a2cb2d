//! Counts of delivered telemetry.

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $field:ident,)+) => {
        /// What the receivers of one arm got since the sink started.
        ///
        /// Every request ends in exactly one of five ways: accepted, `rejected`, `malformed`,
        /// `refused` by the backend's behaviour, or as a retry of one that was counted
        /// (`retried_requests`). Only accepted requests add to the telemetry counts.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct Counts { $($(#[doc = $doc])+ pub $field: u64,)+ }

        impl Counts {
            /// What was added since `earlier`, an older reading of the same arm.
            #[must_use]
            pub fn since(&self, earlier: &Counts) -> Counts {
                Counts { $($field: self.$field.saturating_sub(earlier.$field),)+ }
            }

            /// The sum of both.
            #[must_use]
            pub fn plus(&self, other: &Counts) -> Counts {
                Counts { $($field: self.$field.saturating_add(other.$field),)+ }
            }
        }
    };
}

counts! {
    /// All requests.
    requests,
    /// Spans.
    spans,
    /// Spans without a parent: the parent's id is absent, empty or all zeros.
    root_spans,
    /// Events on spans.
    span_events,
    /// Links of spans.
    links,
    /// Attributes of the spans themselves, without those of resources, scopes, events and links.
    attributes,
    /// Data points of metrics of any kind; over remote write: samples.
    metric_points,
    /// Log records.
    log_records,
    /// Profiles.
    profiles,
    /// Accepted requests without telemetry of the service itself: statistics about spans, the SDK's
    /// own telemetry, requests for configuration.
    side_requests,
    /// Bytes read from the arm's connections: bodies as sent (compressed or not), request heads and
    /// framing, of rejected and malformed requests too. TCP and IP headers, bytes still in the
    /// kernel and the sink's own answers are not included.
    wire_bytes,
    /// Bytes of accepted bodies after decompression.
    body_bytes,
    /// Requests refused for their path, method, type, encoding or size, for lack of memory, or
    /// because the body did not arrive completely and in time.
    rejected,
    /// Requests whose body could not be decompressed or decoded.
    malformed,
    /// Complete, valid requests that the backend's behaviour refused, by an error or a reset.
    refused,
    /// Spans in refused requests, and spans refused by partial successes.
    refused_spans,
    /// Data points and log records refused in either way.
    refused_others,
    /// Requests with the same bytes as an earlier one that got no success.
    retried_requests,
    /// Spans in retried requests that had been counted before and were not counted again.
    repeated_spans,
    /// Connections that were closed at once because the sink had reached its limit.
    refused_connections,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_the_inverse_of_plus() {
        let early = Counts {
            requests: 3,
            spans: 10,
            wire_bytes: 700,
            ..Counts::default()
        };
        let more = Counts {
            requests: 1,
            spans: 4,
            malformed: 1,
            ..Counts::default()
        };
        let late = early.plus(&more);
        assert_eq!(late.since(&early), more);
        assert_eq!(
            early.since(&late),
            Counts::default(),
            "counters never go below zero"
        );
    }
}
