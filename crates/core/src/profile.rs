//! A user's choices, as data: how much to show, what to hide, how to lay it out.
//!
//! The host reads them from TOML.

use std::collections::HashSet;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::Duration;

use crate::item::{Id, Item, Kind, Status, TurnStep};
use crate::records::RecordSchema;
use crate::redact::Redaction;
use crate::theme::Glyphs;

/// How much the standard formatter shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// One call, one line, unless there is a reason.
    #[default]
    Compact,
    /// Everything that people read, once: also thinking, inputs and whole results, as the formatter lays them out.
    Whole,
    /// Everything in the stream, unchanged.
    Full,
}

/// Which end of a long text is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The beginning.
    #[default]
    Head,
    /// The end.
    Tail,
    /// Both ends.
    HeadTail,
}

/// A row of [`LIMITS`].
#[derive(Debug)]
pub struct LimitRow {
    /// The limit.
    pub limit: LimitName,
    /// Its key in a profile.
    pub key: &'static str,
    /// Whether it counts bytes instead of lines.
    pub is_bytes: bool,
    /// Whether a tool may have its own.
    pub is_for_tools: bool,
    /// What it counts.
    pub about: &'static str,
}

macro_rules! limits {
    ($($limit:ident, $key:literal, $is_bytes:literal, $is_for_tools:literal, $about:literal;)*) => {
        /// The name of a limit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LimitName {
            $(#[doc = $about] $limit,)*
        }

        /// All limits: profiles, tools, settings and plugins have those of this table.
        pub const LIMITS: &[LimitRow] = &[$(LimitRow {
            limit: LimitName::$limit,
            key: $key,
            is_bytes: $is_bytes,
            is_for_tools: $is_for_tools,
            about: $about,
        },)*];
    };
}

limits! {
    // Name, key, whether it counts bytes, whether a tool may have its own, what it counts.
    ResultLines, "limits.result-lines", false, true, "lines of a result that went well; \"none\" drops an inherited limit of bytes too";
    ResultBytes, "limits.result-bytes", true, true, "bytes of a result, and of whatever else has a limit of lines";
    ErrorLines, "limits.error-lines", false, true, "lines of a result that failed";
    DiffLines, "limits.diff-lines", false, true, "lines of a diff";
    CallLines, "limits.call-lines", false, true, "lines of a call's command or input";
    PromptLines, "limits.prompt-lines", false, false, "lines of a prompt";
    ThinkingLines, "limits.thinking-lines", false, false, "lines of thinking";
    NoticeLines, "limits.notice-lines", false, false, "lines of a notice";
}

/// How much is shown, by the name of the limit. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    most: [Option<usize>; LIMITS.len()],
    /// Which end of a long result is kept.
    pub keep: Keep,
}

impl Limits {
    /// These limits with one of them changed.
    #[must_use]
    pub fn with(mut self, limit: LimitName, most: impl Into<Option<usize>>) -> Self {
        self[limit] = most.into();
        self
    }
}

impl Index<LimitName> for Limits {
    type Output = Option<usize>;

    fn index(&self, limit: LimitName) -> &Option<usize> {
        &self.most[limit as usize]
    }
}

impl IndexMut<LimitName> for Limits {
    fn index_mut(&mut self, limit: LimitName) -> &mut Option<usize> {
        &mut self.most[limit as usize]
    }
}

/// Limits of some tools, in place of those for all. What is absent stays unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// The calls and results to which the limits apply.
    pub of: Selector,
    /// The limits; `None` is no limit.
    pub most: Vec<(LimitName, Option<usize>)>,
    /// Which end of a long result is kept.
    pub keep: Option<Keep>,
}

impl ToolLimits {
    fn apply(&self, limits: &mut Limits) {
        for (limit, most) in &self.most {
            limits[*limit] = *most;
        }
        limits.keep = self.keep.unwrap_or(limits.keep);
    }
}

/// How entries are laid out as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Blank lines between entries that don't belong together.
    pub gap: usize,
    /// The indentation of all foreign text, in columns.
    pub margin: usize,
    /// Which characters glyph names become: `unicode`, `ascii`, `words` or `nerd`.
    pub glyphs: Glyphs,
    /// Whether all text added by this program is ASCII, whatever the glyphs. With the glyphs `ascii` it always is.
    pub ascii: bool,
    /// Whether texts are written unchanged: with blanks at the ends of lines and blank lines around texts,
    /// without bars for sub-agents and without the titles of calls to which results belong.
    pub bare: bool,
    /// The number of lines beyond which results are folded, in formats that can fold; `None` if results aren't folded.
    pub fold: Option<usize>,
    /// The CI service whose log the rows are for.
    pub ci: Ci,
    /// Whether results wait to be put under their calls.
    pub pairs: Pairs,
    /// Who breaks lines into rows on a terminal.
    pub wrap: Wrap,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            gap: 1,
            margin: 2,
            glyphs: Glyphs::Unicode,
            ascii: false,
            fold: Some(12),
            bare: false,
            ci: Ci::None,
            pairs: Pairs::Auto,
            wrap: Wrap::Hard,
        }
    }
}

impl Layout {
    /// Whether all text added by this program is ASCII.
    pub fn is_ascii(&self) -> bool {
        self.ascii || self.glyphs == Glyphs::Ascii
    }
}

/// Whether a result is put under its call even if that isn't directly before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// Where the whole input is available, as in a file that isn't followed; always for a page.
    #[default]
    Auto,
    /// If it comes within a limit of entries and bytes: until then its call waits.
    Always,
    /// Never: everything is written when it is complete, and a result that doesn't follow its call names it.
    Never,
}

/// Who breaks lines into rows, if the width is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// This program, between words; each row is indented.
    #[default]
    Hard,
    /// The terminal; a line is copied from it as one line.
    Soft,
}

/// The CI service whose log rows are written for. CI services read commands from the output, so for all but `None`
/// text of the stream is written so that it can't be such a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ci {
    /// None.
    #[default]
    None,
    /// Any service: plain rows.
    Plain,
    /// GitHub Actions: long results are folded in groups, failures are annotations.
    Github,
    /// GitLab: long results are folded in sections.
    Gitlab,
}

impl Ci {
    /// Whether long results are folded in its log.
    pub fn has_groups(self) -> bool {
        matches!(self, Self::Github | Self::Gitlab)
    }
}

/// How growing items are shown by sinks that can change what they show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// How often growing items are formatted and shown, per second. From 1 to 1,000.
    pub rate: u32,
    /// Whether marks of ongoing work, such as a spinner, may move.
    pub motion: bool,
}

impl Live {
    /// The shortest time between two updates.
    pub fn interval(self) -> Duration {
        Duration::from_secs(1) / self.rate.max(1)
    }
}

impl Default for Live {
    fn default() -> Self {
        Self { rate: 20, motion: true }
    }
}

/// A group of items, as in `--only` and `--hide`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// A kind: `thinking`.
    Kind(Kind),
    /// Calls and results of an action: `@edit`.
    Action(String),
    /// Calls and results of a tool, by its exact name or a glob with `*`: `mcp__github__*`.
    Tool(String),
    /// `failed`: items that report a failure.
    Failed,
    /// `answer`: the answers of turns. Only what comes after a reply shows whether it is one, so each item of the main thread matches
    /// that may be one, and [`Filter::is_answer_alone`] asks the outline to leave out the others.
    Answer,
    /// Items of sub-agents.
    Inside,
    /// Items in all of these groups.
    All(Vec<Selector>),
    /// Items not in this group.
    Not(Box<Selector>),
}

impl Selector {
    /// Parses a selector; any text is valid.
    pub fn parse(text: &str) -> Self {
        if let Some(action) = text.strip_prefix('@') {
            return Self::Action(action.to_owned());
        }
        match text {
            "failed" => Self::Failed,
            "answer" => Self::Answer,
            _ => text.parse().map_or_else(|_| Self::Tool(text.to_owned()), Self::Kind),
        }
    }

    /// Whether `item` belongs to the group.
    pub fn matches(&self, item: &Item) -> bool {
        match self {
            // For a run of several turns, the totals count as the outcome.
            Self::Kind(Kind::Outcome) => {
                item.kind == Kind::Outcome || item.kind == Kind::Notice && item.is_event("totals")
            }
            Self::Kind(kind) => item.kind == *kind,
            Self::Action(name) => item.action().is_some_and(|action| action.name() == name),
            Self::Tool(pattern) => item.tool.as_deref().is_some_and(|tool| glob(pattern, tool)),
            Self::Failed => item.error || item.status == Status::Failed,
            Self::Answer => matches!(TurnStep::of(item), TurnStep::Claim(_)),
            Self::Inside => item.parent.is_some(),
            Self::All(groups) => groups.iter().all(|group| group.matches(item)),
            Self::Not(group) => !group.matches(item),
        }
    }

    /// Whether all of its items have this kind.
    fn is_of(&self, kind: Kind) -> bool {
        match self {
            Self::Kind(own) => *own == kind,
            Self::All(groups) => groups.iter().any(|group| group.is_of(kind)),
            _ => false,
        }
    }

    fn means_failures(&self) -> bool {
        match self {
            Self::Failed => true,
            Self::All(groups) => groups.contains(&Self::Failed),
            _ => false,
        }
    }

    /// How specific it is about the tool.
    fn rank(&self) -> (u8, usize) {
        match self {
            Self::Tool(pattern) => match pattern.find('*') {
                None => (3, 0),
                Some(0) => (0, 0),
                Some(beginning) => (2, beginning),
            },
            _ => (1, 0),
        }
    }
}

/// Which items are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// If not empty, only items of these groups are shown.
    pub only: Vec<Selector>,
    /// Items of these groups are hidden.
    pub hide: Vec<Selector>,
    /// Items of these groups are shown even if the detail would hide them.
    pub show: Vec<Selector>,
    /// Items of these groups are shown with their bodies folded.
    pub collapse: Vec<Selector>,
    /// If set, only items with these ids are shown, of those that the groups admit.
    pub within: Option<Arc<HashSet<Id>>>,
}

impl Filter {
    /// Whether `item` may be shown.
    pub fn admits(&self, item: &Item) -> bool {
        let wanted = self.only.is_empty() || self.only.iter().any(|group| group.matches(item));
        let is_within = self.within.as_ref().is_none_or(|ids| ids.contains(&item.id));
        wanted && is_within && !self.hide.iter().any(|group| group.matches(item))
    }

    /// Whether only those replies are shown that end a turn.
    pub fn is_answer_alone(&self) -> bool {
        self.only.contains(&Selector::Answer) && !self.only.contains(&Selector::Kind(Kind::Reply))
    }

    /// The groups of which the standard formatter hides nothing: those of `show`, and those of `only` whose kind it would hide.
    pub fn shown(&self) -> Vec<Selector> {
        let is_asked_for =
            |group: &&Selector| [Kind::Thinking, Kind::Record].into_iter().any(|kind| group.is_of(kind));
        self.show.iter().chain(self.only.iter().filter(is_asked_for)).cloned().collect()
    }

    /// Whether the body of `item` is folded. That of a failure isn't, unless a group names failures.
    pub fn collapses(&self, item: &Item) -> bool {
        let may = |group: &Selector| group.means_failures() || !Selector::Failed.matches(item);
        self.collapse.iter().any(|group| may(group) && group.matches(item))
    }
}

/// Whether `text` matches `pattern`, in which `*` matches any text. Linear in both.
pub fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let Some(tail) = parts.pop() else { return true };
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(tail)
}

/// The records that are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrawnRecords {
    /// The records of a schema, as a tree.
    Schema(Arc<RecordSchema>),
    /// The records of the accumulator with this name ([`crate::formatter::PluginFormatter::accumulator`]).
    Accumulator(String),
}

/// All choices of a user for an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// How much is shown of each item.
    pub detail: Detail,
    /// The limits of what is shown.
    pub limits: Limits,
    /// The limits of single tools.
    pub tools: Vec<ToolLimits>,
    /// The layout of entries.
    pub layout: Layout,
    /// How growing items are shown.
    pub live: Live,
    /// Which items are hidden.
    pub filter: Filter,
    /// What is masked in the output.
    pub redaction: Redaction,
    /// The records in replies that are drawn instead of their lines.
    pub records: Option<DrawnRecords>,
}

impl Profile {
    /// The limits for `item`. Of several matching tools an exact name has precedence over a glob, and a longer prefix over
    /// a shorter one.
    pub fn limits_of(&self, item: &Item) -> Limits {
        let mut limits = self.limits;
        if !self.tools.is_empty() {
            let mut fitting: Vec<&ToolLimits> =
                self.tools.iter().filter(|tool| tool.of.matches(item)).collect();
            fitting.sort_by_key(|tool| tool.of.rank());
            for tool in fitting {
                tool.apply(&mut limits);
            }
        }
        if item.kind == Kind::Call {
            limits.keep = if item.growing.is_some() { Keep::Tail } else { Keep::Head };
        }
        if item.growing.is_some() {
            for (limit, most) in [
                (LimitName::CallLines, GROWING_LINES),
                (LimitName::DiffLines, GROWING_LINES),
                (LimitName::ResultBytes, GROWING_BYTES),
            ] {
                limits[limit] = Some(limits[limit].map_or(most, |limit| limit.min(most)));
            }
        }
        limits
    }
}

/// The most lines of a call that are shown while its input is being written.
const GROWING_LINES: usize = 100;
/// The most bytes of these lines: half of the part of a long field that formatters get, so that a secret that began before them is
/// recognised.
const GROWING_BYTES: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_tool_take_precedence_over_those_of_several() {
        let (result, call) = (LimitName::ResultLines, LimitName::CallLines);
        let of = |pattern: &str, most: &[(LimitName, Option<usize>)]| ToolLimits {
            of: Selector::parse(pattern),
            most: most.to_vec(),
            keep: None,
        };
        let tools = vec![
            of("Bash", &[(result, Some(3))]),
            of("B*", &[(result, Some(2))]),
            of("*", &[(result, Some(1)), (call, None)]),
        ];
        let limits = Limits::default().with(result, 9).with(call, 9);
        let profile = Profile { limits, tools, ..Profile::default() };
        for (tool, lines, call) in
            [(Some("Bash"), 3, None), (Some("Bat"), 2, None), (Some("Read"), 1, None), (None, 9, Some(9))]
        {
            let mut item = Item::new("x", Kind::Result, 1);
            item.tool = tool.map(Into::into);
            let limits = profile.limits_of(&item);
            assert_eq!((limits[result], limits[LimitName::CallLines]), (Some(lines), call), "{tool:?}");
        }
    }

    #[test]
    fn a_group_may_be_the_intersection_of_several() {
        let mut item = Item::new("x", Kind::Result, 1);
        item.tool = Some("Read".into());
        let both = |kind| Selector::All(vec![Selector::Kind(kind), Selector::parse("Read")]);
        assert!(both(Kind::Result).matches(&item) && !both(Kind::Call).matches(&item));
    }

    #[test]
    fn globs_match_whole_names() {
        for (pattern, text, fits) in [
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("mcp__*", "mcp__github__x", true),
            ("*Edit", "MultiEdit", true),
            ("*__get_*", "mcp__a__get_b", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
