//! Files of one process or thread: `/proc/PID/{stat,statm,status,schedstat,smaps_rollup}`.

use super::{number, number_after, words};

/// The fields used of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// The process's id.
    pub process: u32,
    /// The letter of its state: `R` runs, `S` sleeps, `Z` has ended but is not reaped.
    pub state: u8,
    /// Its parent's id.
    pub parent: u32,
    /// The id of its process group, which is that of the process that leads or led it.
    pub group: u32,
    /// Whether it is a kernel thread.
    pub kernel_thread: bool,
    /// Page faults served without a disk read, of all threads, including ended ones.
    pub minor_faults: u64,
    /// Page faults that needed a disk read, likewise.
    pub major_faults: u64,
    /// CPU of all its threads, including ended ones, in ticks of `USER_HZ`.
    pub cpu_ticks: u64,
    /// When it started, in ticks of `USER_HZ` since boot. With the id, it identifies a process
    /// permanently.
    pub start_ticks: u64,
    /// The core that it last ran on; `None` in a shortened text.
    pub last_core: Option<u32>,
}

impl ProcessStat {
    /// Whether the process has ended but is not reaped.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    /// Whether it runs, waits for a core, or waits for something short, such as a disk.
    #[must_use]
    pub fn is_awake(&self) -> bool {
        matches!(self.state, b'R' | b'D')
    }
}

/// The flag of a kernel thread, in `include/linux/sched.h` since Linux 2.6.27.
const PF_KTHREAD: u64 = 0x0020_0000;

/// Parses `/proc/PID/stat`.
///
/// The name may contain spaces, parentheses and line ends, so it ends at the last `)`.
#[must_use]
pub fn stat(bytes: &[u8]) -> Option<ProcessStat> {
    let name_starts = bytes.iter().position(|&byte| byte == b'(')?;
    let name_ends = bytes.iter().rposition(|&byte| byte == b')')?;
    let process = id(bytes[..name_starts].trim_ascii())?;
    // Numbered as in proc_pid_stat(5): the name is field 2. `nth` counts from the last field taken.
    let mut fields = words(bytes.get(name_ends + 1..)?);
    let state = fields.next()?; // 3
    let parent = fields.next()?; // 4
    let group = fields.next()?; // 5
    let flags = fields.nth(3)?; // 9
    let minor_faults = fields.next()?; // 10
    let major_faults = fields.nth(1)?; // 12
    let user_ticks = fields.nth(1)?; // 14
    let system_ticks = fields.next()?; // 15
    let start_ticks = fields.nth(6)?; // 22
    let last_core = fields.nth(16); // 39
    let [state] = state else { return None };
    Some(ProcessStat {
        process,
        state: *state,
        parent: id(parent)?,
        group: id(group)?,
        kernel_thread: number(flags)? & PF_KTHREAD != 0,
        minor_faults: number(minor_faults)?,
        major_faults: number(major_faults)?,
        cpu_ticks: number(user_ticks)?.checked_add(number(system_ticks)?)?,
        start_ticks: number(start_ticks)?,
        last_core: last_core.and_then(id),
    })
}

/// The name of the program, at most 15 bytes, from the same text. Control characters and what is not
/// UTF-8 are replaced.
#[must_use]
pub fn name(stat: &[u8]) -> Option<String> {
    let starts = stat.iter().position(|&byte| byte == b'(')?;
    let ends = stat.iter().rposition(|&byte| byte == b')')?;
    let name = String::from_utf8_lossy(stat.get(starts + 1..ends)?).into_owned();
    Some(name.replace(char::is_control, "\u{fffd}"))
}

/// Resident pages, from `/proc/PID/statm`; zero for a process that has ended.
#[must_use]
pub fn resident_pages(statm: &[u8]) -> Option<u64> {
    number(words(statm).nth(1)?)
}

/// CPU of a thread, in nanoseconds, from `/proc/PID/task/TID/schedstat`.
#[must_use]
pub fn run_ns(schedstat: &[u8]) -> Option<u64> {
    number(words(schedstat).next()?)
}

/// How often a thread got a core, from `/proc/PID/task/TID/schedstat`: each is a context switch to
/// it.
#[must_use]
pub fn timeslices(schedstat: &[u8]) -> Option<u64> {
    number(words(schedstat).nth(2)?)
}

/// Voluntary and involuntary context switches of a thread, from `/proc/PID/task/TID/status`.
#[must_use]
pub fn context_switches(status: &[u8]) -> Option<u64> {
    let voluntary = number_after(status, b"voluntary_ctxt_switches:")?;
    voluntary.checked_add(number_after(status, b"nonvoluntary_ctxt_switches:")?)
}

/// The peak of resident memory, in bytes, from `/proc/PID/status`; zero for a process without
/// memory of its own (a kernel thread, or an ended process), which has no such line.
///
/// `None` when the text is not a `status`.
#[must_use]
pub fn resident_peak_bytes(status: &[u8]) -> Option<u64> {
    super::after(status, b"Name:")?;
    if super::after(status, b"VmHWM:").is_none() {
        return Some(0);
    }
    kib(number_after(status, b"VmHWM:")?)
}

/// How many threads a process has, from `/proc/PID/status`.
#[must_use]
pub fn threads(status: &[u8]) -> Option<u64> {
    number_after(status, b"Threads:")
}

/// The proportional share of resident memory, in bytes, from `/proc/PID/smaps_rollup`: a page
/// shared by n processes counts 1/n. Zero when the file is empty, as for an ended process.
#[must_use]
pub fn proportional_bytes(smaps_rollup: &[u8]) -> Option<u64> {
    if smaps_rollup.is_empty() {
        return Some(0);
    }
    kib(number_after(smaps_rollup, b"Pss:")?)
}

fn id(bytes: &[u8]) -> Option<u32> {
    u32::try_from(number(bytes)?).ok()
}

fn kib(count: u64) -> Option<u64> {
    count.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STATUS: &[u8] = include_bytes!("../../tests/samples/pid-status.txt");
    const ROLLUP: &[u8] = include_bytes!("../../tests/samples/pid-smaps_rollup.txt");

    /// From kernel 6.18; `{}` stands for the name.
    const STAT: &str = "14641 ({}) S 14634 14633 11497 0 -1 4194304 99 8 3 2 5 4 1 1 20 0 1 0 89938 \
                        3133440 382 18446744073709551615 94918129188864 94918129208745 0 0 0 0 0 0 0 \
                        0 0 0 17 0 0 0 0 0 0 94918129224752 94918129226368 94919111364608 0 0 0 0 0\n";

    const PARSED: ProcessStat = ProcessStat {
        process: 14641,
        state: b'S',
        parent: 14634,
        group: 14633,
        kernel_thread: false,
        minor_faults: 99,
        major_faults: 3,
        cpu_ticks: 5 + 4,
        start_ticks: 89938,
        last_core: Some(0),
    };

    #[test]
    fn a_program_s_name_is_fit_for_a_line() {
        let table: [(&[u8], Option<&str>); 4] = [
            (b"1 (rustc) S", Some("rustc")),
            (b"1 (a) b) S", Some("a) b")),
            (b"1 (a\nb\xff) S", Some("a\u{fffd}b\u{fffd}")),
            (b"1 rustc S", None),
        ];
        for (text, expected) in table {
            assert_eq!(name(text).as_deref(), expected);
        }
    }

    #[test]
    fn a_name_may_contain_anything() {
        for name in [
            "cat",
            "",
            "a b",
            ") R 1 2 (",
            "(sd-pam)",
            "tmux: server",
            "a\nb",
            "))))",
        ] {
            let text = STAT.replace("{}", name);
            assert_eq!(stat(text.as_bytes()), Some(PARSED), "{name:?}");
        }
    }

    #[test]
    fn a_flag_tells_the_kernels_threads() {
        let kthreadd = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 22 0 0\n";
        assert!(stat(kthreadd.as_bytes()).unwrap().kernel_thread);
        let text = kthreadd.replace("2129984", "-1");
        assert_eq!(stat(text.as_bytes()), None, "flags below zero");
    }

    #[test]
    fn an_invalid_stat_is_refused() {
        let whole = STAT.replace("{}", "cat");
        let table = [
            ("", "empty"),
            ("14641", "cut before the name"),
            ("14641 (cat", "cut in the name"),
            ("14641 cat) (S 1", "parentheses the wrong way round"),
            (&whole[..40], "cut before the start time"),
            (&whole.replace("14641 ", "-1 "), "an id below zero"),
            (&whole.replace(" S ", " SS "), "a state of two letters"),
            (&whole.replace(" 99 ", " x "), "a count that is none"),
        ];
        for (text, why) in table {
            assert_eq!(stat(text.as_bytes()), None, "{why}");
        }
    }

    #[test]
    fn a_state_shows_ended_and_awake_processes() {
        for (state, ended, awake) in [
            (b'R', false, true),
            (b'D', false, true),
            (b'S', false, false),
            (b'I', false, false),
            (b'T', false, false),
            (b't', false, false),
            (b'Z', true, false),
            (b'X', true, false),
        ] {
            let stat = ProcessStat { state, ..PARSED };
            assert_eq!(
                (stat.has_ended(), stat.is_awake()),
                (ended, awake),
                "{}",
                char::from(state)
            );
        }
    }

    #[test]
    fn memory_is_read_in_its_own_units() {
        assert_eq!(resident_pages(b"765 410 382 5 0 123 0\n"), Some(410));
        assert_eq!(resident_pages(b"0 0 0 0 0 0 0\n"), Some(0));
        assert_eq!(resident_pages(b"765"), None);
        assert_eq!(resident_peak_bytes(STATUS), Some(1640 * 1024));
        assert_eq!(
            resident_peak_bytes(b"Name:\tkthreadd\nState:\tS (sleeping)\n"),
            Some(0)
        );
        assert_eq!(resident_peak_bytes(b""), None);
        assert_eq!(proportional_bytes(ROLLUP), Some(270 * 1024));
        assert_eq!(proportional_bytes(b""), Some(0));
        assert_eq!(proportional_bytes(b"Rss: 12 kB\n"), None);
    }

    #[test]
    fn time_on_a_core_comes_first() {
        assert_eq!(run_ns(b"959846 2740027 2\n"), Some(959_846));
        assert_eq!(run_ns(b"x 0 0\n"), None);
        assert_eq!(run_ns(b""), None);
    }

    #[test]
    fn switches_are_counted_two_ways() {
        assert_eq!(timeslices(b"959846 2740027 2\n"), Some(2));
        assert_eq!(timeslices(b"0 0 0\n"), Some(0));
        assert_eq!(timeslices(b"959846 2740027\n"), None);
        assert_eq!(threads(STATUS), Some(1));
        assert_eq!(threads(b"Name:\ta\nThreads:\t42\n"), Some(42));
        assert_eq!(threads(b"Name:\ta\n"), None);
        assert_eq!(context_switches(STATUS), Some(7 + 1));
        assert_eq!(context_switches(b"voluntary_ctxt_switches:\t3\n"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = stat(&bytes);
            let _ = resident_pages(&bytes);
            let _ = timeslices(&bytes);
            let _ = run_ns(&bytes);
            let _ = context_switches(&bytes);
            let _ = resident_peak_bytes(&bytes);
            let _ = threads(&bytes);
            let _ = proportional_bytes(&bytes);
        }

        #[test]
        fn damaged_stats_do_not_panic(at in 0usize..300, byte: u8, cut in 0usize..300) {
            let mut text = STAT.replace("{}", "cat").into_bytes();
            let at = at.min(text.len() - 1);
            text[at] = byte;
            text.truncate(cut);
            let _ = stat(&text);
        }

        #[test]
        fn what_is_written_is_read(
            name in "[ -~\n]{0,15}",
            process: u32, parent: u32, group: u32, kernel_thread: bool,
            minor_faults: u64, major_faults: u64, start_ticks: u64,
            user in 0u64..1 << 60, system in 0u64..1 << 60,
        ) {
            let flags = if kernel_thread { 0x0020_8040 } else { 0x0040_0100 };
            let text = format!(
                "{process} ({name}) R {parent} {group} 1 0 -1 {flags} {minor_faults} 0 {major_faults} 0 {user} {system} 0 0 \
                 20 0 1 0 {start_ticks} 0 0\n"
            );
            let expected = ProcessStat {
                process, state: b'R', parent, group, kernel_thread, minor_faults, major_faults,
                start_ticks, cpu_ticks: user + system, last_core: None,
            };
            prop_assert_eq!(stat(text.as_bytes()), Some(expected));
        }

        #[test]
        fn counts_round_trip(a: u64, b: u64, c: u64) {
            let text = format!("{a} {b} {c}\n");
            prop_assert_eq!(timeslices(text.as_bytes()), Some(c));
            prop_assert_eq!(resident_pages(text.as_bytes()), Some(b));
        }
    }
}
