//! Pins the generator's thread to its cores while a run lasts.

/// Keeps the calling thread on some cores; restores its former ones when dropped.
#[derive(Debug)]
pub(crate) struct Pinned {
    former: Option<libc::cpu_set_t>,
    /// Why the kernel refused, if it did (a core that does not exist or is not allowed).
    pub(crate) refused: Option<std::io::Error>,
}

impl Pinned {
    /// Pins the calling thread; does nothing without cores. If the kernel refuses, the run goes on
    /// wherever the scheduler puts the thread.
    pub(crate) fn this_thread(cpus: Option<&[u32]>) -> Pinned {
        let Some(cpus) = cpus else {
            return Pinned {
                former: None,
                refused: None,
            };
        };
        let former = affinity();
        // SAFETY: `cpu_set_t` is a plain array of bits, for which all zeros is "no core".
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for &cpu in cpus
            .iter()
            .filter(|&&cpu| cpu < libc::CPU_SETSIZE.cast_unsigned())
        {
            // SAFETY: the index is within the set, by the filter above.
            unsafe { libc::CPU_SET(cpu as usize, &mut set) };
        }
        let refused = set_affinity(&set).err();
        Pinned { former, refused }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(former) = &self.former {
            // These were the thread's cores before: the kernel has no reason to refuse.
            let _ = set_affinity(former);
        }
    }
}

fn affinity() -> Option<libc::cpu_set_t> {
    // SAFETY: as above; the kernel fills at most the given size.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer and the size belong to `set`, which outlives the call.
    let got = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    (got == 0).then_some(set)
}

fn set_affinity(set: &libc::cpu_set_t) -> std::io::Result<()> {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the pointer and the size belong to `set`, which outlives the call.
    match unsafe { libc::sched_setaffinity(0, size, std::ptr::from_ref(set)) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores() -> usize {
        std::thread::available_parallelism().unwrap().get()
    }

    #[test]
    fn pins_and_restores() {
        let before = cores();
        {
            let _pinned = Pinned::this_thread(Some(&[0]));
            assert_eq!(cores(), 1);
        }
        assert_eq!(cores(), before);
        let _nothing = Pinned::this_thread(None);
        assert_eq!(cores(), before);
        assert!(Pinned::this_thread(Some(&[1000])).refused.is_some());
        assert_eq!(cores(), before);
    }
}
