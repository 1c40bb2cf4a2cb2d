//! Lines of text over the control descriptor of a batch program, each within a bound.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::command_line::HEAR;

/// A line of the protocol is short, its end included; who sends more is not speaking it.
pub(crate) const MAX_LINE_BYTES: usize = 256;

/// Why there is no line.
#[derive(Debug)]
pub(crate) enum NoLine {
    /// None came in time.
    Silence,
    /// The other end is closed.
    Closed,
    /// More than a line may have came without an end.
    TooLong,
    /// A line that is no UTF-8.
    NotText,
    /// Whoever looked meanwhile said why there is nothing to wait for.
    InVain(String),
    /// The system failed.
    Failed(io::Error),
}

/// How long something is waited for, and what else may end the waiting.
pub(crate) struct Patience<'a> {
    pub(crate) within: Duration,
    /// Why there is nothing to wait for any more; asked now and then.
    pub(crate) in_vain: &'a mut dyn FnMut() -> Option<String>,
}

/// Windage's end of the conversation.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: UnixStream,
    /// What came and was not taken yet: no more than a few lines.
    held: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Lines> {
        stream.set_nonblocking(true)?;
        Ok(Lines {
            stream,
            held: Vec::with_capacity(2 * MAX_LINE_BYTES),
        })
    }

    pub(crate) fn say(&mut self, line: &str) -> io::Result<()> {
        self.stream.write_all(format!("{line}\n").as_bytes())
    }

    /// The next line, without its end.
    pub(crate) fn next(&mut self, patience: &mut Patience<'_>) -> Result<String, NoLine> {
        let deadline = Instant::now() + patience.within;
        loop {
            if let Some(line) = self.take_line()? {
                return Ok(line);
            }
            match self.receive()? {
                0 => {}
                _ => continue,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NoLine::Silence);
            }
            if !self.is_readable_within(left.min(HEAR))?
                && let Some(why) = (patience.in_vain)()
            {
                return Err(NoLine::InVain(why));
            }
        }
    }

    /// What came without having been waited for, as far as there is any: the line, or its
    /// beginning.
    pub(crate) fn unasked(&mut self) -> Result<Option<String>, NoLine> {
        match self.receive() {
            Ok(_) | Err(NoLine::Closed) => {}
            Err(error) => return Err(error),
        }
        let line = self.held.split(|byte| *byte == b'\n').next();
        let line = line.filter(|_| !self.held.is_empty());
        Ok(line.map(|line| shown(&String::from_utf8_lossy(line))))
    }

    /// A whole line of what is held.
    fn take_line(&mut self) -> Result<Option<String>, NoLine> {
        let end = self.held.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(self.held.len(), |end| end + 1);
        if length > MAX_LINE_BYTES {
            return Err(NoLine::TooLong);
        }
        let Some(end) = end else { return Ok(None) };
        let line: Vec<u8> = self.held.drain(..=end).collect();
        let line = String::from_utf8(line).map_err(|_| NoLine::NotText)?;
        Ok(Some(line.trim_end().to_owned()))
    }

    /// Takes in what is there, without waiting; how many bytes it was.
    fn receive(&mut self) -> Result<usize, NoLine> {
        // Whoever floods the socket is told so by the length of a line, not kept.
        if self.held.len() > MAX_LINE_BYTES {
            return Ok(0);
        }
        let mut bytes = [0; MAX_LINE_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(NoLine::Closed),
            Ok(count) => {
                self.held.extend_from_slice(&bytes[..count]);
                Ok(count)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(0),
                // What a program that was killed had not read yet.
                ErrorKind::ConnectionReset => Err(NoLine::Closed),
                _ => Err(NoLine::Failed(error)),
            },
        }
    }

    fn is_readable_within(&self, within: Duration) -> Result<bool, NoLine> {
        // Rounded up: a rest below a millisecond must not become a busy loop.
        let ms = within.as_micros().div_ceil(1000);
        let timeout = PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX);
        let watched = PollFd::new(self.stream.as_fd(), PollFlags::POLLIN);
        match poll(&mut [watched], timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(NoLine::Failed(errno.into())),
        }
    }
}

/// What a program said, fit to be shown: one line of printable text.
pub(crate) fn shown(text: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.chars()
        .map(printable)
        .collect::<String>()
        .trim()
        .to_owned()
}
