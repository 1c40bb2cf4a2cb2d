//! `perf_event_open()` through its bindings.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings::perf_event_attr;

pub(super) fn attributes(kind: u32, config: u64) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        type_: kind,
        config,
        ..perf_event_attr::default()
    };
    // The structure has about a hundred bytes.
    attributes.size = size_of::<perf_event_attr>() as u32;
    attributes.set_disabled(1);
    attributes
}

pub(super) fn open(
    attributes: &mut perf_event_attr,
    process: i32,
    core: i32,
) -> io::Result<OwnedFd> {
    const NO_GROUP: i32 = -1;
    let flags = libc::c_ulong::from(perf::bindings::PERF_FLAG_FD_CLOEXEC);
    // SAFETY: the attributes are initialised, tell their own size and outlive the call, which
    // writes to nothing else.
    let descriptor = unsafe { perf::perf_event_open(attributes, process, core, NO_GROUP, flags) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the descriptor is open and ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
