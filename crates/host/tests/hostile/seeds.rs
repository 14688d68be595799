//! The fuzz targets, over their seeds and some thousand changes of them, the same in every run. `STREAMFMT_FUZZ_ROUNDS` sets a larger
//! number.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../../fuzz/src/targets.rs"]
#[expect(unreachable_pub, reason = "it is a crate of its own elsewhere")]
#[cfg_attr(not(all(feature = "native", unix)), expect(dead_code, reason = "one target needs native plugins"))]
pub(crate) mod targets;

/// Fragments to insert into seeds: special ones for parsers and terminals.
const PIECES: [&[u8]; 24] = [
    b"{\"",
    b"\"}",
    b"}{",
    b"[",
    b"]",
    b",",
    b":",
    b"\\u001b",
    b"\\ud800",
    b"\\",
    b"\"",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\x1b[2J",
    "\u{202e}".as_bytes(),
    "\u{200d}".as_bytes(),
    b"null",
    b"-1e999",
    b"\"type\":\"assistant\"",
    b"&#27;",
    b"```",
    b"| ",
];

#[test]
fn a_line_of_any_bytes_is_read() {
    each(200, targets::reading);
}

#[test]
fn a_text_of_any_bytes_becomes_clean() {
    each(200, targets::clean);
}

#[test]
fn a_stream_of_any_bytes_comes_out() {
    each(6, targets::pipeline);
}

#[cfg(all(feature = "native", unix))]
#[test]
fn a_native_plugin_may_answer_with_any_bytes() {
    let answers: [&[u8]; 14] = [
        b"\0\0title \x1b[2J",
        b"\0\0\xff\xfe",
        b"\x01\0tool.name",
        b"\x02\0code\n",
        b"\x03\0lang",
        b"\x04\0[{\"type\":\"code\",\"text\":\"x\",\"role\":\"text\"}]",
        b"\x04\0{\"type\":\"details\",\"summary\":[],\"body\":[]}",
        b"\x05\0{\"mark\":\"ok\",\"title\":[{\"text\":\"t\",\"role\":\"text\"}],\"body\":[]}",
        b"\x06\0/input/hex",
        b"\x06\0/line",
        b"\x07\x01log",
        b"\x08\x01more",
        b"\x09\0",
        b"\0\x02hidden",
    ];
    for answer in answers {
        targets::native(answer);
    }
    each_of(&answers.map(<[u8]>::to_vec), 60, targets::native);
}

#[test]
fn a_profile_of_any_bytes_is_read() {
    each_of(&toml("crates/host/profiles"), 200, targets::profile);
}

#[test]
fn a_theme_of_any_bytes_is_read() {
    each_of(&toml("themes"), 100, targets::theme);
}

fn each(rounds: u64, target: fn(&[u8])) {
    let files = files("tests/samples").into_iter().filter(|path| path.is_file());
    let mut seeds = Vec::new();
    for bytes in files.map(|path| fs::read(path).unwrap()) {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        seeds.extend(lines.chunks(4).map(<[&[u8]]>::concat).filter(|seed| seed.len() < 20_000));
    }
    each_of(&seeds, rounds, target);
}

fn each_of(seeds: &[Vec<u8>], rounds: u64, target: fn(&[u8])) {
    assert!(!seeds.is_empty(), "no seeds");
    let more = std::env::var("STREAMFMT_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    for (number, seed) in seeds.iter().enumerate() {
        target(seed);
        for round in 0..more.unwrap_or(rounds) {
            let mut chance = Chance((number as u64) << 32 | round);
            let other = &seeds[chance.below(seeds.len())];
            target(&changed(seed, other, &mut chance));
        }
    }
}

/// A seed with a few changes.
fn changed(seed: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=chance.below(6) {
        let at = chance.below(bytes.len() + 1);
        let end = (at + chance.below(40)).min(bytes.len());
        match chance.below(6) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, PIECES[chance.below(PIECES.len())].iter().copied())),
            2 => drop(bytes.splice(at..end, PIECES[chance.below(PIECES.len())].iter().copied())),
            3 => bytes[at..end].iter_mut().take(1).for_each(|byte| *byte ^= 1 << chance.below(8)),
            4 => bytes.truncate(at.max(1)),
            _ => {
                let from = chance.below(other.len() + 1);
                let part = &other[from..(from + chance.below(200)).min(other.len())];
                drop(bytes.splice(at..end, part.iter().copied()));
            }
        }
    }
    bytes
}

/// Pseudo-random numbers, the same for the same start.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}

fn toml(folder: &str) -> Vec<Vec<u8>> {
    files(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| fs::read(path).unwrap())
        .collect()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
