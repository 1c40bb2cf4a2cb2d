//! What damage in the middle of a journal has cost.

use std::ops::Range;

use windage_model::Warning;

/// The most ranges of blocks that a warning lists.
const LISTED_RANGES: usize = 20;

/// Damage with intact records behind it, and what it cost. Damage between the same two commit marks
/// is one loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The first damaged record, in bytes from the start of the file.
    pub at_byte: u64,
    /// The length of the damaged records, in bytes.
    pub bytes: u64,
    /// The blocks of which a part is missing, and which are left out for that; none where only
    /// records between blocks are damaged.
    pub blocks: Range<u32>,
}

impl Loss {
    /// The warning about the losses of a journal; `None` without any.
    #[must_use]
    pub fn warning(losses: &[Loss]) -> Option<Warning> {
        let blocks = losses.iter().map(|loss| &loss.blocks);
        let blocks = blocks.filter(|blocks| !blocks.is_empty());
        let listed = blocks.clone().take(LISTED_RANGES).map(in_words);
        (!losses.is_empty()).then(|| Warning::JournalDamaged {
            damaged_bytes: losses.iter().map(|loss| loss.bytes).sum(),
            blocks_lost: blocks.clone().map(|blocks| blocks.len() as u64).sum(),
            blocks: listed.collect(),
        })
    }
}

fn in_words(blocks: &Range<u32>) -> String {
    match blocks.len() {
        1 => blocks.start.to_string(),
        _ => format!("{} to {}", blocks.start, blocks.end - 1),
    }
}

/// The losses of a journal while it is read.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Those behind which a commit mark was read.
    closed: Vec<Loss>,
    /// The one since the last commit mark, as far as was read.
    open: Option<Loss>,
    /// The same at the end of the committed part.
    committed: Option<Loss>,
}

impl Losses {
    /// Adds damage since the last commit mark, and the blocks that are known to be lost so far.
    pub(super) fn add(&mut self, at_byte: u64, bytes: u64, blocks: Range<u32>) {
        let first = Loss {
            at_byte,
            bytes: 0,
            blocks: blocks.clone(),
        };
        let open = self.open.get_or_insert(first);
        open.bytes = open.bytes.saturating_add(bytes);
        open.blocks.end = open.blocks.end.max(blocks.end);
    }

    /// Whether there was damage since the last commit mark.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether there was damage since the end of the committed part.
    pub(super) fn is_uncommitted(&self) -> bool {
        self.open != self.committed
    }

    /// Everything read so far is committed.
    pub(super) fn commit(&mut self) {
        self.committed.clone_from(&self.open);
    }

    /// Goes back to the end of the committed part.
    pub(super) fn go_back(&mut self) {
        self.open.clone_from(&self.committed);
    }

    /// A commit mark was read, which says what is lost.
    pub(super) fn close(&mut self, blocks: Range<u32>) {
        let loss = self.open.take().map(|open| Loss { blocks, ..open });
        self.closed.extend(loss);
        self.committed = None;
    }

    /// All that lie in the committed part.
    pub(super) fn committed(&self) -> Vec<Loss> {
        let all = self.closed.iter().chain(&self.committed);
        all.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_the_blocks() {
        let loss = |blocks: Range<u32>| Loss {
            at_byte: 16,
            bytes: 100,
            blocks,
        };
        let table = [
            (vec![loss(4..4)], 100, 0, vec![]),
            (
                vec![loss(4..5), loss(7..7), loss(8..10)],
                300,
                3,
                vec!["4", "8 to 9"],
            ),
        ];
        for (losses, damaged_bytes, blocks_lost, blocks) in table {
            let expected = Warning::JournalDamaged {
                damaged_bytes,
                blocks_lost,
                blocks: blocks.into_iter().map(str::to_owned).collect(),
            };
            assert_eq!(Loss::warning(&losses), Some(expected));
        }
        assert_eq!(Loss::warning(&[]), None);
        let many: Vec<Loss> = (0..100)
            .map(|block| loss(block * 2..block * 2 + 1))
            .collect();
        let Some(Warning::JournalDamaged {
            blocks_lost,
            blocks,
            ..
        }) = Loss::warning(&many)
        else {
            panic!("no warning");
        };
        assert_eq!((blocks_lost, blocks.len()), (100, LISTED_RANGES));
    }
}
