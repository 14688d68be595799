//! What stands for the library of a native plugin where none can be loaded.

use std::path::Path;
use std::sync::Arc;

/// A library: there is none.
#[derive(Debug, PartialEq)]
pub(crate) enum NoNativeCode {}

pub(crate) use self::NoNativeCode as NativeCode;

/// Why.
const WHY: &str = if cfg!(unix) {
    "this program is built without native plugins (build streamfmt with its feature \"native\")"
} else {
    "native plugins need Linux, macOS or another Unix"
};

impl NoNativeCode {
    pub(crate) fn read(_: &Path) -> Result<Self, String> {
        Err(WHY.to_owned())
    }

    pub(crate) fn bytes(&self) -> &Arc<[u8]> {
        match *self {}
    }
}
