//! Converts the output of profilers into collapsed stacks.

use std::io::{self, BufRead, BufReader, Read};

use inferno::collapse::Collapse;
use inferno::collapse::perf;

use crate::{Limits, Stacks};

/// Converts the output of `py-spy record --format raw --subprocesses`.
///
/// Its stacks are collapsed already. With subprocesses, each stack begins with the processes that
/// led to it and their command lines. Those are removed: they differ from arm to arm and may
/// contain secrets.
///
/// # Errors
/// When the reader fails.
pub fn collapsed_by_py_spy(reader: impl BufRead) -> io::Result<Stacks> {
    let raw = Stacks::read(reader, Limits::default())?;
    Ok(renamed(&raw, |stack| after_processes(stack).to_owned()))
}

/// Stands for a thread in which py-spy saw no function.
const NO_FUNCTION: &str = "[not Python]";

/// The event that perf samples: available on every machine, including virtual ones.
pub const PERF_EVENT: &str = "cpu-clock";

/// The fields that `perf script` writes. No periods: with them, inferno would not count samples.
pub const PERF_FIELDS: &str = "comm,pid,tid,time,event,ip,sym,dso";

/// Converts the output of `perf script -F` [`PERF_FIELDS`] with samples of [`PERF_EVENT`].
/// Functions of the kernel and of just-in-time compilers are marked as usual in flame graphs;
/// unknown functions get the name of their module; letters beyond ASCII become `?`.
///
/// # Errors
/// When the reader fails.
pub fn collapsed_by_perf(reader: impl BufRead) -> io::Result<Stacks> {
    let mut options = perf::Options::default();
    options.annotate_kernel = true;
    options.annotate_jit = true;
    options.nthreads = 1;
    options.event_filter = Some(PERF_EVENT.to_owned());
    let mut collapsed = Vec::new();
    perf::Folder::from(options).collapse(BufReader::new(Ascii(reader)), &mut collapsed)?;
    let raw = Stacks::read(&collapsed[..], Limits::default())?;
    Ok(renamed(&raw, without_tiers))
}

/// Renames functions; stacks that become equal are merged.
fn renamed(raw: &Stacks, name: impl Fn(&str) -> String) -> Stacks {
    let lines: String = raw
        .iter()
        .map(|(stack, seen)| format!("{} {seen}\n", name(stack)))
        .collect();
    let mut stacks = Stacks::of_text(&lines);
    stacks.note_left_out(raw);
    stacks
}

/// V8 marks how it compiled a function (`JS:~` interpreted, `JS:^` and `JS:+` baseline, `JS:*`
/// optimised), but it is the same function.
fn without_tiers(stack: &str) -> String {
    let function = |frame: &str| match frame.strip_prefix("JS:") {
        Some(named) => format!("JS:{}", named.trim_start_matches(['~', '^', '+', '*'])),
        None => frame.to_owned(),
    };
    let functions: Vec<String> = stack.split(';').map(function).collect();
    functions.join(";")
}

/// inferno 0.12 cuts names at bytes, and panics when that is within a letter.
struct Ascii<R>(R);

impl<R: Read> Read for Ascii<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        let beyond = buffer[..read].iter_mut().filter(|byte| !byte.is_ascii());
        beyond.for_each(|byte| *byte = b'?');
        Ok(read)
    }
}

/// A command line may contain anything, including the separator of functions, but it is in quotes;
/// no Python function has a quote in its name.
fn after_processes(stack: &str) -> &str {
    const END: &str = "\";";
    let rest = match stack.rfind(END) {
        Some(at) => &stack[at + END.len()..],
        None => stack,
    };
    // A thread without a Python function, such as one of a native library.
    let is_bare = rest.starts_with("process ") && rest.ends_with('"');
    if is_bare { NO_FUNCTION } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_not_functions() {
        let table = [
            (
                "<module> (app.py);f (app.py) 3",
                "<module> (app.py);f (app.py) 3\n",
            ),
            (
                r#"process 17:"python app.py --key secret" 3"#,
                "[not Python] 3\n",
            ),
            (
                r#"process 1:"sh";process 17:"python app.py --key secret" 3"#,
                "[not Python] 3\n",
            ),
            (
                r#"process 17:"python app.py --key secret";f (app.py) 3"#,
                "f (app.py) 3\n",
            ),
            (
                r#"process 1:"sh -c 'a; "b"; c'";process 2:"python app.py";f (a.py);g (a.py) 3"#,
                "f (a.py);g (a.py) 3\n",
            ),
        ];
        for (raw, expected) in table {
            let stacks = collapsed_by_py_spy(raw.as_bytes()).unwrap();
            assert_eq!(stacks.to_collapsed(), expected, "{raw}");
        }
    }

    #[test]
    fn the_same_stack_of_several_processes_is_one() {
        let raw = "process 1:\"x\";f 3\nprocess 2:\"y\";f 4\nnonsense\n";
        let stacks = collapsed_by_py_spy(raw.as_bytes()).unwrap();
        assert_eq!(stacks.to_collapsed(), "f 7\n");
        assert_eq!((stacks.samples(), stacks.malformed_lines()), (7, 1));
    }

    #[test]
    fn samples_of_perf_become_stacks() {
        let script = "\
sh 17229/17229 47886.302958: cpu-clock: 
\t            a7ea inner+0x10 (/usr/bin/dash)
\t            9e90 outer+0x4 (/usr/bin/dash)

sh 17229/17229 47886.306956: cpu-clock: 
\t            a7ea inner+0x14 (/usr/bin/dash)
\t            9e90 outer+0x8 (/usr/bin/dash)

sh 17229/17229 47886.311016: cpu-clock: 
\tffffffff81000000 do_syscall_64+0x1 ([kernel.kallsyms])
\t              14 [unknown] (/usr/lib/libc.so.6)
";
        let stacks = collapsed_by_perf(script.as_bytes()).unwrap();
        assert_eq!(
            stacks.to_collapsed(),
            "sh;[libc.so.6];do_syscall_64_[k] 1\nsh;outer;inner 2\n"
        );
    }

    #[test]
    fn a_function_is_the_same_however_it_was_compiled() {
        let table = [
            (
                "node;JS:*handle /r.js:9;JS:~f",
                "node;JS:handle /r.js:9;JS:f",
            ),
            ("node;JS:^handle;JS:+f", "node;JS:handle;JS:f"),
            ("node;Builtins:*x;~y", "node;Builtins:*x;~y"),
        ];
        for (stack, expected) in table {
            assert_eq!(without_tiers(stack), expected, "{stack}");
        }
    }

    #[test]
    fn without_kernel_rights_the_event_has_another_name() {
        let script = "a b 1/2 3.4: cpu-clock:u: \n\t 12 f+0x1 (/x)\n\n";
        let stacks = collapsed_by_perf(script.as_bytes()).unwrap();
        assert_eq!(stacks.to_collapsed(), "a_b;f 1\n");
    }

    #[test]
    fn letters_beyond_ascii_do_no_harm() {
        // So long that a Rust hash could be at its end, cut within a letter.
        let script = "a 1/2 3.4: cpu-clock: \n\t 12 caf\u{e9}\u{e9}abcdefghijklmnopqr (/x)\n\n";
        let stacks = collapsed_by_perf(script.as_bytes()).unwrap();
        assert_eq!(stacks.to_collapsed(), "a;caf????abcdefghijklmnopqr 1\n");
    }

    #[test]
    fn other_text_than_perfs_gives_nothing() {
        let table = [
            "",
            "hello\n\nthere\n",
            "\t12 f (x)\n\n",
            "a 1/2 3.4\n\n",
            "a 1 2: cycles: \n\t1 f (x)\n\n",
        ];
        for text in table {
            let stacks = collapsed_by_perf(text.as_bytes()).unwrap();
            assert_eq!(stacks.samples(), 0, "{text:?}");
        }
    }
}
