//! Parsers of the kernel's files: from bytes to values, without a file or a clock.
//!
//! `None` means that the text does not have the documented form; nothing here panics, whatever the
//! bytes. The parsers of the measured path ([`process`], [`machine`]) do not allocate.

pub mod cgroup;
pub mod host;
pub mod machine;
pub mod process;
pub mod socket;

/// A decimal number that fills all of `bytes`.
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0u64, |sum, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// The words between white space.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// The lines, without their ends.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n')
}

/// The rest of the first line that begins with `key`.
///
/// The key includes its separator (a colon, a space); otherwise `VmHWM` would match `VmHWMark`.
pub(crate) fn after<'b>(bytes: &'b [u8], key: &[u8]) -> Option<&'b [u8]> {
    lines(bytes).find_map(|line| line.strip_prefix(key))
}

/// The number that follows `key` in the first line that begins with it.
pub(crate) fn number_after(bytes: &[u8], key: &[u8]) -> Option<u64> {
    number(words(after(bytes, key)?).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_and_fit() {
        let table: [(&[u8], Option<u64>); 8] = [
            (b"0", Some(0)),
            (b"007", Some(7)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"", None),
            (b"-1", None),
            (b"12kB", None),
            (b"1 2", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(
                number(bytes),
                expected,
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn a_key_counts_only_at_the_start_of_a_line() {
        let text = b"xusage_usec 1\nusage_usec 2\nusage_usec 3\n";
        assert_eq!(number_after(text, b"usage_usec "), Some(2));
        assert_eq!(number_after(text, b"usage"), None);
        assert_eq!(number_after(text, b"absent "), None);
    }
}
