//! What each layer answers for one item, for tools that explain its formatting.

use std::rc::Rc;

use streamfmt_core::entry::{Entry, Role, View};
use streamfmt_core::item::Item;
use streamfmt_core::profile::Layout;
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;
use streamfmt_core::writer::Writer;
use streamfmt_writers::terminal::{Look, Paint, Terminal};

use super::{FieldAnswer, LayerAnswers, ScriptItem, Scripts};
use crate::lua::layers::{Ladder, LadderStep};
use crate::tools::amend::{Answers, FormatRequest, Given};
use crate::tools::field::ToolField;

impl Scripts {
    /// The answers of all steps of a ladder for an item, in order: of the steps for `field`, or for the views of the item's kind.
    /// `None` for a step whose answer is constant.
    pub(crate) fn answers(
        &self,
        item: &Item,
        session: &Session,
        field: Option<ToolField>,
    ) -> Vec<Option<String>> {
        let call = item.call.as_ref().and_then(|id| session.call(id));
        let about = FormatRequest { item, session, call };
        let ladder = self.ladder(about);
        let steps = field.map_or(&ladder.views[..], |field| ladder.field(field));
        let focus = ScriptItem { about, ladder: Rc::clone(&ladder), is_frame: false };
        let give = |(at, step)| self.plugins.current.show(about, || self.answer(&focus, field, at, step));
        steps.iter().enumerate().map(give).collect()
    }

    fn answer(
        &self,
        focus: &ScriptItem<'_>,
        field: Option<ToolField>,
        at: usize,
        step: &LadderStep,
    ) -> Option<String> {
        if let FieldAnswer::Word(_) = step.answer {
            return None;
        }
        self.plugins.take_failures();
        let whole = match (field, &step.answer) {
            (_, FieldAnswer::Native) => Some(self.call_native(focus, step, at + 1)),
            (None | Some(ToolField::Call | ToolField::Result), FieldAnswer::Function(function)) => {
                Some(self.call_whole(focus, step, function, at + 1))
            }
            _ => None,
        };
        if let Some(given) = whole {
            return Some(self.describe(given, |view| to_text(focus.about.item, view)));
        }
        let role = Role::of(match field? {
            ToolField::Summary => "result.note",
            ToolField::Arg => "call.arg",
            _ => "tool.name",
        });
        let alone = ScriptItem { ladder: Ladder::of_step(field?, step), ..*focus };
        let given = LayerAnswers { scripts: self, focus: &alone }.line(field?, role);
        Some(self.describe(given, |line| line.text().to_owned()))
    }

    fn describe<T>(&self, given: Given<T>, spell: impl FnOnce(T) -> String) -> String {
        match (given, self.plugins.take_failures().first()) {
            (Given::Use(used), _) => spell(used),
            (Given::Hide, _) => "false: nothing is shown".to_owned(),
            (Given::Nothing, Some(failure)) => format!("fails: {}", failure.message),
            (Given::Nothing, None) => "nil: the next layer is asked".to_owned(),
        }
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
