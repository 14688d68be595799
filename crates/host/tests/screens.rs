//! The README's pictures of a terminal are drawn from the sample, so that they stay true.
//!
//! `STREAMFMT_BLESS=1` redraws them.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use streamfmt::core::pipeline::Pipeline;
use streamfmt::core::theme::{Appearance, ColorDepth};
use streamfmt::engine::Engine;
use streamfmt::{Background, OutputCapabilities};
use unicode_width::UnicodeWidthChar as _;

/// The width of the terminal, in columns.
const COLUMNS: usize = 100;
/// The size of a cell, in units of the picture.
const CELL: (f64, f64) = (8.4, 19.0);
/// The space around the text.
const MARGIN: f64 = 18.0;
/// The command above the output, as a reader would type it.
const COMMAND: &str =
    "$ claude -p \"Three times 5.61 is wrong\" --output-format stream-json --verbose | streamfmt";
/// The parts of the sample that are shown: each from a row that begins with the first text up to a row that begins with the second.
const PARTS: [(&str, &str); 3] =
    [("◇ ", "● Glob"), ("● ① Agent", "  Nobody depends"), ("● Edit", "● Write tests/rounding.rs")];
/// The beginning of the last row of the sample, which is shown as well.
const END: &str = "✓ done";
/// Replaces the omitted rows between two parts.
const LEFT_OUT: &str = "  ⋮";

/// A terminal's default colours.
struct Ground {
    name: &'static str,
    appearance: Appearance,
    background: &'static str,
    text: &'static str,
    border: &'static str,
}

const GROUNDS: [Ground; 2] = [
    Ground {
        name: "dark",
        appearance: Appearance::Dark,
        background: "#1b1d22",
        text: "#d9dce3",
        border: "#3a3f4a",
    },
    Ground {
        name: "light",
        appearance: Appearance::Light,
        background: "#ffffff",
        text: "#24292f",
        border: "#d0d7de",
    },
];

#[test]
fn the_pictures_of_the_terminal_are_of_the_sample() {
    let blesses = env::var_os("STREAMFMT_BLESS").is_some_and(|value| !value.is_empty() && value != "0");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    for ground in &GROUNDS {
        let picture = draw(&output(&root, ground.appearance), ground);
        let name = format!("docs/screens/terminal-{}.svg", ground.name);
        if blesses {
            fs::write(root.join(&name), &picture).unwrap();
        }
        assert!(
            fs::read_to_string(root.join(&name)).unwrap_or_default() == picture,
            "{name} isn't what the sample looks like; to accept: STREAMFMT_BLESS=1 cargo test -p streamfmt --test screens"
        );
        assert!(readme.contains(&name), "the README doesn't show {name}");
    }
}

/// The output for the sample on a terminal with this appearance.
fn output(root: &Path, appearance: Appearance) -> String {
    let capabilities = OutputCapabilities {
        color: Some(ColorDepth::TrueColor),
        width: Some(COLUMNS),
        background: Background::Known(appearance),
        ..OutputCapabilities::default()
    };
    let engine = Engine::builder().writer("ansi").capabilities(capabilities).build().unwrap();
    let mut setup = engine.setup();
    setup.is_whole = true;
    let mut pipeline = Pipeline::new(setup);
    let mut text = String::new();
    pipeline.push(&fs::read(root.join("tests/samples/shop.jsonl")).unwrap(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    text
}

/// The style of a piece of text.
#[derive(Clone, Default, PartialEq)]
struct Style {
    color: Option<String>,
    background: Option<String>,
    bold: bool,
    italic: bool,
    underlined: bool,
}

impl Style {
    /// Applies the parameters of `ESC [ … m`.
    fn change(&mut self, parameters: &str) {
        let mut parameters = parameters.split(';');
        while let Some(parameter) = parameters.next() {
            match parameter {
                "0" | "" => *self = Self::default(),
                "1" => self.bold = true,
                "3" => self.italic = true,
                "4" => self.underlined = true,
                "38" => self.color = Some(rgb(&mut parameters)),
                "48" => self.background = Some(rgb(&mut parameters)),
                other => panic!("a style that the picture can't show yet: {other}"),
            }
        }
    }
}

fn rgb<'a>(parameters: &mut impl Iterator<Item = &'a str>) -> String {
    assert_eq!(parameters.next(), Some("2"), "a colour of a palette");
    parameters.take(3).fold("#".to_owned(), |mut color, part| {
        write!(color, "{:02x}", part.parse::<u8>().unwrap()).unwrap();
        color
    })
}

/// The runs of equal style in a row, each with its first column and its width.
fn pieces(row: &str) -> Vec<(Style, usize, usize, String)> {
    let mut pieces: Vec<(Style, usize, usize, String)> = Vec::new();
    let mut style = Style::default();
    let mut column = 0;
    let mut rest = row;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\u{1b}[") {
            let (parameters, after) = after.split_once('m').unwrap();
            style.change(parameters);
            rest = after;
            continue;
        }
        rest = &rest[first.len_utf8()..];
        let width = first.width().unwrap_or(0);
        match pieces.last_mut() {
            Some((last, _, columns, text)) if *last == style => {
                *columns += width;
                text.push(first);
            }
            _ => pieces.push((style.clone(), column, width, first.to_string())),
        }
        column += width;
    }
    pieces
}

fn draw(text: &str, ground: &Ground) -> String {
    let plain = |row: &str| pieces(row).into_iter().map(|(.., text)| text).collect::<String>();
    let mut rows = vec![COMMAND, ""];
    for (from, to) in PARTS {
        let before = rows.len();
        rows.extend(
            text.lines()
                .skip_while(|row| !plain(row).starts_with(from))
                .take_while(|row| !plain(row).starts_with(to)),
        );
        assert!(rows.len() > before + 5, "the sample has no such part any more: {from}");
        if rows.last() != Some(&"") {
            rows.push("");
        }
        rows.extend([LEFT_OUT, ""]);
    }
    let end = text.lines().last().unwrap_or_default();
    assert!(plain(end).starts_with(END), "the sample ends otherwise: {end}");
    rows.push(end);
    let width = 2.0 * MARGIN + COLUMNS as f64 * CELL.0;
    let height = 2.0 * MARGIN + rows.len() as f64 * CELL.1;
    let Ground { background, text, border, .. } = ground;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\" fill=\"{text}\">\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\" fill=\"{background}\" stroke=\"{border}\"/>\n",
        width - 1.0,
        height - 1.0,
    );
    for (number, row) in rows.into_iter().enumerate() {
        let top = MARGIN + number as f64 * CELL.1;
        for (style, column, columns, text) in pieces(row) {
            draw_piece(&mut svg, &style, top, (column, columns), &text);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Stretches each piece to the width of its cells, whatever the reader's font. Spaces at its ends are left out and those within don't
/// break, since an SVG would collapse them.
fn draw_piece(svg: &mut String, style: &Style, top: f64, (column, columns): (usize, usize), text: &str) {
    let at = |column: usize| MARGIN + column as f64 * CELL.0;
    let (left, width) = (at(column), columns as f64 * CELL.0);
    if let Some(color) = &style.background {
        writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{color}\"/>",
            CELL.1
        )
        .unwrap();
    }
    let words = text.trim_start_matches(' ');
    let before = text.len() - words.len();
    let words = words.trim_end_matches(' ');
    if words.is_empty() {
        return;
    }
    let (left, width) = (at(column + before), (columns - (text.len() - words.len())) as f64 * CELL.0);
    let baseline = top + 14.0;
    write!(svg, "<text x=\"{left:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\"").unwrap();
    for (on, attribute) in [
        (style.bold, " font-weight=\"bold\""),
        (style.italic, " font-style=\"italic\""),
        (style.underlined, " text-decoration=\"underline\""),
    ] {
        svg.push_str(if on { attribute } else { "" });
    }
    if let Some(color) = &style.color {
        write!(svg, " fill=\"{color}\"").unwrap();
    }
    let escaped =
        words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}");
    writeln!(svg, ">{escaped}</text>").unwrap();
}
