//! A scripted agent, for tests of any behaviour.
//!
//! It is this test program, started by a small shell script with the agent's name. Its own script, with a step in each line, lies beside that.
//!
//! | step | what the agent does |
//! |---|---|
//! | `replay FILE SPEED` | writes a recording with its times, so many times as fast |
//! | `write FILE` | writes a file |
//! | `begin FILE BYTES` | writes the beginning of a file |
//! | `trickle FILE COUNT SECONDS` | writes a file so many times, and waits before each |
//! | `garbage BYTES` | writes bytes that are no text |
//! | `report FILE` | writes a file to standard error |
//! | `catch SIGNAL…` | from here on, these signals don't end it |
//! | `start NAME [aside]` | starts another agent, which has its outputs unless it is `aside`; waits until it has begun |
//! | `until FILE` | waits until there is such a file |
//! | `until-signal` | waits until a signal came that it catches |
//! | `until-orphaned` | waits until the one that started it has ended |
//! | `mark FILE` | makes an empty file |
//! | `wait SECONDS` | waits |
//! | `hang` | does nothing until the test has ended |
//! | `crash SIGNAL` | is ended by a signal |
//! | `exit CODE` | ends; so does the end of the script, with 0 |
//!
//! Its process id is in `NAME.pid`, once it catches the signals that its script begins with.

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

/// Names the script of an agent to its process.
const SCRIPT: &str = "STREAMFMT_TEST_AGENT";

/// How often it is looked for what is waited for.
const LOOK: Duration = Duration::from_millis(5);

/// A folder with agents, each with its script; beside them are a session and a reply.
pub(crate) fn scripted(agents: &[(&str, &str)]) -> Folder {
    let folder = Folder::for_programs();
    folder.write("session", SESSION);
    folder.write("reply", reply(7));
    let program = quoted(std::env::current_exe().unwrap());
    for (name, script) in agents {
        // The test harness prints to standard output, so the agent's output is passed as standard input, which it doesn't read.
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

/// Whether the process whose number a file holds runs.
pub(crate) fn is_running(folder: &Folder, file: &str) -> bool {
    let pid = folder.read(file);
    let pid = pid.trim();
    if cfg!(target_os = "linux") {
        // Its name, in parentheses, may hold anything.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        return stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']));
    }
    let stat = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let stat = String::from_utf8(stat.stdout).unwrap();
    !stat.trim().is_empty() && !stat.starts_with('Z')
}

/// Waits until the process whose number a file holds has ended.
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

/// Kills the process whose number a file holds. It may have ended, and be forgotten, already.
pub(crate) fn kill(folder: &Folder, file: &str) {
    let pid = folder.read(file).trim().parse().unwrap();
    let killed = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    assert!(matches!(killed, Ok(()) | Err(rustix::io::Errno::SRCH)), "{killed:?}");
}

/// The agent: in a run of the tests itself it has no script.
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
        // As a whole: whoever sees it can read it.
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
        // Nobody waits for it: its end is nothing to the one that started it.
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

    /// Waits for as long as it takes, but ends with the test: its folder goes away then, however it ended.
    fn wait_until(&self, condition: impl Fn() -> bool) {
        while !condition() {
            if !Path::new(&self.name).exists() {
                exit(4);
            }
            sleep(LOOK);
        }
    }

    /// Ends the agent if nobody reads its output any more.
    fn write(&mut self, bytes: &[u8]) {
        if self.output.write_all(bytes).is_err() {
            exit(3);
        }
    }

    /// Each line is written when it was recorded, as far as it has a time.
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

/// Bytes of all values, in an order that is the same each time.
pub(crate) fn garbage(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(count).collect()
}
