//! The cost of steady sampling: CPU, memory and activity of 20 processes, ten times per second.
//! Prints this process's own CPU as a share of a core.
//!
//! `cargo run --locked --release -p windage-probe --example steady -- [group] [awake] [SECONDS]`
//!
//! With `group` the processes get a cgroup; otherwise their clocks are read one by one. With
//! `awake` each of them wakes up 20 times per second, so that all of their files must be read;
//! otherwise they sleep, as most arms do most of the time.

use std::error::Error;
use std::io::Write;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use windage_probe::cgroup::{ArmCgroup, CgroupTree};
use windage_probe::{ArmProbe, Linux, SelfProbe};

const PROCESSES: usize = 20;
const PERIOD: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_millis(50);
const DEFAULT_SECONDS: u32 = 20;

/// How much longer than the measurement a process lives if nothing ends it.
const SPARE_SECONDS: u32 = 30;

/// The limit, as a share of a core.
const ALLOWED: f64 = 0.002;

struct Options {
    group: bool,
    awake: bool,
    seconds: u32,
}

/// Processes that end with this one, however it ends.
#[derive(Default)]
struct Sleepers(Vec<Child>);

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options {
        group: false,
        awake: false,
        seconds: DEFAULT_SECONDS,
    };
    let mut is_child = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "group" => options.group = true,
            "awake" => options.awake = true,
            "child" => is_child = true,
            seconds => options.seconds = seconds.parse()?,
        }
    }
    if is_child {
        nap_for(options.seconds);
        return Ok(());
    }
    measure(&options)
}

fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let group = match options.group {
        true => Some(
            CgroupTree::detect(&Linux)
                .ok_or("no control groups are mounted")?
                .create("steady")?,
        ),
        false => None,
    };
    let sleepers = launch(options, group.as_ref())?;
    let mut probe = match &group {
        Some(group) => group.probe()?,
        None => ArmProbe::processes(&sleepers.0.iter().map(Child::id).collect::<Vec<_>>())?,
    };
    let share = steady(&mut probe, options.seconds)?;
    writeln!(
        std::io::stdout(),
        "{}: {PROCESSES} processes {}, every {PERIOD:?}, {} s: {:.3} % of a core ({} {:.1} %)",
        probe.source().as_str(),
        if options.awake { "awake" } else { "asleep" },
        options.seconds,
        share * 100.0,
        if share < ALLOWED { "within" } else { "exceeds" },
        ALLOWED * 100.0,
    )?;
    drop(sleepers);
    Ok(())
}

fn launch(options: &Options, group: Option<&ArmCgroup>) -> Result<Sleepers, Box<dyn Error>> {
    let seconds = (options.seconds + SPARE_SECONDS).to_string();
    let mut sleepers = Sleepers::default();
    for _ in 0..PROCESSES {
        let mut command = match options.awake {
            true => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("child");
                command
            }
            false => Command::new("sleep"),
        };
        command.arg(&seconds);
        if let Some(group) = group {
            group.enter_on_exec(&mut command)?;
        }
        sleepers.0.push(command.spawn()?);
    }
    Ok(sleepers)
}

/// Samples for this long and returns the share of a core that it used.
fn steady(probe: &mut ArmProbe, seconds: u32) -> Result<f64, Box<dyn Error>> {
    if probe.refresh_tasks()? != PROCESSES {
        return Err("some of the processes are missing".into());
    }
    let own = SelfProbe::new(&Linux)?;
    let begun = Instant::now();
    let start_ns = own.cpu_ns()?;
    let mut next = begun;
    let end = begun + Duration::from_secs(u64::from(seconds));
    while next < end {
        probe.cpu_ns()?;
        probe.memory()?;
        probe.activity()?;
        next += PERIOD;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let used_ns = own.cpu_ns()? - start_ns;
    Ok(Duration::from_nanos(used_ns).as_secs_f64() / begun.elapsed().as_secs_f64())
}

/// What a process that is awake does.
fn nap_for(seconds: u32) {
    let end = Instant::now() + Duration::from_secs(u64::from(seconds));
    while Instant::now() < end {
        thread::sleep(NAP);
    }
}
