//! What an agent left running.

use std::fs::{self, File};
use std::io::Read;

use rustix::process::Pid;

/// Bytes of a process's `stat` in which its name, of at most 64 bytes, and its group are.
const STAT: usize = 256;

/// A process that the agent started and that still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// The processes of a group that run, but for `not` these.
pub(crate) fn running_in(group: Pid, not: &[u32]) -> Vec<Helper> {
    let group = group.as_raw_nonzero().get();
    let all = if cfg!(target_os = "linux") { from_proc(group) } else { from_ps(group) };
    all.into_iter().filter(|helper| !not.contains(&helper.pid)).collect()
}

fn from_proc(group: i32) -> Vec<Helper> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let helpers = processes.filter_map(|pid| {
        // Its beginning is enough, in one read: there may be many processes, and a run waits for this at its end.
        let mut beginning = [0; STAT];
        let count = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut beginning).ok()?;
        let stat = String::from_utf8_lossy(&beginning[..count]);
        let (before, behind) = stat.rsplit_once(')')?;
        let mut fields = behind.split_ascii_whitespace();
        let is_dead = matches!(fields.next()?, "Z" | "X");
        let is_of_group = fields.nth(1)?.parse::<i32>().ok()? == group;
        let name = before.split_once('(')?.1.to_owned();
        (is_of_group && !is_dead).then_some(Helper { pid, name })
    });
    helpers.collect()
}

fn from_ps(group: i32) -> Vec<Helper> {
    let listed = std::process::Command::new("ps").args(["-axo", "pid=,pgid=,stat=,comm="]).output();
    let listed = listed.map(|output| output.stdout).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    let helpers = listed.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let pid = fields.next()?.parse().ok()?;
        let is_of_group = fields.next()?.parse::<i32>().ok()? == group;
        let is_dead = fields.next()?.starts_with('Z');
        let name = fields.collect::<Vec<_>>().join(" ");
        (is_of_group && !is_dead).then_some(Helper { pid, name })
    });
    helpers.collect()
}
