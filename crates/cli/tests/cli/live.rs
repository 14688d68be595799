//! Live display on a terminal: the tests read the output on emulators, as a user sees it.

#[path = "live/emulator.rs"]
mod emulator;
#[path = "live/run.rs"]
mod run;
#[path = "live/sequences.rs"]
mod sequences;
#[path = "live/stream.rs"]
pub(crate) mod stream;

#[path = "live/hostile.rs"]
mod hostile;
#[path = "live/leaving.rs"]
mod leaving;
#[path = "live/resize.rs"]
mod resize;
#[path = "live/scrollback.rs"]
mod scrollback;
#[path = "live/still.rs"]
mod still;
#[path = "live/tail.rs"]
mod tail;
#[path = "live/tmux.rs"]
mod tmux;
#[path = "live/waits.rs"]
mod waits;
