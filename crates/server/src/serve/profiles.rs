//! Profiles and themes, by names from a list. Nothing is read from a session's folder.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use streamfmt::core::redact::Redaction;
use streamfmt::core::theme::{Appearance, Color, Theme};
use streamfmt::settings::document::SettingsLayer;
use streamfmt::writers::LiveForm;
use streamfmt::{Background, Engine, Files, Folders, Problems, Themes};

/// The profile of `log.sse`, made for older dashboards.
pub(super) const OLDER: &str = "claude-ops";
/// The default profile of a page.
pub(super) const USUAL: &str = "page";
/// How long settings are cached.
const FRESH: Duration = Duration::from_secs(2);
/// Characters of the hash.
const HASH: usize = 16;

/// A loaded profile, with or without masking.
#[derive(Clone)]
pub(super) struct LoadedProfile {
    pub(super) engine: Engine,
    /// The hash of settings, plugins, masking and program version. Equal hashes mean equal pages.
    pub(super) hash: String,
    /// Whether the profile writes lines of text.
    pub(super) has_lines: bool,
}

/// The available profiles and themes.
pub(super) struct KnownProfiles {
    folders: Folders,
    known: Mutex<BTreeMap<(String, bool), (Instant, LoadedProfile)>>,
    names: Mutex<Option<(Instant, Vec<String>)>>,
}

impl KnownProfiles {
    pub(super) fn new(folders: Folders) -> Self {
        Self { folders, known: Mutex::default(), names: Mutex::default() }
    }

    /// The names of all profiles: built in, of installed plugins, and of the user's own settings.
    pub(super) fn profiles(&self) -> Vec<String> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, names)) = names.as_ref().filter(|(read, _)| read.elapsed() < FRESH) {
            return names.clone();
        }
        let engine = Engine::builder().defer_plugins(true).folders(self.folders.clone()).no_project(true);
        let engine = engine.profile("default").build();
        let Ok(engine) = engine else { return vec!["default".to_owned(), USUAL.to_owned()] };
        let profiles = engine.config().profiles().into_iter();
        let mut found: Vec<String> = profiles
            .filter(|(_, layer, _)| *layer != SettingsLayer::Project)
            .map(|(name, ..)| name)
            .filter(|name| is_name(name))
            .collect();
        found.sort();
        found.dedup();
        *names = Some((Instant::now(), found.clone()));
        found
    }

    /// Loads a profile of that list. `None` if the name is unknown.
    pub(super) fn find(&self, profile: &str, masks: bool) -> Option<Result<LoadedProfile, Problems>> {
        if !self.profiles().iter().any(|name| name == profile) {
            return None;
        }
        let key = (profile.to_owned(), masks);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, loaded)) = known.get(&key).filter(|(read, _)| read.elapsed() < FRESH) {
            return Some(Ok(loaded.clone()));
        }
        let loaded = self.read(profile, masks);
        if let Ok(loaded) = &loaded {
            known.insert(key, (Instant::now(), loaded.clone()));
        }
        Some(loaded)
    }

    fn read(&self, profile: &str, masks: bool) -> Result<LoadedProfile, Problems> {
        let files = Files::default();
        let builder = || {
            let mut builder =
                Engine::builder().defer_plugins(true).folders(self.folders.clone()).no_project(true);
            if masks {
                builder = builder.redact(&Redaction::everything());
            }
            builder
        };
        let own = builder().files(files.clone()).profile(profile).build()?;
        // A profile that names this writer itself consists of lines.
        let has_lines = own.resolved().tree.get("writer").is_some()
            && own.own_writer().is_some_and(|writer| writer.live == LiveForm::Rows);
        let engine = if has_lines { own } else { builder().profile(profile).writer("html").build()? };
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update([0, u8::from(masks), u8::from(has_lines), 0]);
        hash.update(profile);
        for file in files.reached() {
            hash.update([0]);
            hash.update(file.path.as_os_str().as_encoded_bytes());
            hash.update((file.bytes.len() as u64).to_le_bytes());
            hash.update(&file.bytes);
        }
        let mut hash = HEXLOWER.encode(&hash.finalize());
        hash.truncate(HASH);
        Ok(LoadedProfile { engine, hash, has_lines })
    }

    /// The names of all themes.
    pub(super) fn themes(&self) -> Vec<String> {
        let themes = Themes::new(Some(&self.folders), Files::default());
        let mut names: Vec<String> =
            themes.list().into_iter().map(|theme| theme.name).filter(|name| is_name(name)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The style sheet for a theme. `None` if the name is unknown.
    pub(super) fn style(&self, theme: &str) -> Option<String> {
        if !self.themes().iter().any(|name| name == theme) {
            return None;
        }
        let themes = Themes::new(Some(&self.folders), Files::default());
        let load =
            |appearance| themes.load(theme, &Background::Known(appearance)).ok().map(|(theme, _)| theme);
        let dark = load(Appearance::Dark)?;
        let mut style = String::new();
        match (dark.follows_background(), load(Appearance::Light)) {
            (true, Some(light)) => {
                write_style(&light, Appearance::Light, &mut style);
                style.push_str("@media (prefers-color-scheme: dark) {\n");
                write_style(&dark, Appearance::Dark, &mut style);
                style.push_str("}\n");
            }
            _ => write_style(&dark, dark.appearance().unwrap_or(Appearance::Dark), &mut style),
        }
        Some(style)
    }
}

/// Whether a name can be used in an address unescaped. The path of a file can't.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Colours of the page, and the roles that they are taken from.
const COLORS: [(&str, &str); 13] = [
    ("--accent", "link"),
    ("--bad", "result.error"),
    ("--warn", "notice.warning"),
    ("--good", "outcome.ok"),
    ("--b-run", "tool.name"),
    ("--dim", "call.note"),
    ("--k", "syntax.keyword"),
    ("--s", "syntax.string"),
    ("--c", "syntax.comment"),
    ("--n", "syntax.number"),
    ("--f", "syntax.function"),
    ("--ty", "syntax.type"),
    ("--v", "syntax.variable"),
];

fn write_style(theme: &Theme, appearance: Appearance, out: &mut String) {
    let ground = theme.background();
    // Writing to a string can't fail.
    let _ = writeln!(
        out,
        ":root {{ color-scheme: {};",
        if appearance == Appearance::Dark { "dark" } else { "light" }
    );
    out.push_str(if appearance == Appearance::Dark { DARK } else { LIGHT });
    if let Some(ground) = ground.and_then(hex) {
        let _ = writeln!(out, "  --bg: {ground}; --code: {ground};");
    }
    if let Some(text) = theme.style("text").fg.and_then(hex) {
        let _ = writeln!(out, "  --text: {text};");
    }
    let page = ground.unwrap_or(if appearance == Appearance::Dark {
        Color::Rgb(20, 22, 26)
    } else {
        Color::Rgb(251, 251, 252)
    });
    for (variable, role) in COLORS {
        let color = theme.style(role).fg;
        // Colours without enough contrast are left as the page has them.
        let is_readable =
            color.and_then(|color| color.contrast(page)).is_some_and(|contrast| contrast >= 4.5);
        if let Some(color) = color.filter(|_| is_readable).and_then(hex) {
            let _ = writeln!(out, "  {variable}: {color};");
        }
    }
    out.push_str("}\n");
}

/// The base colours of a dark and of a light page, independent of the browser's preference.
const DARK: &str = "  --bg: #0d1014; --card: #14181e; --line: #2c3038; --text: #e4e7ec; --dim: #a0a8b5; --faint: #939ba8; --code: #090c10; \
--shade: #fff3; --sel: #232c42;\n";
const LIGHT: &str = "  --bg: #fbfbfc; --card: #ffffff; --line: #e3e5ea; --text: #1c1f26; --dim: #5d6470; --faint: #626975; --code: #f5f6f8; \
--shade: #1c1f2628; --sel: #e8eefc;\n";

fn hex(color: Color) -> Option<String> {
    color.rgb().map(|[red, green, blue]| format!("#{red:02x}{green:02x}{blue:02x}"))
}
