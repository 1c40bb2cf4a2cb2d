//! What was received, by service and instrumentation scope.

/// Pairs beyond this many are counted together.
const MAX_SOURCES: usize = 256;
const OTHER: &str = "(other)";
/// Longer names are cut.
const MAX_NAME_BYTES: usize = 128;

/// What one service sent under one instrumentation scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// `service.name`, or the protocol's equivalent; empty when missing.
    pub service: String,
    /// The instrumentation scope's name; empty when missing.
    pub scope: String,
    /// What this source sent.
    pub items: SourceItems,
}

/// What one source sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceItems {
    /// Spans.
    pub spans: u64,
    /// Events on spans.
    pub span_events: u64,
    /// Data points of metrics.
    pub metric_points: u64,
    /// Log records.
    pub log_records: u64,
}

/// Sources of one request or of an arm.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceTally(Vec<Source>);

impl SourceTally {
    /// The index of a pair, which is added if new.
    pub(crate) fn place(&mut self, service: &[u8], scope: &[u8]) -> usize {
        let text = |name| String::from_utf8_lossy(cut(name));
        self.place_of(&text(service), &text(scope))
    }

    fn place_of(&mut self, service: &str, scope: &str) -> usize {
        let is_it = |source: &Source| source.service == service && source.scope == scope;
        if let Some(at) = self.0.iter().rposition(is_it) {
            return at;
        }
        if self.0.len() >= MAX_SOURCES && (service, scope) != (OTHER, OTHER) {
            return self.place_of(OTHER, OTHER);
        }
        self.0.push(Source {
            service: service.to_owned(),
            scope: scope.to_owned(),
            items: SourceItems::default(),
        });
        self.0.len() - 1
    }

    pub(crate) fn items(&mut self, at: usize) -> &mut SourceItems {
        &mut self.0[at].items
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Source>() + self.0.len() * 2 * MAX_NAME_BYTES
    }

    pub(crate) fn merge(&mut self, more: &SourceTally) {
        for Source {
            service,
            scope,
            items,
        } in &more.0
        {
            let at = self.place_of(service, scope);
            let sum = self.items(at);
            sum.spans += items.spans;
            sum.span_events += items.span_events;
            sum.metric_points += items.metric_points;
            sum.log_records += items.log_records;
        }
    }

    /// All of them, most items first.
    pub(crate) fn into_sources(mut self) -> Vec<Source> {
        self.0.sort_by(|a, b| {
            let size = |s: &Source| s.items.spans + s.items.metric_points + s.items.log_records;
            size(b)
                .cmp(&size(a))
                .then_with(|| (&a.service, &a.scope).cmp(&(&b.service, &b.scope)))
        });
        self.0
    }
}

/// The part of a name that is kept.
pub(crate) fn cut(name: &[u8]) -> &[u8] {
    &name[..name.len().min(MAX_NAME_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_numbered_up_to_a_limit() {
        let mut tally = SourceTally::default();
        let first = tally.place(b"shop", b"http");
        assert_eq!(tally.place(b"shop", b"http"), first);
        assert_ne!(tally.place(b"shop", b"sql"), first);
        for i in 2..MAX_SOURCES + 50 {
            tally.place(format!("s{i}").as_bytes(), b"");
        }
        let late = tally.place(b"one more", b"");
        tally.items(late).spans = 9;
        assert_eq!(
            tally.place(b"shop", b"http"),
            first,
            "known ones keep their number"
        );
        let mut both = tally.clone();
        both.merge(&tally);
        let sources = both.into_sources();
        assert_eq!(sources.len(), MAX_SOURCES + 1);
        let first = &sources[0];
        assert_eq!((first.service.as_str(), first.items.spans), (OTHER, 18));
    }

    #[test]
    fn long_names_are_cut() {
        let mut tally = SourceTally::default();
        tally.place(&[b'x'; 5000], b"");
        assert_eq!(tally.into_sources()[0].service.len(), MAX_NAME_BYTES);
    }
}
