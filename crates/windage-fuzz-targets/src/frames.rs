//! The journal's framing as `windage-record` documents it: a header of 16 bytes, then frames of
//! length u32, kind u8, payload and CRC-32, all little-endian.

const HEADER_BYTES: usize = 16;
const HEAD_BYTES: usize = 5;
const CHECKSUM_BYTES: usize = 4;

/// Makes a journal of the records in `compact`: each has its kind and the length of its payload in
/// one byte each, then the payload. An incomplete last one is left out.
#[must_use]
pub fn file_of(compact: &[u8]) -> Vec<u8> {
    let mut file = b"WNDGJRNL\x05\0\0\0".to_vec();
    seal(&mut file, 0);
    let mut rest = compact;
    while let [kind, length, after @ ..] = rest {
        let Some((payload, next)) = after.split_at_checked(usize::from(*length)) else {
            break;
        };
        let start = file.len();
        file.extend(u32::from(*length).to_le_bytes());
        file.push(*kind);
        file.extend(payload);
        seal(&mut file, start);
        rest = next;
    }
    file
}

/// A record, for [`file_of`], that ends a block and does not limit the histogram logs.
pub const MARK: [u8; 23] = {
    let mut mark = [0xff; 23];
    // Kind and length, then the block and the two lengths as varints of postcard.
    (mark[0], mark[1], mark[2]) = (3, 21, 0);
    (mark[12], mark[22]) = (1, 1);
    mark
};

/// The start of the file, and the ends of its header and of every frame before the first that is cut
/// or damaged.
fn whole_ends(file: &[u8]) -> Vec<usize> {
    let mut ends = vec![0];
    let mut at = HEADER_BYTES;
    if file.len() < at {
        return ends;
    }
    ends.push(at);
    while let Some(end) = frame_end(file, at) {
        ends.push(end);
        at = end;
    }
    ends
}

/// Whether a reader may stop there: at the start of the file, or at the end of its header or of a
/// frame, behind damage as well.
#[must_use]
pub fn is_end(file: &[u8], at: usize) -> bool {
    let starts = || HEADER_BYTES..at;
    at == 0 || at == HEADER_BYTES || starts().any(|start| frame_end(file, start) == Some(at))
}

/// The records of a journal in the form that [`file_of`] reads. Records with a payload above 255
/// bytes can't have that form and are left out.
#[must_use]
pub fn compact(file: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    for pair in whole_ends(file)[1..].windows(2) {
        let frame = &file[pair[0]..pair[1]];
        let payload = &frame[HEAD_BYTES..frame.len() - CHECKSUM_BYTES];
        if let Ok(length) = u8::try_from(payload.len()) {
            records.extend([frame[4], length]);
            records.extend(payload);
        }
    }
    records
}

fn frame_end(file: &[u8], start: usize) -> Option<usize> {
    let head = file.get(start..start + HEAD_BYTES)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let body_end = (start + HEAD_BYTES).checked_add(usize::try_from(length).ok()?)?;
    let end = body_end.checked_add(CHECKSUM_BYTES)?;
    let stored = file.get(body_end..end)?;
    let checksum = crc32fast::hash(&file[start..body_end]);
    (stored == checksum.to_le_bytes()).then_some(end)
}

fn seal(file: &mut Vec<u8>, start: usize) {
    let checksum = crc32fast::hash(&file[start..]);
    file.extend(checksum.to_le_bytes());
}
