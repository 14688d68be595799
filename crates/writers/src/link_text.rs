//! Whether the text of a link names another address than the link leads to.

use std::net::Ipv4Addr;

/// Endings of file names that no host has, so that `package.json` isn't taken for one.
const FILE_ENDINGS: [&str; 24] = [
    "bat", "cfg", "conf", "cpp", "css", "csv", "go", "hpp", "html", "ini", "java", "js", "json", "jsonl",
    "jsx", "lock", "log", "lua", "php", "toml", "ts", "tsx", "txt", "yml",
];
/// Characters that browsers read as the dot of a host.
const DOTS: [char; 3] = ['。', '．', '｡'];

/// Whether a link's text names an address, or the host of one, that its target isn't. Such a link must show its target.
pub(crate) fn misleads(text: &str, target: &str) -> bool {
    // Most texts name nothing.
    if !text.contains([':', '.', '@']) && !text.contains(DOTS) {
        return false;
    }
    let target = bare(target);
    text.split_whitespace().filter_map(named).any(|named| !is_of(&named, &target))
}

/// The address that a word names, as [`bare`] returns it.
fn named(word: &str) -> Option<String> {
    let word = word.trim_matches(|ch: char| !ch.is_alphanumeric() && !"/[]".contains(ch));
    let address = bare(word);
    if word.contains("://") {
        return Some(address);
    }
    let host = address.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let (_, ending) = host.rsplit_once('.')?;
    let is_domain = host.chars().all(|ch| ch.is_alphanumeric() || ch == '-' || ch == '.')
        && !host.starts_with('.')
        && !host.contains("..")
        && ending.chars().count() > 1
        && ending.chars().any(char::is_alphabetic)
        && !FILE_ENDINGS.contains(&ending);
    (is_domain || host.parse::<Ipv4Addr>().is_ok()).then_some(address)
}

/// An address in lower case without its scheme, user, `www.` and slash at its end. The address of a mail keeps its user.
fn bare(address: &str) -> String {
    let address = address.to_lowercase().replace(DOTS, ".");
    let address = match address.split_once("://") {
        Some((_, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let user = rest[..end].rfind('@').map_or(0, |at| at + 1);
            &rest[user..]
        }
        None => address.strip_prefix("mailto:").unwrap_or(&address),
    };
    let address = address.strip_prefix("www.").unwrap_or(address);
    address.strip_suffix('/').unwrap_or(address).to_owned()
}

/// Whether a target is the named address, or begins with it.
fn is_of(named: &str, target: &str) -> bool {
    target.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_names_its_target_or_nothing_is_fine() {
        for (text, target) in [
            ("the docs", "https://example.com/docs"),
            ("https://example.com/docs", "https://example.com/docs"),
            ("HTTPS://Example.com", "https://www.example.com/"),
            ("example.com", "https://me@example.com:8080/a?b#c"),
            ("www.example.com/docs", "http://example.com/docs/page"),
            ("see <example.com>, please", "https://example.com/docs"),
            ("a@example.com", "mailto:a@example.com"),
            ("https://аpple.example", "https://аpple.example/"),
            ("package.json", "https://example.com/a"),
            ("Node.js v1.2, e.g. 3.5", "https://example.com/a"),
            ("src/cart.rs:41", "https://example.com/a"),
            ("12:30", "https://example.com/a"),
            ("", "https://example.com/a"),
        ] {
            assert!(!misleads(text, target), "{text} → {target}");
        }
    }

    #[test]
    fn a_text_that_names_another_address_misleads() {
        for (text, target) in [
            ("https://bank.example/login", "http://evil.invalid/a"),
            ("bank.example", "http://evil.invalid/bank.example"),
            ("Bank.Example/login", "http://bank.example.evil.invalid/login"),
            ("your bank: (bank.example)!", "http://evil.invalid/"),
            ("bank.example", "http://bank.example@evil.invalid/"),
            ("bank.example", "http://bank.example:pw@evil.invalid/"),
            ("https://bank.example/a", "https://bank.example/b"),
            ("https://аpple.com", "http://xn--pple-43d.com"),
            ("аpple.com", "http://apple.com.evil.invalid"),
            ("apple.com", "http://аpple.com"),
            ("bank。example", "http://evil.invalid"),
            ("http://localhost", "http://evil.invalid"),
            ("192.168.0.1", "http://evil.invalid"),
            ("a@example.com", "mailto:b@example.com"),
            ("a@bank.example", "http://evil.invalid"),
        ] {
            assert!(misleads(text, target), "{text} → {target}");
        }
    }
}
