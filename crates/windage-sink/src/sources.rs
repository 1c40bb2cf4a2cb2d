//! Names of services and instrumentation scopes, each pair with a number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pairs beyond this many are counted together.
const MAX_SOURCES: usize = 256;
/// Names are cut there; nothing longer is a name.
const MAX_NAME_BYTES: usize = 128;

/// The number of a pair; 0 stands for all that found no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SourceId(u16);

/// The numbers of one arm's sources.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Arc<Mutex<Table>>);

type ByScope = HashMap<Box<[u8]>, SourceId>;

#[derive(Debug, Default)]
struct Table {
    /// By service, then scope, so that a look-up needs no key that is put together.
    ids: HashMap<Box<[u8]>, ByScope>,
    names: Vec<(String, String)>,
}

impl Sources {
    /// The pair's number, a new one if it is new.
    pub(crate) fn id(&self, service: &[u8], scope: &[u8]) -> SourceId {
        let (service, scope) = (cut(service), cut(scope));
        let mut table = self.lock();
        if let Some(id) = table.ids.get(service).and_then(|scopes| scopes.get(scope)) {
            return *id;
        }
        table.add(service, scope)
    }

    /// The service and the scope of a number.
    pub(crate) fn names(&self, id: SourceId) -> (String, String) {
        let other = || ("(other)".to_owned(), "(other)".to_owned());
        let at = usize::from(id.0).checked_sub(1);
        at.and_then(|at| self.lock().names.get(at).cloned())
            .unwrap_or_else(other)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Every entry is whole before the next is begun.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn add(&mut self, service: &[u8], scope: &[u8]) -> SourceId {
        if self.names.len() >= MAX_SOURCES {
            return SourceId(0);
        }
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        self.names.push((text(service), text(scope)));
        let id = SourceId(u16::try_from(self.names.len()).unwrap_or(0));
        self.ids
            .entry(service.into())
            .or_default()
            .insert(scope.into(), id);
        id
    }
}

/// As much of a name as is kept.
pub(crate) fn cut(name: &[u8]) -> &[u8] {
    &name[..name.len().min(MAX_NAME_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_numbers_until_there_are_too_many() {
        let sources = Sources::default();
        let first = sources.id(b"shop", b"http");
        assert_eq!(sources.id(b"shop", b"http"), first);
        let second = sources.id(b"shop", b"sql");
        assert_ne!(second, first);
        assert_eq!(sources.names(second), ("shop".into(), "sql".into()));
        for i in 2..MAX_SOURCES + 50 {
            sources.id(format!("s{i}").as_bytes(), b"");
        }
        let late = sources.id(b"one more", b"");
        assert_eq!(late, SourceId(0));
        assert_eq!(sources.names(late).0, "(other)");
        assert_eq!(sources.id(b"shop", b"http"), first, "known ones stay");
    }

    #[test]
    fn long_names_are_cut() {
        let sources = Sources::default();
        let id = sources.id(&[b'x'; 5000], b"");
        assert_eq!(sources.names(id).0.len(), MAX_NAME_BYTES);
    }
}
