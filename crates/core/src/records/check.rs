//! Compares lines with a schema.

use std::collections::{HashMap, HashSet};

use crate::json::{Record, Value};

use super::schema::RecordSchema;

/// What doesn't fit in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The number of the line, from 1; of what is missing at the end, the one after the last.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// Says what in a text doesn't fit a schema, line by line. Lines that don't begin with `{` are prose.
pub fn check(schema: &RecordSchema, text: &str) -> Vec<Flaw> {
    let mut check = Check { schema, ..Check::of(schema) };
    let mut line = 0;
    for written in text.lines() {
        line += 1;
        let written = written.trim();
        if written.starts_with('{')
            && let Err(reason) = check.line(line, written)
        {
            check.flaws.push(Flaw { line, reason });
        }
    }
    line += 1;
    let reason = match (&schema.end, check.has_records) {
        (_, false) => Some("there is no record".to_owned()),
        (Some(end), true) if !check.has_ended => Some(format!("there is no `{end}` at the end")),
        _ => None,
    };
    check.flaws.extend(reason.map(|reason| Flaw { line, reason }));
    check.flaws
}

/// What is known of the lines so far.
struct Check<'s> {
    schema: &'s RecordSchema,
    flaws: Vec<Flaw>,
    /// The line of each id, by the number of its type.
    ids: HashMap<(usize, String), u64>,
    /// The types of which there was one.
    seen: HashSet<usize>,
    /// The highest order of a type so far.
    order: u32,
    /// The parent that the last record of a type named, and those that were left before.
    parents: HashMap<usize, (String, HashSet<String>)>,
    has_records: bool,
    has_ended: bool,
}

impl<'s> Check<'s> {
    fn of(schema: &'s RecordSchema) -> Self {
        Self {
            schema,
            flaws: Vec::new(),
            ids: HashMap::new(),
            seen: HashSet::new(),
            order: 0,
            parents: HashMap::new(),
            has_records: false,
            has_ended: false,
        }
    }

    fn line(&mut self, line: u64, written: &str) -> Result<(), String> {
        let record = Record::from_line(written.to_owned()).map_err(|(damage, _)| {
            if damage.incomplete {
                "the object doesn't end on its line".to_owned()
            } else {
                format!("it isn't JSON from column {}", written[..damage.at].chars().count() + 1)
            }
        })?;
        let value = record.root();
        let name = value.get("type").and_then(Value::decode).ok_or("it has no `type` that is a text")?;
        self.has_records = true;
        if self.schema.is_end(&name) {
            if self.seen.is_empty() {
                return Err(format!("there is nothing that `{name}` could end"));
            }
            let flaws = std::mem::take(&mut self.flaws);
            *self = Check { flaws, has_records: true, has_ended: true, ..Check::of(self.schema) };
            return Ok(());
        }
        let number = self.schema.type_of(&name).ok_or_else(|| {
            let known = self.schema.types.iter().map(|kind| kind.name.as_str());
            let known: Vec<&str> = known.chain(self.schema.end.as_deref()).collect();
            format!("no type {name:?} (there is {})", known.join(", "))
        })?;
        let kind = &self.schema.types[number];
        if std::mem::take(&mut self.has_ended) && kind.parent.is_some() {
            return Err(format!("{name} comes after the end"));
        }
        if let Some(flaw) = kind.flaw_of(value) {
            return Err(flaw);
        }
        let is_first = self.seen.insert(number);
        if let Some(id) = kind.id_of(value) {
            if id.is_empty() {
                return Err(format!("the id of {name} is empty"));
            }
            if let Some(before) = self.ids.insert((number, id.clone()), line) {
                return Err(format!("{name} {id:?} is in line {before} already"));
            }
        } else if kind.parent.is_none() && !is_first {
            return Err(format!("there is a {name} already"));
        }
        if let Some((above, id)) = kind.parent_of(value) {
            let parent = self.schema.type_of(above).unwrap_or(number);
            match id {
                None if !self.seen.contains(&parent) => return Err(format!("no {above} comes before it")),
                Some(id) if !self.ids.contains_key(&(parent, id.clone())) => {
                    return Err(format!("no {above} {id:?} comes before it"));
                }
                Some(id) => self.of_parent(number, &name, above, id)?,
                None => {}
            }
        }
        if kind.order < self.order {
            let later = self.schema.types.iter().enumerate();
            let mut later =
                later.filter(|(number, other)| other.order > kind.order && self.seen.contains(number));
            let later = later.next().map_or("others", |(_, other)| other.name.as_str());
            return Err(format!("{name} belongs before {later}"));
        }
        self.order = kind.order;
        Ok(())
    }

    /// Records of one type and one parent come one after the other.
    fn of_parent(&mut self, number: usize, name: &str, above: &str, id: String) -> Result<(), String> {
        let (now, left) = self.parents.entry(number).or_default();
        if *now == id {
            return Ok(());
        }
        let before = std::mem::replace(now, id);
        if !before.is_empty() {
            left.insert(before);
        }
        if left.contains(now) {
            return Err(format!("{name} belongs to the others of {above} {now:?}"));
        }
        Ok(())
    }
}
