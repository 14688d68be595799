//! Processes that an agent left running.

use std::fs::{self, File};
use std::io::Read;

use rustix::process::Pid;

/// The number of bytes of a process's `stat` that always include its name, of at most 64 bytes, and its group.
const STAT: usize = 256;

/// A process that the agent started and that is still running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// Returns the running processes of a group, except those in `not`.
pub(crate) fn running_in(group: Pid, not: &[u32]) -> Vec<Helper> {
    let group = group.as_raw_nonzero().get();
    let all = if cfg!(target_os = "linux") { from_proc(group) } else { from_ps(group) };
    all.into_iter().filter(|helper| !not.contains(&helper.pid)).collect()
}

fn from_proc(group: i32) -> Vec<Helper> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let helpers = processes.filter_map(|pid| {
        // One read of the beginning is enough: there may be many processes, and the end of a run waits for this.
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
        // On macOS this is a path.
        let name = fields.collect::<Vec<_>>().join(" ");
        let name = name.rsplit('/').next().unwrap_or(&name).to_owned();
        (is_of_group && !is_dead).then_some(Helper { pid, name })
    });
    helpers.collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_processes_of_a_group_are_the_same_in_either_way() {
        let mut child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let group = Pid::from_child(&child);
        let found = vec![Helper { pid: child.id(), name: "sleep".to_owned() }];
        assert_eq!(running_in(group, &[]), found);
        assert_eq!(from_ps(group.as_raw_nonzero().get()), found);
        assert_eq!(running_in(group, &[child.id()]), []);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((running_in(group, &[]), from_ps(group.as_raw_nonzero().get())), (Vec::new(), Vec::new()));
    }
}
