//! The profilers: their command lines, and remedies for their errors.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_plan::{Profile, Profiler};
use windage_profile::{PERF_EVENT, PERF_FIELDS};
use windage_record::ProfileFailure;

use super::processes::Processes;

/// One start of a profiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recorder {
    pub(super) args: Vec<OsString>,
    /// Its output file.
    pub(super) output: PathBuf,
}

/// The profilers' command lines, for the processes, for the time that the plan states, with outputs
/// in `folder`. py-spy records one process and its children; perf records any number.
pub(super) fn recorders(wish: &Profile, processes: &Processes, folder: &Path) -> Vec<Recorder> {
    let rate = wish.rate_hz.to_string();
    match wish.with {
        Profiler::PySpy => {
            let seconds = whole_seconds(wish.lasts).to_string();
            let of_root = |pid: &u32| {
                let output = folder.join(format!("{pid}.raw"));
                let pid = pid.to_string();
                let words = [
                    "record",
                    "--pid",
                    &pid,
                    "--subprocesses",
                    // Pausing wakes waiting threads. On a busy core they are not asleep again at
                    // the next sample, and would count as working.
                    "--nonblocking",
                    "--nolineno",
                    "--rate",
                    &rate,
                    "--duration",
                    &seconds,
                    "--format",
                    "raw",
                    "--output",
                ];
                Recorder {
                    args: with_path(&words, &output),
                    output,
                }
            };
            processes.roots.iter().map(of_root).collect()
        }
        Profiler::Perf => {
            let output = folder.join("perf.data");
            let pids: Vec<String> = processes.all.iter().map(u32::to_string).collect();
            let seconds = format!("{:.3}", wish.lasts.as_secs_f64());
            let words = ["record", "-e", PERF_EVENT, "-F", &rate, "-g", "-N", "-p"];
            let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
            args.extend([pids.join(",").into(), "-o".into(), output.clone().into()]);
            args.extend(["--", "sleep", &seconds].map(OsString::from));
            vec![Recorder { args, output }]
        }
    }
}

/// Shell arguments that make perf write its recording as text, separate from its messages.
pub(super) fn perf_script(program: &Path, recorded: &Path, text: &Path) -> Vec<OsString> {
    let script = format!("exec \"$0\" script -i \"$1\" -F {PERF_FIELDS} > \"$2\"");
    vec![
        "-c".into(),
        script.into(),
        program.into(),
        recorded.into(),
        text.into(),
    ]
}

/// py-spy accepts whole seconds only.
fn whole_seconds(lasts: Duration) -> u64 {
    lasts.as_secs() + u64::from(lasts.subsec_nanos() > 0)
}

fn with_path(words: &[&str], path: &Path) -> Vec<OsString> {
    let words = words.iter().map(OsString::from);
    words.chain([path.into()]).collect()
}

/// Why there is no profile, and the remedy.
pub(super) fn failure(wish: &Profile, text: String) -> ProfileFailure {
    let remedy = remedy(wish, &text);
    ProfileFailure { text, remedy }
}

fn remedy(wish: &Profile, text: &str) -> String {
    let text = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let program = &wish.program;
    let remedy = match wish.with {
        _ if says(&["not found", "no such file"]) && !says(&["process"]) => {
            let install = match wish.with {
                Profiler::PySpy => "pip install py-spy",
                Profiler::Perf => "apt-get install linux-perf",
            };
            return format!(
                "install it (`{install}`), or name it: `profile.program` is `{program}`"
            );
        }
        Profiler::PySpy if says(&["permission denied", "not permitted", "eperm"]) => {
            "run windage as root, or allow it to attach: sysctl kernel.yama.ptrace_scope=0"
        }
        Profiler::Perf
            if says(&[
                "paranoid",
                "permission",
                "not permitted",
                "access to performance",
            ]) =>
        {
            "run windage as root, or allow it: sysctl kernel.perf_event_paranoid=1"
        }
        Profiler::PySpy if says(&["no python processes", "python version", "not a python"]) => {
            "profile programs that are not Python with \"perf\""
        }
        Profiler::Perf if says(&["max_sample_rate", "maximum frequency"]) => {
            "lower `profile.rate`, or raise sysctl kernel.perf_event_max_sample_rate"
        }
        Profiler::PySpy | Profiler::Perf => "look at its log in the run directory's `logs`",
    };
    remedy.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(with: Profiler) -> Profile {
        Profile {
            with,
            program: with.as_str().to_owned(),
            lasts: Duration::from_millis(2500),
            rate_hz: 250,
        }
    }

    fn lines(with: Profiler) -> Vec<String> {
        let processes = Processes {
            roots: vec![5, 9],
            all: vec![5, 6, 9],
            java: Vec::new(),
        };
        let recorders = recorders(&wish(with), &processes, Path::new("/w"));
        let line = |recorder: &Recorder| {
            let words: Vec<_> = recorder.args.iter().map(|a| a.to_string_lossy()).collect();
            words.join(" ")
        };
        recorders.iter().map(line).collect()
    }

    #[test]
    fn command_lines_follow_the_plan() {
        assert_eq!(
            lines(Profiler::PySpy),
            [
                "record --pid 5 --subprocesses --nonblocking --nolineno --rate 250 --duration 3 --format raw \
                 --output /w/5.raw",
                "record --pid 9 --subprocesses --nonblocking --nolineno --rate 250 --duration 3 --format raw \
                 --output /w/9.raw",
            ]
        );
        assert_eq!(
            lines(Profiler::Perf),
            ["record -e cpu-clock -F 250 -g -N -p 5,6,9 -o /w/perf.data -- sleep 2.500"]
        );
    }

    #[test]
    fn each_error_has_its_remedy() {
        let (py_spy, perf) = (Profiler::PySpy, Profiler::Perf);
        let table = [
            (
                py_spy,
                "program `py-spy` not found in PATH (/bin): install it",
                "pip install py-spy",
            ),
            (perf, "program `perf` not found in PATH", "linux-perf"),
            (
                py_spy,
                "Error: Permission Denied: Try running again with elevated",
                "ptrace_scope",
            ),
            (
                py_spy,
                "Operation not permitted (os error 1)",
                "ptrace_scope",
            ),
            (
                perf,
                "Access to performance monitoring is limited; perf_event_paranoid",
                "paranoid=1",
            ),
            (
                py_spy,
                "No python processes found in process 5 or any of its",
                "with \"perf\"",
            ),
            (
                perf,
                "Maximum frequency rate (1000) reached",
                "profile.rate",
            ),
            (
                py_spy,
                "No such file or directory: the process 5 is gone",
                "log",
            ),
            (perf, "ended with code 3", "log"),
        ];
        for (with, text, expected) in table {
            let failure = failure(&wish(with), text.to_owned());
            assert!(
                failure.remedy.contains(expected),
                "{text}: {}",
                failure.remedy
            );
            assert_eq!(failure.text, text);
        }
    }
}
