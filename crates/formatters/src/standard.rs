//! The last formatter of the chain, which decides about every item.

use crate::context::{ItemContext, images};
use crate::{calls, notices, outcome, results, tools};
use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::formatter::{FormatError, Formatter, Verdict};
use streamfmt_core::item::{FactRef, Item, Kind, Status};
use streamfmt_core::profile::{Detail, Filter, Profile, Selector};
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;

/// Shows or hides every item: it never passes an item on and never fails.
#[derive(Clone, Debug)]
pub struct Standard {
    detail: Detail,
    /// Groups of items that are never hidden.
    shown: Vec<Selector>,
}

impl Standard {
    /// Creates a formatter with this level of detail.
    pub fn new(detail: Detail) -> Self {
        Self { detail, shown: Vec::new() }
    }

    /// Creates the formatter for a profile.
    pub fn of(profile: &Profile) -> Self {
        Self { detail: profile.detail, shown: profile.filter.shown() }
    }

    /// Returns its level of detail.
    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// Whether the formatter of a profile may show items of minor importance.
    pub(super) fn shows_minor(profile: &Profile) -> bool {
        profile.detail != Detail::Compact || profile.filter != Filter::default()
    }

    /// Returns the name of a call's tool, which is the start of the call's title.
    pub fn label(&self, call: &Item, session: &Session) -> Line {
        calls::name(self.context(call, session))
    }

    /// Returns the mark of a result's view.
    pub fn mark(&self, result: &Item) -> Option<&'static str> {
        results::mark(result)
    }

    /// Formats a result whose call another formatter shows, so that nothing is left out because the call's title would contain it.
    pub fn format_apart(&self, result: &Item, session: &Session) -> Verdict {
        self.verdict(ItemContext { is_apart: true, ..self.context(result, session) })
    }

    /// Returns the view of an item; `None` hides it.
    pub fn view(&self, item: &Item, session: &Session) -> Option<View> {
        self.shown_view(self.context(item, session))
    }

    fn context<'a>(&self, item: &'a Item, session: &'a Session) -> ItemContext<'a> {
        ItemContext {
            item,
            session,
            whole: self.detail != Detail::Compact,
            full: self.detail == Detail::Full,
            is_apart: false,
        }
    }

    fn verdict(&self, context: ItemContext<'_>) -> Verdict {
        self.shown_view(context).map_or(Verdict::Hide, Verdict::Show)
    }

    /// Returns the view of an item. An item in one of the groups to be shown gets the view in full if it would be hidden.
    fn shown_view(&self, context: ItemContext<'_>) -> Option<View> {
        view(context).or_else(|| {
            if !self.shown.iter().any(|group| group.matches(context.item)) {
                return None;
            }
            // Its text is in its reply, so no level of detail shows it.
            if context.item.kind == Kind::Record {
                return Some(record(context.item));
            }
            if context.full { None } else { view(ItemContext { whole: true, full: true, ..context }) }
        })
    }
}

impl Formatter for Standard {
    fn name(&self) -> &'static str {
        "built-in"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        Ok(self.verdict(self.context(item, session)))
    }
}

/// Returns the view of an item; `None` hides it.
fn view(context: ItemContext<'_>) -> Option<View> {
    let item = context.item;
    let view = match item.kind {
        Kind::Reply if context.is("structured") => {
            Some(View::of(vec![outcome::json(item.clean_text(), "reply")]))
        }
        Kind::Reply => context.text_view("reply", None),
        Kind::Prompt if context.whole && context.is_task_of_call() => return None,
        Kind::Prompt if item.parent.is_some() => context.text_view("prompt.task", Some("prompt")),
        Kind::Prompt => context.text_view("prompt", Some("prompt")),
        Kind::Thinking => thinking(context),
        Kind::Call => calls::view(context, tools::functions_of(item.tool_kind).0),
        Kind::Result => results::view(context, tools::functions_of(context.tool_kind()).1),
        Kind::Plan => Some(plan(context)),
        Kind::Notice => notices::view(context),
        Kind::Outcome => Some(outcome::view(context)),
        // The text of a record of a reply is in that reply.
        Kind::Record if item.text().is_empty() => return None,
        Kind::Record => Some(record(item)),
        Kind::Unknown if context.item.is_blank() => return None,
        Kind::Unknown => Some(unknown(context)),
    };
    if view.is_some() || !context.full {
        return view;
    }
    let text = item.clean_text();
    (!text.trim().is_empty()).then(|| View::of(vec![Block::text("text", text)]))
}

impl ItemContext<'_> {
    /// For a prompt: whether the call that it is inside has it as its input, and so shows it.
    fn is_task_of_call(self) -> bool {
        let call = self.item.parent.as_ref().and_then(|id| self.session.call(id));
        let prompt = call.and_then(|call| call.does().text("prompt"));
        prompt.is_some_and(|prompt| prompt == self.item.clean_text()) && self.fact("images").is_none()
    }

    /// Returns the view of the item's text and images; `None` if it has neither.
    fn text_view(self, role: &'static str, mark: Option<&'static str>) -> Option<View> {
        let mut body = Vec::new();
        let short = self.text("words").filter(|_| !self.full);
        let mut text = short.unwrap_or_else(|| self.item.clean_text());
        // A reply that continues one that was cut may begin with the blank between them. Four would begin a block of code.
        let blanks = text.len() - text.trim_start_matches(' ').len();
        if !self.full && (1..4).contains(&blanks) {
            text = text.without_start(blanks);
        }
        if !text.trim().is_empty() {
            body.push(Block::prose(role, text));
        }
        // Mark a thought or reply that was cut off, so that it doesn't look complete.
        if self.item.status == Status::Cancelled && !body.is_empty() {
            body.push(Block::line(Line::of("muted", "… cut off")));
        }
        images(self, &mut body);
        (!body.is_empty()).then(|| View { mark, ..View::of(body) })
    }
}

fn thinking(context: ItemContext<'_>) -> Option<View> {
    if !context.whole {
        return None;
    }
    context.text_view("thinking", Some("thinking")).or_else(|| {
        if !context.full {
            return None;
        }
        let note = if context.is("redacted") { "thinking, not shown by the model" } else { "empty thinking" };
        Some(View::titled("thinking", Line::of("thinking", note)))
    })
}

fn plan(context: ItemContext<'_>) -> View {
    let items = context.fact("todos").map(|todos| tools::points(todos, context.full)).unwrap_or_default();
    let done = items.iter().filter(|item| item.point == streamfmt_core::entry::Point::Done).count();
    let mut view = View::titled("plan", Line::of("plan", "Plan"));
    if items.is_empty() {
        let text = context.item.clean_text();
        view.title.push("plan.note", if text.is_empty() { Text::own("empty") } else { text });
    } else {
        view.title.push("plan.note", format!("{done} of {} done", items.len()));
        let text = context.item.clean_text();
        if !text.trim().is_empty() {
            view.body.push(Block::prose("plan", text));
        }
        view.body.push(Block::List { items });
    }
    view
}

fn record(item: &Item) -> View {
    let written = item.record.as_ref().map_or("", |record| record.text());
    View::of(vec![Block::text("record", Text::clean(written))])
}

fn unknown(context: ItemContext<'_>) -> View {
    if context.is("raw") {
        return View::of(vec![Block::text("unknown", context.item.clean_text().trimmed_end())]);
    }
    let kind = context.text("type").filter(|kind| !kind.trim().is_empty());
    if let Some(FactRef::Json(value)) = context.fact("value")
        && (context.fact("type").is_none() || !context.item.text().is_empty())
    {
        return notices::object(context, value);
    }
    notices::uninterpreted(context, kind.unwrap_or(Text::own("unknown")))
}
