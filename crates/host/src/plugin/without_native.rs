//! The replacement for libraries of native plugins in builds that can't load any.

use std::path::Path;
use std::sync::Arc;

/// A library. It has no values, since none can be loaded.
#[derive(Debug, PartialEq)]
pub(crate) enum NoNativeCode {}

pub(crate) use self::NoNativeCode as NativeCode;

/// The reason why no library can be loaded.
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
