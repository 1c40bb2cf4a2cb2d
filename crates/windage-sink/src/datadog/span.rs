//! A span in either version, and how it gets into a receipt.

use serde::de::IgnoredAny;

use crate::receipt::{Receipt, SpanFacts};

/// Prefix of tags that are meant for the agent: sampling decisions, rates, the upper half of the
/// trace id, links as JSON.
const BOOKKEEPING: &[u8] = b"_dd.";
const UPPER_TRACE_ID: &[u8] = b"_dd.p.tid";
const LINKS_AS_JSON: &[u8] = b"_dd.span_links";

/// One span, as far as it is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Span<'a> {
    pub(super) service: &'a [u8],
    /// The lower half.
    pub(super) trace_id: u64,
    pub(super) span_id: u64,
    pub(super) parent_id: u64,
    pub(super) start_unix_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) events: u32,
    pub(super) links: u32,
    attributes: u32,
    upper_trace_id: Option<u64>,
}

impl Span<'_> {
    /// A text tag.
    pub(super) fn meta(&mut self, key: &[u8], value: &[u8]) {
        match key {
            UPPER_TRACE_ID => self.upper_trace_id = upper_trace_id(value),
            LINKS_AS_JSON => self.links = self.links.saturating_add(elements(value)),
            _ => self.attribute(key),
        }
    }

    /// Any other tag.
    pub(super) fn attribute(&mut self, key: &[u8]) {
        self.attributes += u32::from(!key.starts_with(BOOKKEEPING));
    }

    fn end_unix_ns(&self) -> u64 {
        if self.start_unix_ns <= 0 {
            return 0;
        }
        let end = self.start_unix_ns.saturating_add(self.duration_ns);
        u64::try_from(end).unwrap_or(0)
    }

    fn facts(&self, upper_trace_id: u64) -> SpanFacts {
        SpanFacts {
            trace_id: u128::from(upper_trace_id) << 64 | u128::from(self.trace_id),
            span_id: self.span_id,
            parent_id: self.parent_id,
            end_unix_ns: self.end_unix_ns(),
            events: self.events,
            links: self.links,
            attributes: self.attributes,
        }
    }
}

/// Sixteen hexadecimal digits.
fn upper_trace_id(value: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(value).ok()?, 16).ok()
}

/// The length of a JSON array; 0 for anything else.
fn elements(json: &[u8]) -> u32 {
    // A vector of zero-sized values takes no memory.
    let elements: Vec<IgnoredAny> = serde_json::from_slice(json).unwrap_or_default();
    u32::try_from(elements.len()).unwrap_or(u32::MAX)
}

/// Passes spans on to a receipt.
pub(super) struct Spans<'r, 'a> {
    receipt: &'r mut Receipt,
    service: Option<&'a [u8]>,
    upper_trace_id: u64,
}

impl<'r, 'a> Spans<'r, 'a> {
    pub(super) fn new(receipt: &'r mut Receipt) -> Spans<'r, 'a> {
        Spans {
            receipt,
            service: None,
            upper_trace_id: 0,
        }
    }

    /// The next spans are of another trace.
    pub(super) fn begin_trace(&mut self) {
        self.upper_trace_id = 0;
    }

    pub(super) fn add(&mut self, span: &Span<'a>) {
        // The first span of a trace holds the upper half for all.
        if let Some(upper) = span.upper_trace_id {
            self.upper_trace_id = upper;
        }
        if self.service != Some(span.service) {
            self.service = Some(span.service);
            self.receipt.source(span.service, b"");
        }
        self.receipt.span(&span.facts(self.upper_trace_id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_span_is_start_plus_duration() {
        // Start, duration, end.
        let table = [
            (1000, 20, 1020, "normal"),
            (1000, -20, 980, "a clock that was set back"),
            (10, -20, 0, "before 1970"),
            (0, 20, 0, "no start"),
            (-5, 20, 0, "start before 1970"),
            (i64::MAX, i64::MAX, i64::MAX as u64, "no overflow"),
        ];
        for (start_unix_ns, duration_ns, end_unix_ns, why) in table {
            let span = Span {
                start_unix_ns,
                duration_ns,
                ..Span::default()
            };
            assert_eq!(span.facts(0).end_unix_ns, end_unix_ns, "{why}");
        }
    }

    #[test]
    fn tracer_tags_are_not_counted() {
        let mut span = Span::default();
        span.meta(b"http.route", b"/");
        span.meta(b"_ddog", b"a dog");
        span.meta(b"_dd.p.dm", b"-0");
        span.attribute(b"size");
        span.attribute(b"_dd.top_level");
        assert_eq!(span.facts(0).attributes, 3);
    }

    #[test]
    fn links_in_json_are_counted() {
        let table: [(&[u8], u32); 5] = [
            (
                br#"[{"trace_id":"0a","span_id":"0b"},{"trace_id":"0c"}]"#,
                2,
            ),
            (b"[]", 0),
            (b"{}", 0),
            (b"[1,2", 0),
            (b"", 0),
        ];
        for (json, links) in table {
            let mut span = Span::default();
            span.meta(LINKS_AS_JSON, json);
            let facts = span.facts(0);
            assert_eq!((facts.links, facts.attributes), (links, 0));
        }
    }

    #[test]
    fn the_upper_half_of_a_trace_id_is_hexadecimal() {
        let table: [(&[u8], Option<u64>); 5] = [
            (b"6b02507400000000", Some(0x6b02_5074_0000_0000)),
            (b"ffffffffffffffff", Some(u64::MAX)),
            (b"1ffffffffffffffff", None),
            (b"sixteen", None),
            (b"\xff", None),
        ];
        for (value, upper) in table {
            assert_eq!(upper_trace_id(value), upper);
        }
    }
}
