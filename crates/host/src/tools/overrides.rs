//! The built-in formatting of calls and results, overridden by rules and plugins: another label, another argument, an icon, a
//! summary.
//!
//! ```text
//! rules of the profile ─┐
//!                       ├─▶ overrides of each field ─▶ FieldOverrides::apply ─▶ the view
//! plugins, over rules ──┘                              ▲
//!                                       the built-in formatter
//! ```

use std::cell::RefCell;
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use streamfmt_core::clip::{fold, fold_unseen};
use streamfmt_core::entry::{Block, Line, Role, View};
use streamfmt_core::formatter::{Formatter, Verdict};
use streamfmt_core::item::{Action, Kind};
use streamfmt_core::profile::Detail;
use streamfmt_core::text::Text;
use streamfmt_core::theme;
use streamfmt_formatters::standard::Standard;

use super::field::{FieldValue, ToolField};
use super::pattern::Rule;
use super::request::FormatRequest;
use super::rule::Origin;

/// Longest argument in a title, in bytes. A longer one is shown below the title.
pub(crate) const SHORT: usize = 160;
/// Most tools that are cached.
const MOST_TOOLS: usize = 1_024;

/// The owner of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "lua"), expect(dead_code, reason = "without scripts, there is one layer"))]
pub(crate) enum LayerId {
    /// A plugin in Lua, counted from the lowest.
    Plugin(usize),
    /// A native plugin, counted from the lowest.
    Native(usize),
    /// The profile.
    Profile,
}

/// What a layer sets for one field of some tools, or for the view of a kind.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "lua"), expect(dead_code, reason = "without scripts, nothing is explained"))]
pub(crate) struct Override<F> {
    pub(crate) layer: LayerId,
    /// `None`: the view of an item that is neither a call nor a result.
    pub(crate) field: Option<ToolField>,
    pub(crate) value: FieldValue<F>,
    /// The tool pattern or kind that it was registered for.
    pub(crate) pattern: String,
    /// The place where it was registered.
    pub(crate) origin: Option<Origin>,
}

impl<F> Override<F> {
    /// One of the profile, or of a layer that is set later.
    pub(crate) fn new(
        field: Option<ToolField>,
        value: FieldValue<F>,
        pattern: &str,
        origin: Option<Origin>,
    ) -> Self {
        Self { layer: LayerId::Profile, field, value, pattern: pattern.to_owned(), origin }
    }
}

/// The overrides that apply to a tool, in order of precedence. The layers come from the top down.
pub(crate) fn overrides_of<'r, F: Clone + 'r>(
    layers: impl IntoIterator<Item = (LayerId, &'r [Rule<F>])>,
    tool: &str,
    action: Option<Action>,
) -> Vec<Override<F>> {
    let mut found: Vec<Override<F>> = Vec::new();
    for (layer, rules) in layers {
        for one in Rule::matching(rules, tool, action).into_iter().flat_map(|rule| &rule.overrides) {
            // A native plugin is called once, even if several of its groups match.
            let is_twice = |known: &Override<F>| known.layer == layer && known.field == one.field;
            if !matches!(one.value, FieldValue::Native) || !found.iter().any(is_twice) {
                found.push(Override { layer, ..one.clone() });
            }
        }
    }
    found
}

/// The overrides for one action of a tool.
type PerAction<F> = Vec<(Option<Action>, Arc<[Override<F>]>)>;

/// The overrides that apply to each tool, cached. Most tools have a single action.
pub(crate) struct Overrides<F>(RefCell<IndexMap<String, PerAction<F>, RandomState>>);

impl<F> Default for Overrides<F> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<F> Overrides<F> {
    /// The overrides for a tool, found now if they aren't cached.
    pub(crate) fn get(
        &self,
        tool: &str,
        action: Option<Action>,
        find: impl FnOnce() -> Vec<Override<F>>,
    ) -> Arc<[Override<F>]> {
        let mut all = self.0.borrow_mut();
        let known = all.get(tool).and_then(|known| known.iter().find(|(of, _)| *of == action));
        if let Some((_, known)) = known {
            return Arc::clone(known);
        }
        let found: Arc<[Override<F>]> = find().into();
        if all.len() >= MOST_TOOLS {
            all.clear();
        }
        all.entry(tool.to_owned()).or_default().push((action, Arc::clone(&found)));
        found
    }
}

/// The title that a text gives, or for a long argument the block.
pub(crate) fn text_view(field: ToolField, role: Role, text: Text) -> View {
    if field == ToolField::Arg && (text.len() > SHORT || text.contains('\n')) {
        return View::of(vec![Block::Code { text, lang: None, start: None, role: "call.input".into() }]);
    }
    View { title: Line::of(role, text), ..View::default() }
}

/// An item with its overrides.
pub(crate) struct FieldOverrides<'a, F> {
    pub(crate) standard: &'a Standard,
    pub(crate) request: FormatRequest<'a>,
    /// The overrides for the item, in order of precedence.
    pub(crate) all: &'a [Override<F>],
    /// Whether a layer was disabled after too many failures.
    pub(crate) is_off: &'a dyn Fn(LayerId) -> bool,
    /// Calls a function for its field. `Show` has the line, in this role, as its title, or a long argument as its block.
    pub(crate) call: &'a dyn Fn(&Override<F>, &F, Role) -> Verdict,
}

impl<F> FieldOverrides<'_, F> {
    fn of(&self, field: ToolField) -> impl Iterator<Item = &Override<F>> {
        self.all.iter().filter(move |one| one.field == Some(field))
    }

    /// Whether a field may have an answer.
    pub(crate) fn has(&self, field: ToolField) -> bool {
        self.of(field).next().is_some()
    }

    /// The word for an icon, a role, or the part to collapse.
    fn word(&self, field: ToolField) -> Option<&str> {
        self.of(field).find_map(|one| match &one.value {
            FieldValue::Word(word) if !(self.is_off)(one.layer) => Some(word.as_str()),
            _ => None,
        })
    }

    /// The first answer for a label, an argument or a summary.
    pub(crate) fn first(&self, field: ToolField, role: impl Into<Role>) -> Verdict {
        let role = role.into();
        for one in self.of(field).filter(|one| !(self.is_off)(one.layer)) {
            let verdict = match &one.value {
                FieldValue::Word(_) | FieldValue::Native => Verdict::Pass,
                FieldValue::Template(template) => match self.request.fill(template, field) {
                    Some(text) => Verdict::Show(text_view(field, role, text)),
                    None => Verdict::Pass,
                },
                FieldValue::Function(function) => (self.call)(one, function, role),
            };
            if !matches!(verdict, Verdict::Pass) {
                return verdict;
            }
        }
        Verdict::Pass
    }

    /// Whether the argument shown for the call of a result is overridden. A function counts even if it returns nothing for this call.
    fn changes_call(&self) -> bool {
        if self.request.item.kind != Kind::Result || self.request.call.is_none() {
            return false;
        }
        self.of(ToolField::Arg).chain(self.of(ToolField::Call)).any(|one| match &one.value {
            FieldValue::Template(template) => self.request.fills_call(template),
            FieldValue::Function(_) | FieldValue::Native => !(self.is_off)(one.layer),
            FieldValue::Word(_) => false,
        })
    }

    /// The built-in formatting with the label, argument or summary of the overrides.
    pub(crate) fn apply(&self) -> Verdict {
        let view = match self.request.item.kind {
            Kind::Result => self.summarised().map(|view| self.collapsed(view)),
            Kind::Call => self.built_in().map(|view| self.collapsed(self.titled(view))),
            _ => self.built_in(),
        };
        view.map_or(Verdict::Hide, Verdict::Show)
    }

    fn built_in(&self) -> Option<View> {
        let FormatRequest { item, session, .. } = self.request;
        let verdict = if self.changes_call() {
            Ok(self.standard.format_apart(item, session))
        } else {
            self.standard.format(item, session)
        };
        match verdict {
            Ok(Verdict::Show(view)) => Some(view),
            _ => None,
        }
    }

    /// Replaces the label, icon and argument in the view of a call.
    fn titled(&self, mut view: View) -> View {
        let arg = match self.first(ToolField::Arg, "call.arg") {
            Verdict::Pass => None,
            Verdict::Hide => Some(View::default()),
            Verdict::Show(arg) => Some(arg),
        };
        let icon = self.word(ToolField::Icon);
        let has_label = self.has(ToolField::Label)
            || self.has(ToolField::Role)
            || matches!(icon, Some(icon) if theme::mark(icon).is_none());
        if let Some(mark) = icon.and_then(theme::mark) {
            view.mark = Some(mark);
        }
        let mut end = name_end(&view.title);
        if has_label {
            let title = std::mem::replace(&mut view.title, self.label());
            let length = view.title.spans().len();
            title.spans().skip(end).for_each(|span| view.title.attach_span(span));
            end = length;
        }
        if let Some(mut arg) = arg {
            view.title = view.title.spans().take(end).collect();
            let before = take_argument(&mut view.body, self.standard.detail());
            if let Some(mut long) = arg.body.pop() {
                if let (Block::Code { lang, role, .. }, Some(before)) = (&mut long, before) {
                    (*lang, *role) = before;
                }
                view.body.insert(0, long);
            } else {
                if !view.title.is_empty() && !arg.title.is_empty() {
                    view.title.attach("text", Text::own(" "));
                }
                view.title.append(&arg.title);
            }
        }
        // A mark alone would show that there is a call, but not which.
        if is_blank(&view.title) && view.body.is_empty() {
            view.title = self.standard.label(self.request.item, self.request.session);
        }
        view
    }

    /// The label of a call: the overriding one, or the tool's name.
    pub(crate) fn label(&self) -> Line {
        let role = self.word(ToolField::Role).and_then(Role::parse);
        let mut line = match self.first(ToolField::Label, role.unwrap_or(Role::of("tool.name"))) {
            Verdict::Show(label) => label.title,
            Verdict::Hide => Line::default(),
            Verdict::Pass => {
                let call = self.request.call.unwrap_or(self.request.item);
                let mut line = self.standard.label(call, self.request.session);
                if let Some(role) = role {
                    let last = line.spans().len().saturating_sub(1);
                    let spans = line.spans().enumerate().map(|(at, mut span)| {
                        span.role = if at == last { role } else { span.role };
                        span
                    });
                    line = spans.collect();
                }
                line
            }
        };
        if let Some(icon) = self.word(ToolField::Icon).filter(|icon| theme::mark(icon).is_none()) {
            let named = std::mem::replace(&mut line, Line::of("tool.icon", format!("{icon} ")));
            line.append(&named);
        }
        line
    }

    /// Formats a result with the overriding summary, which replaces the built-in one or, for a failure, is appended to it. A blank
    /// summary shows nothing, and hides a result that has no other content.
    fn summarised(&self) -> Option<View> {
        let title = match self.first(ToolField::Summary, "result.note") {
            Verdict::Hide => return None,
            Verdict::Pass => return self.built_in(),
            Verdict::Show(summary) => summary.title,
        };
        let is_error = self.request.item.error;
        // A summary also applies if the built-in formatter shows nothing.
        let mut view = if is_error || self.standard.detail() != Detail::Compact {
            self.built_in().unwrap_or_default()
        } else {
            View { mark: self.standard.mark(self.request.item), ..View::default() }
        };
        if !is_error {
            view = view.retitled(title);
        } else if !is_blank(&title) {
            let mut both = std::mem::take(&mut view.title);
            if !both.is_empty() {
                both.attach("result.note", Text::own(" · "));
            }
            both.append(&title);
            view = view.retitled(both);
        }
        Some(view).filter(|view| !is_blank(&view.title) || !view.body.is_empty())
    }

    /// Folds the body of a view, if an override asks for it. A call that is folded with its result takes one line: the content of the
    /// result is shown only if it failed or has a summary.
    pub(crate) fn collapsed(&self, mut view: View) -> View {
        let Some(wanted) = self.word(ToolField::Collapse) else { return view };
        let item = self.request.item;
        match (wanted, item.kind) {
            ("both", Kind::Result) if item.error || view.is_failure() => fold(&mut view),
            ("both", Kind::Result) => fold_unseen(&mut view, self.has(ToolField::Summary)),
            ("both", Kind::Call) => fold_unseen(&mut view, true),
            (word, kind) if word == kind.name() => fold(&mut view),
            _ => {}
        }
        view
    }
}

/// Whether a line shows nothing.
fn is_blank(line: &Line) -> bool {
    line.text().trim().is_empty()
}

/// The index after the span with the tool's name.
fn name_end(title: &Line) -> usize {
    title.roles().position(|role| role == Role::of("tool.name")).map_or(0, |at| at + 1)
}

/// Removes the long form of an argument, which another one replaces, and returns its language and role. If the detail isn't
/// compact, everything stays.
fn take_argument(body: &mut Vec<Block>, detail: Detail) -> Option<(Option<Text>, Role)> {
    if detail != Detail::Compact {
        return None;
    }
    let mut first = None;
    body.retain_mut(|block| match block {
        Block::Code { lang, role, .. } if role.name().starts_with("call.") => {
            first = first.take().or_else(|| Some((lang.take(), *role)));
            false
        }
        Block::Lines { lines } => {
            let is_input =
                |line: &Line| line.roles().next().is_some_and(|role| role.name().starts_with("call."));
            !lines.iter().all(is_input)
        }
        _ => true,
    });
    first
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn a_full_cache_is_emptied_and_the_overrides_stay_the_same() {
        let cache = Overrides::<Infallible>::default();
        let word = |word: String| {
            let (layer, field) = (LayerId::Profile, Some(ToolField::Icon));
            vec![Override {
                layer,
                field,
                value: FieldValue::Word(word),
                pattern: "*".to_owned(),
                origin: None,
            }]
        };
        let known = |tool: &str, find: String| match &cache.get(tool, None, || word(find))[..] {
            [Override { value: FieldValue::Word(word), .. }] => word.clone(),
            _ => panic!("one word"),
        };
        for number in 0..=MOST_TOOLS {
            assert_eq!(known(&format!("T{number}"), number.to_string()), number.to_string());
            assert!(cache.0.borrow().len() <= MOST_TOOLS);
        }
        assert_eq!(known("T0", "7".to_owned()), "7", "found again");
    }
}
