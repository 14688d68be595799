//! Text in pages. All foreign text passes through here or the writer of pages.

use streamfmt::core::redact::Redactor;
use streamfmt::core::text::clean;
use streamfmt::writer::html::HtmlFragments;

/// Escapes our own or clean text for an element or a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    HtmlFragments::escaped(text)
}

/// Masks foreign text if asked to, cleans it, and escapes it on one line.
pub(super) fn shown(text: &str, redactor: Option<&mut Redactor>) -> String {
    let masked = redactor.map(|redactor| redactor.text(text).into_owned());
    let text = clean(masked.as_deref().unwrap_or(text));
    escaped(&text.replace('\n', "␊"))
}

/// Escapes a value for the query of an address.
pub(super) fn in_query(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            spelled.push(char::from(byte));
        } else {
            use std::fmt::Write;
            // Writing to a string can't fail.
            let _ = write!(spelled, "%{byte:02X}");
        }
    }
    spelled
}

/// Reverses [`escaped`], for text that is escaped again later.
pub(super) fn plain(html: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    names.iter().fold(html.to_owned(), |text, (name, sign)| text.replace(name, sign))
}
