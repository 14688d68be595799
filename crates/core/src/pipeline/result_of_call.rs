//! Adds the command or the files of its call to a result in machine output, so that a program can understand the line without others.

use std::borrow::Cow;

use crate::item::{Action, DoesRef, Fact, FactRef, Item, Kind};
use crate::session::Session;

/// The item. A result gets the command, path or changes of its call, unless it has them already.
pub(super) fn self_contained<'a>(item: &'a Item, session: &Session) -> Cow<'a, Item> {
    let mut whole = Cow::Borrowed(item);
    let call = item.call.as_ref().filter(|_| item.kind == Kind::Result).and_then(|call| session.call(call));
    let Some(call) = call else { return whole };
    let does = call.does();
    let facts = match item.action() {
        Some(Action::Run) => Vec::from_iter(text("command", does.get("command"))),
        Some(Action::Read | Action::Search) => Vec::from_iter(text("path", does.get("path"))),
        Some(Action::Write | Action::Edit) => changed(&does),
        _ => Vec::new(),
    };
    for (name, fact) in facts {
        if item.fact(name).is_none() {
            whole.to_mut().data.push((name, fact));
        }
    }
    whole
}

/// A fact of this name with the text of a part, if that is a string.
fn text(name: &'static str, part: Option<FactRef<'_>>) -> Option<(&'static str, Fact)> {
    Some((name, Fact::Text(part?.str()?.into_owned())))
}

/// The file that a call changes; if there are several, a list of the changes.
fn changed(does: &DoesRef<'_>) -> Vec<(&'static str, Fact)> {
    if let Some(path) = text("path", does.get("path")) {
        return vec![path];
    }
    let mut files = Vec::new();
    for change in does.get("changes").map(FactRef::list).unwrap_or_default() {
        if change.get("path").is_some_and(FactRef::is_text) {
            let facts = ["path", "kind", "to"].into_iter().filter_map(|name| text(name, change.get(name)));
            files.push(facts.collect::<Vec<_>>());
        }
    }
    match files.as_mut_slice() {
        [] => Vec::new(),
        [only] => vec![only.swap_remove(0)],
        _ => vec![("changes", Fact::List(files.into_iter().map(Fact::Map).collect()))],
    }
}
