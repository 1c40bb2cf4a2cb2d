//! Kernel facilities for agents. Each is found by its smallest use: load a program that does
//! nothing, open an event, look for a file.
//!
//! Nothing of it stays. A setting or a version is not trusted, because a sandbox may deny root what
//! its kernel was built with.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use windage_model::Facility;

use crate::error::has_left;
use crate::open_files::read_file;
use crate::parse::number;
use crate::system::System;

mod fake;
mod kernel;

pub use fake::FakeTrials;
pub use kernel::KernelTrials;

/// The trials that find the kernel's facilities; [`KernelTrials`] for real, [`FakeTrials`] in
/// tests.
pub trait Trials: fmt::Debug {
    /// Loads and frees a program that does nothing; also attaches it if it is of type
    /// [`ProgramType::Tracing`]. Returns whether the kernel knows the type.
    ///
    /// # Errors
    ///
    /// Any other answer of the system, such as EPERM.
    fn load(&self, program: ProgramType) -> io::Result<bool>;

    /// Loads and frees a program that would write to the memory of the process it runs in, without
    /// attaching it. Returns whether the kernel accepts it.
    ///
    /// # Errors
    ///
    /// Any other answer of the system, such as EPERM.
    fn writes_to_processes(&self) -> io::Result<bool>;

    /// Opens an event and closes it.
    ///
    /// # Errors
    ///
    /// The system's answer.
    fn open(&self, event: Event) -> io::Result<()>;
}

/// A type of BPF program that agents use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramType {
    /// On probes of functions of the kernel or of programs.
    Kprobe,
    /// On the kernel's static probes, by perf events.
    Tracepoint,
    /// On the kernel's static probes, without copied arguments.
    RawTracepoint,
    /// On functions of the kernel, by trampolines.
    Tracing,
}

impl ProgramType {
    /// The kernel's name for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ProgramType::Kprobe => "kprobe",
            ProgramType::Tracepoint => "tracepoint",
            ProgramType::RawTracepoint => "raw_tracepoint",
            ProgramType::Tracing => "tracing",
        }
    }

    fn configuration(self) -> &'static str {
        match self {
            ProgramType::Kprobe | ProgramType::Tracepoint => "CONFIG_BPF_EVENTS",
            ProgramType::RawTracepoint => "CONFIG_BPF_EVENTS, Linux 4.17 or later",
            ProgramType::Tracing => {
                "CONFIG_DEBUG_INFO_BTF and CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, Linux 5.5 or \
                 later"
            }
        }
    }
}

/// An event of `perf_event_open()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The software clock, for this process outside the kernel.
    CpuClock,
    /// The processor's cycles, for this process outside the kernel.
    Cycles,
    /// A static probe of the kernel by its number, for all processes, as agents attach to it.
    Tracepoint(u64),
    /// A probe on a function of this program, by the number of the event source.
    Uprobe(u32),
}

/// A facility that is needed and missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The facility.
    pub facility: Facility,
    /// The evidence, in words.
    pub why: String,
    /// The remedy.
    pub remedy: String,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lack {
            facility,
            why,
            remedy,
        } = self;
        write!(f, "{}: {why}; {remedy}", facility.as_str())
    }
}

/// The facilities among `needs` that this host lacks, in their order.
#[must_use]
pub fn lacking(needs: &[Facility], system: &dyn System, trials: &dyn Trials) -> Vec<Lack> {
    let host = Host { system, trials };
    let lack = |&facility: &Facility| {
        let Obstacle { why, remedy } = host.offers(facility).err()?;
        Some(Lack {
            facility,
            why,
            remedy,
        })
    };
    needs.iter().filter_map(lack).collect()
}

/// Where tracefs is mounted; the older place is last.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

const PRIVILEGED: &str = "run as root, or with CAP_BPF and CAP_PERFMON (in a container: \
                          --privileged)";

/// Why a facility is missing, and the remedy.
#[derive(Debug)]
struct Obstacle {
    why: String,
    remedy: String,
}

impl Obstacle {
    fn new(why: impl Into<String>, remedy: impl Into<String>) -> Obstacle {
        Obstacle {
            why: why.into(),
            remedy: remedy.into(),
        }
    }
}

struct Host<'h> {
    system: &'h dyn System,
    trials: &'h dyn Trials,
}

impl Host<'_> {
    fn offers(&self, facility: Facility) -> Result<(), Obstacle> {
        match facility {
            Facility::Bpf => self.bpf(),
            Facility::Btf => self.btf(),
            Facility::Tracefs => self.tracefs().map(drop),
            Facility::Tracepoint => self.tracepoint(),
            Facility::RawTracepoint => self.loads(ProgramType::RawTracepoint),
            Facility::Kprobe => self.probes("kprobe", "CONFIG_KPROBE_EVENTS").map(drop),
            Facility::Uprobe => self.uprobe(),
            Facility::ProbeWriteUser => self.writes_to_processes(),
            Facility::Fentry => self.btf().and_then(|()| self.loads(ProgramType::Tracing)),
            Facility::PerfEvent => self.opens(Event::CpuClock),
            Facility::HardwareCounters => self.opens(Event::Cycles),
        }
    }

    /// A type that the kernel does not know, or can't load, says nothing about BPF as a whole.
    fn bpf(&self) -> Result<(), Obstacle> {
        match self.trials.load(ProgramType::Tracepoint) {
            Err(error) if refused(&error) => Err(Obstacle::new(
                format!("BPF programs may not be loaded ({error})"),
                PRIVILEGED,
            )),
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Err(Obstacle::new(
                "the kernel has no bpf(2)",
                "use a kernel with CONFIG_BPF_SYSCALL",
            )),
            _ => Ok(()),
        }
    }

    fn loads(&self, program: ProgramType) -> Result<(), Obstacle> {
        self.bpf()?;
        let word = program.as_str();
        match self.trials.load(program) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Obstacle::new(
                format!("this kernel takes no BPF programs of type {word}"),
                format!("use a kernel with {}", program.configuration()),
            )),
            // Not a lack of privilege: other types were accepted.
            Err(error) if refused(&error) => Err(Obstacle::new(
                format!(
                    "this kernel refuses BPF programs of type {word} but accepts others ({error})"
                ),
                "use a host that allows them",
            )),
            Err(error) => Err(Obstacle::new(
                format!("a BPF program of type {word} can't be loaded: {error}"),
                format!("use a kernel with {}", program.configuration()),
            )),
        }
    }

    fn btf(&self) -> Result<(), Obstacle> {
        let path = "/sys/kernel/btf/vmlinux";
        match self.system.open(Path::new(path)) {
            Ok(_) => Ok(()),
            Err(error) => Err(Obstacle::new(
                format!("{path}: {error}"),
                if refused(&error) {
                    "run as root"
                } else {
                    "use a kernel with CONFIG_DEBUG_INFO_BTF"
                },
            )),
        }
    }

    /// The directory of its files.
    fn tracefs(&self) -> Result<PathBuf, Obstacle> {
        let mut refusal = None;
        for dir in TRACEFS.map(Path::new) {
            match self.system.list(&dir.join("events")) {
                Ok(_) => return Ok(dir.to_owned()),
                Err(error) if has_left(&error) => {}
                Err(error) => refusal = Some(format!("{}: {error}", dir.display())),
            }
        }
        Err(match refusal {
            Some(why) => Obstacle::new(why, "run as root"),
            None => Obstacle::new(
                format!("tracefs is not mounted at {}", TRACEFS[0]),
                format!(
                    "mount -t tracefs tracefs {} (on a kernel with CONFIG_FTRACE)",
                    TRACEFS[0]
                ),
            ),
        })
    }

    fn tracepoint(&self) -> Result<(), Obstacle> {
        self.loads(ProgramType::Tracepoint)?;
        // Every kernel with tracepoints has this one.
        let path = self.tracefs()?.join("events/sched/sched_switch/id");
        let id = match read_file(self.system, &path) {
            Ok(text) => number(text.trim_ascii()),
            Err(error) if refused(&error) => {
                let why = format!("{}: {error}", path.display());
                return Err(Obstacle::new(why, "run as root"));
            }
            Err(_) => None,
        };
        let id = id.ok_or_else(|| {
            Obstacle::new(
                format!("{} holds no tracepoint id", path.display()),
                "use a kernel with CONFIG_EVENT_TRACING",
            )
        })?;
        self.opens(Event::Tracepoint(id))
    }

    /// Probes on functions: they need BPF programs and a perf event source, whose number is
    /// returned.
    fn probes(&self, source: &str, configuration: &str) -> Result<u32, Obstacle> {
        let path = format!("/sys/bus/event_source/devices/{source}/type");
        let text = read_file(self.system, Path::new(&path)).unwrap_or_default();
        let kind = number(text.trim_ascii()).and_then(|kind| u32::try_from(kind).ok());
        let kind = kind.ok_or_else(|| {
            Obstacle::new(
                format!("this kernel has no {source}s ({path} is missing)"),
                format!("use a kernel with {configuration}"),
            )
        })?;
        self.loads(ProgramType::Kprobe).map(|()| kind)
    }

    /// A sandbox may allow loading programs but block what attaches them.
    fn uprobe(&self) -> Result<(), Obstacle> {
        let kind = self.probes("uprobe", "CONFIG_UPROBE_EVENTS")?;
        self.opens(Event::Uprobe(kind))
    }

    fn writes_to_processes(&self) -> Result<(), Obstacle> {
        self.loads(ProgramType::Kprobe)?;
        let refusal = match self.trials.writes_to_processes() {
            Ok(true) => return Ok(()),
            Ok(false) => String::new(),
            Err(error) => format!(" ({error})"),
        };
        Err(match self.lockdown() {
            Some(level) => Obstacle::new(
                format!(
                    "the kernel is locked down ({level}): BPF programs may not write to processes"
                ),
                "boot without `lockdown=` and without Secure Boot, or use a host without them",
            ),
            None => Obstacle::new(
                format!("BPF programs may not write to processes{refusal}"),
                "run as root, or with CAP_SYS_ADMIN, on a kernel that is not locked down",
            ),
        })
    }

    /// How far the kernel is locked down; `None` when not at all, or unknown.
    fn lockdown(&self) -> Option<String> {
        let path = Path::new("/sys/kernel/security/lockdown");
        let text = String::from_utf8(read_file(self.system, path).ok()?).ok()?;
        let (_, rest) = text.split_once('[')?;
        let (level, _) = rest.split_once(']')?;
        (level != "none").then(|| level.to_owned())
    }

    fn opens(&self, event: Event) -> Result<(), Obstacle> {
        let Err(error) = self.trials.open(event) else {
            return Ok(());
        };
        Err(match (event, error.raw_os_error()) {
            (_, Some(libc::ENOSYS)) => Obstacle::new(
                "the kernel has no perf_event_open(2)",
                "use a kernel with CONFIG_PERF_EVENTS",
            ),
            (Event::Cycles, Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP)) => Obstacle::new(
                "the processor's counters are not available, as on most virtual machines",
                "use a physical machine, or a virtual one with counters (a virtual PMU)",
            ),
            _ if refused(&error) => Obstacle::new(
                format!("perf events may not be opened ({error})"),
                "run as root, or with CAP_PERFMON (in a container: --privileged)",
            ),
            _ => Obstacle::new(
                format!("perf_event_open(2) failed: {error}"),
                "use a kernel with CONFIG_PERF_EVENTS",
            ),
        })
    }
}

fn refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

#[cfg(test)]
mod tests;
