//! Lines at the foot of a terminal that are redrawn in place; lines that stay go above them.
//!
//! Every line ends with a break before the terminal's edge, and the folds that the terminal has made
//! since are counted, so that a terminal that changes its width keeps what stands above. On a
//! terminal that does not fold, that counts too many lines, once, when the terminal becomes narrower.

use std::io::{self, IsTerminal as _, Stderr, Write};
use std::time::{Duration, Instant};

use crate::text_width::{cut, width};

/// The foot of a terminal.
pub(crate) struct Screen<W> {
    out: W,
    /// The columns of each line that is drawn now.
    drawn: Vec<usize>,
}

/// Size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Size {
    /// Size of the terminal on standard error; 80 × 24 if unknown.
    pub(crate) fn of_stderr() -> Size {
        let found = rustix::termios::tcgetwinsize(io::stderr());
        let found = found.ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        found.map_or(Size::USUAL, |size| Size {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        })
    }

    const USUAL: Size = Size {
        columns: 80,
        rows: 24,
    };

    /// Columns for a line: two are left for the `^C` that a terminal echoes after it.
    pub(crate) fn line(self) -> usize {
        self.columns.saturating_sub(2).max(1)
    }
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W) -> Screen<W> {
        Screen {
            out,
            drawn: Vec::new(),
        }
    }

    /// Writes lines that stay, and below them replaces the lines drawn before, as many as there is
    /// room for.
    pub(crate) fn draw(&mut self, stay: &[String], lines: &[String], size: Size) -> io::Result<()> {
        let mut text = self.go_back(size.columns);
        for line in stay {
            text.push_str(line);
            text.push('\n');
        }
        let lines = &lines[..lines.len().min(size.rows.saturating_sub(1))];
        text.push_str(&lines.join("\n"));
        self.drawn = lines.iter().map(|line| width(line)).collect();
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Moves to the beginning of what is drawn and erases it. Terminals that cut lines instead of
    /// folding them when they become narrower (xterm, the Linux console) lose as many lines above
    /// as would have been folded. No terminal reports which kind it is.
    fn go_back(&self, columns: usize) -> String {
        // A terminal that became narrower has folded lines.
        let folded = |width: &usize| width.div_ceil(columns.max(1)).max(1);
        match self.drawn.iter().map(folded).sum::<usize>() {
            0 => String::new(),
            1 => "\r\u{1b}[J".to_owned(),
            rows => format!("\r\u{1b}[{}A\u{1b}[J", rows - 1),
        }
    }
}

/// One line at the foot of standard error.
pub(crate) struct LiveLine {
    screen: Screen<Stderr>,
    line: String,
    drawn: Option<Instant>,
}

impl LiveLine {
    /// How often the line is redrawn at most.
    const EVERY: Duration = Duration::from_millis(100);

    /// `None` unless standard error is a terminal.
    pub(crate) fn on_stderr() -> Option<LiveLine> {
        io::stderr().is_terminal().then(|| LiveLine {
            screen: Screen::new(io::stderr()),
            line: String::new(),
            drawn: None,
        })
    }

    /// Replaces the line.
    pub(crate) fn show(&mut self, line: String) {
        if self.line == line {
            return;
        }
        self.line = line;
        if self.drawn.is_none_or(|at| at.elapsed() >= Self::EVERY) {
            self.draw(&[]);
        }
    }

    /// Prints a text above the line.
    pub(crate) fn say(&mut self, text: &str) {
        self.draw(&[text.to_owned()]);
    }

    /// Runs something that prints, with the line out of the way.
    pub(crate) fn suspend(&mut self, prints: impl FnOnce()) {
        self.clear();
        prints();
        self.draw(&[]);
    }

    /// Removes the line.
    pub(crate) fn clear(&mut self) {
        // A terminal that can't be written to shows nothing.
        let _ = self.screen.draw(&[], &[], Size::of_stderr());
    }

    fn draw(&mut self, stay: &[String]) {
        let size = Size::of_stderr();
        let line = cut(&self.line, size.line());
        let _ = self.screen.draw(stay, &[line], size);
        self.drawn = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZero;

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    /// The screen after each drawing.
    struct Shown {
        size: Size,
        screen: Screen<Vec<u8>>,
        terminal: vt100::Parser,
    }

    impl Shown {
        fn new(rows: u16, columns: u16) -> Shown {
            let [few, many] = [rows, columns].map(|n| NonZero::new(n).unwrap());
            Shown {
                size: Size {
                    columns: columns.into(),
                    rows: rows.into(),
                },
                screen: Screen::new(Vec::new()),
                terminal: vt100::Parser::new(few, many, 100),
            }
        }

        fn widen(&mut self, columns: u16) {
            let (rows, _) = self.terminal.screen().size();
            let to = NonZero::new(columns).unwrap();
            self.terminal.screen_mut().set_size(rows, to);
            self.size.columns = columns.into();
        }

        fn draw(&mut self, stay: &[&str], foot: &[&str]) -> String {
            let drawn = self.screen.draw(&lines(stay), &lines(foot), self.size);
            drawn.unwrap();
            // As the terminal driver does.
            let text = String::from_utf8(std::mem::take(&mut self.screen.out)).unwrap();
            self.terminal.process(text.replace('\n', "\r\n").as_bytes());
            self.contents()
        }

        fn contents(&self) -> String {
            let contents = self.terminal.screen().contents();
            let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
            lines.join("|")
        }
    }

    #[test]
    fn lines_are_redrawn_in_place_below_those_that_stay() {
        let mut shown = Shown::new(6, 20);
        shown.terminal.process(b"$ windage run\r\n");
        let steps: &[(&[&str], &[&str], &str)] = &[
            (
                &[],
                &["one", "bar", "estimate"],
                "$ windage run|one|bar|estimate",
            ),
            (&[], &["two", "bar"], "$ windage run|two|bar"),
            (&["it stays"], &["three"], "$ windage run|it stays|three"),
            (
                &["folded where it is too long"],
                &["four"],
                "$ windage run|it stays|folded where it is too long|four",
            ),
            (
                &[],
                &[],
                "$ windage run|it stays|folded where it is too long",
            ),
        ];
        for (stay, foot, expected) in steps {
            assert_eq!(shown.draw(stay, foot), *expected);
        }
        assert_eq!(shown.terminal.screen().cursor_position(), (4, 0));
        assert!(!shown.terminal.screen().hide_cursor());
    }

    #[test]
    fn echoed_characters_are_erased() {
        let mut shown = Shown::new(5, 20);
        shown.draw(&[], &["one", "eighteen columns.."]);
        shown.terminal.process(b"^C");
        assert_eq!(shown.draw(&["stopped"], &["two"]), "stopped|two");
    }

    #[test]
    fn a_terminal_with_few_rows_shows_the_first_lines() {
        let mut shown = Shown::new(3, 20);
        for round in ["1", "2", "3"] {
            let contents = shown.draw(&[], &[round, "b", "c", "d"]);
            assert_eq!(contents, format!("{round}|b"));
        }
    }

    #[test]
    fn a_wider_terminal_keeps_the_lines_above() {
        let mut shown = Shown::new(5, 20);
        shown.draw(&["it stays"], &["one", "bar"]);
        shown.widen(60);
        assert_eq!(shown.draw(&[], &["two", "bar"]), "it stays|two|bar");
    }

    #[test]
    fn lines_folded_by_a_narrower_terminal_are_counted() {
        let mut screen = Screen::new(Vec::new());
        let wide = Size {
            columns: 80,
            rows: 24,
        };
        screen
            .draw(&[], &lines(&["", &"x".repeat(41), &"y".repeat(40)]), wide)
            .unwrap();
        screen.out.clear();
        let narrow = Size {
            columns: 40,
            rows: 24,
        };
        screen.draw(&[], &[], narrow).unwrap();
        // One, two and one: three up from the last.
        assert_eq!(screen.out, b"\r\x1b[3A\x1b[J");
    }
}
