//! The built-in formatting of calls and results, amended by rules and plugins: another label, another argument, an icon, a
//! summary.
//!
//! ```text
//! rules of the profile ─┐
//!                       ├─▶ answers for each field ─▶ Amended ─▶ the view
//! plugins, over rules ──┘                              ▲
//!                                 the built-in formatter
//! ```

use streamfmt_core::clip::{fold, fold_unseen};
use streamfmt_core::entry::{Block, Line, Role, View};
use streamfmt_core::formatter::{Formatter, Verdict};
use streamfmt_core::item::{Action, Item, Kind};
use streamfmt_core::profile::{Detail, Profile};
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;
use streamfmt_core::theme;
use streamfmt_formatters::standard::Standard;

use super::field::ToolField;
use super::filled::filled;
use super::template::Template;

/// Longest argument in a title, in bytes. A longer one is shown below the title.
pub(crate) const SHORT: usize = 160;

/// An item being formatted.
#[derive(Clone, Copy)]
pub(crate) struct FormatRequest<'a> {
    pub(crate) item: &'a Item,
    pub(crate) session: &'a Session,
    /// The call that it answers, if it is a result.
    pub(crate) call: Option<&'a Item>,
}

impl<'a> FormatRequest<'a> {
    /// Looks up the call that the item answers, if it is a result.
    pub(crate) fn of(item: &'a Item, session: &'a Session) -> Self {
        let call = item.call.as_ref().filter(|_| item.kind == Kind::Result).and_then(|id| session.call(id));
        Self { item, session, call }
    }

    /// The tool of the item or its call.
    pub(crate) fn tool(&self) -> Option<&str> {
        self.item.tool.as_deref().or_else(|| self.call?.tool.as_deref())
    }

    /// The action of the tool.
    pub(crate) fn action(&self) -> Option<Action> {
        self.item.action().or_else(|| self.call?.action())
    }

    /// Fills a template for a field. Returns `None` if a value that it names is missing.
    pub(crate) fn fill(&self, template: &Template, field: ToolField) -> Option<Text> {
        let item = if field == ToolField::Label { self.call.unwrap_or(self.item) } else { self.item };
        let text = filled(template, field, item, self)?;
        // A blank summary would hide the result's content.
        (field != ToolField::Summary || !text.trim().is_empty()).then_some(text)
    }

    /// Whether a template yields an argument for the call that this result answers.
    pub(crate) fn fills_call(&self, template: &Template) -> bool {
        let Some(call) = self.call.filter(|_| self.item.kind == Kind::Result) else { return false };
        filled(template, ToolField::Arg, call, self).is_some()
    }
}

/// An argument, shown in the title or below it.
pub(crate) enum Argument {
    Short(Line),
    Long(Text),
}

impl Argument {
    pub(crate) fn of(role: Role, text: Text) -> Self {
        if text.len() > SHORT || text.contains('\n') {
            Self::Long(text)
        } else {
            Self::Short(Line::of(role, text))
        }
    }
}

/// The answer of a layer.
pub(crate) enum Given<T> {
    Use(T),
    Hide,
    Nothing,
}

/// The source of answers for the fields of a tool: rules alone, or plugins and rules.
pub(crate) trait Answers {
    /// Whether there may be an answer for a field.
    fn has(&self, field: ToolField) -> bool;

    /// The word for an icon, a role, or the part to collapse.
    fn word(&self, field: ToolField) -> Option<&str>;

    /// The first answer for a field, as one line in this role.
    fn line(&self, field: ToolField, role: Role) -> Given<Line>;

    /// The first answer for the argument of a call.
    fn argument(&self, role: Role) -> Given<Argument>;

    /// Whether the answers change the argument shown for the call of a result.
    fn changes_call(&self) -> bool;
}

/// Amends the built-in formatting by answers.
pub(crate) struct Amender {
    built_in: Standard,
    detail: Detail,
}

impl Amender {
    pub(crate) fn new(profile: &Profile) -> Self {
        Self { built_in: Standard::of(profile), detail: profile.detail }
    }

    /// An item, with the answers for it.
    pub(crate) fn amend<'a>(&'a self, about: FormatRequest<'a>, answers: &'a dyn Answers) -> Amended<'a> {
        Amended { amender: self, about, answers }
    }
}

/// An item, with the answers for it.
pub(crate) struct Amended<'a> {
    amender: &'a Amender,
    about: FormatRequest<'a>,
    answers: &'a dyn Answers,
}

impl Amended<'_> {
    /// The built-in formatting with the label, argument or summary of the answers.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.about.item.kind {
            Kind::Result => self.summarised(),
            Kind::Call => self
                .built_in_view()
                .map_or(Verdict::Hide, |view| Verdict::Show(self.collapsed(self.titled(view)))),
            _ => self.built_in_view().map_or(Verdict::Hide, Verdict::Show),
        }
    }

    fn built_in_view(&self) -> Option<View> {
        let verdict = if self.answers.changes_call() {
            Ok(self.amender.built_in.format_apart(self.about.item, self.about.session))
        } else {
            self.amender.built_in.format(self.about.item, self.about.session)
        };
        match verdict {
            Ok(Verdict::Show(view)) => Some(view),
            _ => None,
        }
    }

    /// Replaces the label, icon and argument in the view of a call.
    fn titled(&self, mut view: View) -> View {
        let arg = self.answers.argument("call.arg".into());
        let icon = self.answers.word(ToolField::Icon);
        let has_label = self.answers.has(ToolField::Label)
            || self.answers.has(ToolField::Role)
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
        match arg {
            Given::Nothing => {}
            Given::Hide => {
                view.title = view.title.spans().take(end).collect();
                take_argument(&mut view.body, self.amender.detail);
            }
            Given::Use(arg) => {
                view.title = view.title.spans().take(end).collect();
                let before = take_argument(&mut view.body, self.amender.detail);
                match arg {
                    Argument::Long(text) => {
                        let (lang, role) = before.unwrap_or((None, Role::of("call.input")));
                        view.body.insert(0, Block::Code { text, lang, start: None, role });
                    }
                    Argument::Short(line) => {
                        if !view.title.is_empty() && !line.is_empty() {
                            view.title.attach("text", Text::own(" "));
                        }
                        view.title.append(&line);
                    }
                }
            }
        }
        // A mark alone would show that there is a call, but not which.
        if is_blank(&view.title) && view.body.is_empty() {
            view.title = self.amender.built_in.label(self.about.item, self.about.session);
        }
        view
    }

    /// The label of a call: the answered one, or the tool's name.
    pub(crate) fn label(&self) -> Line {
        let role = self.answers.word(ToolField::Role).and_then(Role::parse);
        let usual = role.unwrap_or(Role::of("tool.name"));
        let mut line = match self.answers.line(ToolField::Label, usual) {
            Given::Use(label) => label,
            Given::Hide => Line::default(),
            Given::Nothing => {
                let mut line = self
                    .amender
                    .built_in
                    .label(self.about.call.unwrap_or(self.about.item), self.about.session);
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
        if let Some(icon) = self.answers.word(ToolField::Icon).filter(|icon| theme::mark(icon).is_none()) {
            let named = std::mem::replace(&mut line, Line::of("tool.icon", format!("{icon} ")));
            line.append(&named);
        }
        line
    }

    /// Formats a result with the answered summary, which replaces the built-in one or, for a failure, is appended to it. A blank
    /// summary shows nothing, and hides a result that has no other content.
    fn summarised(&self) -> Verdict {
        let view = match self.answers.line(ToolField::Summary, "result.note".into()) {
            Given::Hide => None,
            Given::Nothing => self.built_in_view(),
            Given::Use(title) => {
                let is_error = self.about.item.error;
                // A summary also applies if the built-in formatter shows nothing.
                let mut view = if is_error || self.amender.detail != Detail::Compact {
                    self.built_in_view().unwrap_or_default()
                } else {
                    View { mark: self.amender.built_in.mark(self.about.item), ..View::default() }
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
        };
        view.map_or(Verdict::Hide, |view| Verdict::Show(self.collapsed(view)))
    }

    /// Folds the body of a view, if the answers ask for it. A call that is folded with its result takes one line: the content of the
    /// result is shown only if it failed or has a summary.
    pub(crate) fn collapsed(&self, mut view: View) -> View {
        let Some(wanted) = self.answers.word(ToolField::Collapse) else { return view };
        let item = self.about.item;
        match (wanted, item.kind) {
            ("both", Kind::Result) if item.error || view.is_failure() => fold(&mut view),
            ("both", Kind::Result) => fold_unseen(&mut view, self.answers.has(ToolField::Summary)),
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
