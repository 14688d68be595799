//! Measures the store: how soon sessions are listed, repaired and removed, how long their entries take to be made anew, and how long histories take
//! to be imported and added up.
//!
//! `cargo bench -p streamfmt-bench --bench store`; `STORE_RUNS` (21), `STORE_ROWS` (10,000) and `STORE_LOGS` (2,000, of 1 MB each) change the numbers
//! of lists, of listed sessions, and of logs and histories.

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    if streamfmt_bench::session::is_asked_for() { store::measure() } else { Ok(()) }
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod store {
    use std::error::Error;
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use streamfmt_bench::binary::Binary;
    use streamfmt_bench::grow::grow;
    use streamfmt_bench::measure::Times;
    use streamfmt_bench::session::number;

    const SAMPLE: &[u8] = include_bytes!("../../../tests/samples/shop.jsonl");

    /// The program, and a folder for data folders.
    struct Place {
        binary: Binary,
        folder: PathBuf,
    }

    pub(super) fn measure() -> Result<(), Box<dyn Error>> {
        let folder = std::env::temp_dir().join(format!("streamfmt-bench-store-{}", std::process::id()));
        let place = Place { binary: Binary::build()?, folder };
        let measured = place.measure();
        fs::remove_dir_all(&place.folder)?;
        measured
    }

    /// Leaves so many histories of 1 MB.
    fn leave_histories(folder: &Path, count: u64) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let words = "I look at the cart and its tests. ".repeat(20);
        for session in 0..count {
            let mut history = String::new();
            let mut line = 0;
            while history.len() < 1 << 20 {
                let (hour, minute, second) = (line / 3_600 % 24, line / 60 % 60, line % 60);
                let message = serde_json::json!({
                    "type": "assistant", "sessionId": format!("s-{session}"), "cwd": "/home/dev/shop", "version": "2.1.90",
                    "isSidechain": false, "parentUuid": null, "uuid": format!("u-{session}-{line}"), "requestId": format!("r-{session}-{line}"),
                    "timestamp": format!("2026-11-{:02}T{hour:02}:{minute:02}:{second:02}.000Z", session % 28 + 1),
                    "message": {"id": format!("m-{session}-{line}"), "role": "assistant", "model": "claude-sonnet-4-5",
                        "content": [{"type": "text", "text": words}],
                        "usage": {"input_tokens": 9, "output_tokens": 90, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90}},
                });
                history += &message.to_string();
                history.push('\n');
                line += 1;
            }
            fs::write(folder.join(format!("s-{session}.jsonl")), history)?;
        }
        Ok(())
    }

    fn cut_off_a_tenth(path: &Path) -> io::Result<()> {
        let file = fs::File::options().write(true).open(path)?;
        file.set_len(file.metadata()?.len() / 10 * 9)
    }

    impl Place {
        fn measure(&self) -> Result<(), Box<dyn Error>> {
            println!("| what | must | takes |\n|---|---|---|");
            let rows = number("STORE_ROWS", 10_000);
            let listed = self.folder.join("listed");
            self.leave_runs(&listed, rows, SAMPLE)?;
            self.sessions(&listed, "reindex")?;
            let mut times = Times::default();
            for _ in 0..number("STORE_RUNS", 21) {
                times.add(self.sessions(&listed, "list")?);
            }
            let half = times.median().as_secs_f64() * 1e3;
            println!("| a list of {rows} sessions, all of it | 50 ms | {half:.1} ms |");
            cut_off_a_tenth(&listed.join("streamfmt/sessions.db"))?;
            let took = self.sessions(&listed, "check --repair")?.as_secs_f64();
            println!(
                "| a repair of {rows} sessions, a tenth of the file cut off | 20 s for 10,000 | {took:.1} s |"
            );
            let took = self.sessions(&listed, "prune --keep 10 --yes")?.as_secs_f64();
            println!("| {rows} sessions removed, all but 10 | 10 s for 10,000 | {took:.1} s |");
            let logs = number("STORE_LOGS", 2_000);
            let indexed = self.folder.join("indexed");
            let mut log = Vec::new();
            grow(SAMPLE, 1 << 20, &mut log)?;
            self.leave_runs(&indexed, logs, &log)?;
            let took = self.sessions(&indexed, "reindex")?.as_secs_f64();
            println!("| {logs} logs of 1 MB, read for a new database | 30 s for 2,000 | {took:.1} s |");
            fs::remove_dir_all(&indexed)?;
            self.measure_histories(logs)
        }

        fn measure_histories(&self, count: u64) -> Result<(), Box<dyn Error>> {
            let (histories, imported) = (self.folder.join("histories"), self.folder.join("imported"));
            leave_histories(&histories, count)?;
            let import = format!("import {}", histories.display());
            for (what, must, command) in [
                ("the first import of", "15 s for 2,000", import.clone()),
                ("the next import of", "0.3 s", import),
                ("figures in the store of", "1 s", "stats --by model".to_owned()),
                (
                    "figures without a store of",
                    "the time of ccusage",
                    format!("stats {}", histories.display()),
                ),
            ] {
                let took = self.sessions(&imported, &command)?.as_secs_f64();
                println!("| {what} {count} histories of 1 MB | {must} | {took:.2} s |");
            }
            Ok(())
        }

        /// Leaves what so many runs leave.
        fn leave_runs(&self, data: &Path, count: u64, log: &[u8]) -> io::Result<()> {
            let sessions = data.join("streamfmt/sessions");
            fs::create_dir_all(&sessions)?;
            for run in 0..count {
                let (day, second) = (run / 86_400 + 1, run % 86_400);
                let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
                let id = format!("202611{day:02}-{hour:02}{minute:02}{second:02}-k3x9qa");
                let path = sessions.join(format!("{id}.ndjson"));
                fs::write(&path, log)?;
                let side = serde_json::json!({
                    "v": 1, "id": id, "status": "done", "command": ["claude", "-p", "Fix the cart"], "agent": "claude",
                    "agent_session": format!("s-{run}"), "task": format!("Fix the cart, part {run}"), "folder": "/home/dev/shop",
                    "log": path, "log_bytes": log.len(), "exit": {"code": 0}, "recorder": {"pid": 1},
                    "started": format!("2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}Z"),
                });
                fs::write(sessions.join(format!("{id}.json")), side.to_string())?;
            }
            Ok(())
        }

        /// Runs a command about sessions, and says how long that took.
        fn sessions(&self, data: &Path, command: &str) -> io::Result<Duration> {
            let clock = Instant::now();
            let mut program = Command::new(self.binary.path());
            program
                .arg("sessions")
                .args(command.split(' '))
                .env("XDG_DATA_HOME", data)
                .env("HOME", &self.folder);
            let status = program.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
            let time = clock.elapsed();
            if status.success() { Ok(time) } else { Err(io::Error::other(format!("it ended with {status}"))) }
        }
    }
}
