//! Facts about the machine: `/proc/cpuinfo`, the kernel's configuration, `os-release`, limits.

use super::{after, lines, number, number_after, words};

/// The fields used of `/proc/cpuinfo`, from its first core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuInfo {
    /// The model's name.
    pub model: Option<String>,
    /// The clock at the moment of reading.
    pub mhz: Option<f64>,
    /// Whether the core reports a hypervisor; `None` if the architecture does not say.
    pub virtualised: Option<bool>,
}

/// Parses `/proc/cpuinfo`; fields that an architecture lacks are `None`.
#[must_use]
pub fn cpu_info(bytes: &[u8]) -> CpuInfo {
    let field = |key: &str| {
        lines(bytes).find_map(|line| {
            let line = line.strip_prefix(key.as_bytes())?;
            text(line.trim_ascii_start().strip_prefix(b":")?)
        })
    };
    CpuInfo {
        model: field("model name"),
        mhz: field("cpu MHz")
            .and_then(|mhz| mhz.parse().ok())
            .filter(|mhz: &f64| mhz.is_finite()),
        virtualised: field("flags").map(|flags| {
            flags
                .split_ascii_whitespace()
                .any(|flag| flag == "hypervisor")
        }),
    }
}

/// The number of items in a list such as `0-3,8`.
#[must_use]
pub fn cpu_list_length(bytes: &[u8]) -> Option<u64> {
    bytes
        .trim_ascii()
        .split(|&byte| byte == b',')
        .try_fold(0u64, |sum, range| {
            let mut ends = range.splitn(2, |&byte| byte == b'-');
            let first = number(ends.next()?)?;
            let last = ends.next().map_or(Some(first), number)?;
            sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
        })
}

/// The scheduler's ticks per second, from a kernel's configuration.
#[must_use]
pub fn tick_hz(config: &[u8]) -> Option<u64> {
    number_after(config, b"CONFIG_HZ=")
}

/// Whether interrupt time is accounted apart from tasks, from a kernel's configuration; `None` if it
/// does not say.
#[must_use]
pub fn irq_time_accounting(config: &[u8]) -> Option<bool> {
    lines(config).find_map(|line| match line.trim_ascii() {
        b"CONFIG_IRQ_TIME_ACCOUNTING=y" => Some(true),
        b"# CONFIG_IRQ_TIME_ACCOUNTING is not set" => Some(false),
        _ => None,
    })
}

/// Total memory, in bytes, from `/proc/meminfo`.
#[must_use]
pub fn memory_total_bytes(meminfo: &[u8]) -> Option<u64> {
    number_after(meminfo, b"MemTotal:")?.checked_mul(1024)
}

/// The limit of open files of this process, from `/proc/self/limits`; `u64::MAX` without a limit.
#[must_use]
pub fn open_files_limit(limits: &[u8]) -> Option<u64> {
    match words(after(limits, b"Max open files ")?).next()? {
        b"unlimited" => Some(u64::MAX),
        soft => number(soft),
    }
}

/// The averages over 1, 5 and 15 minutes in `/proc/loadavg`.
#[must_use]
pub fn load_averages(loadavg: &[u8]) -> Option<[f64; 3]> {
    let mut fields = words(loadavg);
    let mut averages = [0.0; 3];
    for average in &mut averages {
        let field = std::str::from_utf8(fields.next()?).ok()?;
        *average = field
            .parse()
            .ok()
            .filter(|load: &f64| load.is_finite() && *load >= 0.0)?;
    }
    Some(averages)
}

/// The system's display name, from `os-release`.
#[must_use]
pub fn pretty_name(os_release: &[u8]) -> Option<String> {
    let value = text(after(os_release, b"PRETTY_NAME=")?)?;
    let quoted = |quote: char| {
        value
            .strip_prefix(quote)
            .and_then(|v| v.strip_suffix(quote))
    };
    let plain = quoted('"').or_else(|| quoted('\'')).unwrap_or(&value);
    (!plain.is_empty()).then(|| plain.to_owned())
}

/// A line of text without surrounding white space; `None` if empty.
#[must_use]
pub fn text(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    (!text.is_empty()).then_some(text)
}

/// A switch: `1` or `Y` is on, `0` or `N` off.
#[must_use]
pub fn switch(bytes: &[u8]) -> Option<bool> {
    match bytes.trim_ascii() {
        b"1" | b"Y" => Some(true),
        b"0" | b"N" => Some(false),
        _ => None,
    }
}

/// A setting under `/proc/sys`, which may be negative.
#[must_use]
pub fn setting(bytes: &[u8]) -> Option<i64> {
    std::str::from_utf8(bytes.trim_ascii()).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cpu_info_is_parsed() {
        let xeon = cpu_info(include_bytes!("../../tests/samples/cpuinfo.txt"));
        let expected = CpuInfo {
            model: Some("Intel(R) Xeon(R) Processor".into()),
            mhz: Some(2299.998),
            virtualised: Some(true),
        };
        assert_eq!(xeon, expected);
        let metal = cpu_info(b"model name\t: Some Core\nflags\t\t: fpu nohypervisor sse\n");
        assert_eq!((metal.virtualised, metal.mhz), (Some(false), None));
        let arm = cpu_info(b"processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n");
        assert_eq!(arm, CpuInfo::default());
    }

    #[test]
    fn lists_of_cores() {
        let table: [(&[u8], Option<u64>); 9] = [
            (b"0-1\n", Some(2)),
            (b"0\n", Some(1)),
            (b"0-3,8,10-11\n", Some(7)),
            (b"\n", None),
            (b"3-1\n", None),
            (b"0-\n", None),
            (b"a\n", None),
            (b"0-18446744073709551615", None),
            (b"0,,1", None),
        ];
        for (list, expected) in table {
            assert_eq!(
                cpu_list_length(list),
                expected,
                "{:?}",
                String::from_utf8_lossy(list)
            );
        }
    }

    #[test]
    fn single_facts() {
        assert_eq!(
            tick_hz(b"# CONFIG_HZ_100 is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n"),
            Some(250)
        );
        assert_eq!(tick_hz(b"CONFIG_HZ_250=y\n"), None);
        assert_eq!(
            memory_total_bytes(b"MemTotal:       24684092 kB\n"),
            Some(24_684_092 << 10)
        );
        let limits = include_bytes!("../../tests/samples/limits.txt");
        assert_eq!(open_files_limit(limits), Some(20_000));
        assert_eq!(
            open_files_limit(b"Max open files   unlimited  unlimited  files\n"),
            Some(u64::MAX)
        );
        assert_eq!(
            load_averages(b"1.01 1.13 0.54 2/101 14642\n"),
            Some([1.01, 1.13, 0.54])
        );
        assert_eq!(load_averages(b"1.01 NaN 0.54 2/101 14642\n"), None);
        assert_eq!(load_averages(b"1.01\n"), None);
        assert_eq!(text(b"  tsc\n").as_deref(), Some("tsc"));
        assert_eq!(text(b" \n"), None);
        assert_eq!(setting(b"-1\n"), Some(-1));
        assert_eq!(setting(b"\n"), None);
        for (bytes, expected) in [
            (&b"1\n"[..], Some(true)),
            (b"N\n", Some(false)),
            (b"on", None),
            (b"", None),
        ] {
            assert_eq!(switch(bytes), expected);
        }
    }

    #[test]
    fn a_system_s_name_may_be_quoted() {
        let table: [(&[u8], Option<&str>); 5] = [
            (
                b"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=x\n",
                Some("Debian GNU/Linux 12 (bookworm)"),
            ),
            (b"NAME=x\nPRETTY_NAME='Void'\n", Some("Void")),
            (b"PRETTY_NAME=Alpine\n", Some("Alpine")),
            (b"PRETTY_NAME=\"\"\n", None),
            (b"NAME=x\n", None),
        ];
        for (release, expected) in table {
            assert_eq!(pretty_name(release).as_deref(), expected);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = cpu_info(&bytes);
            let _ = cpu_list_length(&bytes);
            let _ = tick_hz(&bytes);
            let _ = irq_time_accounting(&bytes);
            let _ = memory_total_bytes(&bytes);
            let _ = open_files_limit(&bytes);
            let _ = load_averages(&bytes);
            let _ = pretty_name(&bytes);
            let _ = text(&bytes);
            let _ = switch(&bytes);
            let _ = setting(&bytes);
        }

        #[test]
        fn core_lists_round_trip(ranges in prop::collection::vec((0u64..5000, 1u64..64), 1..8)) {
            let list: Vec<String> = ranges.iter().map(|&(first, length)| match length {
                1 => first.to_string(),
                _ => format!("{first}-{}", first + length - 1),
            }).collect();
            let expected = ranges.iter().map(|&(_, length)| length).sum::<u64>();
            prop_assert_eq!(cpu_list_length(list.join(",").as_bytes()), Some(expected));
        }

        #[test]
        fn settings_round_trip(value: i64) {
            prop_assert_eq!(setting(format!("{value}\n").as_bytes()), Some(value));
        }
    }
}
