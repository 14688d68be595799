//! What the built-in formatter says of calls and results, with what else is said of their tools: another label, another
//! argument, an icon, a summary.
//!
//! ```text
//! rules of the profile ─┐
//!                       ├─▶ answers for each field ─▶ Amended ─▶ the view
//! plugins, over rules ──┘                              ▲
//!                                 the built-in formatter
//! ```

use streamfmt_core::clip::{fold, fold_unseen};
use streamfmt_core::entry::{Block, Line, Role, Span, View};
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

/// Longest argument that stands in a title, in bytes.
pub(crate) const SHORT: usize = 160;

/// An item that is formatted.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) item: &'a Item,
    pub(crate) session: &'a Session,
    /// The call that it answers, if it is a result.
    pub(crate) call: Option<&'a Item>,
}

impl<'a> About<'a> {
    /// An item, with the call that it answers if it is a result.
    pub(crate) fn of(item: &'a Item, session: &'a Session) -> Self {
        let call = item.call.as_ref().filter(|_| item.kind == Kind::Result).and_then(|id| session.call(id));
        Self { item, session, call }
    }

    /// The tool that it is about.
    pub(crate) fn tool(&self) -> Option<&str> {
        self.item.tool.as_deref().or_else(|| self.call?.tool.as_deref())
    }

    /// What its tool does.
    pub(crate) fn action(&self) -> Option<Action> {
        self.item.action().or_else(|| self.call?.action())
    }

    /// What a template says for a field; `None` if something that it names isn't there.
    pub(crate) fn fill(&self, template: &Template, field: ToolField) -> Option<Text> {
        let item = if field == ToolField::Label { self.call.unwrap_or(self.item) } else { self.item };
        let text = filled(template, field, item, self)?;
        // An empty summary would be all that is shown of a result.
        (field != ToolField::Summary || !text.trim().is_empty()).then_some(text)
    }

    /// Whether a template says an argument of the call that this result answers.
    pub(crate) fn fills_call(&self, template: &Template) -> bool {
        let Some(call) = self.call.filter(|_| self.item.kind == Kind::Result) else { return false };
        filled(template, ToolField::Arg, call, self).is_some()
    }
}

/// An argument: part of the title, or told under it.
pub(crate) enum Argument {
    Short(Line),
    Long(Text),
}

impl Argument {
    pub(crate) fn of(role: &Role, text: Text) -> Self {
        if text.len() > SHORT || text.contains('\n') {
            Self::Long(text)
        } else {
            Self::Short(Line::of(role.clone(), text))
        }
    }
}

/// What was answered.
pub(crate) enum Given<T> {
    Use(T),
    Hide,
    Nothing,
}

/// Who answers for the fields of a tool: rules alone, or plugins over and under them.
pub(crate) trait Answers {
    /// Whether there may be an answer.
    fn has(&self, field: ToolField) -> bool;

    /// The word for an icon, a role or what is folded.
    fn word(&self, field: ToolField) -> Option<&str>;

    /// The first answer, as one line of a role.
    fn line(&self, field: ToolField, role: &Role) -> Given<Line>;

    /// The first answer to what a call's argument is.
    fn argument(&self, role: &Role) -> Given<Argument>;

    /// Whether they say what the call of a result was asked to do.
    fn retells_call(&self) -> bool;
}

/// Puts answers into what the built-in formatter says.
pub(crate) struct Amender {
    built_in: Standard,
    detail: Detail,
}

impl Amender {
    pub(crate) fn new(profile: &Profile) -> Self {
        Self { built_in: Standard::of(profile), detail: profile.detail }
    }

    /// An item with the answers for it.
    pub(crate) fn amend<'a>(&'a self, about: About<'a>, answers: &'a dyn Answers) -> Amended<'a> {
        Amended { amender: self, about, answers }
    }
}

/// An item with the answers for it.
pub(crate) struct Amended<'a> {
    amender: &'a Amender,
    about: About<'a>,
    answers: &'a dyn Answers,
}

impl Amended<'_> {
    /// What the built-in formatter says, with the label, the argument or the summary of the answers.
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
        let verdict = if self.answers.retells_call() {
            Ok(self.amender.built_in.format_apart(self.about.item, self.about.session))
        } else {
            self.amender.built_in.format(self.about.item, self.about.session)
        };
        match verdict {
            Ok(Verdict::Show(view)) => Some(view),
            _ => None,
        }
    }

    /// A call's view with their label, icon and argument.
    fn titled(&self, mut view: View) -> View {
        let arg = self.answers.argument(&Role::of("call.arg"));
        let icon = self.answers.word(ToolField::Icon);
        let is_label_said = self.answers.has(ToolField::Label)
            || self.answers.has(ToolField::Role)
            || matches!(icon, Some(icon) if theme::mark(icon).is_none());
        if let Some(mark) = icon.and_then(theme::mark) {
            view.mark = Some(mark);
        }
        let mut end = name_end(&view.title);
        if is_label_said {
            let label = self.label().spans;
            let length = label.len();
            view.title.spans.splice(..end, label);
            end = length;
        }
        match arg {
            Given::Nothing => {}
            Given::Hide => {
                view.title.spans.truncate(end);
                take_argument(&mut view.body, self.amender.detail);
            }
            Given::Use(arg) => {
                view.title.spans.truncate(end);
                let before = take_argument(&mut view.body, self.amender.detail);
                match arg {
                    Argument::Long(text) => {
                        let (lang, role) = before.unwrap_or((None, Role::of("call.input")));
                        view.body.insert(0, Block::Code { text, lang, start: None, role });
                    }
                    Argument::Short(line) => {
                        if !view.title.is_empty() && !line.is_empty() {
                            view.title.spans.push(Span::new("text", Text::own(" ")));
                        }
                        view.title.spans.extend(line.spans);
                    }
                }
            }
        }
        // A mark alone would say that there is a call, but not which.
        if is_blank(&view.title) && view.body.is_empty() {
            view.title = self.amender.built_in.label(self.about.item, self.about.session);
        }
        view
    }

    /// The label of a call: theirs, or the tool's name.
    pub(crate) fn label(&self) -> Line {
        let role = self.answers.word(ToolField::Role).and_then(Role::parse);
        let usual = role.clone().unwrap_or(Role::of("tool.name"));
        let mut line = match self.answers.line(ToolField::Label, &usual) {
            Given::Use(label) => label,
            Given::Hide => Line::default(),
            Given::Nothing => {
                let mut line = self
                    .amender
                    .built_in
                    .label(self.about.call.unwrap_or(self.about.item), self.about.session);
                if let (Some(role), Some(name)) = (role, line.spans.last_mut()) {
                    name.role = role;
                }
                line
            }
        };
        if let Some(icon) = self.answers.word(ToolField::Icon).filter(|icon| theme::mark(icon).is_none()) {
            line.spans.insert(0, Span::new("tool.icon", Text::clean_owned(format!("{icon} "))));
        }
        line
    }

    /// A result's view with their summary: instead of its own words, or behind those of a failure. A blank one says
    /// nothing, and hides a result that has no more to say.
    fn summarised(&self) -> Verdict {
        let view = match self.answers.line(ToolField::Summary, &Role::of("result.note")) {
            Given::Hide => None,
            Given::Nothing => self.built_in_view(),
            Given::Use(title) => {
                let is_error = self.about.item.error;
                // It may speak where the built-in formatter has nothing to say.
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
                        both.spans.push(Span::new("result.note", Text::own(" · ")));
                    }
                    both.spans.extend(title.spans);
                    view = view.retitled(both);
                }
                Some(view).filter(|view| !is_blank(&view.title) || !view.body.is_empty())
            }
        };
        view.map_or(Verdict::Hide, |view| Verdict::Show(self.collapsed(view)))
    }

    /// The view with its body folded away, if they want that. Of a call that is folded with its result one line is left: what the result
    /// came to is shown only if it failed, or if a summary was asked for.
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
    line.spans.iter().all(|span| span.text.trim().is_empty())
}

/// Where the name of the tool ends in a title: after its span.
fn name_end(title: &Line) -> usize {
    title.spans.iter().position(|span| span.role.name() == "tool.name").map_or(0, |at| at + 1)
}

/// Takes out the long form of an argument, which another one replaces; where nothing is left out, everything stays. Gives what
/// it was.
fn take_argument(body: &mut Vec<Block>, detail: Detail) -> Option<(Option<Text>, Role)> {
    if detail != Detail::Compact {
        return None;
    }
    let mut first = None;
    body.retain_mut(|block| match block {
        Block::Code { lang, role, .. } if role.name().starts_with("call.") => {
            first = first.take().or_else(|| Some((lang.take(), role.clone())));
            false
        }
        Block::Lines { lines } => {
            let is_input =
                |line: &Line| line.spans.first().is_some_and(|it| it.role.name().starts_with("call."));
            !lines.iter().all(is_input)
        }
        _ => true,
    });
    first
}
