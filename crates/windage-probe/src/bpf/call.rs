//! `bpf()` calls that aya does not offer.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Makes a call that returns a descriptor.
///
/// # Safety
/// The attributes must be the first fields of `union bpf_attr` for that command, with pointers that
/// are valid during the call. The kernel reads omitted fields as zero.
pub(crate) unsafe fn opening<A>(command: libc::c_long, attributes: &A) -> io::Result<OwnedFd> {
    // SAFETY: the attributes tell their own size and outlive the call; the caller vouches for the
    // rest.
    let found = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<A>(),
        )
    };
    if found < 0 {
        return Err(io::Error::last_os_error());
    }
    let descriptor = i32::try_from(found).map_err(io::Error::other)?;
    // SAFETY: the call succeeded, so the descriptor is open and ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
