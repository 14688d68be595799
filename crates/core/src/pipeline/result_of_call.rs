//! Adds the command or the files of its call to a result in machine output, so that a program can understand the line without others.

use std::borrow::Cow;

use crate::item::{Action, DoesRef, Fact, FactRef, Item, Kind};
use crate::session::Session;

/// The item. A result gets the command, path or changes of its call, unless it has them already.
pub(super) fn self_contained<'a>(item: &'a Item, session: &Session) -> Cow<'a, Item> {
    let call = item.call.as_ref().filter(|_| item.kind == Kind::Result).and_then(|call| session.call(call));
    let Some(call) = call else { return Cow::Borrowed(item) };
    let does = call.does();
    let facts = match item.action() {
        Some(Action::Run) => text("command", &does).into_iter().collect(),
        Some(Action::Read | Action::Search) => text("path", &does).into_iter().collect(),
        Some(Action::Write | Action::Edit) => changed(&does),
        _ => Vec::new(),
    };
    let mut item = Cow::Borrowed(item);
    for (name, fact) in facts {
        if item.fact(name).is_none() {
            item.to_mut().data.push((name, fact));
        }
    }
    item
}

/// The input part of this name, if it is a string.
fn text(name: &'static str, does: &DoesRef<'_>) -> Option<(&'static str, Fact)> {
    Some((name, Fact::Text(does.get(name)?.str()?.into_owned())))
}

/// The file that a call changes; if there are several, a list of the changes.
fn changed(does: &DoesRef<'_>) -> Vec<(&'static str, Fact)> {
    if let Some(path) = text("path", does) {
        return vec![path];
    }
    let string =
        |part: FactRef<'_>, name: &'static str| Some((name, Fact::Text(part.get(name)?.str()?.into_owned())));
    let changes = does.get("changes").map(FactRef::list).unwrap_or_default();
    let mut files: Vec<Vec<_>> = changes
        .into_iter()
        .filter(|change| change.get("path").is_some_and(FactRef::is_text))
        .map(|change| ["path", "kind", "to"].into_iter().filter_map(|name| string(change, name)).collect())
        .collect();
    match files.as_mut_slice() {
        [] => Vec::new(),
        [only] => vec![only.swap_remove(0)],
        _ => vec![("changes", Fact::List(files.into_iter().map(Fact::Map).collect()))],
    }
}
