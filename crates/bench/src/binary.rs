//! Runs the built program as users do and measures it from outside.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::measure::Times;

/// The program, built with the release profile.
pub struct Binary {
    path: PathBuf,
}

/// The measurements of one run over a file.
pub struct ProgramRun {
    /// From start to the first byte of output.
    pub first: Duration,
    /// Its peak memory in bytes; zero if the system doesn't report it.
    pub peak: u64,
}

impl Binary {
    /// Builds it, in the target folder that this benchmark was built in.
    pub fn build() -> io::Result<Self> {
        let status =
            Command::new(env!("CARGO")).args(["build", "--release", "-q", "-p", "streamfmt-cli"]).status()?;
        if !status.success() {
            return Err(io::Error::other("the program could not be built"));
        }
        // This benchmark is target/release/deps/pace-…, the program target/release/streamfmt.
        let own = std::env::current_exe()?;
        let folder = own.parent().and_then(Path::parent).unwrap_or(Path::new("."));
        Ok(Self { path: folder.join("streamfmt").with_extension(std::env::consts::EXE_EXTENSION) })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn start(&self, arguments: &[&str]) -> io::Result<Child> {
        Command::new(&self.path)
            .args(["--from", "claude"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
    }

    /// The wall time of a run over a file. Its output is discarded, so that no reader needs a processor.
    pub fn wall(&self, file: &Path, to: &str) -> io::Result<Duration> {
        let clock = Instant::now();
        let mut command = Command::new(&self.path);
        command.args(["--from", "claude", "--to", to]).arg(file);
        ended(command.stdin(Stdio::null()).stdout(Stdio::null()).status()?)?;
        Ok(clock.elapsed())
    }

    /// Formats a file and reads all of the output.
    pub fn run(&self, file: &Path, to: &str) -> io::Result<ProgramRun> {
        let clock = Instant::now();
        let mut child = self.start(&["--to", to, &file.to_string_lossy()])?;
        drop(child.stdin.take());
        let Some(mut out) = child.stdout.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let status = format!("/proc/{}/status", child.id());
        let (mut first, mut peak) = (None, 0);
        let mut piece = vec![0; 1 << 16];
        // The kernel's mark only rises, so the last look before the end sees all but the last piece of output.
        while out.read(&mut piece)? > 0 {
            first.get_or_insert_with(|| clock.elapsed());
            peak = peak_memory(&status).max(peak);
        }
        ended(child.wait()?)?;
        Ok(ProgramRun { first: first.unwrap_or_else(|| clock.elapsed()), peak })
    }

    /// Writes `count` lines to the program, one after the other, and measures the time until each is printed.
    pub fn echo(&self, count: u32) -> io::Result<Times> {
        let mut child = self.start(&["--to", "text", "-"])?;
        let (Some(mut input), Some(mut out)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut times = Times::default();
        let mut seen = Vec::new();
        let mut piece = vec![0; 1 << 16];
        for number in 0..count {
            let (line, text) = reply(number);
            let clock = Instant::now();
            input.write_all(line.as_bytes())?;
            seen.clear();
            while !contains(&seen, text.as_bytes()) {
                let length = out.read(&mut piece)?;
                if length == 0 {
                    return Err(io::Error::other(format!("reply {number} was not printed")));
                }
                seen.extend_from_slice(&piece[..length]);
            }
            times.add(clock.elapsed());
        }
        drop(input);
        // The rest of the output must not block the program's end.
        out.read_to_end(&mut seen)?;
        child.wait()?;
        Ok(times)
    }
}

fn ended(status: ExitStatus) -> io::Result<()> {
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("the program ended with {status}"))) }
}

/// A line with a reply, and the text that it is printed as.
pub fn reply(number: u32) -> (String, String) {
    let text = format!("This is reply {number} of the benchmark.");
    let line = format!(
        concat!(
            r#"{{"type":"assistant","message":{{"id":"msg_{number}","type":"message","role":"assistant","#,
            r#""model":"claude-opus-5-5","content":[{{"type":"text","text":"{text}"}}],"stop_reason":null}},"#,
            r#""parent_tool_use_id":null,"session_id":"5e55","uuid":"uuid-{number}"}}"#,
            "\n"
        ),
        number = number,
        text = text,
    );
    (line, text)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// The peak memory of a process in bytes, as reported by the kernel (Linux). `status`: its file in `/proc`.
pub fn peak_memory(status: &str) -> u64 {
    let kilobytes = |text: String| {
        let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    std::fs::read_to_string(status).ok().and_then(kilobytes).map_or(0, |kilobytes| kilobytes * 1024)
}
