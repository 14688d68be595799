//! A scripted agent, to test any behaviour.
//!
//! It is this test program, started by a small shell script that has the agent's name. The agent's own script is a file beside it, with one
//! step per line.
//!
//! | step | what the agent does |
//! |---|---|
//! | `replay FILE SPEED` | writes a recording with its original timing, sped up by this factor |
//! | `write FILE` | writes a file |
//! | `begin FILE BYTES` | writes the first bytes of a file |
//! | `trickle FILE COUNT SECONDS` | writes a file this many times, and waits before each |
//! | `garbage BYTES` | writes bytes that aren't text |
//! | `report FILE` | writes a file to standard error |
//! | `catch SIGNAL…` | catches these signals from here on |
//! | `start NAME [aside]` | starts another agent, which inherits the outputs unless `aside` is given; waits until it runs |
//! | `until FILE` | waits until the file exists |
//! | `until-signal` | waits for one of the caught signals |
//! | `until-orphaned` | waits until its parent has ended |
//! | `mark FILE` | creates an empty file |
//! | `wait SECONDS` | waits |
//! | `hang` | does nothing until the test ends |
//! | `crash SIGNAL` | kills itself with a signal |
//! | `exit CODE` | exits; the end of the script exits with 0 |
//!
//! Its process id is in `NAME.pid`, written once it catches the signals that its script begins with.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid, getppid, kill_process};

use crate::program::{Folder, SESSION, Signal, quoted, reply, until};

/// The environment variable that passes the name of an agent's script to its process.
const SCRIPT: &str = "STREAMFMT_TEST_AGENT";

/// How often a condition is polled.
const LOOK: Duration = Duration::from_millis(5);

/// A folder with agents, each with its script, and with a session and a reply beside them.
pub(crate) fn scripted(agents: &[(&str, &str)]) -> Folder {
    let folder = Folder::for_programs();
    folder.write("session", SESSION);
    folder.write("reply", reply(7));
    let program = quoted(std::env::current_exe().unwrap());
    for (name, script) in agents {
        // The test harness prints to standard output, so the agent's output is passed as standard input, which the harness doesn't read.
        folder.write_program(
            name,
            &format!(
                "#!/bin/sh\n{SCRIPT}=$0 exec {program} --exact agent::plays_its_script --nocapture --test-threads=1 <&1 >/dev/null\n"
            ),
        );
        folder.write(&format!("{name}.script"), script);
    }
    folder
}

/// Whether the process is running whose id is in a file.
pub(crate) fn is_running(folder: &Folder, file: &str) -> bool {
    let pid = folder.read(file);
    let pid = pid.trim();
    if cfg!(target_os = "linux") {
        // The process name, in parentheses, may contain anything.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        return stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']));
    }
    let stat = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let stat = String::from_utf8(stat.stdout).unwrap();
    !stat.trim().is_empty() && !stat.starts_with('Z')
}

/// Waits until the process has ended whose id is in a file.
#[track_caller]
pub(crate) fn until_gone(folder: &Folder, file: &str) {
    until(|| format!("the end of {file}"), || !is_running(folder, file));
}

/// Waits until all agents in a folder have ended.
#[track_caller]
pub(crate) fn until_all_gone(folder: &Folder) {
    let names = folder.names();
    let agents: Vec<&String> =
        names.iter().filter(|name| Path::new(name).extension().is_some_and(|it| it == "pid")).collect();
    assert!(!agents.is_empty(), "no agent ran: {names:?}");
    for file in agents {
        until_gone(folder, file);
    }
}

/// Kills the process whose id is in a file. It may already be gone.
pub(crate) fn kill(folder: &Folder, file: &str) {
    let pid = folder.read(file).trim().parse().unwrap();
    let killed = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    assert!(matches!(killed, Ok(()) | Err(rustix::io::Errno::SRCH)), "{killed:?}");
}

/// The agent. In an ordinary test run it has no script.
#[test]
fn plays_its_script() {
    let Some(agent) = std::env::var(SCRIPT).ok() else { return };
    Agent::new(agent).play()
}

struct Agent {
    name: String,
    output: File,
    parent: Option<Pid>,
    came: Arc<AtomicBool>,
}

impl Agent {
    fn new(name: String) -> Self {
        let output = File::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
        Self { name, output, parent: getppid(), came: Arc::default() }
    }

    fn play(mut self) -> ! {
        let script = fs::read_to_string(format!("{}.script", self.name)).unwrap();
        let mut steps = script.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).peekable();
        while let Some(step) = steps.next_if(|step| step.first() == Some(&"catch")) {
            self.step(&step);
        }
        // Written atomically: a file that exists is complete.
        let (draft, pid) = (format!("{}.pid-draft", self.name), format!("{}.pid", self.name));
        fs::write(&draft, getpid().to_string()).unwrap();
        fs::rename(draft, pid).unwrap();
        for step in steps {
            self.step(&step);
        }
        exit(0)
    }

    fn step(&mut self, words: &[&str]) {
        match words {
            ["replay", file, speed] => self.replay(file, speed.parse().unwrap()),
            ["write", file] => self.write(&fs::read(file).unwrap()),
            ["begin", file, count] => self.write(&fs::read(file).unwrap()[..count.parse().unwrap()]),
            ["trickle", file, count, time] => {
                for _ in 0..count.parse().unwrap() {
                    sleep(seconds(time));
                    self.write(&fs::read(file).unwrap());
                }
            }
            ["garbage", count] => self.write(&garbage(count.parse().unwrap())),
            ["report", file] => std::io::stderr().write_all(&fs::read(file).unwrap()).unwrap(),
            ["catch", signals @ ..] => {
                for name in signals {
                    signal_hook::flag::register(signal(name).as_raw(), Arc::clone(&self.came)).unwrap();
                }
            }
            ["start", name] => {
                self.start(name, Stdio::from(self.output.try_clone().unwrap()), Stdio::inherit());
            }
            ["start", name, "aside"] => self.start(name, Stdio::null(), Stdio::null()),
            ["until", file] => self.wait_until(|| Path::new(file).exists()),
            ["until-signal"] => self.wait_until(|| self.came.load(Ordering::Relaxed)),
            ["until-orphaned"] => self.wait_until(|| getppid() != self.parent),
            ["mark", file] => fs::write(file, "").unwrap(),
            ["wait", time] => sleep(seconds(time)),
            ["hang"] => self.wait_until(|| false),
            ["crash", name] => kill_process(getpid(), signal(name)).unwrap(),
            ["exit", code] => exit(code.parse().unwrap()),
            step => panic!("no step of an agent: {step:?}"),
        }
    }

    fn start(&self, name: &str, output: Stdio, errors: Stdio) {
        // Don't wait for it: its parent ignores its end.
        drop(
            Command::new(format!("./{name}"))
                .stdin(Stdio::null())
                .stdout(output)
                .stderr(errors)
                .spawn()
                .unwrap(),
        );
        self.wait_until(|| Path::new(&format!("{name}.pid")).exists());
    }

    /// Waits without a limit, but exits when the test ends, however it ended, because the test's folder is then removed.
    fn wait_until(&self, condition: impl Fn() -> bool) {
        while !condition() {
            if !Path::new(&self.name).exists() {
                exit(4);
            }
            sleep(LOOK);
        }
    }

    /// Exits if the reader of its output is gone.
    fn write(&mut self, bytes: &[u8]) {
        if self.output.write_all(bytes).is_err() {
            exit(3);
        }
    }

    /// Writes each line at the time it was recorded, if it has a time.
    fn replay(&mut self, file: &str, speed: f64) {
        let begun = Instant::now();
        let mut first = None;
        for line in fs::read_to_string(file).unwrap().split_inclusive('\n') {
            let time = line.split_once("\"timestamp\":\"").and_then(|(_, rest)| rest.split_once('"'));
            if let Some(time) = time.and_then(|(time, _)| time.parse::<jiff::Timestamp>().ok()) {
                let since = time.duration_since(*first.get_or_insert(time));
                let due = Duration::try_from(since).unwrap_or_default().div_f64(speed);
                sleep(due.saturating_sub(begun.elapsed()));
            }
            self.write(line.as_bytes());
        }
    }
}

fn seconds(text: &str) -> Duration {
    Duration::from_secs_f64(text.parse().unwrap())
}

fn signal(name: &str) -> Signal {
    match name {
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "KILL" => Signal::KILL,
        "QUIT" => Signal::QUIT,
        "TERM" => Signal::TERM,
        _ => panic!("no signal of an agent: {name}"),
    }
}

/// Bytes of all values, in a deterministic order.
pub(crate) fn garbage(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(count).collect()
}
