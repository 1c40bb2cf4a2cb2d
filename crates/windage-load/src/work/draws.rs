//! Mutable state of a run: which flow is next, and the values of fields.

use bytes::Bytes;
use http::uri::Scheme;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::fields::{Field, Values};
use super::prepared::{PreparedStep, Wire};
use super::table::{RowOrder, Table};
use super::{Position, Work};

/// One of several threads that share a work: `index` starts at 0 and is less than `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) index: u32,
    pub(crate) of: u32,
}

impl Share {
    /// The position of this thread's n-th among all threads: threads take turns.
    fn ordinal(self, n: u64) -> u64 {
        n.wrapping_mul(u64::from(self.of))
            .wrapping_add(u64::from(self.index))
    }
}

/// One thread's draws from one work, with all buffers allocated.
#[derive(Debug)]
pub(crate) struct Draws {
    share: Share,
    random: ChaCha8Rng,
    seed: u64,
    /// Flows with columns begun so far, and how many of them before the current run.
    turns: u64,
    turns_before_run: u64,
    /// By field: how many requests had it.
    uses: Vec<u64>,
    /// By field: its value in the current request, see [`Values`].
    numbers: Vec<u64>,
}

impl Draws {
    /// Draws for a thread's share of a work; valid only for this work and its clones.
    pub(crate) fn new(work: &Work, share: Share) -> Draws {
        let fields = work.0.fields.fields.len();
        let mut draws = Draws {
            share,
            random: ChaCha8Rng::seed_from_u64(0),
            seed: 0,
            turns: 0,
            turns_before_run: 0,
            uses: vec![0; fields],
            numbers: vec![0; fields],
        };
        draws.reseed(0);
        draws
    }

    /// Begins a run: the same seed and share give the same random draws. Counters and rows in order
    /// continue where they were.
    pub(crate) fn reseed(&mut self, seed: u64) {
        self.random = ChaCha8Rng::seed_from_u64(seed);
        self.random.set_stream(u64::from(self.share.index));
        self.seed = seed;
        self.turns_before_run = self.turns;
    }

    /// The first step of a flow drawn by weight.
    #[inline]
    pub(crate) fn begin(&mut self, work: &Work) -> Position {
        let flow = match work.0.flows.len() {
            1 => 0,
            _ => work.0.flow_of(self.random.random_range(0..work.0.weight())),
        };
        let turn = self.turns;
        self.turns += u64::from(work.0.flows[flow].has_columns);
        Position {
            // A work has fewer than 2¹⁶ flows.
            flow: flow as u16,
            step: 0,
            turn,
        }
    }

    /// Writes the request of a step into `out`, replacing its content.
    ///
    /// # Panics
    /// When the work was prepared for another protocol.
    #[inline]
    pub(crate) fn write_http1(&mut self, work: &Work, at: Position, out: &mut Vec<u8>) {
        let step = work.prepared(at);
        let values = self.draw(work, step, at);
        match &step.wire {
            Wire::Http1(message) => message.write(values, out),
            Wire::Http2(_) => panic!("this work was prepared for HTTP/2"),
        }
    }

    /// The request of a step and its content; `scheme` is `https` over TLS.
    ///
    /// # Panics
    /// When the work was prepared for another protocol.
    pub(crate) fn http2(
        &mut self,
        work: &Work,
        at: Position,
        scheme: &Scheme,
    ) -> (http::Request<()>, Bytes) {
        let step = work.prepared(at);
        let values = self.draw(work, step, at);
        match &step.wire {
            Wire::Http2(message) => message.render(values, scheme),
            Wire::Http1(_) => panic!("this work was prepared for HTTP/1.1"),
        }
    }

    /// Sets the value of each field of a step.
    fn draw<'a>(&'a mut self, work: &'a Work, step: &PreparedStep, at: Position) -> Values<'a> {
        let fields = &work.0.fields;
        for &field in &step.fields {
            self.numbers[field] = match fields.fields[field] {
                Field::Counter { from, step } => {
                    let ordinal = self.share.ordinal(self.uses[field]);
                    from.wrapping_add(step.wrapping_mul(ordinal))
                }
                Field::Random { low, high } => self.random.random_range(low..=high),
                Field::Column { table, .. } => self.row(&fields.tables[table], table, at.turn),
            };
            self.uses[field] += 1;
        }
        Values {
            fields,
            numbers: &self.numbers,
        }
    }

    /// The row of a table in a turn. It depends only on the turn, so all steps of a flow use the
    /// same row without storing anything per user.
    fn row(&self, table: &Table, index: usize, turn: u64) -> u64 {
        let rows = table.rows() as u64;
        match table.order() {
            RowOrder::InOrder => self.share.ordinal(turn) % rows,
            RowOrder::Random => {
                let turn_of_run = turn.wrapping_sub(self.turns_before_run);
                let ordinal = self.share.ordinal(turn_of_run);
                let random = scramble(scramble(self.seed ^ index as u64).wrapping_add(ordinal));
                // Scales 64 random bits to `rows`; even to one in 2³².
                ((u128::from(random) * u128::from(rows)) >> 64) as u64
            }
        }
    }
}

/// The output function of SplitMix64 (Steele, Lea and Flood, 2014): turns neighbours into unrelated
/// values.
fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
