//! Removes from a picture what isn't seen: texts, comments, and where and with what it was taken. The pixels stay.

use std::borrow::Cow;

/// A picture in Base64 without its metadata, if it is a PNG, JPEG, GIF or WebP; others are unchanged.
pub(super) fn without_metadata(base64: Cow<'_, str>) -> Cow<'_, str> {
    let begins = |start: &str| base64.starts_with(start);
    let strip = match () {
        () if begins("iVBORw0KGg") => png,
        () if begins("/9j/") => jpeg,
        () if begins("R0lGOD") => gif,
        () if begins("UklGR") => webp,
        () => return base64,
    };
    let bytes = decoded(&base64);
    let mut out = Vec::with_capacity(bytes.len());
    // What isn't well-formed ends there: no decoder shows more.
    let _ = strip(&bytes, &mut out);
    Cow::Owned(encoded(&out))
}

/// Chunks: length, name, data, checksum.
fn png(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.extend(bytes.get(..8)?);
    let mut at = 8;
    loop {
        let length = usize::try_from(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?)).ok()?;
        let name = bytes.get(at + 4..at + 8)?;
        let chunk = bytes.get(at..at.checked_add(length)?.checked_add(12)?)?;
        if !matches!(name, b"tEXt" | b"zTXt" | b"iTXt" | b"eXIf" | b"tIME") {
            out.extend(chunk);
        }
        if name == b"IEND" {
            return Some(());
        }
        at += chunk.len();
    }
}

/// Segments: a marker and, in most, a length and data. After the beginning of a scan, compressed data follows.
fn jpeg(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.extend(bytes.get(..2)?);
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1).filter(|_| bytes[at] == 0xff)?;
        if matches!(marker, 0xd9) {
            out.extend([0xff, marker]);
            return Some(());
        }
        if matches!(marker, 0xff) {
            at += 1;
            continue;
        }
        let length = match marker {
            0x01 | 0xd0..=0xd7 => 0,
            _ => usize::from(u16::from_be_bytes(bytes.get(at + 2..at + 4)?.try_into().ok()?)),
        };
        let segment = bytes.get(at..at + 2 + length)?;
        // Two of the application's segments say how colours are stored.
        if !matches!(marker, 0xe1..=0xed | 0xef | 0xfe) {
            out.extend(segment);
        }
        at += segment.len();
        if marker == 0xda {
            let data = &bytes[at..];
            let is_end = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7);
            let length = data.windows(2).position(is_end).unwrap_or(data.len());
            out.extend(&data[..length]);
            at += length;
        }
    }
}

/// A head, then blocks: images and extensions, each with data in pieces.
fn gif(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let pieces = |mut at: usize| {
        loop {
            match *bytes.get(at)? {
                0 => return Some(at + 1),
                length => at += 1 + usize::from(length),
            }
        }
    };
    let mut at = 13 + table(*bytes.get(10)?);
    out.extend(bytes.get(..at)?);
    loop {
        let (end, is_kept) = match bytes.get(at)? {
            0x2c => (pieces(at + 11 + table(*bytes.get(at + 9)?))?, true),
            0x21 => {
                let name = bytes.get(at + 3..at + 14).unwrap_or_default();
                let is_kept = match bytes.get(at + 1)? {
                    0xfe => false,
                    0xff => matches!(name, b"NETSCAPE2.0" | b"ANIMEXTS1.0"),
                    _ => true,
                };
                (pieces(at + 2)?, is_kept)
            }
            _ => {
                out.push(0x3b);
                return Some(());
            }
        };
        if is_kept {
            out.extend(bytes.get(at..end)?);
        }
        at = end;
    }
}

/// Chunks: name, length, data, a byte more if the length is odd.
fn webp(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let size = |at: usize| usize::try_from(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)).ok();
    out.extend(bytes.get(..12)?);
    let mut at = 12;
    while let Some(length) = size(at + 4) {
        let length = length.checked_add(length % 2)?.checked_add(8)?;
        let Some(chunk) = bytes.get(at..at.checked_add(length)?) else { break };
        if !matches!(&chunk[..4], b"EXIF" | b"XMP ") {
            let start = out.len();
            out.extend(chunk);
            if chunk.starts_with(b"VP8X") && length > 8 {
                // It isn't announced any more.
                out[start + 8] &= !0x0c;
            }
        }
        at += length;
    }
    let size = u32::try_from(out.len() - 8).ok()?;
    out[4..8].copy_from_slice(&size.to_le_bytes());
    Some(())
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes of valid Base64.
fn decoded(base64: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(base64.len() / 4 * 3);
    for four in base64.as_bytes().chunks(4) {
        let digits = four.iter().map_while(|digit| DIGITS.iter().position(|known| known == digit));
        let (mut value, mut count) = (0, 0);
        for digit in digits {
            value |= digit << (18 - 6 * count);
            count += 1;
        }
        let three = [16, 8, 0].map(|shift| u8::try_from(value >> shift & 0xff).unwrap_or(0));
        bytes.extend(three.iter().take(count * 6 / 8));
    }
    bytes
}

fn encoded(bytes: &[u8]) -> String {
    let mut base64 = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| usize::from(three.get(at).copied().unwrap_or(0));
        let value = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let is_digit = at <= three.len();
            let digit = char::from(DIGITS[value >> (18 - 6 * at) & 0x3f]);
            base64.push(if is_digit { digit } else { '=' });
        }
    }
    base64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(name: [u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[..], &name, data, b"\0\0\0\0"].concat()
    }

    fn stripped(parts: &[&[u8]]) -> Vec<u8> {
        decoded(&without_metadata(encoded(&parts.concat()).into()))
    }

    #[test]
    fn what_is_not_seen_is_removed_and_the_rest_stays() {
        let png = b"\x89PNG\r\n\x1a\n";
        let (head, data, end) = (chunk(*b"IHDR", b"1"), chunk(*b"IDAT", b"pixels"), chunk(*b"IEND", b""));
        let (text, exif) = (chunk(*b"tEXt", b"Comment\0hidden"), chunk(*b"eXIf", b"hidden"));
        assert_eq!(
            stripped(&[png, &head, &text, &data, &exif, &end, b"hidden"]),
            [png, &head[..], &data, &end].concat()
        );
        assert_eq!(stripped(&[png, &head, b"\0\0\0\x7fIDAThidden"]), [png, &head[..]].concat());

        let (jfif, comment) =
            (&b"\xff\xd8\xff\xe0\0\x04ab"[..], &b"\xff\xe1\0\x08hidden\xff\xfe\0\x08hidden"[..]);
        let scan = b"\xff\xda\0\x04cdpi\xff\0xe\xff\xd0ls\xff\xd9";
        assert_eq!(stripped(&[jfif, comment, scan, b"hidden"]), [jfif, scan].concat());

        let head = b"GIF89a\x01\0\x01\0\x80\0\0rgbrgb";
        let (comment, repeats) =
            (&b"\x21\xfe\x06hidden\0"[..], &b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"[..]);
        let image = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02px\0";
        let other = b"\x21\xff\x0bXMP DataXMP\x06hidden\0";
        assert_eq!(
            stripped(&[head, comment, repeats, other, image, b"\x3bhidden"]),
            [&head[..], repeats, image, b"\x3b"].concat()
        );

        let webp =
            [&b"RIFF\0\0\0\0WEBP"[..], b"VP8X\x02\0\0\0\x1fx", b"VP8 \x02\0\0\0px", b"EXIF\x06\0\0\0hidden"];
        let want = [&b"RIFF\x18\0\0\0WEBP"[..], b"VP8X\x02\0\0\0\x13x", b"VP8 \x02\0\0\0px"].concat();
        assert_eq!(stripped(&webp), want);
        assert_eq!(stripped(&[b"%PDF other"]), b"%PDF other");
    }

    #[test]
    fn bytes_are_written_in_base_64_as_others_do() {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        // The bits of the numbers of all digits, one after the other.
        let bits = (0..64).flat_map(|number| (0..6).rev().map(move |bit| number >> bit & 1));
        let bits: Vec<u8> = bits.collect();
        let all: Vec<u8> =
            bits.chunks(8).map(|byte| byte.iter().fold(0, |byte, bit| byte << 1 | bit)).collect();
        for (bytes, base64) in
            [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (&all, digits)]
        {
            assert_eq!(encoded(bytes), base64);
            assert_eq!(decoded(base64), bytes, "{base64}");
        }
    }

    #[test]
    fn any_bytes_end_somewhere() {
        for start in [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"GIF89a", b"RIFF"] {
            for length in 0..80_u8 {
                for fill in [0, 1, 0x21, 0x2c, 0x80, 0xff] {
                    let bytes = [start, &vec![fill; usize::from(length)]].concat();
                    assert!(stripped(&[&bytes]).len() <= bytes.len() + 4, "{bytes:?}");
                    assert_eq!(decoded(&encoded(&bytes)), bytes);
                }
            }
        }
    }
}
