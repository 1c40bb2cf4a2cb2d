//! The protocol of batch programs, over an inherited descriptor: lines of text.
//!
//! A resident program says what it likes about itself, then `ready`, or `ready flush` if it
//! understands that. Windage asks `run N`; the program does N iterations and says `done N`. Before
//! the end Windage may ask `flush`, to which the answer is `flushed`. At the end of file the program
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

/// How long the exit of a program that closed its end may take to be known.
const EXIT_KNOWN_WITHIN: Duration = Duration::from_millis(500);
/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Windage's end of the conversation with a program that stays.
#[derive(Debug)]
pub(crate) struct Resident {
    lines: Lines,
    understands_flush: bool,
}

impl Resident {
    /// Both ends: Windage's, and the one for the program.
    pub(crate) fn pair() -> io::Result<(Resident, OwnedFd)> {
        let (own, other) = UnixStream::pair()?;
        let resident = Resident {
            lines: Lines::new(own)?,
            understands_flush: false,
        };
        Ok((resident, OwnedFd::from(other)))
    }

    /// Waits for `ready`; what the program says about itself before.
    ///
    /// Errors, here and below, are what it did instead, in words that follow its name.
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

    /// Has N iterations done.
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

    /// Has it bring out what it still holds, if it understands that; whether it did.
    pub(crate) fn flush(&mut self, patience: &mut Patience<'_>) -> Result<bool, String> {
        match self.understands_flush {
            true => self.ask("flush", "flushed", patience).map(|()| true),
            // An answer that came again would else be heard by nobody.
            false => self.nothing_after("its last answer").map(|()| false),
        }
    }

    /// One question and its one answer. A line that comes twice would be taken for the answer to the
    /// next question: nothing may be waiting before this one or after it.
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
        let failed = |why| format!("can't be heard: {why:?}");
        self.lines.unasked().map_err(failed)
    }
}

fn said_other(line: &str, wanted: &str) -> String {
    format!("said `{}` instead of `{wanted}`", shown(line))
}

/// What a program did that did not say what was waited for.
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
        NoLine::NotText => format!("sent a line that is no UTF-8 instead of `{wanted}`"),
        NoLine::InVain(how) => format!("{how} instead of saying `{wanted}`"),
        NoLine::Failed(error) => format!("can't be heard: {error}"),
    }
}

/// A program that is gone closes its end a moment before its exit is known.
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
