//! Measures what `streamfmt run` costs over the same pipe with `--tee`, and how soon a byte is in its log.
//!
//! `cargo bench -p streamfmt-bench --bench run`; `RUN_RUNS` (31) and `RUN_MB` (20) change the number of runs and the size.

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    if streamfmt_bench::session::is_asked_for() { run::measure() } else { Ok(()) }
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod run {
    use std::error::Error;
    use std::fs::{self, File};
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::process::{Command, ExitStatus, Stdio};
    use std::time::{Duration, Instant};

    use streamfmt_bench::binary::Binary;
    use streamfmt_bench::grow::grow;
    use streamfmt_bench::measure::{Times, children_on_cpu};
    use streamfmt_bench::session::number;

    const SAMPLE: &[u8] = include_bytes!("../../../tests/samples/shop.jsonl");
    /// Lines that are timed until they are in the log.
    const LINES: u32 = 2_000;

    /// The program, and a folder for what it writes.
    struct Place {
        binary: Binary,
        folder: PathBuf,
    }

    pub(super) fn measure() -> Result<(), Box<dyn Error>> {
        let folder = std::env::temp_dir().join(format!("streamfmt-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let place = Place { binary: Binary::build()?, folder };
        let measured = place.measure(number("RUN_RUNS", 31), number("RUN_MB", 20) << 20);
        fs::remove_dir_all(&place.folder)?;
        measured
    }

    impl Place {
        fn measure(&self, runs: u64, size: u64) -> Result<(), Box<dyn Error>> {
            let (short, long) = (self.folder.join("short.jsonl"), self.folder.join("long.jsonl"));
            fs::write(&short, SAMPLE)?;
            grow(SAMPLE, size, &mut io::BufWriter::new(File::create(&long)?))?;
            let (mut run, mut piped) = (Times::default(), Times::default());
            for _ in 0..runs {
                run.add(self.timed(|| self.run(&short))?);
                piped.add(self.timed(|| self.pipe(&short))?);
            }
            println!("| what | must | run | pipe with --tee | more |\n|---|---|---|---|---|");
            let more = run.median().saturating_sub(piped.median());
            let (run, piped) = (milliseconds(run.median()), milliseconds(piped.median()));
            println!(
                "| a short session from start to end, its row included | 6 ms more | {run} | {piped} | {} |",
                milliseconds(more)
            );
            let (mut run, mut piped) = (Duration::ZERO, Duration::ZERO);
            for _ in 0..runs.div_ceil(4) {
                run += self.on_cpu(|| self.run(&long))?;
                piped += self.on_cpu(|| self.pipe(&long))?;
            }
            let more = (run.as_secs_f64() / piped.as_secs_f64() - 1.0) * 100.0;
            let (run, piped) = (milliseconds(run), milliseconds(piped));
            println!(
                "| CPU of long sessions, the agent's included | 3 % more | {run} | {piped} | {more:.1} % |"
            );
            let times = self.until_logged()?;
            let half = milliseconds(times.median());
            let most = milliseconds(times.quantile(0.99));
            println!("| a line from the agent's input to the log, half of them |  | {half} | | |");
            println!("| the same, 99 of 100 | 1 ms | {most} | | |");
            Ok(())
        }

        /// Has an agent recorded that writes a file.
        fn run(&self, file: &Path) -> io::Result<()> {
            let mut command = self.program();
            command.args(["run", "--from", "claude", "--to", "text", "--log"]).arg(self.log());
            command.args(["--", "cat"]).arg(file).stdin(Stdio::null()).stdout(Stdio::null());
            ended(command.status()?)
        }

        /// Has the same formatted from a pipe, with a copy.
        fn pipe(&self, file: &Path) -> io::Result<()> {
            let mut agent = Command::new("cat").arg(file).stdout(Stdio::piped()).spawn()?;
            let input = agent.stdout.take().map_or_else(Stdio::null, Stdio::from);
            let mut command = self.program();
            command.args(["--from", "claude", "--to", "text", "--tee"]).arg(self.log()).arg("-");
            ended(command.stdin(input).stdout(Stdio::null()).status()?)?;
            ended(agent.wait()?)
        }

        /// Times lines until they are in the log. The agent passes on what it reads, so its own time is in it.
        fn until_logged(&self) -> io::Result<Times> {
            let mut command = self.program();
            command.args(["run", "--from", "claude", "--to", "text", "--log"]).arg(self.log());
            let mut child =
                command.args(["--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
            let Some(mut input) = child.stdin.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
            let length = || fs::metadata(self.log()).map_or(0, |about| about.len());
            let mut times = Times::default();
            let mut written = 0;
            // The first one also waits for the start.
            for number in 0..=LINES {
                let line = format!("{{\"type\":\"unknown\",\"number\":{number}}}\n");
                let clock = Instant::now();
                input.write_all(line.as_bytes())?;
                written += line.len() as u64;
                while length() < written {
                    std::thread::yield_now();
                }
                if number > 0 {
                    times.add(clock.elapsed());
                }
            }
            drop(input);
            ended(child.wait()?)?;
            fs::remove_file(self.log())?;
            Ok(times)
        }

        fn timed(&self, work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
            let clock = Instant::now();
            work()?;
            let time = clock.elapsed();
            fs::remove_file(self.log())?;
            Ok(time)
        }

        fn on_cpu(&self, work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
            let before = children_on_cpu();
            self.timed(work)?;
            Ok(children_on_cpu().saturating_sub(before))
        }

        /// The program, with a home of its own.
        fn program(&self) -> Command {
            let mut command = Command::new(self.binary.path());
            command.env("HOME", &self.folder).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
            command
        }

        fn log(&self) -> PathBuf {
            self.folder.join("log.ndjson")
        }
    }

    fn ended(status: ExitStatus) -> io::Result<()> {
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {status}"))) }
    }

    fn milliseconds(time: Duration) -> String {
        format!("{:.2} ms", time.as_secs_f64() * 1e3)
    }
}
