use super::*;

fn mark() -> BlockMark {
    BlockMark {
        block: 3,
        histogram_bytes: [700, 900],
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    let known = postcard::to_stdvec(&mark()).unwrap();
    let longer = [&known[..], b"more"].concat();
    let unknown_warning = postcard::to_stdvec(&("moon_phase", "", 0_u64)).unwrap();
    let unknown_phase = postcard::to_stdvec(&(0, 0, "ebb", 0, None::<u64>)).unwrap();
    let table = [
        (
            "a kind that there is not",
            99,
            &b"anything"[..],
            "no such kind",
        ),
        ("too long", BLOCK_DONE, &longer, "4 bytes too many"),
        ("too short", BLOCK_DONE, &known[..1], "end of buffer"),
        // One that is passed over could be the one that voids a window.
        (
            "a warning that there is not",
            WARNING,
            &unknown_warning,
            "`moon_phase`",
        ),
        (
            "a phase that there is not",
            PHASE,
            &unknown_phase,
            "`ebb` is no phase",
        ),
    ];
    for (what, kind, payload, expected) in table {
        let why = decode(kind, payload).unwrap_err();
        assert!(why.contains(expected), "{what}: {why}");
    }
    assert_eq!(decode(BLOCK_DONE, &known), Ok(Decoded::BlockDone(mark())));
}
