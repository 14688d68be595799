//! Live display on a terminal: paints open items below the finished text, that is replies, calls and running agents.

use std::collections::HashMap;
use std::env;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use streamfmt::Engine;
use streamfmt::core::entry::{Entry, Line, View};
use streamfmt::core::figures;
use streamfmt::core::item::{Id, Kind, Status, Waiting};
use streamfmt::core::outline::Node;
use streamfmt::core::pipeline::{OpenAgent, OpenNodes, Pipeline};
use streamfmt::core::profile::{Ci, Profile};
use streamfmt::core::text::Text;
use streamfmt::core::theme::Glyphs;
use streamfmt::writers::LiveForm;

use crate::echo::{self, Echo};
use crate::output::TextOutput;
use crate::screen::ScreenSize;
use crate::signal::Signals;
use crate::terminal::WhenLive;

/// How often the sign of a running call changes.
const TURN: Duration = Duration::from_millis(125);
/// How long the size of the terminal must stay the same before rows are shown below the text again. While a window is being resized, it
/// isn't known how rows are wrapped; `tmux` reports a new size after a quarter of a second.
const SETTLED: Duration = Duration::from_millis(300);
/// The signs, one after the other.
const TURNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// The same in ASCII.
const TURNS_ASCII: [&str; 4] = ["|", "/", "-", "\\"];

/// Shows open items on the terminal that standard output goes to.
pub(crate) struct LiveTerminal {
    echo: Option<Echo>,
    /// The shortest time between two paintings.
    pace: Duration,
    /// Whether signs may turn while nothing changes.
    has_motion: bool,
    turns: &'static [&'static str],
    /// The sign of a call that waits for a person.
    wait_sign: &'static str,
    is_width_fixed: bool,
    size: ScreenSize,
    /// When the size changed last; `None` after a while.
    resized: Option<Instant>,
    /// Since when the running calls and agents were seen in their state.
    begun: HashMap<Id, CallState>,
    /// The open items at the last look.
    open: OpenNodes,
    /// Whether something was read since.
    has_news: bool,
    looked: Instant,
}

impl LiveTerminal {
    /// The terminal, if open items are to be shown. `None`: the output isn't a terminal or can't be painted on, or it is the log of a CI
    /// service, for a screen reader, or in a format that isn't written in rows.
    pub(crate) fn wanted(wish: WhenLive, engine: &Engine) -> Option<Self> {
        let Profile { layout, live, .. } = &engine.settings().profile;
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        let suits = !is_dumb && layout.ci == Ci::None && layout.glyphs != Glyphs::Words;
        let is_rows = engine.own_writer().is_some_and(|writer| writer.live == LiveForm::Rows);
        let is_wanted = match wish {
            WhenLive::Never => false,
            WhenLive::Auto => suits,
            WhenLive::Always => true,
        };
        if !is_wanted || !is_rows || !io::stdout().is_terminal() {
            return None;
        }
        let size = size()?;
        Some(Self {
            echo: None,
            pace: live.interval(),
            has_motion: live.motion && !is_still(),
            turns: if layout.is_ascii() { &TURNS_ASCII } else { &TURNS },
            wait_sign: if layout.is_ascii() { "!" } else { "▲" },
            is_width_fixed: engine.width() != Some(size.columns),
            size,
            resized: None,
            begun: HashMap::new(),
            open: OpenNodes::default(),
            has_news: false,
            looked: Instant::now(),
        })
    }

    /// Notes that something was read.
    pub(crate) fn note(&mut self) {
        self.has_news = true;
    }

    /// How long to wait for input before something is due; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        if let Some(resized) = self.resized {
            return Some(SETTLED.saturating_sub(resized.elapsed()));
        }
        let passed = self.looked.elapsed();
        if self.has_news {
            return Some(self.pace.saturating_sub(passed));
        }
        let is_turning = self.has_motion && !self.begun.is_empty();
        is_turning.then(|| TURN.saturating_sub(passed))
    }

    /// Paints finished text and open items, if it is time for that or if there is finished text.
    pub(crate) fn look(&mut self, pipeline: &mut Pipeline, output: &mut TextOutput, signals: &mut Signals) {
        if signals.take_stop() {
            output.step_aside();
            self.echo = None;
            signals.stop();
            self.has_news = true;
        }
        // In the background another program uses the terminal, so only finished text is written. Likewise after a signal, since another one
        // ends the program at once, and would leave the frame.
        let is_ours = echo::is_in_foreground() && signals.caught().is_none();
        if signals.caught().is_some() && self.echo.is_some() {
            self.leave(output);
        }
        if is_ours && self.echo.is_none() {
            self.echo = Some(Echo::off());
            self.has_news = true;
        }
        let is_due = self.patience().is_some_and(|patience| patience.is_zero());
        let size = size().unwrap_or(self.size);
        if !is_due && output.is_empty() && size == self.size {
            return;
        }
        if size.columns != self.size.columns && !self.is_width_fixed {
            pipeline.set_width(size.columns);
        }
        self.looked = Instant::now();
        if size != self.size {
            self.resized = Some(self.looked);
        } else if is_due {
            self.resized = None;
        }
        self.size = size;
        if std::mem::take(&mut self.has_news) {
            self.open = pipeline.open_nodes();
            self.note_running();
        }
        let rows = if is_ours && self.resized.is_none() { self.rows(pipeline) } else { Vec::new() };
        output.show(size, rows);
    }

    /// Erases the rows below the text, and then restores the terminal: what is typed would move them.
    pub(crate) fn leave(&mut self, output: &mut TextOutput) {
        output.show(size().unwrap_or(self.size), Vec::new());
        self.echo = None;
    }

    /// Notes when running calls and agents were first seen, and when they began or ended to wait for a person.
    fn note_running(&mut self) {
        let Self { open, begun, looked, .. } = self;
        let calls = open.nodes.iter().filter(|node| is_running(node));
        let calls = calls.map(|node| (&node.entry.id, node.entry.waiting));
        let running = calls.chain(open.agents.iter().map(|agent| (&agent.call, agent.waiting)));
        let states = running.map(|(id, waiting)| {
            let before = begun.get(id).copied().filter(|before| before.waits == waiting.is_some());
            (id.clone(), before.unwrap_or(CallState { since: *looked, waits: waiting.is_some() }))
        });
        *begun = states.collect();
    }

    /// The rows of open items; of too many, the last.
    fn rows(&self, pipeline: &mut Pipeline) -> Vec<String> {
        let most = self.size.frame_rows();
        let mut nodes = self.open.nodes.clone();
        for node in nodes.iter_mut().filter(|node| is_running(node)) {
            let entry = &mut node.entry;
            self.add_state(&mut entry.view.title, &entry.id, entry.waiting);
        }
        nodes.extend(self.open.agents.iter().map(|agent| {
            let OpenAgent { call, mut title, agent, waiting } = agent.clone();
            self.add_state(&mut title, &call, waiting);
            let entry = Entry::new(call, Kind::Call, View { title, ..View::default() });
            Node { starts: agent, ..Node::from(entry) }
        }));
        let mut text = String::new();
        // A string takes everything.
        let _ = pipeline.preview(&nodes, most, &mut text);
        let rows: Vec<&str> = text.lines().collect();
        rows[rows.len().saturating_sub(most)..].iter().map(|row| (*row).to_owned()).collect()
    }

    /// Adds the state of a running call to its title: a sign, the reason if it waits for a person, and the time it has run or waited.
    fn add_state(&self, title: &mut Line, id: &Id, waiting: Option<Waiting>) {
        let time =
            self.begun.get(id).map(|begun| self.looked.duration_since(begun.since)).unwrap_or_default();
        let Some(Waiting { waits_for, .. }) = waiting else {
            return title.push("muted", self.running(time));
        };
        let sign = self.wait_sign;
        title.push("notice.warning", Text::clean_owned(format!("{sign} waits for {}", waits_for.words())));
        if time.as_secs() > 0 {
            title.push("muted", Text::clean_owned(format!("· {}", whole_seconds(time.as_secs()))));
        }
    }

    /// A sign that a call is running, and for how long it has been.
    fn running(&self, time: Duration) -> Text {
        let turn = time.as_millis() / TURN.as_millis();
        let turn = usize::try_from(turn).unwrap_or(0) % self.turns.len();
        let sign = if self.has_motion { self.turns[turn] } else { "…" };
        let seconds = time.as_secs();
        if seconds == 0 {
            return Text::clean(sign);
        }
        Text::clean_owned(format!("{sign} {}", whole_seconds(seconds)))
    }
}

/// The state of a running call.
#[derive(Clone, Copy)]
struct CallState {
    /// When it was first seen in this state.
    since: Instant,
    /// Whether it waits for a person.
    waits: bool,
}

/// A duration in whole seconds: `5s`, `1m 5s`.
fn whole_seconds(seconds: u64) -> String {
    if seconds < 60 { format!("{seconds}s") } else { figures::duration(seconds * 1000).to_string() }
}

/// Whether a node is a call that is being written or has no result yet.
fn is_running(node: &Node) -> bool {
    node.entry.kind == Kind::Call && node.result.is_none() && node.entry.status != Status::Cancelled
}

/// Whether the user's environment turns motion off.
fn is_still() -> bool {
    env::var("STREAMFMT_MOTION")
        .is_ok_and(|said| ["0", "no", "off", "false", "never"].contains(&said.as_str()))
}

/// The size of the terminal that standard output goes to.
fn size() -> Option<ScreenSize> {
    let (columns, rows) = terminal_size::terminal_size_of(io::stdout())?;
    let size = ScreenSize { columns: usize::from(columns.0), rows: usize::from(rows.0) };
    (size.columns > 0 && size.rows > 1).then_some(size)
}

/// Whether the terminal wraps rows again when its width changes, as nearly all do.
pub(crate) fn reflows() -> bool {
    env::var_os("XTERM_VERSION").is_none() && env::var_os("TERM").is_none_or(|term| term != "linux")
}
