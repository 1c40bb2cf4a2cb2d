//! Files of the machine or of a cgroup: `/proc/stat`, `/proc/pressure/cpu`, `cpuacct.usage`,
//! `cpu.stat`.

use super::{after, lines, number, number_after, words};

/// The fields used of `/proc/stat`. The times are sampled at the scheduler's tick and written in
/// ticks of `USER_HZ` (10 ms).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineStat {
    /// Time of all cores in user mode, in the kernel and in interrupts, in ticks; guests are
    /// part of user time.
    pub busy_ticks: u64,
    /// Of it, time in interrupts and softirqs, in ticks. It belongs to no task.
    pub interrupt_ticks: u64,
    /// Of that, time in hard interrupts, in ticks.
    pub hard_interrupt_ticks: u64,
    /// Time that the hypervisor took away, in ticks.
    pub steal_ticks: u64,
}

/// Parses `/proc/stat`.
#[must_use]
pub fn stat(bytes: &[u8]) -> Option<MachineStat> {
    // user nice system idle iowait irq softirq steal guest guest_nice
    let mut ticks = [0u64; 8];
    let mut fields = words(after(bytes, b"cpu ")?);
    for tick in &mut ticks {
        *tick = number(fields.next()?)?;
    }
    let [
        user,
        nice,
        system,
        _idle,
        _iowait,
        irq,
        softirq,
        steal_ticks,
    ] = ticks;
    let busy_ticks = [user, nice, system, irq, softirq]
        .iter()
        .try_fold(0u64, |sum, &t| sum.checked_add(t))?;
    Some(MachineStat {
        busy_ticks,
        interrupt_ticks: irq.checked_add(softirq)?,
        hard_interrupt_ticks: irq,
        steal_ticks,
    })
}

/// Time that some task waited, in microseconds since boot, from a pressure file.
#[must_use]
pub fn pressure_total_us(bytes: &[u8]) -> Option<u64> {
    let total = words(after(bytes, b"some ")?).find_map(|word| word.strip_prefix(b"total="))?;
    number(total)
}

/// A file that holds one number, such as `cpuacct.usage` (nanoseconds) or
/// `memory.max_usage_in_bytes`.
#[must_use]
pub fn single(bytes: &[u8]) -> Option<u64> {
    number(bytes.trim_ascii())
}

/// CPU used by a cgroup of version 2, in microseconds, from `cpu.stat`.
#[must_use]
pub fn cpu_stat_usage_us(bytes: &[u8]) -> Option<u64> {
    number_after(bytes, b"usage_usec ")
}

/// CPU used by the root cgroup of version 2, in microseconds, from its `cpu.stat`. Until Linux 6.14
/// its `usage_usec` includes steal, which is no use of CPU; user and system time never do.
#[must_use]
pub fn cpu_stat_root_us(bytes: &[u8]) -> Option<u64> {
    let parts = number_after(bytes, b"user_usec ").zip(number_after(bytes, b"system_usec "));
    match parts {
        Some((user, system)) => user.checked_add(system),
        None => cpu_stat_usage_us(bytes),
    }
}

/// For how long tasks of a cgroup waited because its CPU limit was reached, in nanoseconds, from `cpu.stat`
/// of either version.
#[must_use]
pub fn throttled_ns(bytes: &[u8]) -> Option<u64> {
    let v2 = || number_after(bytes, b"throttled_usec ")?.checked_mul(1000);
    number_after(bytes, b"throttled_time ").or_else(v2)
}

/// The process ids in `cgroup.procs`. The kernel writes 0 for processes of another namespace; they
/// can't be read from here and are left out.
pub fn process_ids(procs: &[u8]) -> impl Iterator<Item = u32> {
    lines(procs)
        .filter_map(|line| u32::try_from(number(line.trim_ascii())?).ok())
        .filter(|&process| process != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &[u8] = include_bytes!("../../tests/samples/proc-stat.txt");

    #[test]
    fn the_machine_s_line_is_the_sum_of_its_cores() {
        let expected = MachineStat {
            busy_ticks: 51691 + 4820 + 96,
            interrupt_ticks: 96,
            hard_interrupt_ticks: 0,
            steal_ticks: 18,
        };
        assert_eq!(stat(STAT), Some(expected));
    }

    #[test]
    fn other_forms_of_stat() {
        let table: [(&[u8], Option<u64>, &str); 4] = [
            (
                b"cpu  1 2 3 4 5 6 7 8\nctxt 9\n",
                Some(1 + 2 + 3 + 6 + 7),
                "before guest time (2.6.24)",
            ),
            (b"cpu  1 2 3 4 5 6 7\nctxt 9\n", None, "without steal"),
            (
                b"cpu0 1 2 3 4 5 6 7 8\nctxt 9\n",
                None,
                "one core is not the machine",
            ),
            (
                b"cpu  18446744073709551615 2 3 4 5 6 7 8\nctxt 9\n",
                None,
                "an overflow",
            ),
        ];
        for (text, busy, why) in table {
            assert_eq!(stat(text).map(|s| s.busy_ticks), busy, "{why}");
        }
    }

    #[test]
    fn pressure_is_read_from_the_line_some() {
        let text = b"some avg10=2.28 avg60=2.94 avg300=2.66 total=18804166\n\
                     full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(pressure_total_us(text), Some(18_804_166));
        assert_eq!(pressure_total_us(b"full avg10=0.00 total=7\n"), None);
        assert_eq!(pressure_total_us(b"some avg10=0.00\n"), None);
        assert_eq!(pressure_total_us(b""), None);
    }

    #[test]
    fn groups_count_in_their_own_units() {
        let cpu_stat =
            b"usage_usec 783625187\nuser_usec 709856674\nsystem_usec 73768513\nnice_usec 0\n";
        assert_eq!(cpu_stat_usage_us(cpu_stat), Some(783_625_187));
        assert_eq!(cpu_stat_usage_us(b"user_usec 1\n"), None);
        assert_eq!(single(b"571844563796\n"), Some(571_844_563_796));
        assert_eq!(single(b"max\n"), None);
        assert_eq!(single(b""), None);
    }

    #[test]
    fn processes_of_other_namespaces_are_left_out() {
        let table: [(&[u8], &[u32]); 4] = [
            (b"1\n22\n333\n", &[1, 22, 333]),
            (b"0\n0\n7\n", &[7]),
            (b"", &[]),
            (b"nonsense\n4294967296\n8", &[8]),
        ];
        for (text, expected) in table {
            assert_eq!(process_ids(text).collect::<Vec<_>>(), expected);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = stat(&bytes);
            let _ = pressure_total_us(&bytes);
            let _ = single(&bytes);
            let _ = cpu_stat_usage_us(&bytes);
            let _ = process_ids(&bytes).count();
        }

        #[test]
        fn damaged_stats_do_not_panic(at in 0usize..200, byte: u8, cut in 0usize..2000) {
            let mut text = STAT.to_vec();
            text[at] = byte;
            text.truncate(cut);
            let _ = stat(&text);
        }

        #[test]
        fn counts_round_trip(ticks in prop::array::uniform8(0u64..1 << 60)) {
            let [user, nice, system, idle, iowait, irq, softirq, steal_ticks] = ticks;
            let text = format!(
                "cpu  {user} {nice} {system} {idle} {iowait} {irq} {softirq} {steal_ticks} 0 0\n\
                 intr 1 2 3\n"
            );
            let busy_ticks = user + nice + system + irq + softirq;
            let expected = MachineStat {
                busy_ticks,
                interrupt_ticks: irq + softirq,
                hard_interrupt_ticks: irq,
                steal_ticks,
            };
            prop_assert_eq!(stat(text.as_bytes()), Some(expected));
            prop_assert_eq!(single(format!("{user}\n").as_bytes()), Some(user));
            let text = format!("usage_usec {user}\n");
            prop_assert_eq!(cpu_stat_usage_us(text.as_bytes()), Some(user));
            let text = format!("some avg10=0.00 total={user}\n");
            prop_assert_eq!(pressure_total_us(text.as_bytes()), Some(user));
        }

        #[test]
        fn process_lists_round_trip(ids in prop::collection::vec(1u32.., 0..40)) {
            let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
            prop_assert_eq!(process_ids(text.as_bytes()).collect::<Vec<_>>(), ids);
        }
    }
}
