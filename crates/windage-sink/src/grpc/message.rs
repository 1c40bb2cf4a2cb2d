//! The frame around a message: a flag, a length, and so many bytes.

use crate::malformed::Malformed;

const PREFIX_BYTES: usize = 5;

/// The stream of a call's messages, of which there must be one.
#[derive(Debug, Default)]
pub(super) struct Framed {
    prefix: [u8; PREFIX_BYTES],
    had: usize,
    left_bytes: u64,
}

/// What the prefix says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) is_compressed: bool,
    pub(super) bytes: u32,
}

impl Framed {
    /// Takes what belongs to the prefix off `data`; what it says, once it is whole.
    pub(super) fn prefix(&mut self, data: &mut &[u8]) -> Result<Option<Announced>, Malformed> {
        let missing = (PREFIX_BYTES - self.had).min(data.len());
        let (taken, rest) = data.split_at(missing);
        self.prefix[self.had..self.had + missing].copy_from_slice(taken);
        self.had += missing;
        *data = rest;
        if self.had < PREFIX_BYTES {
            return Ok(None);
        }
        let [flag, length @ ..] = self.prefix;
        let bytes = u32::from_be_bytes(length);
        self.left_bytes = u64::from(bytes);
        match flag {
            0 | 1 => Ok(Some(Announced {
                is_compressed: flag == 1,
                bytes,
            })),
            _ => Err(Malformed::Grpc("its first byte is neither 0 nor 1")),
        }
    }

    /// Data of the message, which must not go beyond it.
    pub(super) fn take(&mut self, data: &[u8]) -> Result<(), Malformed> {
        self.left_bytes = self
            .left_bytes
            .checked_sub(data.len() as u64)
            .ok_or(Malformed::Grpc("a unary call has one message"))?;
        Ok(())
    }

    /// Whether the message is there to its last byte.
    pub(super) fn is_whole(&self) -> bool {
        self.had == PREFIX_BYTES && self.left_bytes == 0
    }
}

/// A message in its frame, uncompressed.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(PREFIX_BYTES + message.len());
    bytes.push(0);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(message);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_in_any_pieces() {
        let wire = framed(b"spans");
        for step in 1..=wire.len() {
            let (mut frames, mut announced, mut message) = (Framed::default(), None, Vec::new());
            for mut data in wire.chunks(step) {
                if announced.is_none() {
                    announced = frames.prefix(&mut data).unwrap();
                }
                frames.take(data).unwrap();
                message.extend_from_slice(data);
            }
            let expected = Announced {
                is_compressed: false,
                bytes: 5,
            };
            assert_eq!(announced, Some(expected), "{step}");
            assert_eq!(
                (message.as_slice(), frames.is_whole()),
                (b"spans".as_slice(), true)
            );
            assert!(frames.take(b"x").is_err(), "a second message");
        }
    }

    #[test]
    fn an_unknown_flag_is_an_error() {
        assert!(
            Framed::default()
                .prefix(&mut [2, 0, 0, 0, 0].as_slice())
                .is_err()
        );
        assert!(!Framed::default().is_whole());
    }
}
