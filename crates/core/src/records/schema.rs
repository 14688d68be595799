//! The schema of records: their types, and how they belong to each other.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::json::{Value, ValueKind};
use crate::nearest::{hint, nearest};

/// The most types of a schema.
const MAX_TYPES: usize = 100;
/// The most fields of a type.
const MAX_FIELDS: usize = 100;
/// The longest name of a type or a field, in bytes.
const MAX_NAME: usize = 100;

/// The types of the records in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSchema {
    /// Its name.
    pub name: String,
    /// For the model that writes the records: the task, in a paragraph or more.
    pub about: String,
    /// The types, in the order in which the model should write them.
    pub types: Vec<RecordType>,
    /// The type of the record that completes the tree, if there is one.
    pub end: Option<String>,
}

/// A type of record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordType {
    /// The value of the field `type` in each such record.
    pub name: String,
    /// For the model: when to write such a record.
    pub about: String,
    /// The field by which others refer to it. A record that comes again with the same id replaces the earlier one.
    pub id: Option<String>,
    /// The record to which it belongs; `None` if it is at the top.
    pub parent: Option<RecordParent>,
    /// The field that is its title.
    pub label: String,
    /// The field that is shown as a text below the title.
    pub text: Option<String>,
    /// All fields except `type`, in the order in which the model should write them. A record may have others.
    pub fields: Vec<RecordField>,
    /// Its order among the types: records of types with a lower number come first. Types with the same number may be mixed.
    pub order: u32,
}

/// The parent of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordParent {
    /// The type of that record.
    pub kind: String,
    /// The field that contains the id of the parent. If the field is optional, a record without it is at the top. `None` if the parent is
    /// the only record of its type.
    pub field: Option<String>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordField {
    /// Its name.
    pub name: String,
    /// Whether every record must have it.
    pub is_required: bool,
    /// A possible value, as JSON in one line.
    pub example: String,
}

/// A fault in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaProblem {
    /// The number of the type that contains it; `None` if it concerns the whole schema.
    pub kind: Option<usize>,
    /// The key at fault, by its name in a file: `parent`, `label`; `fields.NAME` for a field, optional or not.
    pub key: String,
    /// What is wrong, and what is expected.
    pub reason: String,
}

impl SchemaProblem {
    #[expect(clippy::unnecessary_wraps, reason = "it is what a look for the first fault gives")]
    fn of(kind: Option<usize>, key: &str, reason: String) -> Option<Self> {
        Some(Self { kind, key: key.to_owned(), reason })
    }
}

impl RecordSchema {
    /// The number of a type.
    pub(super) fn type_of(&self, name: &str) -> Option<usize> {
        self.types.iter().position(|kind| kind.name == name)
    }

    /// Whether a record of this type completes the tree.
    pub(super) fn is_end(&self, name: &str) -> bool {
        self.end.as_deref() == Some(name)
    }

    /// The first fault of the schema, if it has one: for example, a type or field that is missing or defined twice, or an order in which
    /// no tree can be written.
    pub fn problem(&self) -> Option<SchemaProblem> {
        let of_all = |key: &str, reason| SchemaProblem::of(None, key, reason);
        if self.types.is_empty() {
            return of_all("type", "it has no types (expected a table [[type]] for each)".to_owned());
        }
        if self.types.len() > MAX_TYPES {
            return of_all("type", format!("it has more than {MAX_TYPES} types"));
        }
        if self.about.lines().any(|line| line.trim_start().starts_with('{')) {
            return of_all("about", "no line of about may begin with {, as records do".to_owned());
        }
        if let Some(reason) = self.end.as_deref().and_then(wrong_name) {
            return of_all("end", reason);
        }
        (0..self.types.len()).find_map(|number| self.problem_of(number))
    }

    /// The first fault of a type.
    fn problem_of(&self, number: usize) -> Option<SchemaProblem> {
        let kind = &self.types[number];
        let name = &kind.name;
        let fault = |key: &str, reason| SchemaProblem::of(Some(number), key, reason);
        if let Some(reason) = wrong_name(name) {
            return fault("name", reason);
        }
        if self.is_end(name) {
            return fault("name", format!("the type {name} can't be both a node and the end"));
        }
        if self.types[..number].iter().any(|other| other.name == *name) {
            return fault("name", format!("there are two types {name}"));
        }
        if kind.fields.len() > MAX_FIELDS {
            return fault("fields", format!("the type {name} has more than {MAX_FIELDS} fields"));
        }
        let mut known = HashSet::from(["type"]);
        for field in &kind.fields {
            if let Some(reason) = wrong_name(&field.name) {
                return fault(&format!("fields.{}", field.name), reason);
            }
            if !known.insert(&field.name) {
                let reason = match field.name.as_str() {
                    "type" => "every record has a field type, which needs no example".to_owned(),
                    field => format!("the type {name} has two fields {field}"),
                };
                return fault(&format!("fields.{}", field.name), reason);
            }
        }
        let parent_field = kind.parent.as_ref().and_then(|parent| parent.field.as_deref());
        let named = [
            ("label", Some(kind.label.as_str())),
            ("id", kind.id.as_deref()),
            ("text", kind.text.as_deref()),
            ("parent-field", parent_field),
        ];
        for (key, field) in named {
            let Some(field) = field else { continue };
            if kind.field(field).is_none() {
                let known: Vec<&str> = kind.fields.iter().map(|field| field.name.as_str()).collect();
                return fault(key, format!("the type {name} has no field {field:?} {}", hint(field, &known)));
            }
        }
        if let Some(id) = kind.id.as_deref().filter(|id| kind.field(id).is_some_and(|id| !id.is_required)) {
            return fault("id", format!("the field {id} of {name} is its id, so it can't be optional"));
        }
        if number > 0 && kind.order < self.types[number - 1].order {
            let before = &self.types[number - 1];
            let reason = format!(
                "the types must be listed in their order: {name} has {}, but {} before it has {}",
                kind.order, before.name, before.order
            );
            return fault("order", reason);
        }
        self.problem_of_parent(number)
    }

    fn problem_of_parent(&self, number: usize) -> Option<SchemaProblem> {
        let kind = &self.types[number];
        let (name, parent) = (&kind.name, kind.parent.as_ref()?);
        let fault = |key: &str, reason| SchemaProblem::of(Some(number), key, reason);
        let Some(above) = self.type_of(&parent.kind) else {
            let names: Vec<&str> = self.types.iter().map(|kind| kind.name.as_str()).collect();
            return fault("parent", format!("unknown type {:?} {}", parent.kind, hint(&parent.kind, &names)));
        };
        let above_kind = &self.types[above];
        if above > number {
            let reason =
                format!("the type {} must be listed before {name}, which belongs to it", parent.kind);
            return fault("parent", reason);
        }
        let Some(field) = &parent.field else {
            if above == number {
                return fault(
                    "parent",
                    format!("the type {name} belongs to itself, so it needs a parent-field"),
                );
            }
            if above_kind.id.is_none() && above_kind.parent.is_some() {
                let reason = format!(
                    "there can be several {}, so {name} needs a parent-field, and {0} an id",
                    parent.kind
                );
                return fault("parent", reason);
            }
            return None;
        };
        if above_kind.id.is_none() {
            return fault("parent-field", format!("the type {} has no id", parent.kind));
        }
        if above == number && kind.field(field).is_some_and(|field| field.is_required) {
            let reason =
                format!("the type {name} belongs to itself, so {field} must be optional: the first has none");
            return fault("parent-field", reason);
        }
        None
    }
}

impl RecordType {
    fn field(&self, name: &str) -> Option<&RecordField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The type of a record's parent, and the parent's id if the record refers to it by id. `None` if the record is at the top.
    pub(super) fn parent_of(&self, record: Value<'_>) -> Option<(&str, Option<String>)> {
        let parent = self.parent.as_ref()?;
        match &parent.field {
            None => Some((&parent.kind, None)),
            Some(field) => Some((&parent.kind, Some(id_in(record, field)?))),
        }
    }

    /// The id of a record of this type.
    pub(super) fn id_of(&self, record: Value<'_>) -> Option<String> {
        id_in(record, self.id.as_deref()?)
    }

    /// The first flaw of a record of this type by itself, if it has one.
    pub(super) fn flaw_of(&self, record: Value<'_>) -> Option<String> {
        let parent_field = self.parent.as_ref().and_then(|parent| parent.field.as_deref());
        for field in &self.fields {
            let name = field.name.as_str();
            let Some(value) = record.get(name).filter(|value| !value.is_null()) else {
                if field.is_required {
                    return Some(format!("{} needs `{name}`{}", self.name, self.misspelt(record, name)));
                }
                continue;
            };
            let is_key = self.id.as_deref() == Some(name) || parent_field == Some(name);
            if (is_key || self.label == name)
                && !matches!(value.kind(), ValueKind::String | ValueKind::Number)
            {
                return Some(format!("`{name}` of {} must be a text", self.name));
            }
            if is_key && value.decode().is_some_and(|id| id.is_empty()) {
                return Some(format!("`{name}` of {} is empty", self.name));
            }
        }
        let (own, (above, parent)) = (self.id_of(record)?, self.parent_of(record)?);
        (above == self.name && parent? == own).then(|| format!("this {} is its own parent", self.name))
    }

    /// For a message: the field of a record that is probably a misspelling of a missing one.
    fn misspelt(&self, record: Value<'_>, name: &str) -> String {
        let own: Vec<Cow<'_, str>> = record.entries().take(MAX_FIELDS).map(|(key, _)| key.decode()).collect();
        let foreign = own.iter().filter(|key| key.len() <= MAX_NAME && self.field(key).is_none());
        let foreign: Vec<&str> = foreign.map(AsRef::as_ref).filter(|key| *key != "type").collect();
        let lower: Vec<String> = foreign.iter().map(|key| key.to_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        let found = nearest(name, &lower).and_then(|found| lower.iter().position(|key| *key == found));
        found.map_or_else(String::new, |at| format!(", but has `{}`", foreign[at]))
    }
}

/// Why a name can't be that of a type or a field; `None` if it can.
fn wrong_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("the name is empty".to_owned());
    }
    let is_plain = !name.contains(|ch: char| ch.is_control() || ch == '`');
    (name.len() > MAX_NAME || !is_plain)
        .then(|| format!("a name is a text of at most {MAX_NAME} bytes without line breaks and backquotes"))
}

/// The id in a field: a text, or a number as written.
fn id_in(record: Value<'_>, field: &str) -> Option<String> {
    let value = record.get(field)?;
    match value.kind() {
        ValueKind::String => value.decode().map(Cow::into_owned),
        ValueKind::Number => Some(value.raw().to_owned()),
        _ => None,
    }
}
