//! Merges a theme from its file and those that it extends.
//!
//! ```text
//! mine ─extends▶ dark ─extends▶ auto ─▶ @base      the chain: each file overrides the next
//! @base, auto, dark, mine: palettes, then roles    the base first; of each file first the tables for
//!                                                  all backgrounds, then those for this one
//! ```
//!
//! All palettes are read before all roles, so that a theme can change a colour that its base uses. References to other
//! roles (`@muted`) are resolved after merging, so that a theme can also change a role to which others refer.

use std::cell::RefCell;
use std::collections::HashSet;

use toml::de::DeTable;

use super::file::{Palette, RoleDraft, Syntax, ThemeFile};
use super::{
    Appearance, ByName, Glyphs, Lookup, Style, Theme, ThemeProblem, ThemeSource, of_role, wrong_role,
};

/// The theme that a theme without `extends` extends.
pub(super) const BASE: &str = "@base";

/// The value of `extends` for a theme that extends none.
const NOTHING: &str = "none";

/// The longest chain of `extends`.
const DEEPEST: usize = 8;

/// The longest chain of roles that refer to each other.
const MOST_STEPS: usize = 8;

pub(super) fn parse(
    source: &ThemeSource,
    background: &mut dyn FnMut() -> Appearance,
    lookup: Lookup<'_>,
) -> (Theme, Vec<ThemeProblem>) {
    let (merged, mut problems) = merge(source, background, lookup, true);
    problems.sort_by_key(|problem| (problem.theme != source.name, problem.line, problem.column));
    (merged, problems)
}

fn merge(
    source: &ThemeSource,
    background: &mut dyn FnMut() -> Appearance,
    lookup: Lookup<'_>,
    with_syntax: bool,
) -> (Theme, Vec<ThemeProblem>) {
    let mut problems = Vec::new();
    let chain = chain(source, lookup, &mut problems);
    let problems = RefCell::new(problems);
    let files: Vec<ThemeFile<'_>> = chain.iter().map(|source| ThemeFile::read(source, &problems)).collect();
    // The first file that mentions backgrounds decides.
    let decisive = files.iter().find(|file| file.appearance().is_some() || file.has_variants());
    let appearance = decisive.and_then(ThemeFile::appearance);
    let follows = decisive.is_some() && appearance.is_none();
    let is_needed = files.iter().any(ThemeFile::has_variants);
    let wanted = appearance.unwrap_or_else(|| if is_needed { background() } else { Appearance::Dark });

    let mut palette = Palette::default();
    for file in files.iter().rev() {
        file.palette(wanted, &mut palette);
    }
    let mut theme = Theme {
        name: source.name.clone(),
        about: files.first().and_then(ThemeFile::about),
        appearance,
        follows,
        ..Theme::default()
    };
    let mut drafts = Drafts::default();
    for (index, file) in files.iter().enumerate().rev() {
        file.check();
        theme.background = file.background(wanted, &palette).or(theme.background);
        for (role, draft) in file.roles(wanted, &palette) {
            drafts.insert(role, (index, draft));
        }
        for syntax in file.syntax(wanted) {
            match syntax {
                // The styles for code of another theme come from its own files: such references aren't followed further.
                Syntax::Of(..) if !with_syntax => {}
                Syntax::Of(name, span) => match lookup(&name, &chain[index]) {
                    Ok(source) => {
                        let (other, found) = merge(&source, background, lookup, false);
                        problems.borrow_mut().extend(found);
                        let words = other.roles.into_iter().filter(|(role, _)| role.starts_with("syntax."));
                        drafts.extend(words.map(|(role, style)| (role, (index, RoleDraft::of(style)))));
                    }
                    Err(message) => file.report(span, message),
                },
                Syntax::Words(table) => {
                    for (role, draft) in file.words(table, &palette) {
                        drafts.insert(role, (index, draft));
                    }
                }
            }
        }
        for set in Glyphs::ALL {
            theme.glyphs.extend(file.glyphs(set).map(|(name, shape)| ((set, name), shape)));
        }
    }
    let liked: HashSet<&str> =
        drafts.values().filter_map(|(_, draft)| Some(draft.like.as_ref()?.get_ref().as_str())).collect();
    let mut roles = ByName::default();
    for (role, (index, draft)) in &drafts {
        // A role to which others refer is taken as intended, even if its name is unknown.
        if !draft.at.is_empty()
            && !liked.contains(role.as_str())
            && let Some(message) = wrong_role(role)
        {
            files[*index].report(draft.at.clone(), message);
        }
        let (style, message) = resolve(role, draft, &drafts);
        if let Some(like) = &draft.like {
            let misspelled = || (!drafts.contains_key(like.get_ref())).then(|| wrong_role(like.get_ref()))?;
            if let Some(message) = message.or_else(misspelled) {
                files[*index].report(like.span(), message);
            }
        }
        roles.insert(role.clone(), style);
    }
    (theme.styled(roles), problems.take())
}

/// The definition of each role, and the index of its file.
type Drafts = ByName<(usize, RoleDraft)>;

/// Resolves the style of a role over that of the role to which it refers. Returns a message if that fails.
fn resolve(role: &str, draft: &RoleDraft, drafts: &Drafts) -> (Style, Option<String>) {
    let mut steps = vec![draft];
    let mut problem = None;
    while let Some(like) = steps.last().and_then(|draft| draft.like.as_ref()) {
        let like = like.get_ref();
        match of_role(drafts, like) {
            None => problem = Some(wrong_role(like).unwrap_or_else(|| format!("no role is called {like:?}"))),
            Some(_) if steps.len() >= MOST_STEPS => problem = Some(format!("{role:?} is like itself")),
            Some((_, draft)) => {
                steps.push(draft);
                continue;
            }
        }
        break;
    }
    // A mistake in a later reference is reported there.
    let problem = problem.filter(|_| steps.len() == 1 || steps.len() >= MOST_STEPS);
    (steps.iter().rev().fold(Style::default(), |below, draft| draft.over(below)), problem)
}

/// The theme and the themes that it extends, the theme itself first.
fn chain(source: &ThemeSource, lookup: Lookup<'_>, problems: &mut Vec<ThemeProblem>) -> Vec<ThemeSource> {
    let mut chain = vec![source.clone()];
    while let Some(source) = chain.last() {
        let (table, _) = DeTable::parse_recoverable(&source.text);
        let value = table.get_ref().get("extends");
        let span = value.map_or(0..0, toml::Spanned::span);
        let mut report = |message| problems.push(ThemeProblem::at(source, span.clone(), message));
        let name = match value {
            None if source.name == BASE => break,
            None => BASE,
            Some(value) => match value.get_ref().as_str() {
                Some(NOTHING) => break,
                Some(name) => name,
                None => {
                    report("extends is the name of a theme, or the path of a file, in quotes".to_owned());
                    BASE
                }
            },
        };
        let mut found = lookup(name, source).or_else(|message| {
            report(message);
            lookup(BASE, source)
        });
        let names =
            |chain: &[ThemeSource]| chain.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(" > ");
        if let Ok(base) = &found {
            let is_known = chain.iter().any(|known| known.name == base.name);
            let path = format!("{} > {}", names(&chain), base.name);
            if is_known {
                report(format!("a theme can't extend itself: {path}"));
            } else if chain.len() >= DEEPEST && base.name != BASE {
                report(format!("more than {DEEPEST} themes extend one another: {path}"));
            }
            if is_known || chain.len() >= DEEPEST {
                found = lookup(BASE, source)
                    .ok()
                    .filter(|base| chain.iter().all(|it| it.name != base.name))
                    .ok_or_else(String::new);
            }
        }
        let Ok(base) = found else { break };
        chain.push(base);
    }
    chain
}
