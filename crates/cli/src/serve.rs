//! `streamfmt serve`: sessions in the browser.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use streamfmt::core::text::clean;
use streamfmt::settings::keys::Named;
use streamfmt::settings::{Config, Request};
use streamfmt::{Engine, Folders, Problems};
use streamfmt_server::{ServeFailure, ServeOptions, ServeRequest, Server, SessionPaths, ask_server};

use crate::args::{self, ServeArgs};
use crate::choice;
use crate::exit_code::{OK, OUTPUT, USAGE};
use crate::folders::{agent_folders, data_folder, folders, own_folder};
use crate::message::{print, print_problems, reason};
use crate::sessions::copy_policy;

/// Serves until a signal arrives.
pub(crate) fn run(args: ServeArgs) -> Result<u8, u8> {
    let folders = folders();
    let request = match (args.link, args.browsers, args.revoke) {
        (true, ..) => Some(ServeRequest::Link),
        (_, true, _) => Some(ServeRequest::Browsers),
        (.., number) => number.map(ServeRequest::Revoke),
    };
    if let Some(request) = request {
        return ask(&own_folder(folders.state, "XDG_STATE_HOME")?, request);
    }
    let serve = settings(&folders)?;
    let options = ServeOptions {
        sessions: SessionPaths { folder: data_folder()?.join("sessions") },
        copies: copy_policy(false),
        agents: agent_folders(),
        state: own_folder(folders.state.clone(), "XDG_STATE_HOME")?,
        folders,
        port: args.port.or(serve.port),
        bind: if args.bind.is_empty() { serve.bind } else { args.bind },
        new_token: args.new_token,
        keeps_logins: args.keep_logins,
        log: args.log,
        allowed_hosts: args
            .allow_host
            .iter()
            .chain(&serve.hosts)
            .map(|host| host.to_ascii_lowercase())
            .collect(),
        allowed_origins: args.allow_origin.into_iter().chain(serve.origins).collect(),
        base_path: args.base_path.or(serve.base_path).unwrap_or_default(),
        shows_secrets: args.show_secrets || serve.shows_secrets,
        report: print,
    };
    let is_beyond = options.bind.iter().any(|ip| !ip.is_loopback());
    let has_host = !options.allowed_hosts.is_empty();
    let server = Server::start(options).map_err(|failure| {
        match failure {
            ServeFailure::Taken(address) => {
                if let Some(address) = address {
                    say(&address);
                }
                print("serve: already running");
            }
            ServeFailure::Log(path, error) => {
                print(&format!("{}: {}", path.display(), reason(&error)));
            }
            ServeFailure::State(folder, error) => {
                print(&format!("{}: {}", folder.display(), reason(&error)));
            }
            ServeFailure::Address(at, error) => {
                print(&format!("can't listen at {at}: {}; choose another with --port", reason(&error)));
            }
            ServeFailure::Other(error) => print(&format!("can't serve: {}", reason(&error))),
        }
        USAGE
    })?;
    let failed = |error: io::Error| {
        print(&format!("can't serve: {}", reason(&error)));
        USAGE
    };
    say(&server.url().map_err(failed)?);
    if args.open {
        open(&server.url_file().map_err(failed)?);
    }
    if is_beyond && !has_host {
        print("serve: other machines are answered only by a name that --allow-host gives");
    }
    server.run().map_err(|error| {
        print(&format!("can't serve: {}", reason(&error)));
        OUTPUT
    })?;
    Ok(OK)
}

/// Asks the running server.
fn ask(state: &Path, request: ServeRequest) -> Result<u8, u8> {
    match ask_server(state, request) {
        Ok(Ok(answer)) if answer.is_empty() => print("serve: no browser is logged in"),
        Ok(Ok(answer)) => say(answer.trim_end()),
        Ok(Err(why)) => {
            print(&format!("serve: {why}"));
            return Err(USAGE);
        }
        Err(_) => {
            print("serve: no server is running; start it with streamfmt serve");
            return Err(USAGE);
        }
    }
    Ok(OK)
}

/// The table `[serve]` of the user's settings.
#[derive(Default)]
struct ServeChoices {
    port: Option<u16>,
    bind: Vec<IpAddr>,
    hosts: Vec<String>,
    origins: Vec<String>,
    base_path: Option<String>,
    shows_secrets: bool,
}

/// Reads that table, and reports a project's. A wrong value in it is an error: serving without it could expose data that the user meant to hide.
fn settings(folders: &Folders) -> Result<ServeChoices, u8> {
    let engine =
        choice::build(Engine::builder().defer_plugins(true).folders(folders.clone()).no_project(true))?;
    // What else a project sets has no effect on pages.
    let config = Config::load(&Request { folders: Some(folders.clone()), ..Request::default() });
    if let Some(project) = config.project() {
        print_problems(&Problems(config.misplaced(project)));
    }
    let serve = engine.config().serve();
    let mut is_wrong = false;
    let mut wrong = |named: &Named, why: &str| {
        print(&format!("{}: {why}", named.spot));
        is_wrong = true;
    };
    let mut choices = ServeChoices {
        port: serve.port,
        shows_secrets: serve.show_secrets.unwrap_or(false),
        ..ServeChoices::default()
    };
    for named in &serve.bind {
        match named.name.parse() {
            Ok(ip) => choices.bind.push(ip),
            Err(_) => wrong(named, "serve.bind: expected IP addresses"),
        }
    }
    for named in &serve.allow_hosts {
        match args::host(&named.name) {
            Ok(host) => choices.hosts.push(host),
            Err(why) => wrong(named, &format!("serve.allow-hosts: {why}")),
        }
    }
    for named in &serve.allow_origins {
        match args::origin(&named.name) {
            Ok(origin) => choices.origins.push(origin),
            Err(why) => wrong(named, &format!("serve.allow-origins: {why}")),
        }
    }
    if let Some(named) = &serve.base_path {
        match args::base_path(&named.name) {
            Ok(path) => choices.base_path = Some(path),
            Err(why) => wrong(named, &format!("serve.base-path: {why}")),
        }
    }
    if is_wrong { Err(USAGE) } else { Ok(choices) }
}

fn say(text: &str) {
    let mut out = io::stdout().lock();
    // A browser gives its own name, which may be anything. If writing fails, there is nobody to report it to.
    let _ = writeln!(out, "{}", clean(text)).and_then(|()| out.flush());
}

/// Opens a file in the browser.
fn open(path: &Path) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // Wait for it, so that it doesn't remain as a zombie.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => print(&format!("can't open a browser with {program}: {}", reason(&error))),
    }
}
