//! The library of a native plugin: its bytes, read once, and the table that it exports, loaded when it is first used.
//!
//! ```text
//! a path that the user typed  ─┐   checked file          private memory        table
//!                              ├─▶ bytes (hashed) ─────▶ the same bytes ─────▶ copied, checked
//! an installed folder         ─┘   library/file.rs       never unloaded
//! ```
//!
//! The bytes that were read are loaded, even if the file changes meanwhile. A library is never unloaded: its threads,
//! thread-local values and functions may exist as long as the process. So the same bytes are loaded only once.

#![expect(unsafe_code, reason = "libraries are loaded, and their tables read, by pointer")]

mod file;
mod memory;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use streamfmt_core::profile::Selector;
use streamfmt_core::text::clean;
use streamfmt_plugin::table::{Entry, MAJOR, SfHost, SfPlugin, SfStr};

use super::manifest::{self, NAMES};
use crate::files::lock;

/// Longest text in a table, in bytes.
const LONGEST_TEXT: usize = 64 << 10;
/// Most groups of items that a plugin can handle.
const MOST_GROUPS: usize = 256;
/// Later versions of the interface that are recognised, for a better message.
const LATER: std::ops::RangeInclusive<u32> = MAJOR + 1..=16;

/// A library that was read.
#[derive(PartialEq)]
pub(crate) struct NativeCode {
    /// The name of its file, for messages.
    file: String,
    bytes: Arc<[u8]>,
}

/// The table of a library, or the reason why it can't be loaded.
type LoadedTable = Result<&'static NativeTable, String>;

/// The tables of all libraries loaded in this process, each with the library's bytes.
static LOADED: Mutex<Vec<(Arc<[u8]>, LoadedTable)>> = Mutex::new(Vec::new());

impl fmt::Debug for NativeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeCode({}, {} bytes)", self.file, self.bytes.len())
    }
}

/// The table of a loaded library, checked.
#[derive(Debug)]
pub(crate) struct NativeTable {
    /// The plugin's name.
    pub(crate) name: String,
    /// Its version, if it has one.
    pub(crate) version: Option<String>,
    /// The groups that it formats.
    pub(crate) formats: Vec<Selector>,
    /// The groups that it observes.
    pub(crate) observes: Vec<Selector>,
    /// Its functions. Those that an older plugin doesn't have are null.
    pub(crate) functions: SfPlugin,
}

impl NativeCode {
    /// Reads a library from a path without following links. It must not be writable by anyone but the user and root. The error is
    /// a message.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self { file: clean(&name).into_owned(), bytes: file::read(path)?.into() })
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Its table. The first call loads the library, which runs its constructors. The error is a message.
    pub(crate) fn table(&self, host: &'static SfHost) -> Result<&'static NativeTable, String> {
        let mut loaded = lock(&LOADED);
        let known = loaded.iter().find(|(bytes, _)| *bytes == self.bytes);
        let table = if let Some((_, table)) = known {
            table.clone()
        } else {
            let table: LoadedTable = load(&self.bytes, host).map(|table| &*Box::leak(Box::new(table)));
            loaded.push((Arc::clone(&self.bytes), table.clone()));
            table
        };
        table.map_err(|why| format!("{}: {why}", self.file))
    }
}

/// Loads a library and reads its table.
fn load(bytes: &[u8], host: &'static SfHost) -> Result<NativeTable, String> {
    let place = memory::place(bytes)?;
    // SAFETY: loading runs the constructors of code that the user chose to run. The file can't change any more.
    let library = unsafe { Library::open(Some(place.path()), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| {
        let message = error.to_string();
        let source = std::error::Error::source(&error).map_or(message, ToString::to_string);
        let source = source.replace(&*place.path().to_string_lossy(), "").replace('\n', " ");
        format!("it can't be loaded ({})", clean(source.trim_start_matches([':', ' '])))
    })?;
    // It is never unloaded: its functions and thread-local values may be in use until the process ends.
    let library: &'static Library = Box::leak(Box::new(library));
    place.keep();
    let symbol = |major: u32| format!("streamfmt_plugin_v{major}");
    // SAFETY: the name implies the type: another interface has another name.
    let entry = unsafe { library.get::<Entry>(symbol(MAJOR).as_bytes()) };
    let Ok(entry) = entry else {
        // SAFETY: the symbol is only looked up, never called.
        let later = LATER
            .into_iter()
            .find(|major| unsafe { library.get::<Entry>(symbol(*major).as_bytes()).is_ok() });
        return Err(match later {
            Some(later) => format!(
                "it needs version {later} of the plugin interface, and this program has version {MAJOR}: \
                 use a build of the plugin for version {MAJOR}, or a newer streamfmt"
            ),
            None => format!("not a plugin of streamfmt (it has no function {})", symbol(MAJOR)),
        });
    };
    // SAFETY: the name implies the function's type, and the host's table lives as long as the process.
    let table = unsafe { entry(host) };
    // SAFETY: the interface promises a table that lives as long as the library.
    unsafe { read_table(table) }
}

/// # Safety
/// `table` is null or points to a table of at least as many bytes as its size field, with valid texts.
unsafe fn read_table(table: *const SfPlugin) -> Result<NativeTable, String> {
    if table.is_null() || !table.is_aligned() {
        return Err("its table is missing".to_owned());
    }
    // SAFETY: every table begins with its size.
    let size = unsafe { table.cast::<u32>().read() } as usize;
    // The size of the first version.
    let least = std::mem::offset_of!(SfPlugin, observes);
    if !(least..=1 << 16).contains(&size) {
        return Err(format!("its table has a size of {size} bytes, which no version has"));
    }
    let mut functions = std::mem::MaybeUninit::<SfPlugin>::zeroed();
    // SAFETY: both sides have this many bytes. What isn't copied is zero, which is null for texts and functions.
    let functions = unsafe {
        let copied = size.min(size_of::<SfPlugin>());
        std::ptr::copy_nonoverlapping(table.cast::<u8>(), functions.as_mut_ptr().cast(), copied);
        functions.assume_init()
    };
    let needed = [
        (functions.create.is_some(), "create"),
        (functions.destroy.is_some(), "destroy"),
        (functions.format.is_some(), "format"),
    ];
    if let Some((_, name)) = needed.iter().find(|(is_there, _)| !is_there) {
        return Err(format!("its table has no function {name}"));
    }
    // SAFETY: the texts of a table are static.
    let text = |value: SfStr, what: &str| {
        unsafe { text_of(value, LONGEST_TEXT) }
            .map(str::to_owned)
            .map_err(|why| format!("the {what} in its table {why}"))
    };
    let name = text(functions.name, "name")?;
    if !manifest::is_name(&name) {
        return Err(format!("\"{}\" can't be its name: {NAMES}", clean(&name)));
    }
    let version = text(functions.version, "version")?;
    let formats = groups(&text(functions.formats, "list of what it formats")?)?;
    let observes = groups(&text(functions.observes, "list of what it observes")?)?;
    let version = (!version.is_empty()).then(|| clean(&version).into_owned());
    Ok(NativeTable { name, version, formats, observes, functions })
}

/// Parses a list of groups.
fn groups(json: &str) -> Result<Vec<Selector>, String> {
    if json.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = serde_json::from_str(json)
        .map_err(|error| format!("the list of what it is for is not a JSON list of names ({error})"))?;
    if names.len() > MOST_GROUPS {
        return Err(format!("it is for more than {MOST_GROUPS} groups of items"));
    }
    let read = |name: &String| match Selector::parse(name) {
        Selector::Tool(tool) if tool.is_empty() => Err("it is for a group without a name".to_owned()),
        group @ (Selector::Tool(_) | Selector::Kind(_) | Selector::Action(_)) => Ok(group),
        _ => Err(format!("it can't be for \"{}\" (a tool, a glob, an @action or a kind)", clean(name))),
    };
    names.iter().map(read).collect()
}

/// A text of a plugin. The error completes a sentence about it.
///
/// # Safety
/// If it isn't null and has at most `longest` bytes, they are valid for `'a`.
pub(crate) unsafe fn text_of<'a>(text: SfStr, longest: usize) -> Result<&'a str, String> {
    if text.len > longest {
        return Err(format!("is longer than {longest} bytes"));
    }
    if text.len == 0 {
        return Ok("");
    }
    if text.ptr.is_null() {
        return Err("is null".to_owned());
    }
    // SAFETY: guaranteed by the caller; no length here is near the largest possible.
    let bytes = unsafe { std::slice::from_raw_parts(text.ptr, text.len) };
    std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use streamfmt_plugin::table::{SfItem, SfSink};

    use super::*;

    unsafe extern "C" fn create(_: *const SfHost, _: SfStr) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe extern "C" fn destroy(_: *mut c_void) {}

    unsafe extern "C" fn format(_: *mut c_void, _: *const SfItem, _: *mut SfSink) -> i32 {
        0
    }

    /// Reads a table with this version and this list of kinds to format.
    fn read(version: &str, formats: &str) -> Result<NativeTable, String> {
        let table = SfPlugin {
            size: u32::try_from(size_of::<SfPlugin>()).unwrap(),
            minor: 0,
            name: SfStr::of("demo"),
            version: SfStr::of(version),
            formats: SfStr::of(formats),
            create: Some(create),
            destroy: Some(destroy),
            format: Some(format),
            session: None,
            observes: SfStr::of(""),
            observe: None,
        };
        // SAFETY: the table is complete, and its texts are valid while it is read.
        unsafe { read_table(&raw const table) }
    }

    #[test]
    fn a_table_over_a_limit_is_refused() {
        let groups = |count: usize| serde_json::to_string(&vec!["Bash"; count]).unwrap();
        assert_eq!(read(&"1".repeat(LONGEST_TEXT), &groups(MOST_GROUPS)).unwrap().formats.len(), 256);
        for (version, formats, problem) in [
            (LONGEST_TEXT + 1, 1, "the version in its table is longer than 65536 bytes"),
            (1, MOST_GROUPS + 1, "it is for more than 256 groups of items"),
        ] {
            assert_eq!(read(&"1".repeat(version), &groups(formats)).unwrap_err(), problem);
        }
    }
}
