//! No exposition makes the reader panic; its sums are numbers, and a complete text repeated twice
//! holds twice the samples.
//!
//! The input's first byte is the format (`t` or `o`), the rest the text.

use windage_sink::{ExpositionFormat, parse_exposition};

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let (format, text) = match input.split_first() {
        Some((b't', text)) => (ExpositionFormat::Text, text),
        Some((b'o', text)) => (ExpositionFormat::OpenMetrics, text),
        _ => return Corpus::Reject,
    };
    let select = ["up".to_owned(), "sent_total".to_owned()];
    let Ok(once) = parse_exposition(format, text, &select) else {
        return Corpus::Keep;
    };
    let lines = text.split(|&byte| byte == b'\n').count() as u64;
    assert!(once.samples <= lines, "{once:?}");
    assert!(
        once.selected.iter().all(|(_, sum)| !sum.is_nan()),
        "{once:?}"
    );
    if format == ExpositionFormat::Text {
        let twice = parse_exposition(format, &[text, b"\n", text].concat(), &select);
        let twice = twice.expect("a text that was valid once");
        assert_eq!(twice.samples, 2 * once.samples);
        assert_eq!(twice.selected.len(), once.selected.len());
    }
    Corpus::Keep
}
