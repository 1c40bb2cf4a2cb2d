use super::*;

fn mark() -> BlockMark {
    BlockMark {
        block: 3,
        histogram_bytes: [700, 900],
    }
}

#[test]
fn unknown_entries_are_refused() {
    let known = postcard::to_stdvec(&mark()).unwrap();
    let longer = [&known[..], b"more"].concat();
    let unknown_warning = postcard::to_stdvec(&("moon_phase", 0_u64)).unwrap();
    let no_evidence = postcard::to_stdvec(&("trend", 0_u64)).unwrap();
    let unknown_phase = postcard::to_stdvec(&(0, 0, "ebb", 0, None::<u64>)).unwrap();
    let table = [
        (
            "an unknown kind",
            99,
            &b"anything"[..],
            "the kind is unknown",
        ),
        ("too long", BLOCK_DONE, &longer, "4 bytes too many"),
        ("too short", BLOCK_DONE, &known[..1], "end of buffer"),
        // Skipping one could skip the warning that voids a window.
        (
            "an unknown warning",
            WARNING,
            &unknown_warning,
            "`moon_phase`",
        ),
        (
            "a warning without its evidence",
            WARNING,
            &no_evidence,
            "evidence of the warning `trend`",
        ),
        (
            "an unknown phase",
            PHASE,
            &unknown_phase,
            "`ebb` is not a phase",
        ),
    ];
    for (what, kind, payload, expected) in table {
        let why = decode(kind, payload).unwrap_err();
        assert!(why.contains(expected), "{what}: {why}");
    }
    assert_eq!(decode(BLOCK_DONE, &known), Ok(Decoded::BlockDone(mark())));
}
