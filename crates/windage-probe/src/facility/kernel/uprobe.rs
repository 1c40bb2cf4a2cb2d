//! A probe on a function of this program.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use super::perf_event::{attributes, open};

/// `/proc/self/exe` is the file that this program was started from, even if its name was removed.
const OWN_FILE: &CStr = c"/proc/self/exe";

/// Opens a probe that is never enabled, on a function that is never called.
pub(super) fn open_on_own_function(kind: u32) -> io::Result<OwnedFd> {
    let offset = offset_in_file(probed as *const () as usize as u64)?;
    let mut attributes = attributes(kind, 0);
    attributes.__bindgen_anon_3.config1 = OWN_FILE.as_ptr() as u64;
    attributes.__bindgen_anon_4.config2 = offset;
    let (this_process, any_core) = (0, -1);
    open(&mut attributes, this_process, any_core)
}

#[inline(never)]
extern "C" fn probed() {}

/// The file offset of an address of this program's code.
fn offset_in_file(address: u64) -> io::Result<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let offset = maps.lines().find_map(|line| offset_in(line, address));
    offset.ok_or_else(|| io::Error::other("this program does not find its own code in memory"))
}

/// The offset by one line of `/proc/PID/maps`: `55d0-55e0 r-xp 00001000 08:01 42 /usr/bin/windage`.
fn offset_in(line: &str, address: u64) -> Option<u64> {
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let (start, end) = (hex(start)?, hex(end)?);
    let offset = hex(fields.nth(1)?)?;
    (start..end)
        .contains(&address)
        .then(|| address - start + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_the_file() {
        let line = "55d0000-55e0000 r-xp 00001000 08:01 42      /usr/bin/windage";
        let table = [
            (line, 0x55d_0000, Some(0x1000), "the first byte"),
            (line, 0x55d_0010, Some(0x1010), "within"),
            (line, 0x55e_0000, None, "just behind it"),
            (line, 0x55c_ffff, None, "before it"),
            ("7ffc-7ffd", 0x7ffc, None, "half a line"),
            ("", 0, None, "nothing"),
        ];
        for (line, address, expected, why) in table {
            assert_eq!(offset_in(line, address), expected, "{why}");
        }
        assert!(offset_in_file(probed as *const () as usize as u64).is_ok());
    }
}
