//! Archives in any pieces, and damaged ones.

use std::io::Write;

use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("room in memory");
    encoder.finish().expect("room in memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 3).expect("room in memory")
}

/// The bytes of an archive that arrives in pieces of this size, and the error. Checks that pushing and reading give the same.
fn unpacked(packed: &[u8], piece: usize) -> (Vec<u8>, Option<String>) {
    let (mut unpacker, mut all) = (Unpacker::default(), Vec::new());
    let mut pushed =
        packed.chunks(piece).try_for_each(|bytes| unpacker.push(bytes, |out| all.extend_from_slice(out)));
    if pushed.is_ok() {
        pushed = unpacker.finish(|out| all.extend_from_slice(out));
    }
    let mut read = Vec::new();
    let mut reader = UnpackedReader::new(packed);
    let mut buffer = vec![0; piece];
    let end = loop {
        match reader.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error) => break Err(error),
        }
    };
    assert_eq!(end.map_err(|error| error.to_string()), pushed.as_ref().map_err(ToString::to_string).copied());
    assert!(read == all);
    (all, pushed.err().map(|error| error.to_string()))
}

#[test]
fn archives_are_unpacked_whatever_their_pieces_and_all_others_are_unchanged() {
    let text = b"{\"a\":1}\n".repeat(20_000);
    let twice = [&*text, &*text].concat();
    // A member with a name, a comment, an extra field and a header checksum.
    let mut odd = gzip(&text);
    odd[3] = 0b1_1110;
    odd.splice(10..10, *b"\x03\0abcname\0comment\0ss");
    let skipped = [b"\x50\x2a\x4d\x18\x02\0\0\0ab", &*zstd(&text)].concat();
    for (packed, want) in [
        (gzip(&text), &text),
        (zstd(&text), &text),
        (odd, &text),
        (skipped, &text),
        ([gzip(&text), gzip(&text)].concat(), &twice),
        ([zstd(&text), zstd(&text)].concat(), &twice),
        ([gzip(&text), vec![0; 700]].concat(), &text),
        (text.clone(), &text),
        (gzip(b""), &Vec::new()),
        (Vec::new(), &Vec::new()),
        (b"\x1f".to_vec(), &b"\x1f".to_vec()),
        (b"(".to_vec(), &b"(".to_vec()),
        (b"Plain".to_vec(), &b"Plain".to_vec()),
    ] {
        for piece in [1, 7, 100_000] {
            let (all, error) = unpacked(&packed, piece);
            assert_eq!(error, None);
            assert!(all == *want);
        }
    }
}

#[test]
fn a_database_is_an_error_and_what_begins_alike_is_text() {
    let database = [DATABASE, &[1; 5000]].concat();
    for piece in [1, 7, 100_000] {
        let (all, error) = unpacked(&database, piece);
        assert!(all.is_empty() && error.unwrap().contains("streamfmt sessions import"));
        for text in ["S", "SQLite", "SQLite format 3", "SQLite format 3 is documented\n"] {
            assert_eq!(unpacked(text.as_bytes(), piece), (text.as_bytes().to_vec(), None));
        }
    }
}

#[test]
fn of_a_damaged_archive_everything_before_the_damage_is_read() {
    let text = b"{\"a\":1}\n".repeat(20_000);
    for packed in [gzip(&text), zstd(&text)] {
        for end in [5, packed.len() / 2, packed.len() - 1] {
            let (all, error) = unpacked(&packed[..end], 100);
            assert!(text.starts_with(&all));
            assert!(error.unwrap().contains("ends too early"));
        }
        let (all, error) = unpacked(&[&*packed, b"garbage"].concat(), 100);
        assert!(all == text && error.unwrap().contains("archive is damaged"));
    }
    let mut wrong = gzip(&text);
    let sum = wrong.len() - 8;
    wrong[sum] ^= 1;
    assert!(unpacked(&wrong, 100).1.unwrap().contains("checksum"));
}

#[test]
fn what_comes_before_damage_is_passed_on() {
    let mut number = 1_u32;
    let mut random = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 24) as u8
    };
    let bytes: Vec<u8> = (0..300_000).map(|_| random()).collect();
    // The third block of the zstd data has a size that is too large; the last block of the gzip data has an invalid type.
    let mut block = zstd(&bytes);
    let third = block.len() - (300_000 - 2 * (128 << 10)) - 3;
    block[third..third + 3].fill(0xff);
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&bytes).unwrap();
    encoder.flush().unwrap();
    let deflated = [encoder.get_ref().as_slice(), &[0xff; 8]].concat();
    for (packed, least) in [(block, 2 * (128 << 10)), (deflated, bytes.len())] {
        for piece in [1000, packed.len()] {
            let (all, error) = unpacked(&packed, piece);
            assert!(bytes.starts_with(&all) && all.len() == least, "{}", all.len());
            assert!(error.unwrap().contains("damaged"));
        }
    }
}

#[test]
fn an_archive_that_expands_enormously_comes_in_small_pieces() {
    let zeros = vec![0; 50 << 20];
    for packed in [gzip(&zeros), zstd(&zeros)] {
        let (mut unpacker, mut all) = (Unpacker::default(), 0);
        let each = |out: &[u8]| {
            assert!(out.len() <= PIECE);
            all += out.len();
        };
        unpacker.push(&packed, each).unwrap();
        unpacker.finish(|_| ()).unwrap();
        assert_eq!(all, zeros.len());
    }
    // A window of 2 GiB.
    let (_, error) = unpacked(b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 100);
    assert!(error.is_some());
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..3usize, piece in 1..50usize) {
        let start: &[u8] = [&b""[..], b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"][kind];
        bytes.splice(0..0, start.iter().copied());
        unpacked(&bytes, piece);
    }
}
