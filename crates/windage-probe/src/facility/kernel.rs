//! The real trials: `bpf()` through aya, `perf_event_open()` through its bindings.

use std::io;
use std::os::fd::OwnedFd;

use aya::sys::is_program_supported;
use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_SW_CPU_CLOCK, PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE,
    PERF_TYPE_TRACEPOINT,
};

use super::{Event, ProgramType, Trials};
use crate::bpf::Failed;

mod perf_event;
mod uprobe;
mod writing;

use perf_event::{attributes, open};

/// The kernel that this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelTrials;

impl Trials for KernelTrials {
    fn load(&self, program: ProgramType) -> io::Result<bool> {
        let known = match program {
            ProgramType::Kprobe => aya::programs::ProgramType::KProbe,
            ProgramType::Tracepoint => aya::programs::ProgramType::TracePoint,
            ProgramType::RawTracepoint => aya::programs::ProgramType::RawTracePoint,
            ProgramType::Tracing => aya::programs::ProgramType::Tracing,
        };
        is_program_supported(known).map_err(|error| Failed::from(error).source)
    }

    fn writes_to_processes(&self) -> io::Result<bool> {
        match writing::load() {
            Ok(_let_go) => Ok(true),
            // The verifier has no such helper for such programs.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn open(&self, event: Event) -> io::Result<()> {
        match event {
            Event::CpuClock => own_process(PERF_TYPE_SOFTWARE, u64::from(PERF_COUNT_SW_CPU_CLOCK)),
            Event::Uprobe(kind) => uprobe::open_on_own_function(kind),
            Event::Cycles => own_process(PERF_TYPE_HARDWARE, u64::from(PERF_COUNT_HW_CPU_CYCLES)),
            Event::Tracepoint(id) => {
                let (every_process, first_core) = (-1, 0);
                open(
                    &mut attributes(PERF_TYPE_TRACEPOINT, id),
                    every_process,
                    first_core,
                )
            }
        }
        .map(drop)
    }
}

/// Restricted to what any user may do, unless the kernel forbids perf events altogether.
fn own_process(kind: u32, config: u64) -> io::Result<OwnedFd> {
    let mut attributes = attributes(kind, config);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    let (this_process, any_core) = (0, -1);
    open(&mut attributes, this_process, any_core)
}
