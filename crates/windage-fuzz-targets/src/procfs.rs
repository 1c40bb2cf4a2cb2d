//! No text of the kernel, complete, cut or empty, makes a parser panic or return a figure that is
//! not a number.

use std::hint::black_box;

use windage_probe::parse::{cgroup, host, machine, process, socket};

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(bytes: &[u8]) -> Corpus {
    processes(bytes);
    machines(bytes);
    hosts(bytes);
    cgroups(bytes);
    Corpus::Keep
}

fn processes(bytes: &[u8]) {
    black_box(process::stat(bytes).map(|stat| stat.has_ended()));
    black_box(process::resident_pages(bytes));
    black_box(process::timeslices(bytes));
    black_box(process::context_switches(bytes));
    black_box(process::resident_peak_bytes(bytes));
    black_box(process::threads(bytes));
    black_box(process::proportional_bytes(bytes));
}

fn machines(bytes: &[u8]) {
    black_box(machine::stat(bytes));
    black_box(machine::pressure_total_us(bytes));
    black_box(machine::single(bytes));
    black_box(machine::cpu_stat_usage_us(bytes));
    black_box(machine::throttled_ns(bytes));
    black_box(machine::process_ids(bytes).count());
    black_box(socket::listening(bytes).count());
    black_box(socket::inode(bytes));
}

fn hosts(bytes: &[u8]) {
    let info = host::cpu_info(bytes);
    assert!(info.mhz.is_none_or(f64::is_finite), "{info:?}");
    assert_ne!(info.model.as_deref(), Some(""));
    let averages = host::load_averages(bytes);
    let is_load = |load: &f64| load.is_finite() && *load >= 0.0;
    assert!(averages.is_none_or(|all| all.iter().all(is_load)));
    assert_ne!(
        host::cpu_list_length(bytes),
        Some(0),
        "an empty list of cores"
    );
    assert_ne!(host::pretty_name(bytes).as_deref(), Some(""));
    assert_ne!(host::text(bytes).as_deref(), Some(""));
    black_box(host::tick_hz(bytes));
    black_box(host::memory_total_bytes(bytes));
    black_box(host::open_files_limit(bytes));
    black_box(host::switch(bytes));
    black_box(host::setting(bytes));
}

/// A group's directory is never outside its hierarchy's mount.
fn cgroups(bytes: &[u8]) {
    let mounts = cgroup::mounts(bytes);
    for membership in cgroup::memberships(bytes) {
        for mount in &mounts {
            let dir = mount.dir_of(&membership.path);
            assert!(dir.starts_with(&mount.point), "{mount:?}, {membership:?}");
        }
    }
    black_box(mounts.iter().any(|m| m.hierarchy.carries("cpuacct")));
}
