//! Record schemas: built-in ones and those in users' files.
//!
//! ```toml
//! name = "recipe"                  # the name of the file if absent
//! about = "Write down a recipe."   # for the model that is asked for such records
//! end = "done"                     # the type of the record that completes the tree
//!
//! [[type]]                         # the types, in the order in which they are asked for
//! name = "step"
//! about = "one thing to do"
//! id = "id"                        # the field by which others refer to it
//! parent = "recipe"                # the type that it belongs to; without one it is at the top
//! parent-field = "recipeId"        # the field with the parent's id; needless if there is one parent only
//! label = "name"                   # the field that is its title; this is the default
//! text = "how"                     # the field that is shown below the title
//! order = 2                        # one more than the type before if absent
//!
//! [type.fields]                    # the fields that each has, with an example
//! id = "s-1"
//! name = "Chop the onions"
//!
//! [type.optional]                  # those that it may have
//! how = "Finely."
//! ```
//!
//! Examples are checked against the schema, since models imitate them.

use std::path::Path;
use std::sync::Arc;

use streamfmt_core::profile::DrawnRecords;
use streamfmt_core::records::{RecordField, RecordParent, RecordSchema, RecordType, check, examples};

use super::document::{
    self, LARGEST, MOST_COLLECTED, SettingValue, SettingsFile, SettingsLayer, Spot, Table,
};
use super::profile::Settings;
use super::{Config, is_path};
use crate::files::{FileError, Files};
use crate::problem::{Problem, ProblemKind, Problems, nearest, suggestion};
use crate::settings::keys::Named;

/// The built-in schemas: name and source.
pub static BUILT_IN: &[(&str, &str)] = &[("project", include_str!("../../records/project.toml"))];

/// The value that turns records off.
const OFF: &str = "none";

const KEYS: &[&str] = &["name", "about", "end", "type"];
const TYPE_KEYS: &[&str] =
    &["name", "about", "id", "parent", "parent-field", "label", "text", "order", "fields", "optional"];

/// Loads a schema by its name, or by the path of a file (with a `/` or the ending `.toml`).
pub fn load(files: &Files, name: &str) -> Result<RecordSchema, Problems> {
    let fail = |kind, message: String| Problems::from(Problem::of(kind, name, message));
    let unreadable = |error: FileError| fail(ProblemKind::Unreadable, error.to_string());
    if !is_path(name) {
        let unknown = || fail(ProblemKind::UnknownName, unknown("schema", name, &[]));
        return built_in(name).unwrap_or_else(|| Err(unknown()));
    }
    let source = files.read(Path::new(name), LARGEST).map_err(unreadable)?;
    let text = source.text().map_err(unreadable)?.to_owned();
    parse(SettingsFile::new(name, Some(source.path.clone()), SettingsLayer::Chosen, text))
}

/// The built-in schema of this name.
fn built_in(name: &str) -> Option<Result<RecordSchema, Problems>> {
    let (name, source) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let file = format!("{name}.toml");
    Some(parse(SettingsFile::new(file, None, SettingsLayer::BuiltIn, (*source).to_owned())))
}

/// The message for an unknown schema. `what` is the noun for it, `others` are names that are valid besides schemas.
fn unknown(what: &str, name: &str, others: &[&str]) -> String {
    let known: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).chain(others.iter().copied()).collect();
    match nearest(name, &known) {
        Some(meant) => format!("unknown {what} (did you mean \"{meant}\"?)"),
        None => {
            format!("unknown {what} (one of: {}; a file is named with its ending .toml)", known.join(", "))
        }
    }
}

impl Config {
    /// Resolves the `records` setting to a schema or an accumulator. `accumulators` returns the names of accumulators if they are
    /// known.
    pub(crate) fn records_of(
        &self,
        settings: &Settings,
        accumulators: impl FnOnce() -> Option<Vec<String>>,
    ) -> Result<Option<DrawnRecords>, Problems> {
        let Some(named) = settings.records.as_ref().filter(|named| named.name != OFF) else {
            return Ok(None);
        };
        let Named { name, spot } = named;
        let schema = if is_path(name) { Some(self.load_records(named)) } else { built_in(name) };
        if let Some(schema) = schema {
            return Ok(Some(DrawnRecords::Schema(Arc::new(schema?))));
        }
        let known = accumulators();
        if let Some(known) = known.filter(|known| !known.contains(name)) {
            let others: Vec<&str> = known.iter().map(String::as_str).chain([OFF]).collect();
            let message = unknown(&format!("schema \"{name}\""), name, &others);
            return Err(spot.problem(ProblemKind::UnknownName, message).into());
        }
        Ok(Some(DrawnRecords::Accumulator(name.clone())))
    }

    fn load_records(&self, named: &Named) -> Result<RecordSchema, Problems> {
        let Named { name, spot } = named;
        let by = &spot.document;
        let (path, text) = self.read_beside(by, name).map_err(|error| {
            spot.problem(ProblemKind::Unreadable, format!("can't read the schema {name}: {error}"))
        })?;
        // Messages name it like a profile that a file references.
        let folder = Path::new(&by.name).parent().filter(|_| by.path.is_some());
        let shown = folder.unwrap_or(Path::new("")).join(name);
        parse(SettingsFile::new(shown.display().to_string(), Some(path), by.layer, text))
    }
}

/// Parses a schema. The error contains all problems of the file, or else the first fault of the schema as a whole.
fn parse(file: SettingsFile) -> Result<RecordSchema, Problems> {
    let file = Arc::new(file);
    let (table, problems) = document::parse(&file);
    let mut reader = SchemaReader { problems };
    let schema = reader.schema(&file, &table);
    let mut problems = reader.problems;
    if problems.is_empty() {
        problems.extend(fault(&file, &table, &schema));
    }
    document::limit_reported(&mut problems, &file);
    Problems(problems).or(schema)
}

/// The first fault of a parsed schema, with its position.
fn fault(file: &Arc<SettingsFile>, table: &Table, schema: &RecordSchema) -> Option<Problem> {
    let whole = Spot { document: Arc::clone(file), span: 0..0 };
    let types: Vec<&Table> = match table.get("type").map(|leaf| &leaf.value) {
        Some(SettingValue::List(list)) => list.iter().filter_map(|leaf| table_of(&leaf.value)).collect(),
        _ => Vec::new(),
    };
    if let Some(fault) = schema.problem() {
        let of_type = fault.kind.and_then(|number| types.get(number).copied());
        let spot = spot_in(of_type.unwrap_or(table), &fault.key);
        let spot = spot.or_else(|| Some(of_type?.0.first()?.at.clone()));
        return Some(spot.unwrap_or(whole).problem(ProblemKind::BadValue, fault.reason));
    }
    let (numbers, lines): (Vec<usize>, Vec<String>) = examples(schema).into_iter().unzip();
    let flaw = check(schema, &lines.join("\n")).into_iter().next()?;
    let line = usize::try_from(flaw.line).unwrap_or(1).saturating_sub(1);
    let of_type = numbers.get(line).and_then(|number| types.get(*number).copied());
    let spot = of_type.and_then(|kind| spot_in(kind, "fields").or_else(|| Some(kind.0.first()?.at.clone())));
    let message = format!("the examples don't fit the schema: {}", flaw.reason);
    Some(spot.unwrap_or(whole).problem(ProblemKind::BadValue, message))
}

/// The position of a key, or of a field of a type (`fields.NAME`).
fn spot_in(table: &Table, key: &str) -> Option<Spot> {
    if let Some(field) = key.strip_prefix("fields.") {
        // Of a duplicate field, the second occurrence is the problem.
        let lists = ["optional", "fields"].into_iter().filter_map(|list| table_of(&table.get(list)?.value));
        return lists.flat_map(|list| &list.0).find(|entry| entry.key == field).map(|entry| entry.at.clone());
    }
    let entry = table.0.iter().find(|entry| entry.key == key)?;
    Some(match entry.leaf.value {
        SettingValue::Table(_) | SettingValue::List(_) => entry.at.clone(),
        _ => entry.leaf.spot.clone(),
    })
}

fn table_of(value: &SettingValue) -> Option<&Table> {
    if let SettingValue::Table(table) = value { Some(table) } else { None }
}

struct SchemaReader {
    problems: Vec<Problem>,
}

impl SchemaReader {
    fn complain(&mut self, spot: &Spot, message: impl Into<String>) {
        self.report(spot, ProblemKind::BadValue, message);
    }

    fn report(&mut self, spot: &Spot, kind: ProblemKind, message: impl Into<String>) {
        if self.problems.len() < MOST_COLLECTED {
            self.problems.push(spot.problem(kind, message));
        }
    }

    fn schema(&mut self, file: &SettingsFile, table: &Table) -> RecordSchema {
        self.look_for_unknown(table, KEYS);
        let stem = Path::new(&file.name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut types: Vec<RecordType> = Vec::new();
        if let Some(leaf) = table.get("type") {
            match &leaf.value {
                SettingValue::List(list) => {
                    for leaf in list {
                        match table_of(&leaf.value) {
                            Some(kind) => {
                                let order = types.last().map_or(1, |before| before.order.saturating_add(1));
                                types.push(self.record_type(kind, order));
                            }
                            None => self.complain(&leaf.spot, "a type must be a table [[type]]"),
                        }
                    }
                }
                value => {
                    let message = format!("type must be a list of tables [[type]], not {}", value.describe());
                    self.complain(&leaf.spot, message);
                }
            }
        }
        RecordSchema {
            name: self.text(table, "name").unwrap_or(stem),
            about: self.text(table, "about").unwrap_or_default(),
            types,
            end: self.text(table, "end"),
        }
    }

    fn record_type(&mut self, table: &Table, order: u32) -> RecordType {
        self.look_for_unknown(table, TYPE_KEYS);
        let field = self.text(table, "parent-field");
        let parent = self.text(table, "parent");
        if let (None, Some(_), Some(spot)) = (&parent, &field, spot_in(table, "parent-field")) {
            self.complain(&spot, "parent-field needs the type of the parent (parent = \"…\")");
        }
        let mut fields = self.fields(table, "fields", true);
        fields.extend(self.fields(table, "optional", false));
        RecordType {
            name: self.text(table, "name").unwrap_or_default(),
            about: self.text(table, "about").unwrap_or_default(),
            id: self.text(table, "id"),
            parent: parent.map(|kind| RecordParent { kind, field }),
            label: self.text(table, "label").unwrap_or_else(|| "name".to_owned()),
            text: self.text(table, "text"),
            fields,
            order: self.order(table).unwrap_or(order),
        }
    }

    fn look_for_unknown(&mut self, table: &Table, known: &[&str]) {
        for entry in table.0.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            if self.problems.len() >= MOST_COLLECTED {
                return;
            }
            let hint = suggestion(&entry.key, known.iter().copied());
            let message = format!("unknown key \"{}\" {hint}", entry.key);
            self.report(&entry.at, ProblemKind::UnknownKey, message);
        }
    }

    fn text(&mut self, table: &Table, key: &str) -> Option<String> {
        let leaf = table.get(key)?;
        if let Some(text) = leaf.text() {
            return Some(text.to_owned());
        }
        self.complain(&leaf.spot, format!("{key} must be a text, not {}", leaf.value.describe()));
        None
    }

    fn order(&mut self, table: &Table) -> Option<u32> {
        let leaf = table.get("order")?;
        let SettingValue::Number(number) = leaf.value else {
            self.complain(&leaf.spot, format!("order must be a number, not {}", leaf.value.describe()));
            return None;
        };
        let order = u32::try_from(number).ok();
        if order.is_none() {
            self.complain(&leaf.spot, "order must be a number from 0");
        }
        order
    }

    /// Parses the fields in a table of a type, each with its example.
    fn fields(&mut self, table: &Table, key: &str, is_required: bool) -> Vec<RecordField> {
        let Some(leaf) = table.get(key) else { return Vec::new() };
        let Some(fields) = table_of(&leaf.value) else {
            self.complain(&leaf.spot, format!("{key} must be a table of fields with examples"));
            return Vec::new();
        };
        let mut read = Vec::new();
        for field in &fields.0 {
            if let Some(example) = json(&field.leaf.value) {
                let (name, example) = (field.key.clone(), example.to_string());
                read.push(RecordField { name, is_required, example });
            } else {
                let found = field.leaf.value.describe();
                let message = format!("an example must be a value that JSON has, not {found}");
                self.complain(&field.leaf.spot, message);
            }
        }
        read
    }
}

/// Converts the value to JSON, if JSON has it.
fn json(value: &SettingValue) -> Option<serde_json::Value> {
    Some(match value {
        SettingValue::Text(text) | SettingValue::Bare(text) => text.as_str().into(),
        SettingValue::Number(number) => (*number).into(),
        SettingValue::Float(number) => serde_json::Number::from_f64(*number)?.into(),
        SettingValue::Flag(flag) => (*flag).into(),
        SettingValue::List(list) => {
            let values: Option<Vec<serde_json::Value>> = list.iter().map(|leaf| json(&leaf.value)).collect();
            values?.into()
        }
        SettingValue::Table(table) => {
            let entries = table.0.iter().map(|entry| Some((entry.key.clone(), json(&entry.leaf.value)?)));
            serde_json::Value::Object(entries.collect::<Option<_>>()?)
        }
        SettingValue::Other(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use streamfmt_core::records::instructions;

    use super::*;

    const RECIPE: &str = r#"
name = "recipe"
about = "Write down a recipe."
end = "done"

[[type]]
name = "recipe"
label = "title"
fields = { title = "Onion soup" }

[[type]]
name = "part"
id = "id"
parent = "recipe"
fields = { id = 1, name = "The broth" }

[[type]]
name = "step"
id = "id"
parent = "part"
parent-field = "part"
text = "how"
fields = { id = "s-1", part = 1, name = "Chop \"six\" onions" }
optional = { how = "Finely,\nwith {care}.", minutes = 7.5, tools = ["knife", { name = "board" }] }

[[type]]
name = "note"
parent = "step"
parent-field = "step"
order = 3
fields = { step = "s-1", name = "Mind the knife" }
"#;

    fn parse_text(file: &str, source: &str) -> Result<RecordSchema, Problems> {
        parse(SettingsFile::new(file, None, SettingsLayer::Chosen, source.to_owned()))
    }

    /// A type that belongs to itself.
    const NESTED: &str = r#"
[[type]]
name = "node"
id = "id"
parent = "node"
parent-field = "up"
fields = { id = "n-2", name = "Inner" }
optional = { up = "n-1" }
"#;

    #[track_caller]
    fn problem(change: (&str, &str)) -> String {
        assert!(RECIPE.contains(change.0), "{change:?}");
        let source = RECIPE.replacen(change.0, change.1, 1);
        parse_text("my.toml", &source).expect_err(change.1).to_string()
    }

    #[test]
    fn a_schema_is_read_with_what_is_left_open_in_it() {
        let schema = parse_text("x/my.toml", RECIPE).expect("a schema");
        let orders: Vec<u32> = schema.types.iter().map(|kind| kind.order).collect();
        assert_eq!((schema.name.as_str(), orders), ("recipe", vec![1, 2, 3, 3]));
        let unnamed = parse_text("x/my.toml", &RECIPE.replacen("name = \"recipe\"\n", "", 1));
        assert_eq!(unnamed.map(|schema| schema.name), Ok("my".to_owned()));
        let step = &schema.types[2];
        let names: Vec<(&str, bool)> =
            step.fields.iter().map(|field| (field.name.as_str(), field.is_required)).collect();
        let needed = [("id", true), ("part", true), ("name", true)];
        assert_eq!(names, [&needed[..], &[("how", false), ("minutes", false), ("tools", false)]].concat());
        assert_eq!(
            examples(&schema)[2].1,
            r#"{"type": "step", "id": "s-1", "part": 1, "name": "Chop \"six\" onions", "how": "Finely,\nwith {care}.", "minutes": 7.5, "tools": ["knife",{"name":"board"}]}"#
        );
    }

    #[test]
    fn the_examples_of_all_instructions_fit_their_schema() {
        let built_in = BUILT_IN.iter().map(|(name, _)| load(&Files::default(), name));
        for schema in built_in.chain([RECIPE, NESTED].map(|source| parse_text("my.toml", source))) {
            let schema = schema.expect("a schema");
            let text = instructions(&schema);
            assert_eq!(check(&schema, &text), [], "{text}");
            let lines = text.lines().filter(|line| line.trim_start().starts_with('{'));
            let examples = examples(&schema).into_iter().map(|(_, example)| example);
            assert!(lines.eq(examples), "{text}");
        }
    }

    #[test]
    fn the_schema_of_the_page_is_one() {
        let page = include_str!("../../../../docs/records.md");
        let source = page.split("```toml\n# recipe.toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let schema = parse_text("recipe.toml", source.expect("the page has it")).expect("a schema");
        assert_eq!(schema.types.iter().map(|kind| kind.order).collect::<Vec<_>>(), [1, 2, 2]);
    }

    #[test]
    fn what_is_wrong_in_a_schema_has_its_place() {
        for (change, told) in [
            (("about = ", "abuot = "), "my.toml:3:1: unknown key \"abuot\" (did you mean \"about\"?)"),
            (
                ("label = ", "titel = "),
                "my.toml:8:1: unknown key \"titel\" \
                 (one of: name, about, id, parent, parent-field, label, text, order, fields, optional)",
            ),
            (("end = \"done\"", "end = 3"), "my.toml:4:7: end must be a text, not 3"),
            (("order = 3", "order = -1"), "my.toml:30:9: order must be a number from 0"),
            (
                ("minutes = 7.5", "minutes = nan"),
                "my.toml:24:55: an example must be a value that JSON has, not NaN",
            ),
            (
                ("fields = { title = \"Onion soup\" }", "fields = [\"title\"]"),
                "my.toml:9:10: fields must be a table of fields with examples",
            ),
            (
                ("label = \"title\"", "label = \"titel\""),
                "my.toml:8:9: the type recipe has no field \"titel\" (did you mean \"title\"?)",
            ),
            (("label = \"title\"", ""), "my.toml:7:1: the type recipe has no field \"name\" (one of: title)"),
            (
                ("parent = \"part\"", "parent = \"prat\""),
                "my.toml:20:10: unknown type \"prat\" (did you mean \"part\"?)",
            ),
            (("name = \"note\"", "name = \"step\""), "my.toml:27:8: there are two types step"),
            (
                ("name = \"note\"", "name = \"done\""),
                "my.toml:27:8: the type done can't be both a node and the end",
            ),
            (("{ how =", "{ name ="), "my.toml:24:14: the type step has two fields name"),
            (("{ how =", "{ type ="), "my.toml:24:14: every record has a field type, which needs no example"),
            (
                ("order = 3", "order = 2"),
                "my.toml:30:9: the types must be listed in their order: note has 2, but step before it has 3",
            ),
            (
                ("parent = \"recipe\"", "parent = \"step\""),
                "my.toml:14:10: the type step must be listed before part, which belongs to it",
            ),
            (
                ("parent = \"recipe\"", "parent = \"part\""),
                "my.toml:14:10: the type part belongs to itself, so it needs a parent-field",
            ),
            (
                ("parent = \"recipe\"", "parent = \"part\"\nparent-field = \"name\""),
                "my.toml:15:16: the type part belongs to itself, so name must be optional: the first has none",
            ),
            (
                ("parent = \"part\"\n", ""),
                "my.toml:20:16: parent-field needs the type of the parent (parent = \"…\")",
            ),
            (
                ("id = \"s-1\", part = 1,", "id = \"s-1\", part = 2,"),
                "my.toml:23:1: the examples don't fit the schema: no part \"2\" comes before it",
            ),
            (
                ("fields = { id = 1,", "fields = { id = [],"),
                "my.toml:15:1: the examples don't fit the schema: `id` of part must be a text",
            ),
            (
                ("\"Write down a recipe.\"", "\"Such as\\n {}\""),
                "my.toml:3:9: no line of about may begin with {, as records do",
            ),
            (("end = \"done\"", "end = \"\""), "my.toml:4:7: the name is empty"),
        ] {
            assert_eq!(problem(change), told);
        }
        let own = parse_text("my.toml", &NESTED.replace("n-2", "n-1")).expect_err("a circle").to_string();
        assert_eq!(own, "my.toml:7:1: the examples don't fit the schema: this node is its own parent");
        let nothing = parse_text("my.toml", "about = \"x\"\n").expect_err("no types").to_string();
        assert_eq!(nothing, "my.toml:1:1: it has no types (expected a table [[type]] for each)");
        let broken = parse_text("my.toml", "[[type]\nname = 3\n").expect_err("no TOML").to_string();
        assert!(broken.starts_with("my.toml:1:8: "), "{broken}");
    }

    #[test]
    fn no_file_takes_long_or_panics() {
        let many = "[[type]]\nname = 'x'\nfields.name = 1\n".repeat(5_000);
        let deep = format!("type = {}", "[".repeat(100_000));
        let wide: String =
            (0..15_000).fold(String::from("[[type]]\n"), |text, at| text + &format!("k{at}=1\n"));
        let fields: String = (0..15_000)
            .fold(String::from("[[type]]\nname='x'\n[type.fields]\n"), |text, at| {
                text + &format!("k{at}=1\n")
            });
        for source in
            [&many, &deep, &wide, &fields, "type = 1", "type = [1]", "type = [{}]", "type.name = 'x'"]
        {
            let Problems(problems) = parse_text("my.toml", source).expect_err("it is wrong");
            assert!(!problems.is_empty() && problems.len() <= MOST_COLLECTED, "{}", problems.len());
        }
    }

    #[test]
    fn a_schema_is_found_by_its_name_or_path() {
        let files = Files::default();
        assert_eq!(load(&files, "project").expect("it is built in").end.as_deref(), Some("complete"));
        for (name, told) in [
            ("projct", "projct: unknown schema (did you mean \"project\"?)"),
            ("recipe", "recipe: unknown schema (one of: project; a file is named with its ending .toml)"),
            ("./no.toml", "./no.toml: no such file"),
        ] {
            assert_eq!(load(&files, name).expect_err(name).to_string(), told);
        }
    }
}
