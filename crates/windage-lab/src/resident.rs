//! The protocol of batch programs, over an inherited descriptor: lines of text.
//!
//! A resident program may report figures about itself; then it says `ready`, or `ready flush` if it
//! supports `flush`. Windage asks `run N`; the program does N iterations and says `done N`. Before
//! the end Windage may ask `flush`, and the program answers `flushed`. At end of file the program
//! ends. A program that is started for each window is asked nothing ([`telling`]).

mod lines;
pub(crate) mod self_report;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use lines::{Lines, MAX_LINE_BYTES, NoLine, shown};
use self_report::{About, abouts};

pub(crate) use lines::Patience;

/// The longest time from when a program closes its end until its exit is known.
const EXIT_KNOWN_WITHIN: Duration = Duration::from_millis(500);
/// The interval between looks for it.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Windage's end of the connection to a resident program.
#[derive(Debug)]
pub(crate) struct Resident {
    lines: Lines,
    understands_flush: bool,
}

impl Resident {
    /// Both ends: Windage's, and the program's.
    pub(crate) fn pair() -> io::Result<(Resident, OwnedFd)> {
        let (own, other) = UnixStream::pair()?;
        let resident = Resident {
            lines: Lines::new(own)?,
            understands_flush: false,
        };
        Ok((resident, OwnedFd::from(other)))
    }

    /// Waits for `ready`; returns what the program reported about itself before it.
    ///
    /// Errors, here and below, say what it did instead, in words that follow its name.
    pub(crate) fn await_ready(
        &mut self,
        patience: &mut Patience<'_>,
    ) -> Result<Vec<About>, String> {
        let deadline = Instant::now() + patience.within;
        let mut about = abouts();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.next(&mut Patience {
                within: left,
                in_vain: &mut *patience.in_vain,
            });
            let line = match line {
                Ok(line) => line,
                Err(why) => return Err(said_nothing("ready", why, patience)),
            };
            match line.as_str() {
                "ready" => break,
                "ready flush" => {
                    self.understands_flush = true;
                    break;
                }
                other if about.takes(other)? => {}
                other => return Err(said_other(other, "ready")),
            }
        }
        self.nothing_after("`ready`")?;
        Ok(about.into_list())
    }

    /// Makes it do a number of iterations.
    pub(crate) fn run(
        &mut self,
        iterations: u64,
        patience: &mut Patience<'_>,
    ) -> Result<(), String> {
        self.ask(
            &format!("run {iterations}"),
            &format!("done {iterations}"),
            patience,
        )
    }

    /// Makes it flush, if it supports that; returns whether it did.
    pub(crate) fn flush(&mut self, patience: &mut Patience<'_>) -> Result<bool, String> {
        match self.understands_flush {
            true => self.ask("flush", "flushed", patience).map(|()| true),
            // Otherwise a duplicate answer would go unnoticed.
            false => self.nothing_after("its last answer").map(|()| false),
        }
    }

    /// One question and its one answer. A duplicate line would be taken for the answer to the next
    /// question, so nothing may be waiting before this question or after its answer.
    fn ask(
        &mut self,
        question: &str,
        answer: &str,
        patience: &mut Patience<'_>,
    ) -> Result<(), String> {
        if let Some(unasked) = self.unasked()? {
            return Err(format!(
                "said `{unasked}` before it was asked to `{question}`"
            ));
        }
        if self.lines.say(question).is_err() {
            return Err(said_nothing(answer, NoLine::Closed, patience));
        }
        match self.lines.next(patience) {
            Ok(line) if line == answer => self.nothing_after(&format!("`{answer}`")),
            Ok(line) => Err(said_other(&line, answer)),
            Err(why) => Err(said_nothing(answer, why, patience)),
        }
    }

    fn nothing_after(&mut self, said: &str) -> Result<(), String> {
        match self.unasked()? {
            Some(unasked) => Err(format!(
                "said `{unasked}` after {said}, although nothing was asked"
            )),
            None => Ok(()),
        }
    }

    fn unasked(&mut self) -> Result<Option<String>, String> {
        let failed = |why| format!("can't be read: {why:?}");
        self.lines.unasked().map_err(failed)
    }
}

fn said_other(line: &str, wanted: &str) -> String {
    format!("said `{}` instead of `{wanted}`", shown(line))
}

/// What a program did instead of saying `wanted`.
fn said_nothing(wanted: &str, why: NoLine, patience: &mut Patience<'_>) -> String {
    match why {
        NoLine::Silence => format!("did not say `{wanted}` within {:?}", patience.within),
        NoLine::Closed => match exit_known(patience) {
            Some(how) => format!("{how} instead of saying `{wanted}`"),
            None => format!("closed its control descriptor instead of saying `{wanted}`"),
        },
        NoLine::TooLong => {
            format!("sent a line of more than {MAX_LINE_BYTES} bytes instead of `{wanted}`")
        }
        NoLine::NotText => format!("sent a line that is not UTF-8 instead of `{wanted}`"),
        NoLine::InVain(how) => format!("{how} instead of saying `{wanted}`"),
        NoLine::Failed(error) => format!("can't be read: {error}"),
    }
}

/// A program that ends closes its end a moment before its exit is known.
fn exit_known(patience: &mut Patience<'_>) -> Option<String> {
    let deadline = Instant::now() + EXIT_KNOWN_WITHIN;
    loop {
        let how = (patience.in_vain)();
        if how.is_some() || Instant::now() >= deadline {
            return how;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests;
