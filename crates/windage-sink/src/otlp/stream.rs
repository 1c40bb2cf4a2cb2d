//! An export request, counted while its body arrives.
//!
//! The outer messages (request, resource, scope) are followed across pieces of the body; their
//! content (a span, a metric, a resource) is counted in place as soon as it is complete. Only an
//! item that straddles two pieces is held, so memory depends on the size of an item and not of a
//! body.

use crate::otlp::items;
use crate::receipt::{Detail, Receipt};
use crate::signal::Signal;
use crate::sources;
use crate::wire::{WireError, header};

// Export…ServiceRequest → Resource… → Scope… → Span, Metric, LogRecord or Profile: the same for
// all signals.
const REQUEST: usize = 0;
const RESOURCES: usize = 1;
const SCOPES: usize = 2;
/// In both Resource… and Scope…, field 1 describes the owner and field 2 holds the content.
const OWNER: u32 = 1;
const CONTENT: u32 = 2;
/// The only field of a request that is followed.
const RESOURCE: u32 = 1;

/// The state between two pieces of a body.
#[derive(Debug)]
pub(crate) struct Stream {
    signal: Signal,
    /// Bytes left of the message at each level; the request ends with the body.
    left: [u64; 3],
    level: usize,
    /// Bytes still to come of a field that is skipped.
    skipping: u64,
    /// The beginning of an incomplete field, and how many bytes it needs to continue.
    held: Vec<u8>,
    needed: usize,
    service: Vec<u8>,
    scope: Vec<u8>,
    /// Whether the receipt knows the current service and scope.
    receipt_knows: bool,
}

/// The result of a step.
enum Step {
    /// This many bytes were used.
    Used(usize),
    /// The field needs this many bytes, counted from its first one.
    Needs(usize),
}

impl Stream {
    pub(crate) fn new(signal: Signal) -> Stream {
        Stream {
            signal,
            left: [u64::MAX, 0, 0],
            level: REQUEST,
            skipping: 0,
            held: Vec::new(),
            needed: 0,
            service: Vec::new(),
            scope: Vec::new(),
            receipt_knows: false,
        }
    }

    /// Bytes held of an incomplete item.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.capacity()
    }

    /// Counts what this piece of the body completes.
    pub(crate) fn feed(
        &mut self,
        mut piece: &[u8],
        receipt: &mut Receipt,
    ) -> Result<(), WireError> {
        while !piece.is_empty() {
            if self.held.is_empty() {
                piece = self.walk(piece, receipt)?;
            } else {
                piece = self.complete(piece, receipt)?;
            }
        }
        Ok(())
    }

    /// The body is complete.
    pub(crate) fn finish(&mut self) -> Result<(), WireError> {
        self.leave_ended();
        let is_whole = self.level == REQUEST && self.skipping == 0 && self.held.is_empty();
        is_whole.then_some(()).ok_or(WireError::Truncated)
    }

    /// Walks in place; what is left at the end of the piece is held.
    fn walk<'a>(
        &mut self,
        mut piece: &'a [u8],
        receipt: &mut Receipt,
    ) -> Result<&'a [u8], WireError> {
        while !piece.is_empty() {
            piece = &piece[self.run_of_items(piece, receipt)?..];
            if piece.is_empty() {
                break;
            }
            match self.step(piece, receipt)? {
                Step::Used(used) => piece = &piece[used..],
                Step::Needs(needed) => {
                    self.needed = needed;
                    self.held.extend_from_slice(piece);
                    return Ok(&[]);
                }
            }
        }
        Ok(piece)
    }

    /// Counts consecutive complete items, which make up nearly all of a body. Returns how many
    /// bytes they took. Everything else is left to [`step`](Self::step).
    #[inline]
    fn run_of_items(&mut self, piece: &[u8], receipt: &mut Receipt) -> Result<usize, WireError> {
        // Field 2, length-delimited.
        const CONTENT_KEY: u8 = 0x12;
        if self.level != SCOPES || self.skipping > 0 {
            return Ok(0);
        }
        let mut rest = piece;
        while let Some((item, behind)) = short_item(CONTENT_KEY, rest) {
            let used = (rest.len() - behind.len()) as u64;
            let Some(left) = self.left[SCOPES].checked_sub(used) else {
                break;
            };
            self.look_at(CONTENT, item, receipt)?;
            self.left[SCOPES] = left;
            rest = behind;
        }
        Ok(piece.len() - rest.len())
    }

    /// Adds to what is held, and counts it when it is complete.
    fn complete<'a>(
        &mut self,
        piece: &'a [u8],
        receipt: &mut Receipt,
    ) -> Result<&'a [u8], WireError> {
        let missing = self.needed.saturating_sub(self.held.len()).min(piece.len());
        self.held.extend_from_slice(&piece[..missing]);
        if self.held.len() < self.needed {
            return Ok(&[]);
        }
        let mut held = std::mem::take(&mut self.held);
        match self.step(&held, receipt)? {
            // A step uses all the bytes that it asked for.
            Step::Used(_) => held.clear(),
            Step::Needs(needed) => self.needed = needed,
        }
        self.held = held;
        Ok(&piece[missing..])
    }

    /// One field, or the end of a message.
    #[inline]
    fn step(&mut self, bytes: &[u8], receipt: &mut Receipt) -> Result<Step, WireError> {
        if self.skipping > 0 {
            let here = self.skipping.min(bytes.len() as u64);
            self.skipping -= here;
            self.consume(here)?;
            return Ok(Step::Used(to_usize(here)));
        }
        self.leave_ended();
        let Some(header) = header(bytes)? else {
            return Ok(Step::Needs(bytes.len() + 1));
        };
        let (number, length) = (header.number, header.length);
        let Some(content) = header.content else {
            // A number, complete with its header.
            if self.is_looked_at(number) {
                return Err(WireError::NotLengthDelimited);
            }
            self.consume(length as u64)?;
            return Ok(Step::Used(length));
        };
        let whole = (length as u64).saturating_add(content);
        if whole > self.left[self.level] {
            return Err(WireError::Truncated);
        }
        if self.level < SCOPES && number == self.way_down() {
            self.consume(whole)?;
            self.enter(content);
            return Ok(Step::Used(length));
        }
        if !self.is_looked_at(number) {
            self.skipping = content;
            self.consume(length as u64)?;
            return Ok(Step::Used(length));
        }
        let Some(item) = bytes.get(length..to_usize(whole)) else {
            return Ok(Step::Needs(to_usize(whole)));
        };
        self.consume(whole)?;
        self.look_at(number, item, receipt)?;
        Ok(Step::Used(to_usize(whole)))
    }

    fn way_down(&self) -> u32 {
        match self.level {
            REQUEST => RESOURCE,
            _ => CONTENT,
        }
    }

    fn is_looked_at(&self, number: u32) -> bool {
        match self.level {
            REQUEST => number == RESOURCE,
            _ => matches!(number, OWNER | CONTENT),
        }
    }

    #[inline]
    fn look_at(
        &mut self,
        number: u32,
        item: &[u8],
        receipt: &mut Receipt,
    ) -> Result<(), WireError> {
        if number == OWNER {
            let (name, own) = match self.level {
                RESOURCES => (items::service_name(item)?, &mut self.service),
                _ => (items::scope_name(item)?, &mut self.scope),
            };
            own.clear();
            own.extend_from_slice(sources::cut(name));
            self.receipt_knows = false;
            return Ok(());
        }
        if receipt.detail == Detail::Counts {
            return items::count_shallowly(self.signal, item, receipt);
        }
        if !self.receipt_knows {
            receipt.source(&self.service, &self.scope);
            self.receipt_knows = true;
        }
        items::count(self.signal, item, receipt)
    }

    fn enter(&mut self, content: u64) {
        self.level += 1;
        self.left[self.level] = content;
        self.receipt_knows = false;
        match self.level {
            RESOURCES => self.service.clear(),
            _ => self.scope.clear(),
        }
    }

    /// Leaves messages that have ended; a field being skipped still belongs to one.
    fn leave_ended(&mut self) {
        while self.level > REQUEST && self.left[self.level] == 0 {
            self.level -= 1;
            self.receipt_knows = false;
        }
    }

    fn consume(&mut self, bytes: u64) -> Result<(), WireError> {
        // The request itself ends with the body.
        if self.level > REQUEST {
            let left = &mut self.left[self.level];
            *left = left.checked_sub(bytes).ok_or(WireError::Truncated)?;
        }
        Ok(())
    }
}

/// The field at the start of `bytes`, and what follows it, if it has this key and a length of one
/// or two bytes, and is complete.
#[inline]
fn short_item(key: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match bytes {
        [first, length @ ..0x80, behind @ ..] if *first == key => {
            behind.split_at_checked(usize::from(*length))
        }
        [first, low, high @ ..0x80, behind @ ..] if *first == key => {
            let length = usize::from(low & 0x7f) | usize::from(*high) << 7;
            behind.split_at_checked(length)
        }
        _ => None,
    }
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
