//! What a person sees on a terminal during a run.

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::contract;
use crate::leftovers;
use crate::plans::Plan;
use crate::workshop::Workshop;

const ROWS: u16 = 24;
/// Runs in these tests measure for seconds; one that takes longer than this hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// A run of three rounds in six seconds.
const BRIEF: (&str, u32) = ("6s", 3);

/// A Windage process whose standard error is a terminal.
struct AtTerminal {
    child: Child,
    seen: Arc<Mutex<Seen>>,
    reader: JoinHandle<()>,
}

/// All that was shown.
struct Seen {
    /// The screen after each read.
    frames: Vec<String>,
    terminal: vt100::Parser,
    bytes: Vec<u8>,
}

impl Seen {
    fn last(&self) -> &str {
        self.frames.last().map_or("", String::as_str)
    }

    /// Whether these words were ever on the screen.
    fn reads(&self, words: &str) -> bool {
        self.frames.iter().any(|frame| frame.contains(words))
    }
}

impl AtTerminal {
    /// Measures for this long, in this many rounds.
    fn start(
        shop: &Workshop,
        (length, rounds): (&str, u32),
        columns: u16,
        term: &str,
    ) -> AtTerminal {
        let plan = Plan {
            length,
            rounds,
            ..Plan::default()
        };
        shop.write("plan.toml", &plan.text());
        let size = Winsize {
            ws_row: ROWS,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&size, None).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_windage"))
            .args(["run", "plan.toml", "--json", "--out", &shop.run])
            .current_dir(shop.dir())
            .env("TERM", term)
            .stdout(File::create(shop.dir().join("stdout")).unwrap())
            .stderr(pty.slave)
            .spawn()
            .unwrap();
        let seen = Arc::new(Mutex::new(Seen {
            frames: Vec::new(),
            terminal: vt100::Parser::new(nonzero(ROWS), nonzero(columns), 0),
            bytes: Vec::new(),
        }));
        let shown = Arc::clone(&seen);
        let reader = std::thread::spawn(move || watch(pty.master.into(), &shown));
        AtTerminal {
            child,
            seen,
            reader,
        }
    }

    /// Waits until each of these words has been on the screen, not necessarily at once.
    fn until_reads(&mut self, words: &[&str]) {
        let deadline = Instant::now() + LONGEST;
        let mut unseen = words.to_vec();
        while !unseen.is_empty() {
            let seen = self.seen.lock().unwrap();
            unseen.retain(|words| !seen.reads(words));
            let ended = self.child.try_wait().unwrap();
            let is_over = ended.is_some() || Instant::now() >= deadline;
            let frames = (is_over && !unseen.is_empty()).then(|| seen.frames.clone());
            drop(seen);
            if let Some(frames) = frames {
                // It would measure for minutes; its keeper takes the services down.
                let _ = self.child.kill();
                panic!("never {unseen:?}: {frames:#?}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn interrupt(&self) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap());
        kill(pid, Signal::SIGINT).unwrap();
    }

    /// Waits for its end, and until nothing of it is left.
    fn end(mut self, shop: &Workshop, code: i32) -> Seen {
        let deadline = Instant::now() + LONGEST;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    self.child.kill().unwrap();
                    panic!("it hangs");
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        self.reader.join().unwrap();
        let seen = Arc::into_inner(self.seen).unwrap().into_inner().unwrap();
        assert_eq!(status.code(), Some(code), "{}", seen.last());
        leftovers::assert_none(shop.dir(), &shop.run, Duration::from_secs(5));
        seen
    }
}

fn nonzero(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

/// Reads the master side of a terminal until the other side is closed.
fn watch(mut master: File, seen: &Mutex<Seen>) {
    let mut buffer = [0; 4096];
    // The kernel returns EIO once the other side is closed.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        let mut seen = seen.lock().unwrap();
        seen.bytes.extend(&buffer[..count]);
        seen.terminal.process(&buffer[..count]);
        let frame = seen.terminal.screen().contents();
        seen.frames.push(frame);
    }
}

fn stdout(shop: &Workshop) -> serde_json::Value {
    let text = std::fs::read_to_string(shop.dir().join("stdout")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_run_is_shown_in_place_and_leaves_a_clean_terminal() {
    let shop = Workshop::new();
    let seen = AtTerminal::start(&shop, BRIEF, 80, "xterm-256color").end(&shop, 0);
    assert!(seen.reads("] "), "a bar was drawn: {:#?}", seen.frames);
    let lines: Vec<&str> = seen.last().lines().collect();
    assert!(lines[0].starts_with("this takes about"), "{lines:?}");
    let drawn = |line: &&str| line.contains("so far") || line.contains('[') || line.contains('%');
    assert!(!lines.iter().any(drawn), "{lines:?}");
    let screen = seen.terminal.screen();
    assert_eq!(screen.cursor_position().1, 0);
    assert!(!screen.hide_cursor());
    contract::check(&stdout(&shop));
}

/// Estimates are rare on a busy machine, so the run goes on until they are seen.
#[test]
fn running_estimates_are_shown() {
    let first_round = ("20m", 2);
    let many_rounds = ("10m", 200);
    for (length, expected) in [
        (
            first_round,
            &[
                "this takes about",
                "round 1 of 2, block",
                ": measuring",
                "cpu_per_request, so far:",
                "no interval before the second round",
                "  control ",
            ][..],
        ),
        (many_rounds, &[" %  ("]),
    ] {
        let shop = Workshop::new();
        let mut going = AtTerminal::start(&shop, length, 80, "xterm-256color");
        going.until_reads(expected);
        going.interrupt();
        going.end(&shop, 130);
    }
}

#[test]
fn a_narrow_terminal_is_left_clean_by_ctrl_c() {
    let shop = Workshop::new();
    let going = AtTerminal::start(&shop, BRIEF, 40, "xterm");
    let journal = shop.of_run("journal.bin");
    let deadline = Instant::now() + LONGEST;
    while std::fs::metadata(&journal).map_or(0, |file| file.len()) < 10_000 {
        assert!(Instant::now() < deadline, "nothing was measured");
        std::thread::sleep(Duration::from_millis(10));
    }
    going.interrupt();
    let seen = going.end(&shop, 130);
    assert!(seen.reads("] "), "a bar was drawn: {:#?}", seen.frames);
    let last = seen.last();
    assert!(last.contains("interrupted: taking services down"), "{last}");
    assert!(!last.contains('['), "{last}");
    let screen = seen.terminal.screen();
    assert_eq!(screen.cursor_position().1, 0);
    assert!(!screen.hide_cursor());
    let analysis = stdout(&shop);
    assert!(contract::reasons(&analysis).contains(&"run_incomplete"));
}

#[test]
fn a_terminal_that_can_not_be_drawn_on_gets_lines() {
    let shop = Workshop::new();
    let seen = AtTerminal::start(&shop, BRIEF, 80, "dumb").end(&shop, 0);
    let text = String::from_utf8(seen.bytes).unwrap();
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let lines: Vec<&str> = text.lines().collect();
    for expected in ["round 1 of 3: launching", "round 3 of 3: launching"] {
        // The time left may follow, after a comma.
        let is_it = |line: &&str| line.split(", ").next() == Some(expected);
        assert!(lines.iter().any(is_it), "{lines:?}");
    }
}
