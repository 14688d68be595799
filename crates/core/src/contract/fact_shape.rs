//! Checks that the values of facts have the types that the table of facts promises, so that programs may rely on them.
//!
//! Facts that are values of the record come from outside: any field may have any type.

use crate::item::{FactRef, facts};
use crate::json::ValueKind;

/// Whether an argument of a call has the type that its name promises.
pub(super) fn is_part(name: &str, part: FactRef<'_>) -> bool {
    match part {
        FactRef::Json(value) | FactRef::Named(value, _) => {
            facts::find_part(name).is_none_or(|row| row.shape.fits(value))
        }
        FactRef::Of(..) => part.str().is_some(),
        FactRef::Sole(..) | FactRef::Word(_) | FactRef::Made(..) => true,
    }
}

/// Whether it is an object, or was made by the dialect.
pub(super) fn is_object(part: FactRef<'_>) -> bool {
    part.value().is_none_or(|value| value.kind() == ValueKind::Object)
}

/// Whether a fact has the type that its name promises. A fact that a dialect made always has.
pub(super) fn fits(name: &str, fact: FactRef<'_>) -> bool {
    match fact {
        FactRef::Json(value) | FactRef::Named(value, _) => {
            facts::find(name).is_none_or(|row| row.shape.fits(value))
        }
        _ => true,
    }
}
