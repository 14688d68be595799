//! The program as a whole: its arguments, exit codes and files.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

#[cfg(unix)]
mod agent;
mod page;
mod program;
mod redact;
#[cfg(unix)]
mod rotation;
#[cfg(unix)]
mod tty;

#[cfg(unix)]
mod agent_folders;
mod also;
mod arguments;
mod assets;
mod ci;
mod config;
mod copy;
mod docs;
mod explain;
mod follow;
mod forks;
mod golden;
mod head;
mod inputs;
#[cfg(unix)]
mod links;
#[cfg(unix)]
mod live;
mod messages;
#[cfg(unix)]
mod native;
#[cfg(unix)]
mod other_terminal;
mod outputs;
mod packs;
mod plugins;
mod projects;
mod records;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod run_cost;
#[cfg(unix)]
mod run_disk;
#[cfg(unix)]
mod run_ends;
#[cfg(unix)]
mod run_evidence;
#[cfg(unix)]
mod run_safety;
#[cfg(unix)]
mod run_shapes;
#[cfg(unix)]
mod run_stderr;
#[cfg(unix)]
mod run_waits;
#[cfg(unix)]
mod run_words;
#[cfg(unix)]
mod same_file;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod serve_guard;
#[cfg(unix)]
mod serve_stored;
#[cfg(unix)]
mod sessions;
#[cfg(unix)]
mod sessions_at_once;
#[cfg(unix)]
mod sessions_damaged;
#[cfg(unix)]
mod sessions_database;
#[cfg(unix)]
mod sessions_found;
#[cfg(unix)]
mod sessions_import;
mod sessions_kept;
#[cfg(unix)]
mod sessions_moved;
#[cfg(unix)]
mod sessions_read;
mod sessions_stats;
mod share;
#[cfg(unix)]
mod terminal;
mod themes;
mod trust;
mod updates;
mod watch;
#[cfg(unix)]
mod written;
