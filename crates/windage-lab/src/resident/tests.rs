use std::io::{Read, Write};

use super::*;

const SOON: Duration = Duration::from_millis(200);

/// A program that has sent all that it will ever send, and stays.
fn program(script: &[u8]) -> (Resident, UnixStream) {
    let (resident, other) = Resident::pair().unwrap();
    let mut stream = UnixStream::from(other);
    stream.write_all(script).unwrap();
    (resident, stream)
}

fn patiently<T>(ask: impl FnOnce(&mut Patience<'_>) -> T) -> T {
    ask(&mut Patience {
        within: SOON,
        in_vain: &mut || None,
    })
}

fn ready(script: &[u8]) -> Result<Vec<About>, String> {
    let (mut resident, _stays) = program(script);
    patiently(|p| resident.await_ready(p))
}

#[test]
fn a_program_that_follows_the_protocol() {
    let (mut resident, mut stays) =
        program(b"about python 3.12\nabout gc 700 10 10\nready flush\n");
    let about = patiently(|p| resident.await_ready(p)).unwrap();
    let names: Vec<&str> = about.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(
        (names, about[1].text.as_str()),
        (vec!["python", "gc"], "700 10 10")
    );
    let program = std::thread::spawn(move || {
        let mut asked = String::new();
        for answer in ["done 5", "done 6", "flushed"] {
            let mut bytes = [0; 16];
            let count = stays.read(&mut bytes).unwrap();
            asked += std::str::from_utf8(&bytes[..count]).unwrap();
            // In pieces, as a program without a buffer writes.
            for byte in answer.bytes().chain([b'\n']) {
                stays.write_all(&[byte]).unwrap();
            }
        }
        (asked, stays)
    });
    assert_eq!(patiently(|p| resident.run(5, p)), Ok(()));
    assert_eq!(patiently(|p| resident.run(6, p)), Ok(()));
    assert_eq!(patiently(|p| resident.flush(p)), Ok(true));
    let (asked, _stays) = program.join().unwrap();
    assert_eq!(asked, "run 5\nrun 6\nflush\n");
}

#[test]
fn programs_that_never_get_ready() {
    let long = [b'x'; 300];
    let table: [(&[u8], &str); 9] = [
        (b"", "did not say `ready` within 200ms"),
        (b"read", "did not say `ready` within"),
        (b"hello\n", "said `hello` instead of `ready`"),
        (b"\x1b[1mhello\n", "said `[1mhello` instead of `ready`"),
        (b"done 5\n", "said `done 5` instead of `ready`"),
        (b"about a b\nabout a b\nready\n", "said `about a` twice"),
        (b"ready\nready\n", "said `ready` after `ready`"),
        (b"\xff\n", "sent a line that is not UTF-8"),
        (&long, "sent a line of more than 256 bytes"),
    ];
    for (script, why) in table {
        let error = ready(script).unwrap_err();
        assert!(error.starts_with(why), "{why}: {error}");
    }
}

#[test]
fn early_answers_are_errors() {
    let table: [(&[u8], &str); 6] = [
        (b"", "did not say `done 5` within"),
        (b"done 4\n", "said `done 4` before it was asked to `run 5`"),
        (b"d", "said `d` before it was asked"),
        (b"\n", "said `` before it was asked"),
        (b"done 5\n", "said `done 5` before it was asked to `run 5`"),
        (b"flushed\n", "said `flushed` before it was asked"),
    ];
    for (script, why) in table {
        let (mut resident, _stays) = program(script);
        let error = patiently(|p| resident.run(5, p)).unwrap_err();
        assert!(error.starts_with(why), "{why}: {error}");
    }
}

/// A program that sends `answer` to the first question.
fn answers(answer: &'static [u8]) -> Result<(), String> {
    let (mut resident, mut stream) = program(b"");
    let program = std::thread::spawn(move || {
        let _ = stream.read(&mut [0; 16]);
        stream.write_all(answer).unwrap();
        stream
    });
    let said = patiently(|p| resident.run(5, p));
    drop(program.join());
    said
}

#[test]
fn an_answer_comes_once_and_matches_the_question() {
    assert_eq!(answers(b"done 5\n"), Ok(()));
    let table: [(&'static [u8], &str); 4] = [
        (b"done 4\n", "said `done 4` instead of `done 5`"),
        (b"done 5\ndone 5\n", "said `done 5` after `done 5`"),
        (b"done 5\ndon", "said `don` after `done 5`"),
        (b"done\n", "said `done` instead"),
    ];
    for (answer, why) in table {
        let error = answers(answer).unwrap_err();
        assert!(error.starts_with(why), "{why}: {error}");
    }
}

#[test]
fn a_program_without_flush_is_not_asked() {
    let (mut resident, mut stays) = program(b"ready\n");
    assert_eq!(patiently(|p| resident.await_ready(p)), Ok(Vec::new()));
    assert_eq!(patiently(|p| resident.flush(p)), Ok(false));
    stays.write_all(b"done 7\n").unwrap();
    let error = patiently(|p| resident.flush(p)).unwrap_err();
    assert!(
        error.starts_with("said `done 7` after its last answer"),
        "{error}"
    );
    drop(resident);
    assert_eq!(stays.read(&mut [0; 8]).unwrap(), 0, "nothing was asked");
}

#[test]
fn a_late_duplicate_is_not_taken_for_the_next_answer() {
    let (mut resident, mut stream) = program(b"");
    let program = std::thread::spawn(move || {
        let _ = stream.read(&mut [0; 16]);
        stream.write_all(b"done 5\n").unwrap();
        stream
    });
    assert_eq!(patiently(|p| resident.run(5, p)), Ok(()));
    let mut stream = program.join().unwrap();
    stream.write_all(b"done 5\n").unwrap();
    let error = patiently(|p| resident.run(5, p)).unwrap_err();
    assert_eq!(error, "said `done 5` before it was asked to `run 5`");
}

#[test]
fn a_program_that_ended_is_reported_with_its_exit() {
    let gone = |in_vain: &mut dyn FnMut() -> Option<String>| {
        let (mut resident, stream) = program(b"");
        drop(stream);
        let within = SOON;
        resident.run(5, &mut Patience { within, in_vain })
    };
    let exited = gone(&mut || Some("exited with code 3".to_owned()));
    assert_eq!(
        exited.unwrap_err(),
        "exited with code 3 instead of saying `done 5`"
    );
    assert_eq!(
        gone(&mut || None).unwrap_err(),
        "closed its control descriptor instead of saying `done 5`"
    );
    // A child of it holds the other end, so there is no end of file.
    let (mut resident, _stays) = program(b"");
    let mut looks = 0;
    let mut in_vain = || {
        looks += 1;
        Some("was killed by signal 9".to_owned())
    };
    let mut patience = Patience {
        within: Duration::from_secs(60),
        in_vain: &mut in_vain,
    };
    let error = resident.run(5, &mut patience).unwrap_err();
    assert!(error.starts_with("was killed by signal 9"), "{error}");
    assert_eq!(looks, 1);
}
