//! Raises the limit of open files to what the connections need.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use thiserror::Error;

/// This process may not open as many files as it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{connections} connections need {needed} file descriptors, and this process may have {limit}; \
     raise the hard limit (`ulimit -Hn`, or LimitNOFILE of a unit), see `ulimit -n`"
)]
pub(crate) struct TooFewDescriptors {
    connections: usize,
    needed: u64,
    limit: u64,
}

/// Descriptors other than connections: standard streams, a control file and an epoll instance per
/// thread, counters of the machine, with room to spare.
const OTHERS: u64 = 64;
const OTHERS_A_THREAD: u64 = 8;

/// Makes room for this many connections: raises the soft limit as far as the hard limit allows.
pub(crate) fn reserve(connections: usize, threads: usize) -> Result<(), TooFewDescriptors> {
    let needed = (connections as u64)
        .saturating_add(OTHERS)
        .saturating_add(OTHERS_A_THREAD.saturating_mul(threads as u64));
    // Every Linux has this limit. If it can't be read, opening the sockets shows whether it
    // suffices.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return Ok(());
    };
    if soft >= needed {
        return Ok(());
    }
    let too_many = TooFewDescriptors {
        connections,
        needed,
        limit: hard,
    };
    if hard < needed {
        return Err(too_many);
    }
    // The kernel allows this for every user, up to the hard limit.
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(|_| too_many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_connections_are_refused_with_the_remedy() {
        let error = reserve(usize::MAX / 2, 1).unwrap_err().to_string();
        assert!(error.contains("ulimit -n"), "{error}");
        assert!(reserve(8, 1).is_ok());
    }
}
