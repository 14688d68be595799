//! Where HTML is written to: text only through [`Out::text`], which nothing of it survives as markup.

use std::fmt;

/// What is written is passed on when it is longer than this.
const BUFFER: usize = 64 * 1024;

/// Takes HTML and passes it on in pieces.
pub(super) struct Out<'p> {
    sink: &'p mut dyn fmt::Write,
    buffer: &'p mut String,
    failed: bool,
}

impl<'p> Out<'p> {
    pub(super) fn new(buffer: &'p mut String, out: &'p mut dyn fmt::Write) -> Self {
        buffer.clear();
        Self { sink: out, buffer, failed: false }
    }

    /// Passes on what is written.
    pub(super) fn end(self) -> fmt::Result {
        if self.failed {
            return Err(fmt::Error);
        }
        self.sink.write_str(self.buffer)
    }

    /// Writes markup of ours.
    pub(super) fn raw(&mut self, markup: &str) {
        self.buffer.push_str(markup);
        if self.buffer.len() > BUFFER {
            self.pass_on();
        }
    }

    /// Writes clean text, in an element or between double quotes.
    pub(super) fn text(&mut self, text: &str) {
        if !text.is_ascii() && text.contains(is_noncharacter) {
            let shown = text.replace(is_noncharacter, "\u{fffd}");
            return self.text(&shown);
        }
        let mut rest = text;
        while rest.len() > BUFFER {
            let end = (BUFFER..rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            escape(piece, self.buffer);
            self.pass_on();
            rest = behind;
        }
        escape(rest, self.buffer);
        if self.buffer.len() > BUFFER {
            self.pass_on();
        }
    }

    /// Writes a number.
    pub(super) fn number(&mut self, number: impl fmt::Display) {
        use fmt::Write;
        let _ = write!(self.buffer, "{number}");
    }

    /// Writes markup of ours that holds numbers and names of ours.
    pub(super) fn formatted(&mut self, markup: fmt::Arguments<'_>) -> fmt::Result {
        fmt::Write::write_fmt(self.buffer, markup)
    }

    fn pass_on(&mut self) {
        self.failed |= self.sink.write_str(self.buffer).is_err();
        self.buffer.clear();
    }
}

/// What is no character for good: no page may hold it, not even as a reference.
fn is_noncharacter(ch: char) -> bool {
    matches!(ch, '\u{fdd0}'..='\u{fdef}') || ch as u32 & 0xfffe == 0xfffe
}

/// Writes `text` so that it means nothing to a browser.
pub(super) fn escape(text: &str, out: &mut String) {
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let spelled = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        out.push_str(spelled);
        written = at + 1;
    }
    out.push_str(&text[written..]);
}
