//! Which records there are, and how they belong together.

use crate::json::{Value, ValueKind};

/// The types of records that make a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSchema {
    /// Its name.
    pub name: String,
    /// For the model that is asked for such records: what they are, in a sentence or some.
    pub about: String,
    /// The types, in the order in which they are asked for.
    pub types: Vec<RecordType>,
    /// The type of the record that says that the tree is complete, if there is one.
    pub end: Option<String>,
}

/// A type of record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordType {
    /// What stands under `type`.
    pub name: String,
    /// For the model: when such a record is asked for.
    pub about: String,
    /// The field by which others name it. A record that comes again under its id replaces the one before.
    pub id: Option<String>,
    /// What it is below of; `None`: it is at the top.
    pub parent: Option<RecordParent>,
    /// The field that is its title.
    pub label: String,
    /// The field that is a text of its own, below the title.
    pub text: Option<String>,
    /// All fields but `type`, in the order in which they are asked for. A record may have others.
    pub fields: Vec<RecordField>,
    /// Its place among the types: those of a lower one come before it. Types of the same one may take turns.
    pub order: u32,
}

/// Which record one belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordParent {
    /// The type of that record.
    pub kind: String,
    /// The field that holds the id of that record; `None`: there is only one of its type.
    pub field: Option<String>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordField {
    /// Its name.
    pub name: String,
    /// Whether it must be there.
    pub is_required: bool,
    /// What a model could write there, as JSON.
    pub example: String,
}

impl RecordSchema {
    /// The number of a type.
    pub(super) fn type_of(&self, name: &str) -> Option<usize> {
        self.types.iter().position(|kind| kind.name == name)
    }

    /// Whether a record of this type says that the tree is complete.
    pub(super) fn is_end(&self, name: &str) -> bool {
        self.end.as_deref() == Some(name)
    }

    /// Says what is wrong with the schema itself, if anything is: a type or a field that is named but isn't there, or is there twice.
    pub fn problem(&self) -> Option<String> {
        if self.types.is_empty() {
            return Some("it has no types".to_owned());
        }
        for (number, kind) in self.types.iter().enumerate() {
            let name = &kind.name;
            if self.is_end(name) {
                return Some(format!("the type {name:?} can't both be a node and end the tree"));
            }
            if self.types[..number].iter().any(|other| other.name == *name) {
                return Some(format!("the type {name:?} is there twice"));
            }
            let parent_field = kind.parent.as_ref().and_then(|parent| parent.field.as_ref());
            let named = [Some(&kind.label), kind.id.as_ref(), kind.text.as_ref(), parent_field];
            for field in named.into_iter().flatten() {
                if !kind.fields.iter().any(|known| known.name == *field) {
                    return Some(format!("the type {name:?} has no field {field:?}"));
                }
            }
            let Some(parent) = &kind.parent else { continue };
            let Some(above) = self.types.iter().find(|other| other.name == parent.kind) else {
                return Some(format!("the parent of {name:?}, {:?}, is no type", parent.kind));
            };
            if parent.field.is_some() && above.id.is_none() {
                return Some(format!("{name:?} names its parent by id, but {:?} has no id", parent.kind));
            }
            if parent.field.is_none() && parent.kind == *name {
                return Some(format!("{name:?} is below itself, so it needs a field that names its parent"));
            }
        }
        None
    }
}

impl RecordType {
    /// The type of the record that it is below of, and the id of that record if it is named. `None`: it is at the top.
    pub(super) fn parent_of(&self, record: Value<'_>) -> Option<(&str, Option<String>)> {
        let parent = self.parent.as_ref()?;
        Some((&parent.kind, parent.field.as_ref().and_then(|field| id_in(record, field))))
    }

    /// The id of a record of this type.
    pub(super) fn id_of(&self, record: Value<'_>) -> Option<String> {
        id_in(record, self.id.as_deref()?)
    }

    /// What is wrong with a record of this type, if anything is.
    pub(super) fn flaw_of(&self, record: Value<'_>) -> Option<String> {
        let parent_field = self.parent.as_ref().and_then(|parent| parent.field.as_deref());
        for field in &self.fields {
            let value = record.get(&field.name).filter(|value| !value.is_null());
            let Some(value) = value else {
                if field.is_required {
                    return Some(format!("{} needs `{}`", self.name, field.name));
                }
                continue;
            };
            let names = [self.id.as_deref(), parent_field, Some(self.label.as_str())];
            if names.contains(&Some(field.name.as_str()))
                && !matches!(value.kind(), ValueKind::String | ValueKind::Number)
            {
                return Some(format!("`{}` of {} isn't a text", field.name, self.name));
            }
        }
        None
    }
}

/// The id in a field: a text, or a number as it is written.
fn id_in(record: Value<'_>, field: &str) -> Option<String> {
    let value = record.get(field)?;
    match value.kind() {
        ValueKind::String => value.decode().map(std::borrow::Cow::into_owned),
        ValueKind::Number => Some(value.raw().to_owned()),
        _ => None,
    }
}
