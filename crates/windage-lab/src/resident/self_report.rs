//! Figures that batch programs report about themselves: `about` before they are ready, and also
//! `phase` from a program that is a window. Windage asks such a program nothing, and it need not
//! report.

use std::io::Read;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::{io, mem};

use windage_model::Phase;

use super::lines::{MAX_LINE_BYTES, shown};

/// The most `about` lines of one program.
const MAX_ABOUT: usize = 100;
/// How much is kept of what a program sends unasked: all lines that it may send, and one more.
const MAX_KEPT_BYTES: usize = (MAX_ABOUT + Phase::ALL.len() + 1) * MAX_LINE_BYTES;

/// A name, and the program's text for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What a program has reported about itself so far.
#[derive(Debug, Default)]
pub(crate) struct Abouts(Vec<About>);

/// Nothing yet.
pub(crate) fn abouts() -> Abouts {
    Abouts::default()
}

impl Abouts {
    /// Accepts a line if it is an `about`; an error when it is not a valid one.
    pub(crate) fn takes(&mut self, line: &str) -> Result<bool, String> {
        let Some(rest) = line.strip_prefix("about ") else {
            return Ok(false);
        };
        let (name, text) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
        let (name, text) = (shown(name), shown(text));
        if name.is_empty() {
            return Err("said `about` without a name".to_owned());
        }
        if self.0.iter().any(|known| known.name == name) {
            return Err(format!("said `about {name}` twice"));
        }
        if self.0.len() >= MAX_ABOUT {
            return Err(format!("said more than {MAX_ABOUT} lines `about …`"));
        }
        self.0.push(About { name, text });
        Ok(true)
    }

    pub(crate) fn into_list(self) -> Vec<About> {
        self.0
    }
}

/// The duration of one phase by the program's own clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToldPhase {
    pub(crate) phase: Phase,
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
}

/// The report of a program that was a window.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) about: Vec<About>,
    pub(crate) phases: Vec<ToldPhase>,
    /// It waits to be asked, so it has done nothing.
    pub(crate) waits: bool,
    /// The first line that breaks the protocol, in words that follow the program's name. Later
    /// lines are ignored, and so are all phases.
    pub(crate) broken: Option<String>,
}

impl Told {
    /// Parses what was sent.
    fn from_bytes(bytes: &[u8]) -> Told {
        let mut told = Told::default();
        let mut about = abouts();
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let lines = text.split(|byte| *byte == b'\n');
        for line in lines.filter(|_| !bytes.is_empty()) {
            if let Err(why) = told.take_in(line, &mut about) {
                told.broken = Some(why);
                told.phases.clear();
                break;
            }
        }
        told.about = about.into_list();
        told
    }

    fn take_in(&mut self, line: &[u8], about: &mut Abouts) -> Result<(), String> {
        if line.len() >= MAX_LINE_BYTES {
            return Err(format!("sent a line of more than {MAX_LINE_BYTES} bytes"));
        }
        let line = str::from_utf8(line).map_err(|_| "sent a line that is not UTF-8".to_owned())?;
        let line = line.trim_end();
        if about.takes(line)? {
            return Ok(());
        }
        self.waits = matches!(line, "ready" | "ready flush");
        let phase = phase(line).ok_or_else(|| {
            format!(
                "said `{}`, which is neither `about` nor `phase`",
                shown(line)
            )
        })?;
        if self.phases.iter().any(|known| known.phase == phase.phase) {
            return Err(format!("said `phase {}` twice", phase.phase.as_str()));
        }
        self.phases.push(phase);
        Ok(())
    }
}

/// `phase NAME WALL_NS CPU_NS`.
fn phase(line: &str) -> Option<ToldPhase> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let ["phase", name, wall_ns, cpu_ns] = words[..] else {
        return None;
    };
    Some(ToldPhase {
        phase: Phase::from_name(name)?,
        wall_ns: wall_ns.parse().ok()?,
        cpu_ns: cpu_ns.parse().ok()?,
    })
}

/// Reads what a program sends unasked, on a thread of its own, so that the program never waits for
/// Windage, however much it sends.
#[derive(Debug)]
pub(crate) struct Listener {
    stream: UnixStream,
    thread: JoinHandle<Vec<u8>>,
}

impl Listener {
    /// Starts to read; also returns the program's end. A program that waits to be asked finds end
    /// of file there.
    pub(crate) fn start() -> io::Result<(Listener, OwnedFd)> {
        let (own, other) = UnixStream::pair()?;
        own.shutdown(Shutdown::Write)?;
        let heard = own.try_clone()?;
        let thread = std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || keep_the_beginning(heard))?;
        let listener = Listener {
            stream: own,
            thread,
        };
        Ok((listener, OwnedFd::from(other)))
    }

    /// What was reported; the program has ended.
    pub(crate) fn told(self) -> Told {
        // A process that it left behind may hold the other end open; what was sent is still read.
        let _ = self.stream.shutdown(Shutdown::Read);
        let heard = self.thread.join().unwrap_or_default();
        Told::from_bytes(&heard)
    }
}

/// Reads to the end, and keeps no more than the limit.
fn keep_the_beginning(mut stream: UnixStream) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return mem::take(&mut kept),
            Ok(count) => {
                let room = MAX_KEPT_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..count.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return mem::take(&mut kept),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use proptest::prelude::*;

    fn about(name: &str, text: &str) -> About {
        About {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn valid_reports_are_parsed() {
        let text = b"about python 3.12.3\nabout seed\nabout gc 700 10  10\x1b[1m\n\
                     phase setup 5 4\nphase flush 30 20\nphase iterations 7 6";
        let told = Told::from_bytes(text);
        assert_eq!(
            told.about,
            [
                about("python", "3.12.3"),
                about("seed", ""),
                about("gc", "700 10  10 [1m")
            ]
        );
        let phase = |phase, wall_ns, cpu_ns| ToldPhase {
            phase,
            wall_ns,
            cpu_ns,
        };
        assert_eq!(
            told.phases,
            [
                phase(Phase::Setup, 5, 4),
                phase(Phase::Flush, 30, 20),
                phase(Phase::Iterations, 7, 6)
            ]
        );
        assert_eq!((told.waits, told.broken), (false, None));
        assert_eq!(Told::from_bytes(b""), Told::default());
    }

    #[test]
    fn an_invalid_line_is_named_and_ends_parsing() {
        let long = "x".repeat(300);
        let table: [(&[u8], &str); 11] = [
            (b"hello\n", "said `hello`"),
            (b"\n", "said ``"),
            (b"phase setup 5\n", "said `phase setup 5`"),
            (b"phase warm-up 5 5\n", "said `phase warm-up 5 5`"),
            (b"phase setup -5 5\n", "said `phase setup -5 5`"),
            (b"phase setup 5 99999999999999999999\n", "said `phase setup"),
            (
                b"phase setup 5 5\nphase setup 5 5\n",
                "said `phase setup` twice",
            ),
            (b"about a b\nabout a c\n", "said `about a` twice"),
            (b"about  \n", "said `about`"),
            (b"\xff\xfe\n", "sent a line that is not UTF-8"),
            (long.as_bytes(), "sent a line of more than 256 bytes"),
        ];
        for (line, why) in table {
            let sent = [b"phase flush 1 1\nabout x y\n", line, b"about z z\n"].concat();
            let told = Told::from_bytes(&sent);
            let broken = told.broken.unwrap();
            assert!(broken.starts_with(why), "{why}: {broken}");
            assert_eq!(told.phases, [], "{why}");
            assert_eq!(told.about[0], about("x", "y"), "{why}");
            assert!(
                !told.waits && told.about.iter().all(|a| a.name != "z"),
                "{why}"
            );
        }
        let many: String = (0..=MAX_ABOUT).map(|n| format!("about {n} x\n")).collect();
        let broken = Told::from_bytes(many.as_bytes()).broken.unwrap();
        assert_eq!(broken, "said more than 100 lines `about …`");
        for line in ["ready\n", "ready flush\n"] {
            assert!(Told::from_bytes(line.as_bytes()).waits, "{line}");
        }
    }

    #[test]
    fn endless_output_is_read_but_not_kept() {
        let (listener, other) = Listener::start().unwrap();
        let mut program = UnixStream::from(other);
        program.write_all(b"about x y\n").unwrap();
        for _ in 0..64 {
            program.write_all(&[b'x'; 64 * 1024]).unwrap();
        }
        // A process that it left behind holds it open.
        let left_behind = program.try_clone().unwrap();
        drop(program);
        let told = listener.told();
        drop(left_behind);
        assert_eq!(told.about, [about("x", "y")]);
        assert!(told.broken.unwrap().contains("more than 256 bytes"));
    }

    #[test]
    fn a_program_that_waits_to_be_asked_finds_end_of_file() {
        let (listener, other) = Listener::start().unwrap();
        let mut program = UnixStream::from(other);
        program.write_all(b"ready\n").unwrap();
        assert_eq!(program.read(&mut [0; 8]).unwrap(), 0);
        drop(program);
        assert!(listener.told().waits);
    }

    /// Lines that are almost valid, in any order, cut anywhere.
    fn almost() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![
            Just("about"),
            Just("phase"),
            Just("ready"),
            Just("setup"),
            Just("flush"),
            Just("12"),
            Just("-1"),
            Just(""),
            Just("\n"),
            Just("é"),
        ];
        let words = prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "));
        (words, any::<(u8, u16)>()).prop_map(|(text, (byte, at))| {
            let mut bytes = text.into_bytes();
            if let Some(place) = bytes.get_mut(usize::from(at)) {
                *place = byte;
            }
            bytes
        })
    }

    proptest! {
        #[test]
        fn whatever_comes_is_bounded_and_fit_to_be_shown(bytes in almost()) {
            let told = Told::from_bytes(&bytes);
            prop_assert!(told.phases.len() <= Phase::ALL.len());
            prop_assert!(told.about.len() <= MAX_ABOUT);
            let texts = told.about.iter().flat_map(|a| [&a.name, &a.text]);
            for text in texts.chain(&told.broken) {
                prop_assert!(!text.contains(char::is_control), "{text:?}");
            }
        }
    }
}
