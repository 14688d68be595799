//! How calls and results are said, by what they do.

use crate::calls::{self, CallContext};
use crate::results::{self, ResultContext};
use streamfmt_core::entry::View;
use streamfmt_core::item::Deed;

/// Says a call; `None` if it doesn't tell what such a call tells.
pub(super) type FormatCall = fn(&mut CallContext<'_>) -> Option<()>;
/// Says a result that went well; `None` hides it.
pub(super) type FormatResult = fn(&mut ResultContext<'_>) -> Option<View>;

/// How the calls and results of a deed are said. What isn't known is said as anything else is.
pub(super) fn form(deed: Option<Deed>) -> (FormatCall, FormatResult) {
    match deed.unwrap_or(Deed::Other) {
        Deed::Run => (calls::run, results::run),
        Deed::Watch => (calls::run, results::note),
        Deed::Command => (calls::run, results::other),
        Deed::Job => (calls::job, results::job),
        Deed::EndJob => (calls::job, results::note),
        Deed::Read => (calls::read, results::read),
        Deed::List => (calls::list, results::list),
        Deed::Write => (calls::write, results::change),
        Deed::Edit => (calls::edit, results::change),
        Deed::EditCell => (calls::edit_cell, results::cell),
        Deed::Find => (calls::find, results::search),
        Deed::Grep => (calls::grep, results::search),
        Deed::FindTools => (calls::find_tools, results::find_tools),
        Deed::Fetch => (calls::fetch, results::fetch),
        Deed::Delegate => (calls::delegate, results::delegate),
        Deed::Todos => (calls::todos, results::todos),
        Deed::Plan => (calls::todos, results::tasks),
        Deed::Task => (calls::task, results::tasks),
        Deed::Tasks => (calls::bare, results::tasks),
        Deed::PlanMode => (calls::plan, results::plan_mode),
        Deed::Ask => (calls::ask, results::ask),
        Deed::Skill => (calls::skill, results::skill),
        Deed::Message => (calls::generic, results::note),
        Deed::Mcp | Deed::Resource | Deed::Other => (calls::generic, results::other),
    }
}
