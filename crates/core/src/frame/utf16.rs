//! Decodes UTF-16 piece by piece.

/// The byte order mark of UTF-16, most significant byte first.
const MARK: [u8; 2] = [0xfe, 0xff];

/// How the bytes of a stream are decoded. UTF-16 is recognised by its byte order mark, which no UTF-8 contains.
#[derive(Debug)]
pub(super) enum Encoding {
    /// Nothing has come.
    Unknown,
    /// Only this byte has come, which may be the first of a mark.
    Begun(u8),
    /// UTF-8, and everything without a mark.
    Utf8,
    Utf16(Utf16Decoder),
}

impl Encoding {
    /// Takes the first bytes of a stream. Returns those that were kept before and don't belong to a mark.
    pub(super) fn begin(&mut self, bytes: &mut &[u8]) -> Option<u8> {
        while let (Self::Unknown | Self::Begun(_), Some((second, rest))) = (&self, bytes.split_first()) {
            let Self::Begun(first) = *self else {
                if !MARK.contains(second) {
                    *self = Self::Utf8;
                    break;
                }
                *self = Self::Begun(*second);
                *bytes = rest;
                continue;
            };
            let is_big = [first, *second] == MARK;
            if !is_big && [*second, first] != MARK {
                *self = Self::Utf8;
                return Some(first);
            }
            *self = Self::Utf16(Utf16Decoder { is_big, byte: None, high: None });
            *bytes = rest;
        }
        None
    }
}

/// Decodes UTF-16.
#[derive(Debug)]
pub(super) struct Utf16Decoder {
    is_big: bool,
    /// The first byte of a unit.
    byte: Option<u8>,
    /// The first unit of a pair.
    high: Option<u16>,
}

impl Utf16Decoder {
    /// Decodes more bytes. Units that are no characters become U+FFFD.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        for &byte in bytes {
            let Some(first) = self.byte.take() else {
                self.byte = Some(byte);
                continue;
            };
            let pair = [first, byte];
            let unit = if self.is_big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            let units = self.high.take().into_iter().chain([unit]);
            for decoded in char::decode_utf16(units) {
                match decoded {
                    Err(half) if half.unpaired_surrogate() == unit && (0xd800..0xdc00).contains(&unit) => {
                        self.high = Some(unit);
                    }
                    decoded => text.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER)),
                }
            }
        }
        text
    }

    /// Ends the stream.
    pub(super) fn finish(&mut self) -> String {
        let halves = usize::from(self.high.take().is_some()) + usize::from(self.byte.take().is_some());
        char::REPLACEMENT_CHARACTER.to_string().repeat(halves)
    }
}
