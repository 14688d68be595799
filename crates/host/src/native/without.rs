//! The replacement for running native plugins in builds that can't load any: there is no native code, so nothing is ever loaded.

use std::sync::Arc;

use super::NativeLayer;
use crate::plugin::journal::{Journal, Warning};
use crate::plugin::library::NativeCode;
use crate::plugin::source::{PluginLayer, PluginSource};

pub(super) fn load(
    _: PluginLayer,
    _: &Arc<PluginSource>,
    code: &NativeCode,
    _: &Journal,
) -> Result<Box<dyn NativeLayer>, Box<Warning>> {
    match *code {}
}

#[cfg(feature = "lua")]
pub(crate) fn described(_: &PluginSource) -> Result<(String, Option<String>, Vec<String>), String> {
    Err("native plugins can't be loaded".to_owned())
}
