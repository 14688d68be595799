//! Measures `streamfmt serve`: how soon a line of an agent reaches open pages, what a run loses by being watched, and memory.
//!
//! `cargo bench -p streamfmt-bench --bench serve`; `SERVE_LINES` (1,000), `SERVE_RUNS` (9) and `SERVE_MB` (1,000) change the number of
//! lines that are timed, the number of runs, and the size of the long log.

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    if streamfmt_bench::session::is_asked_for() { serve::measure() } else { Ok(()) }
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod serve {
    use std::error::Error;
    use std::fs::{self, File};
    use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
    use std::net::TcpStream;
    use std::path::PathBuf;
    use std::process::{Child, ChildStdin, Command, Stdio};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use streamfmt_bench::binary::{Binary, peak_memory, reply};
    use streamfmt_bench::grow::grow;
    use streamfmt_bench::measure::{Times, children_on_cpu};
    use streamfmt_bench::session::number;

    const SAMPLE: &[u8] = include_bytes!("../../../tests/samples/shop.jsonl");
    const SESSIONS: usize = 5;
    /// Open pages, spread over the sessions.
    const READERS: usize = 50;
    /// The time between two lines, which go to one session after the other.
    const PAUSE: Duration = Duration::from_millis(20);
    /// How long anything may take.
    const PATIENCE: Duration = Duration::from_secs(120);

    pub(super) fn measure() -> Result<(), Box<dyn Error>> {
        let folder = std::env::temp_dir().join(format!("streamfmt-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let place = Place { binary: Binary::build()?, folder };
        let measured = place.measure();
        fs::remove_dir_all(&place.folder)?;
        measured
    }

    /// The program, and the home that it is run in.
    struct Place {
        binary: Binary,
        folder: PathBuf,
    }

    impl Place {
        fn measure(&self) -> Result<(), Box<dyn Error>> {
            println!("| what | must | is |\n|---|---|---|");
            let server = Server::start(self)?;
            let times = self.until_shown(&server, number("SERVE_LINES", 1_000) as u32)?;
            for (part, must) in [(0.5, ""), (0.95, "100 ms"), (0.99, "")] {
                let time = milliseconds(times.quantile(part));
                println!(
                    "| a line of an agent to {READERS} pages, {:.0} of 100 | {must} | {time} |",
                    part * 100.0
                );
            }
            println!("| memory with {READERS} pages of {SESSIONS} sessions | 128 MiB | {} |", server.peak());
            drop(server);

            let server = Server::start(self)?;
            let (mut alone, mut watched) = (Times::default(), Times::default());
            let (mut alone_cpu, mut watched_cpu) = (Duration::ZERO, Duration::ZERO);
            for _ in 0..number("SERVE_RUNS", 9) {
                let (time, cpu) = self.run(None)?;
                alone.add(time);
                alone_cpu += cpu;
                let (time, cpu) = self.run(Some(&server))?;
                watched.add(time);
                watched_cpu += cpu;
            }
            let more = (watched.over(&alone) - 1.0) * 100.0;
            let (watched, alone) = (milliseconds(watched.median()), milliseconds(alone.median()));
            println!("| a run with {READERS} pages | 3 % longer | {watched}, alone {alone}: {more:.1} % |");
            let more = (watched_cpu.as_secs_f64() / alone_cpu.as_secs_f64() - 1.0) * 100.0;
            let (watched, alone) = (milliseconds(watched_cpu), milliseconds(alone_cpu));
            println!(
                "| CPU of these runs and their agents | 3 % more | {watched}, alone {alone}: {more:.1} % |"
            );
            drop(server);

            let size = number("SERVE_MB", 1_000);
            let log = self.folder.join("long.jsonl");
            grow(SAMPLE, size * 1_000_000, &mut BufWriter::new(File::create(&log)?))?;
            let id = self.session_of(&log)?;
            let server = Server::start(self)?;
            let clock = Instant::now();
            server.get(&format!("/sessions/{id}"))?;
            println!("| the first answer for a log of {size} MB | 1 s | {} |", milliseconds(clock.elapsed()));
            while server.get(&format!("/sessions/{id}"))?.contains("id=\"reading\"") {
                thread::sleep(Duration::from_millis(100));
            }
            println!("| the page of that log |  | {} |", milliseconds(clock.elapsed()));
            println!("| memory for it | 128 MiB | {} |", server.peak());
            Ok(())
        }

        /// Has agents write lines and times each until it has reached each page of its session.
        fn until_shown(&self, server: &Server, lines: u32) -> Result<Times, Box<dyn Error>> {
            let (seen, sightings) = channel();
            let mut agents = Vec::new();
            for session in 0..SESSIONS {
                let agent = self.agent(&["cat"])?;
                for _ in 0..READERS / SESSIONS {
                    server.watch(&agent.id, session, seen.clone())?;
                }
                agents.push(agent);
            }
            let each = READERS / SESSIONS;
            let mut sent = Vec::new();
            let begun = Instant::now();
            // The first lines are not timed: with them the pages become ready.
            let first = 2 * SESSIONS as u32;
            for number in 0..first + lines {
                if number == first {
                    wait_for(&sightings, first as usize * each)?;
                }
                thread::sleep(PAUSE);
                let agent = &mut agents[number as usize % SESSIONS];
                sent.push(Instant::now());
                agent.input.write_all(reply(number).0.as_bytes())?;
            }
            println!("<!-- {lines} lines in {:.1} s -->", begun.elapsed().as_secs_f64());
            let mut times = Times::default();
            for sighting in wait_for(&sightings, lines as usize * each)? {
                times.add(sighting.at.duration_since(sent[sighting.number as usize]));
            }
            agents.into_iter().try_for_each(Agent::end)?;
            Ok(times)
        }

        /// Runs an agent that writes 200 lines in 2 seconds, watched by all readers if there is a server. Gives the time that it took,
        /// and that on the processor.
        fn run(&self, server: Option<&Server>) -> Result<(Duration, Duration), Box<dyn Error>> {
            let file = self.folder.join("lines");
            let lines: String = (0..200).map(|number| reply(number).0).collect();
            fs::write(&file, lines)?;
            // The agent waits for a line until all pages are open.
            let script = format!(
                "read -r go; while read -r line; do echo \"$line\"; sleep 0.01; done < '{}'",
                file.display()
            );
            let mut agent = self.agent(&["sh", "-c", &script])?;
            let (seen, sightings) = channel();
            for _ in 0..if server.is_some() { READERS } else { 0 } {
                server.into_iter().try_for_each(|server| server.watch(&agent.id, 0, seen.clone()))?;
            }
            thread::sleep(Duration::from_millis(300));
            let (clock, cpu) = (Instant::now(), children_on_cpu());
            agent.input.write_all(b"go\n")?;
            agent.end()?;
            let measured = (clock.elapsed(), children_on_cpu().saturating_sub(cpu));
            if server.is_some() {
                wait_for(&sightings, 200 * READERS)?;
            }
            Ok(measured)
        }

        /// Starts a run of this command, whose standard input is left open to be written to.
        fn agent(&self, words: &[&str]) -> Result<Agent, Box<dyn Error>> {
            let known = self.ids();
            let mut command = self.program();
            command.args(["run", "--from", "claude", "--to", "text", "--"]).args(words);
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            let input = child.stdin.take().ok_or("a pipe is missing")?;
            let clock = Instant::now();
            loop {
                if let Some(id) = self.ids().into_iter().find(|id| !known.contains(id)) {
                    return Ok(Agent { child, input, id });
                }
                if clock.elapsed() > PATIENCE {
                    return Err("no run began".into());
                }
                thread::sleep(Duration::from_millis(2));
            }
        }

        fn sessions(&self) -> PathBuf {
            self.folder.join(".local/share/streamfmt/sessions")
        }

        fn ids(&self) -> Vec<String> {
            let names = fs::read_dir(self.sessions()).into_iter().flatten();
            let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect()
        }

        /// A session that has ended and has this log.
        fn session_of(&self, log: &std::path::Path) -> io::Result<String> {
            let id = "20261123-224103-k3x9qa";
            let side_file = serde_json::json!({
                "v": 1, "id": id, "status": "done", "command": ["agent"], "folder": "/", "log": log,
                "started": "2026-11-23T22:41:03Z", "ended": "2026-11-23T22:41:04Z", "recorder": {"pid": 1},
            });
            fs::write(self.sessions().join(format!("{id}.json")), side_file.to_string())?;
            Ok(id.to_owned())
        }

        /// The program, with a home of its own.
        fn program(&self) -> Command {
            let mut command = Command::new(self.binary.path());
            command.env("HOME", &self.folder);
            for name in ["DATA", "STATE", "CONFIG", "CACHE"] {
                command.env_remove(format!("XDG_{name}_HOME"));
            }
            command
        }
    }

    /// A run.
    struct Agent {
        child: Child,
        input: ChildStdin,
        id: String,
    }

    impl Agent {
        fn end(mut self) -> io::Result<()> {
            drop(self.input);
            self.child.wait().map(drop)
        }
    }

    /// A reply that has reached a page.
    struct Sighting {
        number: u32,
        at: Instant,
    }

    fn wait_for(sightings: &Receiver<Sighting>, count: usize) -> Result<Vec<Sighting>, Box<dyn Error>> {
        (0..count).map(|_| Ok(sightings.recv_timeout(PATIENCE)?)).collect()
    }

    struct Server {
        child: Child,
        host: String,
        cookie: String,
    }

    impl Server {
        fn start(place: &Place) -> Result<Self, Box<dyn Error>> {
            let mut child = place.program().arg("serve").stdout(Stdio::piped()).spawn()?;
            let mut line = String::new();
            BufReader::new(child.stdout.take().ok_or("a pipe is missing")?).read_line(&mut line)?;
            let address = line.trim().strip_prefix("http://").and_then(|line| line.split_once("/?token="));
            let (host, token) = address.ok_or("serve printed no address")?;
            let mut server = Self { host: host.to_owned(), cookie: String::new(), child };
            let entered = server.get(&format!("/?token={token}"))?;
            let cookie =
                entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
            cookie.ok_or("serve gave no cookie")?.clone_into(&mut server.cookie);
            Ok(server)
        }

        fn peak(&self) -> String {
            let peak = peak_memory(&format!("/proc/{}/status", self.child.id()));
            format!("{:.0} MiB", peak as f64 / f64::from(1 << 20))
        }

        fn ask(&self, path: &str) -> io::Result<TcpStream> {
            let port = self.host.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(0);
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let (host, cookie) = (&self.host, &self.cookie);
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
            )?;
            Ok(stream)
        }

        fn get(&self, path: &str) -> io::Result<String> {
            let mut bytes = Vec::new();
            self.ask(path)?.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }

        /// Opens the events of a session, as its page does, and reports each reply once.
        fn watch(&self, id: &str, session: usize, seen: Sender<Sighting>) -> io::Result<()> {
            let mut events = BufReader::new(self.ask(&format!("/sessions/{id}/events"))?);
            let mut line = String::new();
            while !line.starts_with(": ready") {
                line.clear();
                if events.read_line(&mut line)? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            thread::Builder::new().name(format!("reader {session}")).spawn(move || {
                let mut next = None;
                loop {
                    line.clear();
                    if !matches!(events.read_line(&mut line), Ok(1..)) {
                        return;
                    }
                    let at = Instant::now();
                    let Some((_, rest)) = line.split_once("This is reply ") else { continue };
                    let number = rest.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
                    // An entry may come again, when it is finished.
                    if next.is_none_or(|next| number >= next) {
                        next = Some(number + 1);
                        if seen.send(Sighting { number, at }).is_err() {
                            return;
                        }
                    }
                }
            })?;
            Ok(())
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn milliseconds(time: Duration) -> String {
        format!("{:.1} ms", time.as_secs_f64() * 1e3)
    }
}
