//! Lines of text over the control descriptor of a batch program, each of limited length.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::command_line::HEAR;

/// The longest line, with its end. Lines of the protocol are short.
pub(crate) const MAX_LINE_BYTES: usize = 256;

/// Why there is no line.
#[derive(Debug)]
pub(crate) enum NoLine {
    /// None came in time.
    Silence,
    /// The other end is closed.
    Closed,
    /// More bytes than a line may have arrived without a line end.
    TooLong,
    /// A line that is not UTF-8.
    NotText,
    /// Waiting became useless, for this reason.
    InVain(String),
    /// The system failed.
    Failed(io::Error),
}

/// How long to wait, and what else may end the wait.
pub(crate) struct Patience<'a> {
    pub(crate) within: Duration,
    /// Why waiting is useless, if it is; called now and then.
    pub(crate) in_vain: &'a mut dyn FnMut() -> Option<String>,
}

/// Windage's end of the connection.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: UnixStream,
    /// Received but not yet read: no more than a few lines.
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

    /// A line that arrived unasked, or the beginning of one, if there is any.
    pub(crate) fn unasked(&mut self) -> Result<Option<String>, NoLine> {
        match self.receive() {
            Ok(_) | Err(NoLine::Closed) => {}
            Err(error) => return Err(error),
        }
        let line = self.held.split(|byte| *byte == b'\n').next();
        let line = line.filter(|_| !self.held.is_empty());
        Ok(line.map(|line| shown(&String::from_utf8_lossy(line))))
    }

    /// A complete line of the held bytes.
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

    /// Receives what has arrived, without waiting; returns the number of bytes.
    fn receive(&mut self) -> Result<usize, NoLine> {
        // A program that floods the socket gets the error for a long line; its data is not kept.
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
                // A program that was killed had not read everything.
                ErrorKind::ConnectionReset => Err(NoLine::Closed),
                _ => Err(NoLine::Failed(error)),
            },
        }
    }

    fn is_readable_within(&self, within: Duration) -> Result<bool, NoLine> {
        // Rounded up: a remainder below a millisecond must not become a busy loop.
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

/// A program's text made fit to be shown: one line of printable characters.
pub(crate) fn shown(text: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.chars()
        .map(printable)
        .collect::<String>()
        .trim()
        .to_owned()
}
