//! The protocol of resident batch programs, over an inherited descriptor: lines of text.
//!
//! The program says `ready`; Windage asks `run N`; the program does N iterations and says
//! `done N`. At the end of file it ends.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A line of the protocol is short; a program that sends more is not speaking it.
const MAX_LINE_BYTES: u64 = 256;

/// Windage's end of the conversation.
#[derive(Debug)]
pub(crate) struct Resident {
    reader: BufReader<UnixStream>,
}

impl Resident {
    /// Both ends: Windage's, and the one for the program.
    pub(crate) fn pair() -> io::Result<(Resident, OwnedFd)> {
        let (own, other) = UnixStream::pair()?;
        Ok((
            Resident {
                reader: BufReader::new(own),
            },
            OwnedFd::from(other),
        ))
    }

    /// Waits for `ready`.
    pub(crate) fn await_ready(&mut self, within: Duration) -> Result<(), String> {
        self.expect("ready", within)
    }

    /// Has N iterations done.
    pub(crate) fn run(&mut self, iterations: u64, within: Duration) -> Result<(), String> {
        writeln!(self.reader.get_mut(), "run {iterations}")
            .map_err(|error| format!("can't be asked: {error}"))?;
        self.expect(&format!("done {iterations}"), within)
    }

    fn expect(&mut self, wanted: &str, within: Duration) -> Result<(), String> {
        let stream = self.reader.get_ref();
        stream
            .set_read_timeout(Some(within))
            .map_err(|error| error.to_string())?;
        let mut line = String::new();
        let read = io::Read::take(&mut self.reader, MAX_LINE_BYTES).read_line(&mut line);
        match read {
            Ok(0) => Err(format!(
                "closed its control descriptor instead of saying `{wanted}`"
            )),
            Ok(_) if line.trim_end() == wanted => Ok(()),
            Ok(_) => Err(format!("said `{}` instead of `{wanted}`", line.trim_end())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(format!("did not say `{wanted}` within {within:?}"))
            }
            Err(error) => Err(format!("can't be heard: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(200);

    fn program(script: &'static str) -> Resident {
        let (resident, other) = Resident::pair().unwrap();
        let mut stream = UnixStream::from(other);
        stream.write_all(script.as_bytes()).unwrap();
        std::thread::spawn(move || {
            // Kept open as long as somebody may be listening.
            std::thread::sleep(SOON * 3);
            drop(stream);
        });
        resident
    }

    #[test]
    fn a_program_that_keeps_to_it() {
        let mut resident = program("ready\ndone 5\ndone 6\n");
        assert_eq!(resident.await_ready(SOON), Ok(()));
        assert_eq!(resident.run(5, SOON), Ok(()));
        assert_eq!(resident.run(6, SOON), Ok(()));
    }

    #[test]
    fn programs_that_do_not() {
        let table = [
            ("", "did not say `ready`"),
            ("hello\n", "said `hello` instead of `ready`"),
            ("done 5\n", "said `done 5`"),
        ];
        for (script, why) in table {
            let error = program(script).await_ready(SOON).unwrap_err();
            assert!(error.starts_with(why), "{script:?}: {error}");
        }
        let (mut resident, other) = Resident::pair().unwrap();
        drop(other);
        assert!(
            resident
                .await_ready(SOON)
                .unwrap_err()
                .starts_with("closed")
        );
    }
}
