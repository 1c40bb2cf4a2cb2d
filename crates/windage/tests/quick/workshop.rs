//! A temporary directory in which Windage runs, and checks that apply to every run.

use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use windage_analysis::wire::{self, AnalysisWire};

use crate::leftovers;

/// Runs in these tests last seconds, the demo's fourteen rounds about a minute; one that takes longer
/// than this hangs.
const LONGEST: Duration = Duration::from_secs(300);
/// How soon after its end nothing of a run may be left.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// A directory of the test, removed with its contents.
pub(crate) struct Workshop {
    dir: tempfile::TempDir,
    /// Name of the run directory, and so the run's id: no other run has it.
    pub(crate) run: String,
}

impl Workshop {
    pub(crate) fn new() -> Workshop {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Workshop {
            dir: tempfile::tempdir().unwrap(),
            run: format!("run-{}-{number}", std::process::id()),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A file of the run directory.
    pub(crate) fn of_run(&self, name: &str) -> PathBuf {
        self.dir().join(&self.run).join(name)
    }

    /// The log of a service or an agent, launch by launch and arm by arm.
    pub(crate) fn logs_of(&self, service: &str) -> Vec<String> {
        let named = format!("+{service}.");
        let logs = fs::read_dir(self.of_run("logs")).into_iter().flatten();
        logs.flatten()
            .filter(|log| log.file_name().to_string_lossy().contains(&named))
            .filter_map(|log| fs::read_to_string(log.path()).ok())
            .collect()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.dir().join(name), text).unwrap();
    }

    /// Runs Windage to its end in this directory.
    pub(crate) fn windage(&self, args: &[&str]) -> Ended {
        self.start(args, &[]).end()
    }

    /// Writes a plan and starts to measure it.
    pub(crate) fn start_plan(&self, plan: &str) -> Going {
        self.write("plan.toml", plan);
        self.start(&["run", "plan.toml", "--out", &self.run], &[])
    }

    /// Starts Windage in this directory.
    pub(crate) fn start(&self, args: &[&str], env: &[(&str, &str)]) -> Going {
        self.start_with(args, env, Stdio::null())
    }

    /// Starts Windage in this directory with a pipe as its standard input ([`Going::tell`]).
    pub(crate) fn start_listening(&self, args: &[&str]) -> Going {
        self.start_with(args, &[], Stdio::piped())
    }

    /// Starts Windage in this directory as another user, who must be allowed to write there.
    pub(crate) fn start_as(&self, user: u32, args: &[&str]) -> Going {
        let as_user = |command: &mut Command| {
            command.uid(user).gid(user);
        };
        self.start_changed(args, Stdio::null(), as_user)
    }

    fn start_with(&self, args: &[&str], env: &[(&str, &str)], stdin: Stdio) -> Going {
        let with_env = |command: &mut Command| {
            command.envs(env.iter().copied());
        };
        self.start_changed(args, stdin, with_env)
    }

    fn start_changed(
        &self,
        args: &[&str],
        stdin: Stdio,
        change: impl FnOnce(&mut Command),
    ) -> Going {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let output = ["stdout", "stderr"].map(|name| self.dir().join(format!("{name}-{number}")));
        let file = |path: &PathBuf| File::create(path).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_windage"));
        change(&mut command);
        let child = command
            .args(args)
            .current_dir(self.dir())
            .stdin(stdin)
            .stdout(file(&output[0]))
            .stderr(file(&output[1]))
            .spawn()
            .unwrap();
        Going {
            child,
            args: args.join(" "),
            output,
            dir: self.dir().to_owned(),
            run: self.run.clone(),
        }
    }
}

/// A running Windage. If a failing test drops it, it is killed.
pub(crate) struct Going {
    child: Child,
    args: String,
    output: [PathBuf; 2],
    dir: PathBuf,
    run: String,
}

impl Going {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to its standard input.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Waits until `condition` holds; fails if Windage ends before.
    pub(crate) fn until(&mut self, what: &str, condition: impl Fn() -> bool) {
        self.until_some(what, || condition().then_some(()));
    }

    /// Waits until `find` finds something in the lines on standard error; fails if Windage ends
    /// before.
    pub(crate) fn until_said<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let [_, stderr] = self.output.clone();
        self.until_some(what, || {
            let text = text_of(&stderr);
            // The last line may be incomplete.
            let (whole, _) = text.rsplit_once('\n')?;
            find(whole)
        })
    }

    fn until_some<T>(&mut self, what: &str, find: impl Fn() -> Option<T>) -> T {
        let deadline = Instant::now() + LONGEST;
        loop {
            // The exit status is read first, so that output right before the end counts.
            let ended = self.child.try_wait().unwrap();
            if let Some(found) = find() {
                return found;
            }
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "never {what}: {}",
                self.texts().join("\n")
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end, after which none of its processes may be left.
    pub(crate) fn end(mut self) -> Ended {
        let status = self.wait();
        leftovers::assert_none(&self.dir, &self.run, GONE_WITHIN);
        let [stdout, stderr] = self.texts();
        for text in [&stdout, &stderr] {
            assert!(!text.contains('\u{1b}'), "escape codes in a file: {text}");
            assert!(!text.contains("panicked"), "{text}");
        }
        Ended {
            status,
            stdout,
            stderr,
            args: self.args.clone(),
        }
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + LONGEST;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "`windage {}` hangs: {}",
                self.args,
                self.texts().join("\n")
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn texts(&self) -> [String; 2] {
        self.output.each_ref().map(|path| text_of(path))
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // It has ended already in a test that passes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text_of(path: &Path) -> String {
    let mut text = String::new();
    File::open(path).unwrap().read_to_string(&mut text).unwrap();
    text
}

/// A Windage that has ended, and its output.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    args: String,
}

impl Ended {
    /// Checks the exit code.
    pub(crate) fn code(self, code: i32) -> Ended {
        assert_eq!(
            self.status.code(),
            Some(code),
            "`windage {}` printed:\n{}\n{}",
            self.args,
            // A whole analysis would bury the rest of the output.
            self.stdout.get(..2000).unwrap_or(&self.stdout),
            self.stderr
        );
        self
    }

    /// Checks for words on standard error.
    pub(crate) fn says(self, words: &[&str]) -> Ended {
        for word in words {
            assert!(
                self.stderr.contains(word),
                "`windage {}` does not print `{word}`:\n{}",
                self.args,
                self.stderr
            );
        }
        self
    }

    /// Standard output as a single analysis.
    pub(crate) fn analysis(&self) -> AnalysisWire {
        let read = wire::read(&self.stdout);
        let mut analyses =
            read.unwrap_or_else(|error| panic!("no analysis: {error}\n{}", self.stdout));
        assert_eq!(analyses.len(), 1, "{}", self.stdout);
        analyses.remove(0)
    }

    /// Standard output as a single JSON document.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not one JSON document: {error}\n{}", self.stdout))
    }
}

#[test]
#[should_panic(expected = "never says where it listens")]
fn waiting_for_a_line_fails_once_windage_has_ended() {
    let shop = Workshop::new();
    let mut going = shop.start(&["--version"], &[]);
    going.until_said("says where it listens", |text| text.find("listens"));
}
