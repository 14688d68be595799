//! The start time of a process. With its id, this identifies it even after the id was reused.

use std::fs;
use std::process::Command;

use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// Returns the start time of a running process, in a unit that depends on the system.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    if cfg!(target_os = "linux") { from_proc(pid) } else { from_ps(pid) }
}

/// Returns it in clock ticks since the boot.
fn from_proc(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The process's name may contain brackets. The time is the twentieth field after it.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Returns it in seconds since 1970.
fn from_ps(pid: u32) -> Option<u64> {
    let mut command = Command::new("ps");
    command.args(["-o", "lstart=", "-p", &pid.to_string()]).env("LC_ALL", "C").env("TZ", "UTC0");
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    // As in `Tue Nov 24 10:55:21 2026`.
    let time = strtime::parse("%a %b %d %H:%M:%S %Y", text.trim()).ok()?.to_datetime().ok()?;
    time.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp().as_second().try_into().ok()
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Stdio;
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_process_that_runs_has_a_start_time_in_either_way_and_one_that_ended_has_none() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut child = Command::new("sleep").arg("1000").stdout(Stdio::null()).spawn().unwrap();
        let started = from_ps(child.id());
        assert!(started.is_some_and(|started| started.abs_diff(now) < 600), "{started:?}, {now}");
        assert_eq!(from_ps(child.id()), started);
        assert!(start_time(child.id()).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((start_time(child.id()), from_ps(child.id())), (None, None));
    }
}
