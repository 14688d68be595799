//! Whether values are of the kind that the names of their facts promise, so that a program may rely on it.
//!
//! Facts that are values of the record come from outside: any field may hold anything.

use crate::item::{Fact, FactRef, Item, facts};
use crate::json::ValueKind;

/// Whether a part of what a call does is of the kind that its name promises.
pub(super) fn is_part(name: &str, told: FactRef<'_>) -> bool {
    match told {
        FactRef::Json(value) | FactRef::Named(value, _) => {
            facts::find_part(name).is_none_or(|row| row.shape.fits(value))
        }
        FactRef::Of(..) => told.str().is_some(),
        FactRef::Sole(..) | FactRef::Word(_) | FactRef::Made(..) => true,
    }
}

/// Whether it has parts.
pub(super) fn is_object(told: FactRef<'_>) -> bool {
    told.value().is_none_or(|value| value.kind() == ValueKind::Object)
}

/// Whether a fact is of the kind that its name promises. What a dialect made itself is.
pub(super) fn fits(item: &Item, name: &str, fact: &Fact) -> bool {
    match (fact, &item.record) {
        (Fact::Node(node) | Fact::Named(node, _), Some(record)) => {
            let value = record.value(*node);
            value.is_null() || facts::find(name).is_none_or(|row| row.shape.fits(value))
        }
        _ => true,
    }
}
