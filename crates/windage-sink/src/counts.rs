//! What was delivered, as numbers.

use std::sync::{Mutex, MutexGuard, PoisonError};

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $field:ident,)+) => {
        /// What one arm's listener received since the sink started.
        ///
        /// Every request ends in exactly one of three ways: accepted, `rejected` or `malformed`.
        /// Only accepted requests count towards what they carried.
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
    /// Requests whose head could be read, whatever became of them.
    requests,
    /// Spans.
    spans,
    /// Spans without a parent: `parent_span_id` is absent, empty or all zeros.
    root_spans,
    /// Events on spans.
    span_events,
    /// Links of spans.
    links,
    /// Attributes of the spans themselves; those of resources, scopes, events and links are not in it.
    attributes,
    /// Data points of metrics, of any kind.
    metric_points,
    /// Log records.
    log_records,
    /// Bytes that were read from the arm's connections: bodies as sent (compressed, if so),
    /// request heads and chunk framing. TCP and IP headers, bytes that the kernel still holds
    /// and the sink's own answers are not in it. Rejected and malformed requests are.
    wire_bytes,
    /// Bytes of accepted bodies after decompression.
    body_bytes,
    /// Requests that were refused for their path, method, type, encoding or size, for lack of
    /// room, or because the body did not arrive whole and in time.
    rejected,
    /// Those of `rejected` that carried OTLP/JSON.
    rejected_json,
    /// Requests whose body was not valid gzip or not valid protobuf of its signal.
    malformed,
    /// Connections that were closed at once because the sink had as many as it may have.
    refused_connections,
}

/// One arm's running counts, written by the sink's thread and read by any.
///
/// A lock and not one atomic for each field: a reading then never shows half a request. Nothing
/// is done under it but additions, so that readers don't hold the sink up.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Counts>);

impl Tally {
    /// Adds to the counts, all fields at once.
    pub(crate) fn add(&self, more: &Counts) {
        let mut counts = self.lock();
        *counts = counts.plus(more);
    }

    /// The counts so far.
    pub(crate) fn read(&self) -> Counts {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // The value is replaced whole: a panic elsewhere can't have left it half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
            "counters never go below nil"
        );
    }

    #[test]
    fn a_tally_adds_up() {
        let tally = Tally::default();
        for spans in 1..=4 {
            tally.add(&Counts {
                requests: 1,
                spans,
                ..Counts::default()
            });
        }
        assert_eq!(
            tally.read(),
            Counts {
                requests: 4,
                spans: 10,
                ..Counts::default()
            }
        );
    }
}
