//! Which layers apply to a tool, a kind, or the items of a line: each layer that may have an answer, where it is defined, which
//! settings hide or fold the items, and which functions observe them.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use send_wrapper::SendWrapper;
use serde::Serialize;
use streamfmt_core::entry::Block;
use streamfmt_core::formatter::{FormatError, Formatter, Observation, StreamFormatter, Verdict};
use streamfmt_core::item::{Action, Content, Id, Item, Kind, Status};
use streamfmt_core::pipeline::{Output, Pipeline};
use streamfmt_core::profile::{Filter, Layout, Profile};
use streamfmt_core::redact::Redactor;
use streamfmt_core::session::Session;
use streamfmt_formatters::standard::Standard;

use crate::engine::{Engine, read};
use crate::lua::{LoadedPlugin, Plugins, ScriptOverride, Scripts, Viewed, plain};
use crate::native::NativeLayer;
use crate::plugin::source::PluginLayer;
use crate::settings::Settings;
use crate::settings::document::{Leaf, SettingValue, Spot};
use crate::settings::group;
use crate::settings::tree::{Assignment, ListChange, Path, SettingsTree};
use crate::tools::field::{FieldValue, ToolField};
use crate::tools::request::FormatRequest;

/// Most items of one line that are explained; the others are counted.
const MOST_ITEMS: usize = 64;

/// The layers and settings that apply to a tool or kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The tool, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The action of the tool, as far as its name reveals it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    /// The kind of item, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The id of the item, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A suggestion, if the tool's name may be misspelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// The layers for each property.
    pub properties: Vec<Walk>,
    /// The settings that hide or fold items.
    pub hiding: Vec<Hiding>,
    /// The functions that observe it through `sf.on`.
    pub listeners: Vec<Listener>,
}

/// The items that begin at a line, and their output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct At {
    /// The explanation of each item, up to 64.
    pub items: Vec<Explanation>,
    /// The number of further items, which aren't explained, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
    /// The output as plain text.
    pub shown: String,
    /// The next line at which an item begins, if none begins at this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The layers for one property, from the top down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Walk {
    /// The property: a field of `sf.tool`, or `view`.
    pub name: &'static str,
    /// The layers that may have an answer, highest first.
    pub candidates: Vec<Candidate>,
    /// The answer if none of them has one.
    pub built_in: &'static str,
}

/// A layer that may have an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Whether it is reached.
    pub turn: Turn,
    /// The kind of layer: `plugin`, `profile`, `user script`, …
    pub layer: &'static str,
    /// The plugin, if it is a plugin's layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The file in which it is defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The pattern of tools that it is for.
    pub pattern: String,
    /// The answer: a text in quotes, or `function` and the line where that begins.
    pub says: String,
    /// The result for the item, if the explanation is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gives: Option<String>,
}

/// A setting that hides or folds items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hiding {
    /// The effect: `hides`, `folds`, or `shows` if everything else is hidden.
    pub does: &'static str,
    /// The items affected: `calls`, `results`, `failures`, …
    pub to: String,
    /// The setting as written.
    pub says: String,
    /// The place of the setting.
    pub place: String,
}

/// A function that observes items without formatting them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listener {
    /// The kind that it observes, such as `call`.
    pub kind: &'static str,
    /// The kind of layer: `plugin`, `user script`, …
    pub layer: &'static str,
    /// The plugin.
    pub plugin: String,
    /// The file in which it is defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// Whether a candidate is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Turn {
    /// It is called, and may leave the answer to the next one.
    Asked,
    /// It always has an answer.
    Answers,
    /// A higher one always answers.
    Never,
}

/// The subject of an explanation.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The tool's name in the stream.
    pub tool: Option<String>,
    /// A kind of item. For calls and results, it selects the properties of the tool that apply.
    pub kind: Option<Kind>,
}

impl Question {
    fn is_of_tools(&self) -> bool {
        self.kind.is_none_or(|kind| matches!(kind, Kind::Call | Kind::Result))
    }

    fn kinds(&self) -> Vec<Kind> {
        self.kind.map_or_else(|| vec![Kind::Call, Kind::Result], |kind| vec![kind])
    }
}

impl Engine {
    /// The layers that apply to a tool or kind. Formatters that were added in Rust aren't included.
    pub fn explain(&self, question: &Question) -> Explanation {
        let action = streamfmt_dialects::action_of(question.tool.as_deref().unwrap_or_default());
        Explanation::of(question, action, &self.load_plugins(), self)
    }

    /// The answer of each layer for the items that begin at a line of a stream. Formatters that were added in Rust aren't
    /// included. Fails if the stream can't be read.
    pub fn explain_line(&self, input: &mut dyn Read, line: u64) -> io::Result<At> {
        let plugins = self.load_plugins();
        let mut setup = self.setup_with(&plugins);
        let found = Rc::new(RefCell::new(At::default()));
        let looker = Looker {
            line,
            engine: self.clone(),
            scripts: Scripts::new(&plugins, &self.settings().profile),
            plugins,
            redactor: RefCell::new(Redactor::new(&setup.profile.redaction)),
            current: RefCell::default(),
            found: Rc::clone(&found),
        };
        let formatters: Vec<Box<dyn Formatter>> = vec![Box::new(AtLine(SendWrapper::new(looker)))];
        setup.output = Output::Entries { formatters, writer: Box::new(plain(Layout::default().margin)) };
        setup.settle = None;
        let (mut pipeline, mut out) = (Pipeline::new(setup), String::new());
        read(&mut pipeline, input, &mut out)?;
        drop(pipeline);
        let mut found = found.take();
        out.trim_end().clone_into(&mut found.shown);
        Ok(found)
    }
}

impl Explanation {
    /// `action` is the action of the tool.
    fn of(about: &Question, action: Action, plugins: &Plugins, engine: &Engine) -> Self {
        let (hiding, listeners) = (hiding(about, action, engine), listeners(about, plugins));
        if let Some(kind) = about.kind.filter(|_| !about.is_of_tools()) {
            let views = plugins.overrides_of_view(Viewed::Items(kind));
            let walk = Walk {
                name: VIEW,
                candidates: candidates(&views, None, plugins),
                built_in: "the built-in formatter's view",
            };
            let (kind, properties) = (Some(kind.name()), vec![walk]);
            return Self { kind, properties, hiding, listeners, ..Self::default() };
        }
        let name = about.tool.clone().unwrap_or_default();
        let all = plugins.overrides_of_tool(&name, Some(action));
        let concerns =
            |field: &ToolField| about.kind.is_none_or(|kind| ToolField::of_kind(kind).contains(field));
        let walks = ToolField::ALL.iter().filter(|field| concerns(field));
        let properties = walks.map(|&field| Walk {
            name: field.name(),
            candidates: candidates(&all, Some(field), plugins),
            built_in: built_in(field),
        });
        Self {
            doubt: group::doubt_of_tool(&name).filter(|_| all.iter().all(|one| one.pattern != name)),
            tool: about.tool.clone(),
            action: Some(action.name()),
            kind: about.kind.map(Kind::name),
            properties: properties.collect(),
            hiding,
            listeners,
            ..Self::default()
        }
    }
}

const VIEW: &str = "view";

fn built_in(field: ToolField) -> &'static str {
    match field {
        ToolField::Label => "the tool's name",
        ToolField::Arg => "what the built-in formatter takes from the input",
        ToolField::Summary => "what the built-in formatter says of the result",
        ToolField::Call => "the built-in view, with the label, arg and icon above",
        ToolField::Result => "the built-in view, with the summary above",
        ToolField::Icon => "no icon but the mark of calls",
        ToolField::Role => "tool.name",
        ToolField::Collapse => "nothing is folded",
    }
}

/// The candidates for a field, or for a view.
fn candidates(all: &[ScriptOverride], field: Option<ToolField>, plugins: &Plugins) -> Vec<Candidate> {
    let mut is_answered = false;
    let mut candidates = Vec::new();
    for one in all.iter().filter(|one| one.field == field) {
        let (says, is_sure) = match &one.value {
            FieldValue::Word(word) => (format!("{word:?}"), true),
            FieldValue::Template(template) => {
                (format!("{:?}", template.to_string()), template.always_answers())
            }
            FieldValue::Function(function) => {
                let line = function.info().line_defined;
                (line.map_or("function".to_owned(), |line| format!("function at line {line}")), false)
            }
            FieldValue::Native => ("native code".to_owned(), false),
        };
        let turn = match (is_answered, is_sure) {
            (true, _) => Turn::Never,
            (false, true) => Turn::Answers,
            (false, false) => Turn::Asked,
        };
        is_answered |= is_sure;
        let (native, plugin) = (plugins.native(one.layer), plugins.get(one.layer));
        let layer = plugin.map(|plugin| plugin.layer).or_else(|| native.map(NativeLayer::layer));
        let origin = one.origin.as_ref();
        candidates.push(Candidate {
            turn,
            layer: layer.map_or("profile", PluginLayer::name),
            plugin: plugin.map(LoadedPlugin::name).or_else(|| native.map(|native| native.name().to_owned())),
            file: origin.map(|origin| file_of(plugin, &origin.file)),
            line: origin.map(|origin| origin.line),
            pattern: one.pattern.clone(),
            says,
            gives: None,
        });
    }
    candidates
}

/// The path of a plugin's or a settings file, for opening it in an editor.
fn file_of(plugin: Option<&LoadedPlugin>, file: &str) -> String {
    plugin.and_then(|plugin| plugin.pack.path_of(file)).unwrap_or_else(|| file.to_owned())
}

fn listeners(about: &Question, plugins: &Plugins) -> Vec<Listener> {
    let mut listeners = Vec::new();
    for plugin in plugins.all.iter().rev() {
        for hook in plugin.registered.hooks_of_all() {
            let kind = about.kinds().into_iter().find(|kind| hook.what == format!("on {}", kind.name()));
            let Some(kind) = kind else { continue };
            let (file, line) = hook.place.unzip();
            listeners.push(Listener {
                kind: kind.name(),
                layer: plugin.layer.name(),
                plugin: plugin.name(),
                file: file.map(|file| file_of(Some(plugin), &file)),
                line,
            });
        }
    }
    listeners
}

/// Items to test settings with: one of each kind in question, and a failed one. Each has the name of the items that it stands
/// for.
fn probes(about: &Question, action: Action) -> Vec<(Item, &'static str)> {
    let probe = |kind: Kind, failed: bool| {
        let mut item = Item::new("probe", kind, 1);
        item.text = Content::Own("x".to_owned());
        if about.is_of_tools() {
            item.tool = about.tool.as_deref().map(Into::into);
            item.tool_kind = Some(action.into());
        }
        if failed {
            (item.error, item.status) = (true, Status::Failed);
        }
        let name = match (kind, failed) {
            (Kind::Call, _) => "calls",
            (Kind::Result, false) => "results that went well",
            (_, false) => "all",
            (_, true) => "failures",
        };
        (item, name)
    };
    let mut probes = Vec::new();
    for kind in about.kinds() {
        probes.push(probe(kind, false));
        if matches!(kind, Kind::Result | Kind::Outcome) {
            probes.push(probe(kind, true));
        }
    }
    probes
}

/// The settings that hide or fold the items in question: `only`, `hide`, each `[[filter]]`, and the detail.
fn hiding(about: &Question, action: Action, engine: &Engine) -> Vec<Hiding> {
    let probes = probes(about, action);
    let names = |does: &dyn Fn(&Item) -> bool| {
        let met: Vec<&str> = probes.iter().filter(|(item, _)| does(item)).map(|(_, name)| *name).collect();
        if met.len() == probes.len() { "all".to_owned() } else { met.join(", ") }
    };
    let mut found = Vec::new();
    let mut report = |does, to: String, says: &str, place: &str| {
        if !to.is_empty() {
            found.push(Hiding { does, to, says: says.to_owned(), place: place.to_owned() });
        }
    };
    let whole = &engine.settings().profile;
    for (key, element) in elements(engine) {
        let says = match key {
            "filter" => format!("[[filter]] {}", element.value),
            key => format!("{key} = [{}]", element.value),
        };
        let place = element.spot.to_string();
        let filter = alone(key, element).filter;
        if !filter.only.is_empty() {
            // It hides everything that no element of `only` names.
            let only = Filter { hide: Vec::new(), ..whole.filter.clone() };
            report("hides", names(&|item| !only.admits(item)), &says, &place);
            continue;
        }
        report("hides", names(&|item| !filter.admits(item)), &says, &place);
        report("folds", names(&|item| filter.collapses(item)), &says, &place);
    }
    let session = Session::default();
    let standard = Standard::of(whole);
    let is_hidden = |item: &Item| {
        let kind = item.kind;
        !matches!(kind, Kind::Call | Kind::Result)
            && matches!(standard.format(item, &session), Ok(Verdict::Hide))
    };
    let (says, place) = match engine.resolved().tree.get("detail") {
        Some(leaf) if about.kind != Some(Kind::Record) => {
            (format!("detail = {}", leaf.value), leaf.spot.to_string())
        }
        _ if about.kind == Some(Kind::Record) => {
            ("records are shown with --only record".to_owned(), "built-in".to_owned())
        }
        _ => ("detail = \"compact\"".to_owned(), "built-in".to_owned()),
    };
    report("hides", names(&is_hidden), &says, &place);
    found
}

/// The elements of the lists that hide items, each with the list's key.
fn elements(engine: &Engine) -> Vec<(&'static str, Leaf)> {
    let of_key = |key: &'static str| {
        let elements = engine.resolved().tree.get(key).and_then(Leaf::elements).unwrap_or_default();
        elements.into_iter().map(move |element| (key, element))
    };
    ["only", "hide", "filter"].into_iter().flat_map(of_key).collect()
}

/// A profile that sets nothing but one element of a list.
fn alone(key: &'static str, element: Leaf) -> Profile {
    let spot: Spot = element.spot.clone();
    let mut tree = SettingsTree::default();
    let leaf = Leaf { value: SettingValue::List(vec![element]), spot };
    tree.assign(&Assignment { path: Path::Key(key), change: ListChange::Replace, leaf });
    Settings::of(&tree).profile
}

/// The formatter that hides everything but the items of a line, and explains those. An observer couldn't hide the others, nor what scripts
/// show after them, and would come before the scripts have observed the item.
struct AtLine(SendWrapper<Looker>);

struct Looker {
    line: u64,
    engine: Engine,
    plugins: Rc<Plugins>,
    /// `None` if no layer affects items.
    scripts: Option<Scripts>,
    redactor: RefCell<Option<Redactor>>,
    /// The last complete item, which is formatted next.
    current: RefCell<Option<Id>>,
    found: Rc<RefCell<At>>,
}

impl Formatter for AtLine {
    fn name(&self) -> &'static str {
        "explain"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        // Earlier calls may also be formatted, to make the titles of their results. Those aren't hidden.
        if item.line != self.0.line && self.0.current.borrow().as_ref() == Some(&item.id) {
            return Ok(Verdict::Hide);
        }
        self.0.scripts.as_ref().map_or(Ok(Verdict::Pass), |scripts| scripts.format(item, session))
    }

    fn stream(&self) -> Option<&dyn StreamFormatter> {
        Some(self)
    }
}

impl StreamFormatter for AtLine {
    // Items that a filter hides aren't formatted, but all are observed.
    fn observe(&self, moment: Observation<'_>, session: &Session) -> Vec<Block> {
        let blocks = self.0.scripts.as_ref().map(|scripts| scripts.observe(moment, session));
        let Observation::Complete(item) = moment else { return Vec::new() };
        self.0.current.replace(Some(item.id.clone()));
        if item.line != self.0.line {
            self.0.pass(item.line);
            return Vec::new();
        }
        self.0.explain(item, session);
        blocks.unwrap_or_default()
    }
}

impl Looker {
    /// Remembers the line of the next item.
    fn pass(&self, line: u64) {
        let mut found = self.found.borrow_mut();
        if line > self.line && found.next.is_none_or(|next| line < next) {
            found.next = Some(line);
        }
    }

    fn explain(&self, item: &Item, session: &Session) {
        if self.found.borrow().items.len() == MOST_ITEMS {
            *self.found.borrow_mut().more.get_or_insert(0) += 1;
            return;
        }
        let request = FormatRequest::of(item, session);
        let action = request.action().unwrap_or(Action::Other);
        let about = Question { tool: request.tool().map(str::to_owned), kind: Some(item.kind) };
        let mut explained = Explanation::of(&about, action, &self.plugins, &self.engine);
        (explained.id, explained.doubt) = (Some(self.masked(item.id.as_str())), None);
        for walk in &mut explained.properties {
            let field = walk.name.parse().ok();
            let answers = self.scripts.as_ref().map(|scripts| scripts.answers(item, session, field));
            for (candidate, answer) in walk.candidates.iter_mut().zip(answers.unwrap_or_default()) {
                candidate.gives = answer.map(|answer| self.masked(&answer));
            }
        }
        self.found.borrow_mut().items.push(explained);
    }

    /// Masks secrets in a text of the stream.
    fn masked(&self, text: &str) -> String {
        match &mut *self.redactor.borrow_mut() {
            Some(redactor) => redactor.text(text).into_owned(),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn items_of_a_line_beyond_the_64th_are_counted() {
        let engine = Engine::builder().dialect("claude").writer("text").build().unwrap();
        // The session begins at this line as well.
        for (calls, more) in [(63, None), (64, Some("\"more\": 1,")), (69, Some("\"more\": 6,"))] {
            let call =
                |id| format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls"}}}}"#);
            let content = (0..calls).map(call).collect::<Vec<_>>().join(",");
            let line = format!(
                r#"{{"type":"assistant","message":{{"role":"assistant","content":[{content}]}},"session_id":"s"}}"#
            );
            let at = engine.explain_line(&mut line.as_bytes(), 1).unwrap();
            assert_eq!(at.items.len(), 64, "{calls} calls");
            let page = json::pretty(&at);
            assert_eq!(page.lines().map(str::trim).find(|line| line.starts_with("\"more\"")), more);
        }
    }
}
