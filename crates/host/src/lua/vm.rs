//! A virtual machine (VM) for one plugin: its sandbox, and its limits on steps, time and memory.
//!
//! The sandbox is Luau without access to files, clock, loader or debugger. A script that runs too long is stopped after a number
//! of steps, which is the same on every machine, or after a time limit. Every later step of that run fails too, so a `pcall`
//! can't continue it.
//!
//! Memory is limited while a script runs. Under this limit, each value that the host creates costs a protected call;
//! [`unlimited`] avoids that by lifting the limit for one value at a time.

mod error;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use memchr::memmem;
use mlua::chunk::{ChunkMode, Compiler};
use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, Value, VmState};
use streamfmt_core::pattern::{ScanBudget, ScanOverrun};

use crate::plugin::source::Bytecodes;

pub(crate) use error::CallError;

/// Most steps (loop iterations and calls) in one run of a script.
pub(crate) const FUEL: u64 = 1_000_000;
/// Time limit of one run of a script, in case its steps are slow.
pub(crate) const TIME: Duration = Duration::from_millis(250);

/// The limits of one run of a script.
#[derive(Clone, Copy)]
pub(crate) struct VmLimits {
    fuel: u64,
    time: Duration,
    memory: usize,
}

impl Default for VmLimits {
    fn default() -> Self {
        Self { fuel: FUEL, time: TIME, memory: MEMORY }
    }
}

/// Number of steps between two readings of the clock.
const CLOCK: u64 = 16;
/// How many bytes a pattern may scan for one step.
const SCANNED: u64 = 64;
/// Memory limit of a VM, in bytes, on top of what a new VM uses.
pub(crate) const MEMORY: usize = 32 << 20;
/// Most parts that a text can be split into.
const MOST_PARTS: usize = 1_000_000;

static PRELUDE: LazyLock<Vec<u8>> = LazyLock::new(|| compiled(include_str!("vm/prelude.luau")));

/// Compiles Luau source of our own, once for all VMs. If that fails, so does [`load_compiled`].
pub(crate) fn compiled(source: &str) -> Vec<u8> {
    Compiler::new().compile(source).unwrap_or_default()
}

/// Loads such source into a VM as a function.
pub(crate) fn load_compiled(lua: &Lua, name: &str, bytecode: &[u8]) -> mlua::Result<Function> {
    lua.load(bytecode).set_name(name).set_mode(ChunkMode::Binary).into_function()
}

/// The message for a run that reached the limit of steps or time: which is reached first may differ between runs.
fn out_of_steps() -> String {
    format!("stopped after {FUEL} steps or {} ms", TIME.as_millis())
}

/// The message for a run that reached the limit of memory.
fn out_of_memory() -> String {
    format!("stopped: more than {} MiB in use", MEMORY >> 20)
}

/// Counts the steps of a run and decides when it must stop.
#[derive(Default)]
struct Guard {
    limits: VmLimits,
    /// Nesting depth of runs: a view function may call `default()`, which runs others.
    depth: Cell<u32>,
    steps: Cell<u64>,
    /// Steps of all earlier runs.
    spent: Cell<u64>,
    /// The time of the first reading of the clock.
    since: Cell<Option<Instant>>,
    /// The thread's CPU time when the run first exceeded its time limit.
    computed: Cell<Option<Duration>>,
    /// Whether the limit of steps or time was reached.
    is_spent: Cell<bool>,
    /// Whether the limit of memory was reached.
    is_full: Cell<bool>,
}

impl Guard {
    /// Counts one step. Returns whether the run must stop.
    fn step(&self) -> bool {
        self.spend(1, (self.steps.get() + 1).is_multiple_of(CLOCK))
    }

    /// Counts so many steps, and may read the clock. Returns whether the run must stop.
    fn spend(&self, steps: u64, reads_clock: bool) -> bool {
        if !self.is_exceeded() {
            let steps = self.steps.get() + steps;
            self.steps.set(steps);
            self.is_spent.set(steps > self.limits.fuel || reads_clock && self.is_late());
        }
        self.is_exceeded()
    }

    /// Whether a limit was reached.
    fn is_exceeded(&self) -> bool {
        self.is_spent.get() || self.is_full.get()
    }

    /// The message about the limit that was reached.
    fn message(&self) -> String {
        if self.is_full.get() { out_of_memory() } else { out_of_steps() }
    }

    /// Whether the run exceeded its time limit. On a busy system, a short run may wait long for the CPU, so past the limit only
    /// CPU time counts, up to the same limit again.
    fn is_late(&self) -> bool {
        let Some(since) = self.since.get() else {
            self.since.set(Some(Instant::now()));
            return false;
        };
        if since.elapsed() <= self.limits.time {
            return false;
        }
        let Some(now) = computed() else { return true };
        let before = self.computed.get().unwrap_or(now);
        self.computed.set(Some(before));
        now.saturating_sub(before) > self.limits.time
    }
}

/// The CPU time of this thread, if the system reports it. Reading it costs more than reading the clock.
#[cfg(unix)]
fn computed() -> Option<Duration> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(now).ok()
}

/// The CPU time of this thread, if the system reports it.
#[cfg(not(unix))]
fn computed() -> Option<Duration> {
    None
}

/// A VM that contains only what a formatter may use.
pub(crate) struct Vm {
    lua: Lua,
    guard: Rc<Guard>,
    /// The last table raised as an error: its address, which is all that the error message has of it, and its contents as text.
    raised: Rc<RefCell<Option<(usize, String)>>>,
    /// Bytes that may be in use while a script runs.
    memory: usize,
}

impl Vm {
    /// Creates a VM. For values of the host, `iterate` creates the function behind `pairs`; `inspect` describes any value in one line.
    /// `log` receives what scripts print. `open` may add globals before the sandbox is closed; its result is returned along with the
    /// VM.
    pub(crate) fn new<T>(
        limits: VmLimits,
        iterate: fn(&Lua) -> mlua::Result<Function>,
        inspect: fn(&Value) -> String,
        log: impl Fn(&Lua, &[u8]) + 'static,
        open: impl FnOnce(&Lua, &Table) -> mlua::Result<T>,
    ) -> mlua::Result<(Self, T)> {
        let libraries =
            StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::UTF8 | StdLib::BIT | StdLib::COROUTINE;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        let guard = Rc::new(Guard { limits, ..Guard::default() });
        let log = lua.create_function(move |lua, text: LuaString| {
            log(lua, &text.as_bytes());
            Ok(())
        })?;
        let raised = Rc::new(RefCell::new(None));
        let last = Rc::clone(&raised);
        let describe = lua.create_function(move |_, table: Table| {
            let address = table.to_pointer() as usize;
            *last.borrow_mut() = Some((address, inspect(&Value::Table(table))));
            Ok(())
        })?;
        let natives = (
            lua.create_function(find_plain)?,
            lua.create_function(split_plain)?,
            log,
            iterate(&lua)?,
            describe,
        );
        load_compiled(&lua, "=prelude", &PRELUDE)?.call::<()>(natives)?;
        let opened = open(&lua, &lua.globals())?;
        lua.sandbox(true)?;
        let ticking = Rc::clone(&guard);
        lua.set_interrupt(move |lua| {
            if ticking.step() {
                return Err(stopped(lua, &ticking));
            }
            Ok(VmState::Continue)
        });
        lua.set_app_data(Rc::clone(&guard));
        let memory = lua.used_memory() + limits.memory;
        Ok((Self { lua, guard, raised, memory }, opened))
    }

    /// The Lua state, for creating values. Scripts must be run through [`Vm::run`].
    pub(crate) fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Runs `work`, which may run scripts, within the limits.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
        let guard = &self.guard;
        let depth = guard.depth.get();
        if depth == 0 {
            guard.spent.set(self.spent());
            guard.steps.set(0);
            guard.since.set(None);
            guard.computed.set(None);
            guard.is_spent.set(false);
            guard.is_full.set(false);
        }
        guard.depth.set(depth + 1);
        let done = limited(&self.lua, self.memory, work);
        guard.depth.set(depth);
        let done = done.map_err(|error| self.with_fields(error));
        if !guard.is_exceeded() && done.as_ref().is_err_and(is_out_of_memory) {
            guard.is_full.set(true);
        }
        if guard.is_full.get() {
            // Frees what it filled the memory with.
            let _ = self.lua.gc_collect();
        }
        if !guard.is_exceeded() {
            return done;
        }
        Err(mlua::Error::external(CallError::LimitExceeded { message: guard.message(), error: done.err() }))
    }

    /// Replaces the address of a raised value in an error message: by the contents if it is a table without a metatable, else by its type.
    fn with_fields(&self, error: mlua::Error) -> mlua::Error {
        let mlua::Error::RuntimeError(text) = &error else { return error };
        let raised = self.raised.borrow_mut().take();
        let Some((kind, digits)) = text.split_once(": 0x").filter(|(kind, _)| is_word(kind)) else {
            return error;
        };
        let end = digits.find(|ch: char| !ch.is_ascii_hexdigit()).unwrap_or(digits.len());
        let (address, rest) = (usize::from_str_radix(&digits[..end], 16), &digits[end..]);
        let fields = raised.filter(|(raised, _)| kind == "table" && address == Ok(*raised));
        mlua::Error::RuntimeError(match fields {
            Some((_, fields)) => format!("{fields}{rest}"),
            None => format!("{kind}{rest}"),
        })
    }

    /// Steps that all its scripts used so far.
    pub(crate) fn spent(&self) -> u64 {
        self.guard.spent.get() + self.guard.steps.get()
    }

    /// Runs a file of a plugin.
    pub(crate) fn load(&self, name: &str, source: &str, known: &Bytecodes) -> mlua::Result<Value> {
        self.run(|| chunk(&self.lua, name, source, known)?.call(()))
    }
}

/// The error of a script that reached a limit.
fn stopped(lua: &Lua, guard: &Guard) -> mlua::Error {
    let place = place(lua).map_or_else(String::new, |(file, line)| format!("{file}:{line}: "));
    mlua::Error::runtime(format!("{place}{}", guard.message()))
}

/// Lets a pattern scan as much as the run may still do, and counts that as steps.
pub(crate) fn counted<R>(
    lua: &Lua,
    scan: impl FnOnce(&mut ScanBudget) -> Result<R, ScanOverrun>,
) -> mlua::Result<R> {
    let guard = lua.app_data_ref::<Rc<Guard>>().map(|guard| Rc::clone(&guard));
    let guard = guard.unwrap_or_default();
    let most = guard.limits.fuel.saturating_sub(guard.steps.get()).saturating_mul(SCANNED);
    let mut budget = ScanBudget::new(most);
    let done = scan(&mut budget);
    match done {
        Ok(done) if !guard.spend((most - budget.left()) / SCANNED, true) => return Ok(done),
        Ok(_) => {}
        Err(ScanOverrun) => guard.is_spent.set(true),
    }
    Err(stopped(lua, &guard))
}

/// Whether a text is the name of a type, as in the text of a value with its address.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}

/// Runs `work` with a memory limit of so many bytes, or the current limit if that is lower.
fn limited<R>(lua: &Lua, bytes: usize, work: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
    let before = lua.set_memory_limit(bytes)?;
    if before > 0 {
        lua.set_memory_limit(before.min(bytes))?;
    }
    let done = work();
    lua.set_memory_limit(before)?;
    done
}

/// Runs `make` with the memory limit of a script, outside of any run.
pub(crate) fn bounded<R>(lua: &Lua, make: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
    limited(lua, lua.used_memory() + MEMORY, make)
}

/// Creates a value for a script without the memory limit. Memory use is checked before, so only this one value can exceed the
/// limit.
pub(crate) fn unlimited<R>(lua: &Lua, make: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
    let limit = lua.set_memory_limit(0)?;
    let is_over = limit > 0 && lua.used_memory() > limit;
    let done = if is_over { Err(mlua::Error::MemoryError(out_of_memory())) } else { make() };
    lua.set_memory_limit(limit)?;
    done
}

/// Compiles a file of a plugin to a function. Bytecode is rejected.
pub(crate) fn chunk(lua: &Lua, name: &str, source: &str, known: &Bytecodes) -> mlua::Result<Function> {
    if source.as_bytes().first().is_some_and(|byte| *byte < b'\t') {
        return Err(mlua::Error::runtime(format!("{name}:1: compiled Lua is not loaded, only its source")));
    }
    // Luau doesn't support `#!` lines. The line becomes a comment, so line numbers stay the same.
    let source = if source.starts_with("#!") { Cow::from(format!("--{source}")) } else { Cow::from(source) };
    let bytecode = known.of(name, || Compiler::new().compile(&*source).ok());
    let chunk = match &bytecode {
        Some(bytecode) => lua.load(&bytecode[..]).set_mode(ChunkMode::Binary),
        // Compiling the text again reports the error and its place.
        None => lua.load(&*source).set_mode(ChunkMode::Text),
    };
    chunk.set_name(format!("={name}")).into_function()
}

/// The chunk names of our own Luau code.
const OWN: [&str; 2] = ["prelude", "sf"];

/// The file and line that a script is currently at.
pub(crate) fn place(lua: &Lua) -> Option<(String, usize)> {
    (0..6).find_map(|level| {
        lua.inspect_stack(level, |frame| {
            let file = frame.source().short_src.filter(|file| !OWN.contains(&file.as_ref()))?;
            Some((file.into_owned(), frame.current_line()?))
        })?
    })
}

/// Whether an error was caused by a lack of memory.
fn is_out_of_memory(error: &mlua::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(mlua::Error::MemoryError(_))))
        || matches!(error, mlua::Error::MemoryError(_))
}

/// `string.find` with `plain`, in linear time.
#[expect(clippy::unnecessary_wraps, reason = "what Lua calls may fail")]
fn find_plain(
    _: &Lua,
    (text, word, init): (LuaString, LuaString, Option<i64>),
) -> mlua::Result<(Option<usize>, Option<usize>)> {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let init = init.unwrap_or(1);
    let distance = usize::try_from(init.unsigned_abs()).unwrap_or(usize::MAX);
    let start = if init < 0 { text.len().saturating_sub(distance) } else { distance.saturating_sub(1) };
    let Some(rest) = text.get(start..) else { return Ok((None, None)) };
    let found = memmem::find(rest, &word).map(|at| start + at);
    Ok((found.map(|at| at + 1), found.map(|at| at + word.len())))
}

/// `string.split`, in linear time.
fn split_plain(lua: &Lua, (text, separator): (LuaString, LuaString)) -> mlua::Result<Table> {
    let (text, separator) = (text.as_bytes(), separator.as_bytes());
    let parts = lua.create_table()?;
    let mut rest = &*text;
    for _ in 0..MOST_PARTS {
        let end =
            if separator.is_empty() { (rest.len() > 1).then_some(1) } else { memmem::find(rest, &separator) };
        let Some(end) = end else {
            parts.raw_push(lua.create_string(rest)?)?;
            return Ok(parts);
        };
        parts.raw_push(lua.create_string(&rest[..end])?)?;
        rest = &rest[end + separator.len()..];
    }
    Err(mlua::Error::runtime("string.split: more than 1000000 parts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_into_at_most_a_million_parts() {
        let lua = Lua::new();
        let split = |separators: usize| {
            let text = lua.create_string(",".repeat(separators)).unwrap();
            split_plain(&lua, (text, lua.create_string(",").unwrap()))
        };
        assert_eq!(split(MOST_PARTS - 1).unwrap().raw_len(), MOST_PARTS);
        let error = split(MOST_PARTS).unwrap_err().to_string();
        assert_eq!(error, "runtime error: string.split: more than 1000000 parts");
    }

    /// Limits that no script here reaches.
    const WIDE: VmLimits = VmLimits { fuel: u64::MAX, time: Duration::from_secs(3600), memory: 1 << 30 };

    fn vm(limits: VmLimits) -> Vm {
        let iterate = |lua: &Lua| lua.create_function(|_, ()| Ok(()));
        Vm::new(limits, iterate, |_| String::new(), |_, _| {}, |_, _| Ok(())).unwrap().0
    }

    /// The message about the limit that stopped a run.
    fn stopped_by<R>(ran: mlua::Result<R>) -> Option<String> {
        let error = ran.err().filter(CallError::is_limit)?;
        CallError::of(&error).map(ToString::to_string)
    }

    #[test]
    fn nested_runs_share_the_steps_of_the_outermost() {
        let vm = vm(VmLimits { fuel: 1_000, ..WIDE });
        let burn = |steps: u64| vm.lua().load(format!("for _ = 1, {steps} do end")).exec();
        let inner = || vm.run(|| burn(600));
        assert_eq!(stopped_by(vm.run(|| burn(600))), None);
        assert_eq!(stopped_by(vm.run(|| burn(600))), None, "each run has its own");
        assert_eq!(stopped_by(vm.run(inner)), None);
        assert_eq!(stopped_by(vm.run(|| burn(600).and_then(|()| inner()))), Some(out_of_steps()));
        assert_eq!(stopped_by(vm.run(|| inner().and_then(|()| burn(600)))), Some(out_of_steps()));
        // After a stop, nothing more of the outer run is executed, even if the error is dropped.
        assert_eq!(stopped_by(vm.run(|| inner().and(inner()).or(Ok(())).and(burn(1)))), Some(out_of_steps()));
    }

    #[test]
    fn time_alone_stops_a_script() {
        let count = "local n = 0 for _ = 1, 100000 do n += 1 end return n";
        let ran = |limits: VmLimits| {
            let vm = vm(limits);
            vm.run(|| vm.lua().load(count).eval::<u32>())
        };
        assert_eq!(ran(WIDE).unwrap(), 100_000);
        assert_eq!(stopped_by(ran(VmLimits { time: Duration::ZERO, ..WIDE })), Some(out_of_steps()));
    }

    #[test]
    fn memory_alone_stops_a_script_and_is_free_for_the_next() {
        let vm = vm(VmLimits { memory: 1 << 20, ..WIDE });
        for filling in [
            "local t = {} for at = 1, 100 do t[at] = table.create(10000, 1) end",
            "local s = 'x' for _ = 1, 24 do s = s .. s end",
            "return table.create(2 ^ 20, 1)",
        ] {
            assert_eq!(
                stopped_by(vm.run(|| vm.lua().load(filling).exec())),
                Some(out_of_memory()),
                "{filling}"
            );
            assert_eq!(stopped_by(vm.run(|| vm.lua().load("local _ = table.create(10000, 1)").exec())), None);
        }
        let value = || unlimited(vm.lua(), || vm.lua().create_string(vec![b'x'; 2 << 20]));
        assert_eq!(
            stopped_by(vm.run(|| value().and_then(|_| value()))),
            Some(out_of_memory()),
            "what the host creates"
        );
    }
}
