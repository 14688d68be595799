//! Text in pages: foreign text passes here, or the writer of pages.

use streamfmt::core::redact::Redactor;
use streamfmt::core::text::clean;
use streamfmt::core::writer::html::HtmlFragments;

/// Text of ours, or clean text, in an element or between double quotes.
pub(super) fn escaped(text: &str) -> String {
    HtmlFragments::escaped(text)
}

/// Foreign text: masked if that is asked for, clean, on one line, and escaped.
pub(super) fn shown(text: &str, redactor: Option<&mut Redactor>) -> String {
    let masked = redactor.map(|redactor| redactor.text(text).into_owned());
    let text = clean(masked.as_deref().unwrap_or(text));
    escaped(&text.replace('\n', "␊"))
}

/// A value in the address of a link.
pub(super) fn in_query(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            spelled.push(char::from(byte));
        } else {
            use std::fmt::Write;
            // A string takes everything.
            let _ = write!(spelled, "%{byte:02X}");
        }
    }
    spelled
}

/// The text of what was escaped, for where it is escaped again.
pub(super) fn plain(html: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    names.iter().fold(html.to_owned(), |text, (name, sign)| text.replace(name, sign))
}
