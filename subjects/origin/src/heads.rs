//! Finds where requests without a body end.

const END: &[u8; 4] = b"\r\n\r\n";

/// How much of the end of a head has arrived, between two reads of one connection.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    matched: usize,
}

impl Heads {
    /// Takes the bytes read and returns how many heads ended in them.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let mut ended = 0;
        for &byte in bytes {
            self.matched = match byte {
                byte if byte == END[self.matched] => self.matched + 1,
                b'\r' => 1,
                _ => 0,
            };
            if self.matched == END.len() {
                self.matched = 0;
                ended += 1;
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_counted_wherever_reads_cut_them() {
        let table: [(&[u8], usize, &str); 5] = [
            (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1, "one request"),
            (
                b"GET / HTTP/1.1\r\nHost: a\r\n",
                0,
                "its head has not ended",
            ),
            (
                b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                2,
                "two at once",
            ),
            (
                b"GET / HTTP/1.1\r\nA: \r\r\n\r\n",
                1,
                "a return too many before the end",
            ),
            (
                b"GET / HTTP/1.1\r\nA: b\n\n",
                0,
                "bare line feeds end nothing",
            ),
        ];
        for (bytes, expected, why) in table {
            for cut in 0..=bytes.len() {
                let mut heads = Heads::default();
                let ended = heads.take(&bytes[..cut]) + heads.take(&bytes[cut..]);
                assert_eq!(ended, expected, "{why}, cut at {cut}");
            }
        }
    }
}
