//! Collapsed stacks: one line per stack, with its functions from the outermost to the innermost
//! separated by `;`, a space, and its count.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufRead, Read};

/// Limits for reading collapsed stacks, which other programs wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest line, in bytes; longer lines are malformed.
    pub line_bytes: u64,
    /// Number of different stacks; samples of further stacks are only counted in total.
    pub stacks: usize,
}

impl Default for Limits {
    /// Far more than a profile of some minutes has.
    fn default() -> Self {
        Limits {
            line_bytes: 64 << 10,
            stacks: 200_000,
        }
    }
}

/// How often each stack was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    seen: BTreeMap<String, u64>,
    samples: u64,
    beyond_limit: u64,
    malformed_lines: u64,
}

impl Stacks {
    /// Reads collapsed stacks. Malformed lines and stacks beyond the limit are counted and left
    /// out. Invalid UTF-8 and control characters, which no picture may contain, are replaced.
    ///
    /// # Errors
    /// When the reader fails.
    pub fn read(mut reader: impl BufRead, limits: Limits) -> io::Result<Stacks> {
        let mut stacks = Stacks::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            // One more byte distinguishes a line of maximum length from a longer one.
            let most = limits.line_bytes.saturating_add(1);
            let read = reader.by_ref().take(most).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(stacks);
            }
            if line.last() != Some(&b'\n') && line.len() as u64 >= most {
                stacks.malformed_lines += 1;
                skip_line(&mut reader)?;
                continue;
            }
            stacks.take_line(&String::from_utf8_lossy(&line), limits);
        }
    }

    /// Reads collapsed stacks from a text within the default limits.
    #[must_use]
    pub fn of_text(text: &str) -> Stacks {
        Stacks::read(text.as_bytes(), Limits::default()).unwrap_or_default()
    }

    /// Each stack with its count, in the order of their text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.seen
            .iter()
            .map(|(stack, &seen)| (stack.as_str(), seen))
    }

    /// Number of samples, including those of stacks beyond the limit.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Samples whose stack was left out because there were too many different ones.
    #[must_use]
    pub fn beyond_limit(&self) -> u64 {
        self.beyond_limit
    }

    /// Lines that were not collapsed stacks.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.malformed_lines
    }

    /// The stacks as sorted text.
    #[must_use]
    pub fn to_collapsed(&self) -> String {
        let lines = self.iter().map(|(stack, seen)| format!("{stack} {seen}\n"));
        lines.collect()
    }

    /// Adds the counts of other stacks.
    pub fn merge(&mut self, other: &Stacks) {
        for (stack, seen) in other.iter() {
            let before = self.seen.entry(stack.to_owned()).or_default();
            *before = before.saturating_add(seen);
        }
        self.samples = self.samples.saturating_add(other.samples);
        self.beyond_limit = self.beyond_limit.saturating_add(other.beyond_limit);
        self.malformed_lines = self.malformed_lines.saturating_add(other.malformed_lines);
    }

    /// Adds the counts of what an earlier reading left out.
    pub(crate) fn note_left_out(&mut self, raw: &Stacks) {
        self.samples = self.samples.saturating_add(raw.beyond_limit);
        self.beyond_limit = self.beyond_limit.saturating_add(raw.beyond_limit);
        self.malformed_lines = self.malformed_lines.saturating_add(raw.malformed_lines);
    }

    fn take_line(&mut self, line: &str, limits: Limits) {
        if line.trim().is_empty() {
            return;
        }
        let Some((stack, seen)) = stack_and_count(line) else {
            self.malformed_lines += 1;
            return;
        };
        self.samples = self.samples.saturating_add(seen);
        let is_full = self.seen.len() >= limits.stacks;
        match self.seen.entry(stack) {
            Entry::Occupied(known) => {
                let before = known.into_mut();
                *before = before.saturating_add(seen);
            }
            Entry::Vacant(_) if is_full => {
                self.beyond_limit = self.beyond_limit.saturating_add(seen);
            }
            Entry::Vacant(free) => {
                free.insert(seen);
            }
        }
    }
}

/// A stack without spaces around its functions, and a count above zero.
fn stack_and_count(line: &str) -> Option<(String, u64)> {
    let (stack, count) = line.trim().rsplit_once(' ')?;
    let seen = count.parse().ok().filter(|seen| *seen > 0)?;
    let functions: Vec<String> = stack.split(';').map(function).collect();
    let is_named = functions.iter().any(|function| !function.is_empty());
    is_named.then(|| (functions.join(";"), seen))
}

fn function(name: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    name.trim().chars().map(shown).collect()
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        let (used, is_over) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(used);
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A text, its stacks, the number of malformed lines, and why.
    type Case<'a> = (&'a str, &'a [(&'a str, u64)], u64, &'a str);

    #[test]
    fn stacks_are_counted_and_malformed_lines_reported() {
        let table: [Case; 9] = [
            ("a;b 3\na 1\n", &[("a", 1), ("a;b", 3)], 0, "valid"),
            (
                "a;b 3\na;b 4",
                &[("a;b", 7)],
                0,
                "twice, and no end of line",
            ),
            (
                "f (a b.py);g 2\n",
                &[("f (a b.py);g", 2)],
                0,
                "spaces in names",
            ),
            (" a ; b  3 \n", &[("a;b", 3)], 0, "spaces around"),
            ("\n\n", &[], 0, "nothing"),
            ("a;b\na;b x\na;b 1.5\na -1\n", &[], 4, "not a count"),
            ("a 0\n", &[], 1, "seen never"),
            (" 5\n;; 5\n5\n", &[], 3, "no function"),
            (
                "a\u{1};b 1\n",
                &[("a\u{fffd};b", 1)],
                0,
                "characters that XML forbids",
            ),
        ];
        for (text, expected, malformed, why) in table {
            let stacks = Stacks::of_text(text);
            assert_eq!(stacks.iter().collect::<Vec<_>>(), expected, "{why}");
            assert_eq!(stacks.malformed_lines(), malformed, "{why}");
        }
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let stacks = Stacks::read(&b"a\xff;b 2\n"[..], Limits::default()).unwrap();
        assert_eq!(stacks.to_collapsed(), "a\u{fffd};b 2\n");
    }

    #[test]
    fn limits_hold() {
        let limits = Limits {
            line_bytes: 6,
            stacks: 2,
        };
        let text = "a 1\naaaa 1\naaaaa 1\nb 1\nc 5\na 1\nddddddddddd 1\na 1";
        let stacks = Stacks::read(text.as_bytes(), limits).unwrap();
        assert_eq!(
            stacks.iter().collect::<Vec<_>>(),
            [("a", 3), ("aaaa", 1)],
            "the first two"
        );
        assert_eq!(stacks.malformed_lines(), 2, "too long");
        assert_eq!((stacks.samples(), stacks.beyond_limit()), (10, 6));
    }

    #[test]
    fn counts_never_wrap() {
        let text = format!("a {0}\na {0}\nb {0}\n", u64::MAX);
        let mut stacks = Stacks::of_text(&text);
        stacks.merge(&stacks.clone());
        assert_eq!(stacks.samples(), u64::MAX);
        assert_eq!(
            stacks.iter().collect::<Vec<_>>(),
            [("a", u64::MAX), ("b", u64::MAX)]
        );
    }

    proptest! {
        #[test]
        fn stacks_round_trip(
            seen in prop::collection::btree_map("[a-z]{1,5}( [0-9]{1,2})?(;[a-z()_.]{1,8}){0,6}", 1u64..1000, 0..20),
        ) {
            let text: String = seen.iter().map(|(stack, n)| format!("{stack} {n}\n")).collect();
            let stacks = Stacks::of_text(&text);
            prop_assert_eq!(stacks.samples(), seen.values().sum::<u64>());
            prop_assert_eq!(&Stacks::of_text(&stacks.to_collapsed()), &stacks);
            prop_assert_eq!(stacks.malformed_lines(), 0);
        }

        #[test]
        fn line_limits_do_not_depend_on_the_buffer(
            text in "[a; 1\n]{0,200}", line_bytes in 1u64..20, buffer in 1usize..9,
        ) {
            let limits = Limits { line_bytes, stacks: 5 };
            let whole = Stacks::read(text.as_bytes(), limits).unwrap();
            let pieces = io::BufReader::with_capacity(buffer, text.as_bytes());
            prop_assert_eq!(Stacks::read(pieces, limits).unwrap(), whole);
        }
    }
}
