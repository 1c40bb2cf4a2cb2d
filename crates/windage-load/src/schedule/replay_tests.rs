use super::*;
use crate::Schedule;
use proptest::prelude::*;

fn read_text(text: &str) -> Result<Vec<u64>, ReplayError> {
    read_from(text.as_bytes(), "r.csv", 1_000)
}

#[test]
fn times_are_read_to_the_nanosecond() {
    let table: &[(&str, &[u64], &str)] = &[
        ("0\n0.5\n2\n", &[0, 500_000_000, 2_000_000_000], "plain"),
        ("time\n1.5\n", &[1_500_000_000], "a header"),
        (
            "\u{feff}offset_s,user\r\n0.1,a\r\n0.1,b\r\n",
            &[100_000_000, 100_000_000],
            "columns",
        ),
        (
            " 0.25 \n\n0.5",
            &[250_000_000, 500_000_000],
            "blanks, no last line end",
        ),
        ("5e-05\n", &[50_000], "as Python writes small numbers"),
        (
            "863999.123456789\n",
            &[863_999_123_456_789],
            "ten days, to the last digit",
        ),
    ];
    for (text, expected, why) in table {
        assert_eq!(read_text(text).unwrap(), *expected, "{why}");
    }
}

#[test]
fn errors_name_the_line_and_the_remedy() {
    let not_a_time = |line: u64, found: &str| {
        format!(
            "r.csv, line {line}: {found:?} is not a time; give seconds from the start of the \
             recording, from 0 to 864000, such as 12.000345"
        )
    };
    let nothing = "r.csv has no times; give one per line, in seconds".to_owned();
    let table = [
        (
            "1\n2\n1.9\n",
            "r.csv, line 3: 1.9 is earlier than the time before it; sort the file by time"
                .to_owned(),
        ),
        ("t\n1\nx\n", not_a_time(3, "x")),
        ("t\n\n \r\nu\n1\n", not_a_time(4, "u")),
        ("1\n\"2\"\n", not_a_time(2, "\"2\"")),
        ("-1\n", not_a_time(1, "-1")),
        ("1\nNaN\n", not_a_time(2, "NaN")),
        ("1700000000.5\n", not_a_time(1, "1700000000.5")),
        ("1\n,2\n", not_a_time(2, "")),
        ("", nothing.clone()),
        ("t\n", nothing),
    ];
    for (text, message) in table {
        assert_eq!(
            read_text(text).unwrap_err().to_string(),
            message,
            "{text:?}"
        );
    }
}

#[test]
fn an_endless_file_is_read_only_up_to_the_bound() {
    let endless = read_from(std::io::repeat(b'1'), "r.csv", 1_000);
    assert!(matches!(endless, Err(ReplayError::TooLarge { .. })));
    let long_line = read_text(&"1".repeat(900)).unwrap_err().to_string();
    let shown = format!("{:?} is not a time", "1".repeat(EXCERPT_BYTES));
    assert!(long_line.contains(&shown), "{long_line}");
    let lines = "1\n".repeat(501);
    let too_large = read_from(lines.as_bytes(), "r.csv", 1_000);
    assert!(matches!(too_large, Err(ReplayError::TooLarge { .. })));
    let fits = read_from(&lines.as_bytes()[..1_000], "r.csv", 1_000);
    assert_eq!(fits.unwrap().len(), 500);
}

#[test]
fn a_missing_file_is_named() {
    let error = Schedule::read_replay(Path::new("/nowhere/r.csv"))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("can't open /nowhere/r.csv: "), "{error}");
}

#[test]
fn offsets_are_replayed_unchanged() {
    let replay = Schedule::replay(vec![3, 3, 7]).unwrap();
    assert_eq!(replay.clone().collect::<Vec<_>>(), [3, 3, 7]);
    assert_eq!(replay.last(), Some(7));
    let unsorted = Schedule::replay(vec![1, 5, 4]).unwrap_err();
    assert!(matches!(unsorted, ReplayError::NotSorted { ordinal: 3 }));
    assert!(matches!(
        Schedule::replay(vec![]),
        Err(ReplayError::NoStarts)
    ));
}

proptest! {
    #[test]
    fn replays_round_trip(mut offsets_ns in prop::collection::vec(0..864_000_000_000_000u64, 1..50)) {
        offsets_ns.sort_unstable();
        let line = |at: &u64| format!("{}.{:09}\n", at / 1_000_000_000, at % 1_000_000_000);
        let text: String = offsets_ns.iter().map(line).collect();
        prop_assert_eq!(read_from(text.as_bytes(), "r.csv", 10_000).unwrap(), offsets_ns);
    }

    #[test]
    fn any_file_is_sorted_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(offsets_ns) = read_from(&bytes[..], "r.csv", 1_000) {
            prop_assert!(check(&offsets_ns).is_ok());
        }
    }
}
