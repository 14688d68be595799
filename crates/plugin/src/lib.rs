//! Native plugins for [streamfmt](https://github.com/streamfmt/streamfmt), which formats the event streams of coding agents.
//!
//! A plugin decides what is shown of some items: a tool's calls and results, replies, notices. This one shows how long the command of a
//! call is, and leaves everything else as it was:
//!
//! ```
//! use streamfmt_plugin::{Answer, Decision, HostApi, ItemRef, NativePlugin, export};
//!
//! struct Lengths;
//!
//! impl NativePlugin for Lengths {
//!     const NAME: &'static str = "lengths";
//!     const FORMATS: &'static [&'static str] = &["@run"];
//!
//!     fn new(_: HostApi, _options: &str) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//!
//!     fn format(&mut self, item: &ItemRef<'_>, answer: &mut Answer<'_>) -> Result<Decision, String> {
//!         let Some(command) = item.str("/does/command") else { return Ok(Decision::Pass) };
//!         answer.start_from_default();
//!         answer.span(&format!(" ({} bytes)", command.len()), "muted");
//!         Ok(Decision::Show)
//!     }
//! }
//!
//! export!(Lengths);
//! ```
//!
//! Build it as a `cdylib` and name it: `streamfmt --plugin target/release/liblengths.so FILE`. `streamfmt plugin new --native NAME` makes a
//! crate to begin with. The page `docs/native.md` has the rules, and `streamfmt_plugin.h`, beside this crate's sources, is the same interface for C.
//!
//! A panic in a plugin is caught, counts as a failure and is reported once. Build with `panic = "unwind"`, the default: with `abort` a
//! panic ends streamfmt.

pub mod table;

mod calls;
mod entry;

pub use calls::{Answer, HostApi, ItemRef};

/// What a plugin decided about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Show what is in the answer.
    Show,
    /// Leave the item to the next plugin.
    Pass,
    /// Show nothing; the item is counted as hidden.
    Hide,
}

/// A moment of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The first item is about to come.
    Begin,
    /// The input has ended.
    End,
}

/// A plugin: an instance is made for each output of each session. It is called by one thread at a time, and not always by the same
/// one; different instances may be called at the same time.
///
/// An error, like a panic, costs the plugin's own words only: the item is shown as without the plugin, and the failure is reported once.
pub trait NativePlugin: Send + Sized + 'static {
    /// Its name, as messages have it.
    const NAME: &'static str;
    /// Its version, for messages; may be empty.
    const VERSION: &'static str = "";
    /// What it formats: names of tools and globs (`Bash`, `mcp__github__*`), actions (`@edit`), both meaning calls and their results,
    /// and kinds (`call`, `result`, `reply`). Other items never reach it.
    const FORMATS: &'static [&'static str];
    /// What [`Self::observe`] is told of, likewise.
    const OBSERVES: &'static [&'static str] = &[];

    /// Makes an instance. `options` is a JSON object; `{}` if none were chosen.
    fn new(host: HostApi, options: &str) -> Result<Self, String>;

    /// Decides what to show of an item. The same item may be asked for again and must get the same answer; one that still grows
    /// ([`ItemRef::is_partial`]) is asked for each time that it is shown.
    fn format(&mut self, item: &ItemRef<'_>, answer: &mut Answer<'_>) -> Result<Decision, String>;

    /// Is told when the session begins and ends. `session` is a JSON object: `agent`, `model`, `cwd`, `id`, as far as they are known.
    /// Blocks in the answer are shown there.
    fn session(&mut self, _moment: Moment, _session: &str, _answer: &mut Answer<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Is told each whole item of [`Self::OBSERVES`] once, in the order of the stream, whether it is shown or not: keep state here. Blocks
    /// in the answer are shown after the item.
    fn observe(&mut self, _item: &ItemRef<'_>, _answer: &mut Answer<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// Exports a [`NativePlugin`] from a `cdylib`: the one function that streamfmt looks for.
#[macro_export]
macro_rules! export {
    ($plugin:ty) => {
        /// The table of this plugin.
        #[allow(unsafe_code)]
        // SAFETY: the name is that of the interface, which no other function has.
        #[unsafe(no_mangle)]
        pub extern "C" fn streamfmt_plugin_v1(
            _host: *const $crate::table::SfHost,
        ) -> *const $crate::table::SfPlugin {
            static TABLE: ::std::sync::OnceLock<$crate::table::SfPlugin> = ::std::sync::OnceLock::new();
            TABLE.get_or_init($crate::table_of::<$plugin>)
        }
    };
}

pub use entry::table_of;
