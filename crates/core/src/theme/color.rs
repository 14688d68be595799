//! Colours, and their nearest equivalents on terminals with fewer colours.

use super::Appearance;

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    /// No colours, only attributes such as bold, dim and underline.
    #[default]
    None,
    /// The 16 colours of the terminal's own palette.
    Ansi16,
    /// 256 colours.
    Ansi256,
    /// 24-bit colours.
    TrueColor,
}

/// How many times stronger a tint may become at most.
const LOUD: f64 = 2.0;

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// One of 256 colours; the first 16 are the terminal's own palette.
    Index(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

impl Color {
    /// The first eight ANSI names, in order; `bright-` before one adds eight.
    pub(super) const NAMES: [&str; 8] =
        ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

    /// Parses `#rrggbb`, `#rgb`, an ANSI name (`red`, `bright-blue`) or a number from 0 to 255.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(hex) = text.strip_prefix('#') {
            return parse_hex(hex);
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().map(Self::Index);
        }
        let (name, bright) = match text.strip_prefix("bright-") {
            Some(name) => (name, 8),
            None => (text, 0),
        };
        match name {
            "gray" | "grey" if bright == 0 => Some(Self::Index(8)),
            _ => Self::NAMES.iter().position(|known| *known == name).map(|at| Self::Index(at as u8 + bright)),
        }
    }

    /// The nearest colour that `depth` can show; `None` if it has no colours.
    pub fn at(self, depth: ColorDepth) -> Option<Self> {
        match (depth, self) {
            (ColorDepth::None, _) => None,
            (ColorDepth::Ansi256, Self::Rgb(r, g, b)) => {
                Some(Self::Index(nearest_of_256([r, g, b], |_| true)))
            }
            (ColorDepth::Ansi16, _) => self.hue().or(Some(self)),
            _ => Some(self),
        }
    }

    /// The nearest background that `depth` can show. The subtle tints behind text have no equivalent among 16 colours:
    /// the nearest would be black or a strong colour, so there is none. Among 256 colours the nearest is often a grey, which
    /// loses the meaning: the nearest tint of a similar hue is used instead. If that is much stronger, there is none, because it would
    /// distract from failures.
    pub(super) fn behind_at(self, depth: ColorDepth) -> Option<Self> {
        match (depth, self) {
            (ColorDepth::Ansi16, Self::Rgb(..) | Self::Index(16..)) => None,
            (ColorDepth::Ansi256, Self::Rgb(r, g, b)) => {
                let tint = Lab::of([r, g, b]);
                let fits = |lab: Lab| !tint.is_tinted() || lab.is_tinted() && tint.is_of_hue(lab);
                let index = nearest_of_256([r, g, b], fits);
                let is_loud = tint.is_tinted() && Lab::of(rgb_of(index)).chroma() > LOUD * tint.chroma();
                (!is_loud).then_some(Self::Index(index))
            }
            _ => self.at(depth),
        }
    }

    /// Whether it is shown without a hue at `depth`.
    pub(super) fn is_grey_at(self, depth: ColorDepth) -> bool {
        match (depth, self) {
            (ColorDepth::Ansi256, Self::Rgb(r, g, b)) => !Lab::of([r, g, b]).is_tinted(),
            _ => matches!(self.at(depth), Some(Self::Index(0 | 7 | 8 | 15))),
        }
    }

    /// The colour of the terminal's own palette with the same hue; `None` for a colour of that palette. Text gets it if its background
    /// can't be shown.
    pub(super) fn hue(self) -> Option<Self> {
        self.rgb().map(|rgb| Self::Index(nearest_of_16(rgb)))
    }

    /// Whether a grey is neither close to black nor to white, as for muted text. `None` for a colour with a
    /// hue, and for the terminal's own colours.
    pub(super) fn is_mid_grey(self) -> Option<bool> {
        let rgb = self.rgb()?;
        let is_grey = matches!(nearest_of_16(rgb), 0 | 7 | 8 | 15);
        is_grey.then(|| (0.4..0.78).contains(&Lab::of(rgb).lightness))
    }

    /// The contrast of text of this colour on `ground`, from 1 to 21, as defined by WCAG 2. `None` if one of
    /// them is a colour of the terminal's own palette, whose value isn't known.
    pub fn contrast(self, ground: Self) -> Option<f64> {
        let (one, other) = (luminance(self.rgb()?) + 0.05, luminance(ground.rgb()?) + 0.05);
        Some(one.max(other) / one.min(other))
    }

    /// Whether it is dark or light as a background. `None` for a colour of the terminal's own palette.
    pub fn appearance(self) -> Option<Appearance> {
        let lightness = Lab::of(self.rgb()?).lightness;
        Some(if lightness < 0.6 { Appearance::Dark } else { Appearance::Light })
    }

    /// Its red, green and blue; `None` for a colour of the terminal's own palette.
    pub fn rgb(self) -> Option<[u8; 3]> {
        match self {
            Self::Index(0..16) => None,
            Self::Index(index) => Some(rgb_of(index)),
            Self::Rgb(r, g, b) => Some([r, g, b]),
        }
    }

    /// Writes the codes that set it, each followed by a semicolon. `normal`, `bright`: the codes of the first of the 8 colours;
    /// `extended`: that for all others.
    pub(super) fn code(self, normal: u8, bright: u8, extended: u8, out: &mut String) {
        match self {
            Self::Index(index @ ..8) => codes(&[normal + index], out),
            Self::Index(index @ 8..16) => codes(&[bright + index - 8], out),
            Self::Index(index) => codes(&[extended, 5, index], out),
            Self::Rgb(r, g, b) => codes(&[extended, 2, r, g, b], out),
        }
    }
}

/// Writes the numbers of a sequence, each followed by a semicolon.
fn codes(codes: &[u8], out: &mut String) {
    for &code in codes {
        for unit in [100, 10, 1] {
            if code >= unit || unit == 1 {
                out.push(char::from(b'0' + code / unit % 10));
            }
        }
        out.push(';');
    }
}

fn parse_hex(hex: &str) -> Option<Color> {
    let digit = |at: usize| {
        hex.as_bytes().get(at).and_then(|&byte| (byte as char).to_digit(16)).map(|digit| digit as u8)
    };
    match hex.len() {
        6 => {
            let pair = |at: usize| Some(digit(at)? * 16 + digit(at + 1)?);
            Some(Color::Rgb(pair(0)?, pair(2)?, pair(4)?))
        }
        3 => Some(Color::Rgb(digit(0)? * 17, digit(1)? * 17, digit(2)? * 17)),
        _ => None,
    }
}

/// The steps of the 6 × 6 × 6 colour cube.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The visually nearest of those colours that fit, without the first 16, whose values aren't known.
fn nearest_of_256(rgb: [u8; 3], fits: impl Fn(Lab) -> bool) -> u8 {
    let wanted = Lab::of(rgb);
    let mut nearest = (f64::INFINITY, 0);
    for index in 16..=255 {
        let lab = Lab::of(rgb_of(index));
        let distance = wanted.distance(lab);
        if distance < nearest.0 && fits(lab) {
            nearest = (distance, index);
        }
    }
    nearest.1
}

/// The linear light of a component of a colour, from 0 to 1.
fn linear(part: u8) -> f64 {
    let part = f64::from(part) / 255.0;
    if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
}

fn luminance(rgb: [u8; 3]) -> f64 {
    let [r, g, b] = rgb.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// A colour in a perceptual space (Oklab): equal distances look equally large.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lab {
    /// From 0, black, to 1, white.
    lightness: f64,
    /// From green to red, and from blue to yellow; both 0 for greys.
    hue: [f64; 2],
}

impl Lab {
    fn of(rgb: [u8; 3]) -> Self {
        Self::of_light(rgb.map(linear))
    }

    /// A colour as seen by an eye with colour vision deficiency; `eye` transforms its linear light.
    #[cfg(test)]
    pub(super) fn seen_through(eye: &[[f64; 3]; 3], rgb: [u8; 3]) -> Self {
        let light = rgb.map(linear);
        let sum = |row: &[f64; 3]| row.iter().zip(light).map(|(part, light)| part * light).sum::<f64>();
        Self::of_light([&eye[0], &eye[1], &eye[2]].map(|row| sum(row).clamp(0.0, 1.0)))
    }

    #[expect(clippy::many_single_char_names, reason = "the names that these quantities have")]
    fn of_light([r, g, b]: [f64; 3]) -> Self {
        let l = (0.412_221_47 * r + 0.536_332_54 * g + 0.051_445_99 * b).cbrt();
        let m = (0.211_903_5 * r + 0.680_699_55 * g + 0.107_396_96 * b).cbrt();
        let s = (0.088_302_46 * r + 0.281_718_84 * g + 0.629_978_7 * b).cbrt();
        Self {
            lightness: 0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_05 * s,
            hue: [
                1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_71 * s,
                0.025_904_04 * l + 0.782_771_77 * m - 0.808_675_77 * s,
            ],
        }
    }

    /// The distance of two colours. Hue has a higher weight than lightness: red must stay red.
    pub(super) fn distance(self, other: Self) -> f64 {
        let [a, b] = [self.hue[0] - other.hue[0], self.hue[1] - other.hue[1]];
        (self.lightness - other.lightness).powi(2) + 2.0 * (a * a + b * b)
    }

    fn is_tinted(self) -> bool {
        self.chroma() > 0.018
    }

    /// The strength of its hue: 0 for greys.
    fn chroma(self) -> f64 {
        self.hue[0].hypot(self.hue[1])
    }

    /// Whether the hues are less than 35° apart.
    fn is_of_hue(self, other: Self) -> bool {
        let [a, b] = self.hue;
        let [c, d] = other.hue;
        a * c + b * d > 0.82 * a.hypot(b) * c.hypot(d)
    }
}

/// The nearest of the terminal's 16 colours, by hue rather than by distance: a soft red is red, not grey, whatever the palette.
fn nearest_of_16(rgb: [u8; 3]) -> u8 {
    let [r, g, b] = rgb.map(i32::from);
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let spread = most - least;
    if spread * 5 < most || spread < 24 {
        return match most {
            ..48 => 0,
            48..160 => 8,
            160..224 => 7,
            _ => 15,
        };
    }
    let hue = match most {
        _ if most == r => (60 * (g - b) / spread + 360) % 360,
        _ if most == g => 60 * (b - r) / spread + 120,
        _ => 60 * (r - g) / spread + 240,
    };
    let color = match hue {
        ..25 | 335.. => 1,
        25..75 => 3,
        75..160 => 2,
        160..200 => 6,
        200..262 => 4,
        _ => 5,
    };
    if most > 230 && least > 90 { color + 8 } else { color }
}

fn rgb_of(index: u8) -> [u8; 3] {
    match index {
        16..232 => {
            let at = index - 16;
            [at / 36, at / 6 % 6, at % 6].map(|step| STEPS[step as usize])
        }
        232.. => [8 + 10 * (index - 232); 3],
        // Callers handle the terminal's own 16 colours themselves.
        _ => [0; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_parsed_in_every_notation() {
        for (text, color) in [
            ("#a0B1c2", Some(Color::Rgb(0xa0, 0xb1, 0xc2))),
            ("#f0a", Some(Color::Rgb(255, 0, 170))),
            ("red", Some(Color::Index(1))),
            ("bright-blue", Some(Color::Index(12))),
            ("grey", Some(Color::Index(8))),
            ("208", Some(Color::Index(208))),
            ("256", None),
            ("#12é", None),
            ("bright-gray", None),
            ("Red", None),
        ] {
            assert_eq!(Color::parse(text), color, "{text}");
        }
    }

    #[test]
    fn fewer_colours_keep_the_meaning() {
        for (hex, of_256, of_16) in [
            ("#ff6e6e", 203, 9),
            ("#7fd08a", 114, 2),
            ("#ffffff", 231, 15),
            ("#808080", 244, 8),
            ("#0a0a0a", 232, 0),
            ("#c62828", 160, 1),
            ("#1f5fbf", 25, 4),
            ("#8a6100", 94, 3),
        ] {
            let color = Color::parse(hex).unwrap();
            assert_eq!(color.at(ColorDepth::Ansi256), Some(Color::Index(of_256)), "{hex}");
            assert_eq!(color.at(ColorDepth::Ansi16), Some(Color::Index(of_16)), "{hex}");
            assert_eq!(color.at(ColorDepth::None), None);
            assert_eq!(color.behind_at(ColorDepth::Ansi16), None);
        }
    }

    #[test]
    fn every_colour_has_an_equivalent() {
        for index in 0..=255 {
            let Some(Color::Index(found)) = Color::Index(index).at(ColorDepth::Ansi16) else {
                panic!("{index}")
            };
            assert!(found < 16);
        }
        for index in 16..=255 {
            let [r, g, b] = rgb_of(index);
            let Some(Color::Index(found)) = Color::Rgb(r, g, b).at(ColorDepth::Ansi256) else {
                panic!("{index}")
            };
            assert_eq!(rgb_of(found), [r, g, b], "{index}");
        }
    }
}
