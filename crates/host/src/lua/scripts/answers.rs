//! What each layer gives for one item, asked one by one: for whoever wonders why it looks as it does.

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
use crate::tools::amend::{About, Answers, Given};
use crate::tools::field::ToolField;

impl Scripts {
    /// What each step of a walk gives for an item, in the order of the walk: of the field, or of a kind's views.
    /// Nothing for what stands there whatever the item is.
    pub(crate) fn answers(
        &self,
        item: &Item,
        session: &Session,
        field: Option<ToolField>,
    ) -> Vec<Option<String>> {
        let call = item.call.as_ref().and_then(|id| session.call(id));
        let about = About { item, session, call };
        let ladder = self.ladder(about);
        let steps = field.map_or(&ladder.views[..], |field| ladder.field(field));
        let asked = ScriptItem { about, ladder: Rc::clone(&ladder), is_frame: false };
        let give = |(at, step)| self.plugins.current.show(about, || self.given(&asked, field, at, step));
        steps.iter().enumerate().map(give).collect()
    }

    fn given(
        &self,
        asked: &ScriptItem<'_>,
        field: Option<ToolField>,
        at: usize,
        step: &LadderStep,
    ) -> Option<String> {
        if let FieldAnswer::Word(_) = step.answer {
            return None;
        }
        self.plugins.take_failures();
        let whole = match (field, &step.answer) {
            (_, FieldAnswer::Native) => Some(self.ask_native(asked, step, at + 1)),
            (None | Some(ToolField::Call | ToolField::Result), FieldAnswer::Function(function)) => {
                Some(self.ask_whole(asked, step, function, at + 1))
            }
            _ => None,
        };
        if let Some(given) = whole {
            return Some(self.told(given, |view| drawn(asked.about.item, view)));
        }
        let role = Role::of(match field? {
            ToolField::Summary => "result.note",
            ToolField::Arg => "call.arg",
            _ => "tool.name",
        });
        let alone = ScriptItem { ladder: Ladder::of_step(field?, step), ..*asked };
        let given = LayerAnswers { scripts: self, asked: &alone }.line(field?, &role);
        Some(self.told(given, |line| line.spans.iter().map(|span| span.text.as_str()).collect()))
    }

    fn told<T>(&self, given: Given<T>, spell: impl FnOnce(T) -> String) -> String {
        match (given, self.plugins.take_failures().first()) {
            (Given::Use(used), _) => spell(used),
            (Given::Hide, _) => "false: nothing is shown".to_owned(),
            (Given::Nothing, Some(failure)) => format!("fails: {}", failure.message),
            (Given::Nothing, None) => "nil: the next layer is asked".to_owned(),
        }
    }
}

/// A view as text.
fn drawn(item: &Item, view: View) -> String {
    let entry = Entry {
        tool: item.tool.as_deref().map(Text::clean),
        action: item.action(),
        status: item.status,
        ..Entry::new(item.id.clone(), item.kind, view)
    };
    let (mut out, mut writer) = (String::new(), plain(0));
    // Writing to a string doesn't fail.
    let _ = writer.node(&entry.into(), &mut out).and_then(|()| writer.end(&mut out));
    out.trim_end().to_owned()
}

/// A writer of plain text without gaps, with so many blanks in front of what has no mark.
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
