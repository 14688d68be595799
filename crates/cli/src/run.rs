//! `run`: starts an agent, shows what it does, and keeps everything that it writes.

#[cfg(unix)]
mod command;
#[cfg(unix)]
mod id_file;
#[cfg(unix)]
mod row;
#[cfg(unix)]
mod start;

#[cfg(unix)]
pub(crate) use start::run;

/// Reports what the system lacks.
#[cfg(not(unix))]
pub(crate) fn run(_: crate::args::RunArgs) -> Result<u8, u8> {
    crate::message::print(
        "run needs process groups and signals, which this system lacks; pipe the agent's output into streamfmt --tee FILE instead",
    );
    Err(crate::exit_code::USAGE)
}
