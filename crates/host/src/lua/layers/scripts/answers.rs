//! What each layer answers for one item, for tools that explain its formatting.

use streamfmt_core::entry::{Block, Entry, Line, View};
use streamfmt_core::formatter::Verdict;
use streamfmt_core::item::Item;
use streamfmt_core::profile::Layout;
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;
use streamfmt_core::writer::Writer;
use streamfmt_writers::terminal::{Look, Paint, Terminal};

use super::{ScriptOverride, Scripts};
use crate::tools::field::{FieldValue, ToolField};
use crate::tools::request::FormatRequest;

impl Scripts {
    /// The answers of all overrides of an item, in order: of those for `field`, or for the views of the item's kind. `None` for
    /// one whose answer is constant.
    pub(crate) fn answers(
        &self,
        item: &Item,
        session: &Session,
        field: Option<ToolField>,
    ) -> Vec<Option<String>> {
        let call = item.call.as_ref().and_then(|id| session.call(id));
        let request = FormatRequest { call, ..FormatRequest::alone(item, session) };
        let all = self.overrides(request);
        let of_field = all.iter().enumerate().filter(|(_, one)| one.field == field);
        let give = |(at, one)| self.plugins.current.show(request, || self.answer(request, &all, at, one));
        of_field.map(give).collect()
    }

    fn answer(
        &self,
        request: FormatRequest<'_>,
        all: &[ScriptOverride],
        at: usize,
        one: &ScriptOverride,
    ) -> Option<String> {
        if let FieldValue::Word(_) = one.value {
            return None;
        }
        self.plugins.take_failures();
        let is_whole = matches!(one.field, None | Some(ToolField::Call | ToolField::Result));
        let role = match one.field {
            Some(ToolField::Summary) => "result.note",
            Some(ToolField::Arg) => "call.arg",
            _ => "tool.name",
        };
        let verdict = match one.field {
            Some(field) if !is_whole => {
                self.with_fields(request, std::slice::from_ref(one), |fields| fields.first(field, role))
            }
            _ => self.call_whole(request, all, one, at + 1),
        };
        Some(match (verdict, self.plugins.take_failures().first()) {
            (Verdict::Show(view), _) if is_whole => to_text(request.item, view),
            (Verdict::Show(view), _) => match view.body.first() {
                Some(Block::Code { text, .. }) => Line::of("call.arg", text.clone()).text().to_owned(),
                _ => view.title.text().to_owned(),
            },
            (Verdict::Hide, _) => "false: nothing is shown".to_owned(),
            (Verdict::Pass, Some(failure)) => format!("fails: {}", failure.message),
            (Verdict::Pass, None) => "nil: the next layer is asked".to_owned(),
        })
    }
}

/// Formats a view as text.
fn to_text(item: &Item, view: View) -> String {
    let entry = Entry {
        tool: item.tool.as_deref().map(Text::clean),
        action: item.action(),
        status: item.status,
        ..Entry::new(item.id.clone(), item.kind, view)
    };
    let (mut out, mut writer) = (String::new(), plain(0));
    // Writing to a string can't fail.
    let _ = writer.node(&entry.into(), &mut out).and_then(|()| writer.end(&mut out));
    out.trim_end().to_owned()
}

/// A plain-text writer without blank lines between entries, with a margin of `margin` blanks for entries without a mark.
pub(crate) fn plain(margin: usize) -> Terminal {
    let layout = Layout { gap: 0, margin, ..Layout::default() };
    Terminal::new(Look {
        paint: Paint::Plain,
        width: None,
        layout,
        markdown: false,
        timestamps: None,
        dates: None,
        hang: 0,
        text_end: None,
    })
}
