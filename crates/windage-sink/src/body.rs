//! Request bodies, read and inflated within bounds.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use flate2::write::GzDecoder;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a body may take to arrive; exporters give up after 10 s by default.
const ARRIVES_WITHIN: Duration = Duration::from_secs(30);
/// Inflated bytes for each compressed one. Real telemetry, ids included, stays below 100.
const GZIP_RATIO_MAX: usize = 256;
/// What a body may inflate to whatever its ratio, so that small and dull ones get through.
const GZIP_RATIO_FREE_BYTES: usize = 1 << 20;
/// Bodies of the largest size that may be held at once.
const LARGEST_BODIES_AT_ONCE: usize = 8;
/// The grain in which memory for bodies is lent out.
const ROOM_UNIT_BYTES: usize = 64 << 10;

/// How a body is encoded on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
}

/// Why a body could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// Larger than the bound, or inflating beyond the ratio.
    TooLarge,
    /// All memory for bodies is lent out.
    NoRoom,
    /// It did not arrive in time.
    Slow,
    /// The connection or its framing broke off.
    Cut,
    /// Not gzip, or not all of it.
    BadGzip,
}

/// What bodies may take, each and together.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    max_bytes: usize,
    room: Arc<Semaphore>,
}

impl Limits {
    /// Bodies of up to `max_bytes` each, before and after inflating.
    pub(crate) fn new(max_bytes: usize) -> Limits {
        let units = units(max_bytes).saturating_mul(LARGEST_BODIES_AT_ONCE);
        let room = Semaphore::new(units.clamp(1, Semaphore::MAX_PERMITS));
        Limits {
            max_bytes,
            room: Arc::new(room),
        }
    }

    /// Reads a whole body.
    pub(crate) async fn read(
        &self,
        body: &mut Incoming,
        encoding: Encoding,
    ) -> Result<Held, BodyError> {
        timeout(ARRIVES_WITHIN, self.collect(body, encoding))
            .await
            .unwrap_or(Err(BodyError::Slow))
    }

    /// Reads what is left of a body and drops it: a client that is still sending would not see
    /// an answer, but a connection reset, and might send the same again.
    pub(crate) async fn discard(&self, body: &mut Incoming) {
        let mut left = self.max_bytes.saturating_mul(2);
        let all = async {
            while let Some(Ok(frame)) = body.frame().await {
                left = match left.checked_sub(frame.data_ref().map_or(0, |data| data.len())) {
                    Some(left) => left,
                    None => return,
                };
            }
        };
        // Whatever has not come by then won't change the answer.
        let _ = timeout(ARRIVES_WITHIN, all).await;
    }

    async fn collect(&self, body: &mut Incoming, encoding: Encoding) -> Result<Held, BodyError> {
        let announced_bytes = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced_bytes > self.max_bytes {
            return Err(BodyError::TooLarge);
        }
        let mut room = Room::new(&self.room);
        room.grow_to(announced_bytes)?;
        let mut decoder = Decoder::new(encoding, announced_bytes, self.max_bytes);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| BodyError::Cut)?;
            if let Some(data) = frame.data_ref() {
                decoder.push(data)?;
                room.grow_to(decoder.held_bytes())?;
            }
        }
        Ok(Held {
            bytes: decoder.finish()?,
            _room: room,
        })
    }
}

/// A body, and the share of memory that it was lent.
pub(crate) struct Held {
    /// The body, inflated.
    pub(crate) bytes: Vec<u8>,
    _room: Room,
}

/// Memory lent for one body.
struct Room {
    of: Arc<Semaphore>,
    lent: Option<OwnedSemaphorePermit>,
}

impl Room {
    fn new(of: &Arc<Semaphore>) -> Room {
        Room {
            of: Arc::clone(of),
            lent: None,
        }
    }

    fn grow_to(&mut self, bytes: usize) -> Result<(), BodyError> {
        let held = self
            .lent
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = units(bytes).saturating_sub(held);
        let missing = u32::try_from(missing).map_err(|_| BodyError::NoRoom)?;
        let more = Arc::clone(&self.of)
            .try_acquire_many_owned(missing)
            .map_err(|_| BodyError::NoRoom)?;
        match &mut self.lent {
            Some(lent) => lent.merge(more),
            None => self.lent = Some(more),
        }
        Ok(())
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(ROOM_UNIT_BYTES)
}

enum Decoder {
    Identity(Bounded),
    Gzip {
        inflating: Box<GzDecoder<Bounded>>,
        received_bytes: usize,
        max_bytes: usize,
    },
}

impl Decoder {
    fn new(encoding: Encoding, announced_bytes: usize, max_bytes: usize) -> Decoder {
        let bounded = Bounded {
            bytes: Vec::with_capacity(announced_bytes),
            allowed_bytes: max_bytes,
        };
        match encoding {
            Encoding::Identity => Decoder::Identity(bounded),
            Encoding::Gzip => Decoder::Gzip {
                inflating: Box::new(GzDecoder::new(bounded)),
                received_bytes: 0,
                max_bytes,
            },
        }
    }

    fn push(&mut self, data: &[u8]) -> Result<(), BodyError> {
        match self {
            Decoder::Identity(bounded) => bounded.write_all(data).map_err(|e| body_error(&e)),
            Decoder::Gzip {
                inflating,
                received_bytes,
                max_bytes,
            } => {
                *received_bytes = received_bytes.saturating_add(data.len());
                let by_ratio = received_bytes
                    .saturating_mul(GZIP_RATIO_MAX)
                    .max(GZIP_RATIO_FREE_BYTES);
                inflating.get_mut().allowed_bytes = by_ratio.min(*max_bytes);
                inflating.write_all(data).map_err(|e| body_error(&e))
            }
        }
    }

    fn held_bytes(&self) -> usize {
        match self {
            Decoder::Identity(bounded) => bounded.bytes.len(),
            Decoder::Gzip { inflating, .. } => inflating.get_ref().bytes.len(),
        }
    }

    fn finish(self) -> Result<Vec<u8>, BodyError> {
        match self {
            Decoder::Identity(bounded) => Ok(bounded.bytes),
            Decoder::Gzip { inflating, .. } => inflating
                .finish()
                .map(|bounded| bounded.bytes)
                .map_err(|e| body_error(&e)),
        }
    }
}

/// The bound speaks through `FileTooLarge`; everything else is flate2's.
fn body_error(error: &io::Error) -> BodyError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => BodyError::TooLarge,
        _ => BodyError::BadGzip,
    }
}

/// A buffer that refuses to grow beyond what is allowed.
struct Bounded {
    bytes: Vec<u8>,
    allowed_bytes: usize,
}

impl Write for Bounded {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() > self.allowed_bytes.saturating_sub(self.bytes.len()) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(encoding: Encoding, wire: &[u8], max_bytes: usize) -> Result<usize, BodyError> {
        let mut decoder = Decoder::new(encoding, 0, max_bytes);
        for chunk in wire.chunks(100) {
            decoder.push(chunk)?;
        }
        decoder.finish().map(|bytes| bytes.len())
    }

    #[test]
    fn bodies_are_bounded_before_and_after_inflating() {
        use Encoding::{Gzip, Identity};
        let free = GZIP_RATIO_FREE_BYTES;
        let mut trailing = gzip(b"abc");
        trailing.extend_from_slice(b"more");
        let whole = gzip(&[7; 5000]);
        type Row<'a> = (&'a str, Encoding, &'a [u8], usize, Result<usize, BodyError>);
        let table: &[Row] = &[
            ("empty", Identity, &[], 10, Ok(0)),
            ("at the bound", Identity, &[1; 10], 10, Ok(10)),
            (
                "beyond the bound",
                Identity,
                &[1; 11],
                10,
                Err(BodyError::TooLarge),
            ),
            ("inflates to the bound", Gzip, &whole, 5000, Ok(5000)),
            (
                "inflates beyond the bound",
                Gzip,
                &whole,
                4999,
                Err(BodyError::TooLarge),
            ),
            (
                "dense, but small",
                Gzip,
                &gzip(&vec![0; free]),
                64 << 20,
                Ok(free),
            ),
            (
                "dense and large: a bomb",
                Gzip,
                &gzip(&vec![0; 32 << 20]),
                64 << 20,
                Err(BodyError::TooLarge),
            ),
            (
                "cut",
                Gzip,
                &whole[..whole.len() - 1],
                5000,
                Err(BodyError::BadGzip),
            ),
            (
                "nothing is not gzip",
                Gzip,
                &[],
                5000,
                Err(BodyError::BadGzip),
            ),
            (
                "not gzip",
                Gzip,
                b"plain text",
                5000,
                Err(BodyError::BadGzip),
            ),
            (
                "something after the end",
                Gzip,
                &trailing,
                5000,
                Err(BodyError::BadGzip),
            ),
        ];
        for (name, encoding, wire, max_bytes, expected) in table {
            assert_eq!(decode(*encoding, wire, *max_bytes), *expected, "{name}");
        }
    }

    #[test]
    fn memory_for_bodies_runs_out_and_comes_back() {
        let limits = Limits::new(ROOM_UNIT_BYTES);
        let mut rooms: Vec<Room> = (0..LARGEST_BODIES_AT_ONCE)
            .map(|_| Room::new(&limits.room))
            .collect();
        for room in &mut rooms {
            assert_eq!(room.grow_to(1), Ok(()));
            assert_eq!(
                room.grow_to(ROOM_UNIT_BYTES),
                Ok(()),
                "its unit covers that"
            );
        }
        let mut late = Room::new(&limits.room);
        assert_eq!(late.grow_to(1), Err(BodyError::NoRoom));
        rooms.pop();
        assert_eq!(late.grow_to(1), Ok(()));
    }
}
