//! A connection, as its calls see it.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::Notify;

use crate::receiver::Ending;

/// The connection, as its calls see it.
#[derive(Debug, Default)]
pub(super) struct Line {
    asked: Cell<Option<Ending>>,
    was_asked: Notify,
    is_over: Cell<bool>,
    ended: Notify,
}

impl Line {
    /// Ends the connection under all its calls.
    pub(super) fn end(&self, ending: Ending) {
        self.asked.set(Some(ending));
        self.was_asked.notify_one();
    }

    /// Returns when a call has ended the connection.
    pub(super) async fn is_to_end(&self) -> Ending {
        loop {
            if let Some(ending) = self.asked.get() {
                return ending;
            }
            self.was_asked.notified().await;
        }
    }

    /// Returns when the connection has ended.
    pub(super) async fn ends(&self) {
        if !self.is_over() {
            self.ended.notified().await;
        }
    }

    /// Whether the connection has ended.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }
}

/// Notifies the calls when the connection ends, for whatever reason.
pub(super) struct Ends(pub(super) Rc<Line>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.is_over.set(true);
        self.0.ended.notify_waiters();
    }
}
