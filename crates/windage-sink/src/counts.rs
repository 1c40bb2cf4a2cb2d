//! What was delivered, as numbers.

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $field:ident,)+) => {
        /// What the receivers of one arm got since the sink started.
        ///
        /// Every request ends in exactly one of five ways: accepted, `rejected`, `malformed`,
        /// `refused` by the backend's behaviour, or a repetition of one that was counted
        /// (in `retried_requests`). Only accepted requests count towards what they carried.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct Counts { $($(#[doc = $doc])+ pub $field: u64,)+ }

        impl Counts {
            /// What came on top of `earlier`, an older reading of the same arm.
            #[must_use]
            pub fn since(&self, earlier: &Counts) -> Counts {
                Counts { $($field: self.$field.saturating_sub(earlier.$field),)+ }
            }

            /// Both together.
            #[must_use]
            pub fn plus(&self, other: &Counts) -> Counts {
                Counts { $($field: self.$field.saturating_add(other.$field),)+ }
            }
        }
    };
}

counts! {
    /// Requests, whatever became of them.
    requests,
    /// Spans.
    spans,
    /// Spans without a parent: the parent's id is absent, empty or all zeros.
    root_spans,
    /// Events on spans.
    span_events,
    /// Links of spans.
    links,
    /// Attributes of the spans themselves; those of resources, scopes, events and links are not in it.
    attributes,
    /// Data points of metrics, of any kind; over remote write: samples.
    metric_points,
    /// Log records.
    log_records,
    /// Profiles.
    profiles,
    /// Accepted requests that carry no telemetry of the service itself: statistics about spans,
    /// the SDK's own telemetry, questions for its configuration.
    side_requests,
    /// Bytes that were read from the arm's connections: bodies as sent (compressed, if so),
    /// request heads and framing. TCP and IP headers, bytes that the kernel still holds
    /// and the sink's own answers are not in it. Rejected and malformed requests are.
    wire_bytes,
    /// Bytes of accepted bodies after decompression.
    body_bytes,
    /// Requests that were not taken for their path, method, type, encoding or size, for lack of
    /// room, or because the body did not arrive whole and in time.
    rejected,
    /// Requests whose body could not be decompressed or decoded.
    malformed,
    /// Requests that were whole and sound and that the backend's behaviour refused, by an error
    /// or a reset.
    refused,
    /// Spans in those, and those that a partial success refused.
    refused_spans,
    /// Data points and log records that were refused in the same way.
    refused_others,
    /// Requests with the very bytes of an earlier one that its sender had no success for.
    retried_requests,
    /// Spans in those that had been counted already, and were not again.
    repeated_spans,
    /// Connections that were closed at once because the sink had as many as it may have.
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
