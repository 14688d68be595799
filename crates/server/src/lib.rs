//! Runs coding agents, records their output, finds it again, and serves it in the browser.
//!
//! ```text
//! agent ─▶ pipes ─▶ recorder ─▶ log            every byte, before anything else sees it
//!                      ├───────▶ keeper        session, outcome: as the display finds them, or read if that is late
//!                      │           ▲ └─▶ side file     what the log doesn't hold: command, times, exit
//!                      └───────▶ LiveFeed ─▶ display, at any pace
//! watchdog: ends the agent if the recorder is killed
//! browser ─▶ Server ─▶ follower ─▶ pipeline     the same logs and side files, read as they grow
//! ```
//!
//! The recorder is a thread with one loop and no runtime. It never waits for the display or the keeper: a slow one reads from the log. Logs and side
//! files are all that a store of sessions needs: [`SessionPaths`] names them, [`RunSideFile`] is their content, and
//! [`SessionPaths::is_running`] tells a run in progress from an interrupted one. The [`store`] is an index of them, and of agents' own
//! histories, in a database.

#[cfg(unix)]
mod feed;
#[cfg(unix)]
mod findings;
#[cfg(unix)]
mod helper;
#[cfg(unix)]
mod keeper;
#[cfg(unix)]
mod lingering;
#[cfg(unix)]
mod log;
#[cfg(unix)]
mod notice;
mod own_folder;
#[cfg(unix)]
mod passed_input;
mod path_text;
mod place;
pub mod prices;
#[cfg(unix)]
mod recorder;
#[cfg(unix)]
mod run_cost;
mod run_id;
mod run_lock;
#[cfg(unix)]
mod serve;
mod session_paths;
mod side_draft;
mod side_file;
#[cfg(unix)]
mod signals;
mod start_time;
pub mod store;
mod sync;
#[cfg(unix)]
pub mod watchdog;

#[cfg(unix)]
pub use feed::{FeedStep, LiveFeed};
#[cfg(unix)]
pub use helper::Helper;
#[cfg(unix)]
pub use notice::RunNotice;
pub use own_folder::{ForeignFolder, NarrowedFolder, claim};
pub use path_text::{path_text, text_path};
#[cfg(unix)]
pub use recorder::{Recording, RunEnd, RunRecorder, StartFailure};
#[cfg(unix)]
pub use run_cost::CostLimits;
pub use run_id::RunId;
#[cfg(unix)]
pub use serve::{ServeFailure, ServeOptions, ServeRequest, Server, ask_server};
pub use session_paths::SessionPaths;
pub use side_file::{AgentExit, LogGap, ProcessMark, RunSideFile, SessionStatus};
pub use sync::SyncPolicy;
