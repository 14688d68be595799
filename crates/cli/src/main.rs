//! streamfmt: readable output for the event streams of coding agents.
//!
//! Arguments become a source, a pipeline and an output; what happens becomes an exit code.

mod also;
mod args;
#[cfg(unix)]
mod aside;
mod assets;
mod background_color;
mod choice;
mod config;
mod crash;
mod echo;
mod exit_code;
mod explain;
mod fifo;
mod file_place;
mod folders;
mod format;
mod golden;
mod input;
mod live;
mod message;
#[cfg(not(unix))]
mod not_recorded;
#[cfg(unix)]
mod notify;
mod output;
mod output_paths;
mod page_folder;
mod plugin;
mod progress;
mod read_outcome;
#[cfg(unix)]
mod recorded;
mod records;
mod report;
mod run;
mod screen;
#[cfg(unix)]
mod serve;
mod sessions;
mod share;
mod signal;
mod tee;
mod terminal;
mod theme;
mod trust;
mod updates;
mod usage_error;
mod watch;

use std::env;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

use streamfmt::core::pipeline::Report;
use streamfmt::core::profile::Ci;
use streamfmt::core::redact::Redaction;
use streamfmt::writers::{LiveForm, PicturePlace};
use streamfmt::{Engine, Files, OutputCapabilities, Problems};
#[cfg(unix)]
use streamfmt_server::watchdog;

use crate::args::{Args, CommandLine, ProgramCommand};
use crate::assets::Assets;
use crate::exit_code::{OUTPUT, SIGNAL, USAGE};
use crate::format::{FormatRun, RunEngines};
use crate::input::InputSource;
use crate::message::{print, print_problems, reason};
use crate::output::write_out;
use crate::output_paths::RunFiles;
use crate::signal::Signals;
use crate::terminal::WhenLive;
use crate::watch::Watch;

/// Records are allocated and freed by the hundred thousand: this allocator saves a tenth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(unix)]
    if env::args_os().next().is_some_and(|name| name == watchdog::NAME) {
        return watchdog::watch().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    guard_messages();
    ExitCode::from(crash::contain(|| run().unwrap_or_else(|code| code)))
}

/// Protects messages from the start, since errors in the command line quote it.
fn guard_messages() {
    if terminal::is_ci() {
        message::keep_messages_from_ci();
    }
    let mut options = env::args_os().take_while(|word| word != "--");
    if options.any(|word| word == "--redact") {
        message::mask_messages(&Redaction::everything());
    }
}

/// Runs the command. The error is an exit code; its reason was reported.
fn run() -> Result<u8, u8> {
    let CommandLine { command, args } = CommandLine::read(env::args_os())?;
    match command {
        Some(ProgramCommand::Run(options)) => return run::run(*options),
        Some(ProgramCommand::Sessions(sessions)) => return sessions.run(),
        Some(ProgramCommand::Share(share)) => return share.run(),
        #[cfg(unix)]
        Some(ProgramCommand::Serve(options)) => return serve::run(*options),
        #[cfg(not(unix))]
        Some(ProgramCommand::Serve(_)) => {
            print("serve works on Linux and macOS only");
            return Err(USAGE);
        }
        Some(ProgramCommand::Golden(golden)) => return golden.run(),
        Some(ProgramCommand::Plugin(plugin)) => return plugin.run(),
        Some(ProgramCommand::Config(config)) => return config.run(),
        Some(ProgramCommand::Profile(profile)) => return profile.run(),
        Some(ProgramCommand::Theme(theme)) => return theme.run(),
        Some(ProgramCommand::Records(records)) => return records.run(),
        Some(ProgramCommand::Trust(trust)) => return trust.run(),
        Some(ProgramCommand::Explain(explain)) => return write_out(&explain.run()?),
        Some(ProgramCommand::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut args::command(), "streamfmt", &mut script);
            return write_out(&script);
        }
        Some(ProgramCommand::Man) => return write_out(&manual()?),
        None => {}
    }
    if args.files.is_empty() && !args.follow && io::stdin().is_terminal() {
        return write_out(args::short_help().as_bytes());
    }
    let inputs = InputSource::all(&args).map_err(|messages| {
        for message in messages {
            print(&message);
        }
        USAGE
    })?;
    format_inputs(&args, inputs)
}

/// Formats inputs one after the other and returns the exit code.
pub(crate) fn format_inputs(args: &Args, inputs: Vec<InputSource>) -> Result<u8, u8> {
    format_and_report(args, inputs).map(|(code, _)| code)
}

/// Does the same, and returns the report as well.
pub(crate) fn format_and_report(args: &Args, inputs: Vec<InputSource>) -> Result<(u8, Report), u8> {
    let is_shown_again = args.watch && inputs.iter().any(|input| input.can_be_shown_again(args));
    if is_shown_again && args.output.is_none() && !io::stdout().is_terminal() {
        print("--watch needs a terminal or --output");
        return Err(USAGE);
    }
    let capabilities = args.capabilities();
    let assets = Assets::wanted(args);
    // Before the terminal's colours are queried: a signal meanwhile must not leave it without echo.
    let mut signals = Signals::catch().map_err(|error| {
        print(&format!("can't wait for signals: {}", reason(&error)));
        OUTPUT
    })?;
    let build = |files: Files| engine(args, &capabilities, assets.as_ref(), files);
    let engine = checked(args, build(Files::default()))?;
    let also = also::engines(args, &engine).ok_or(USAGE)?;
    // Before waiting for a session.
    format::check_outputs(args, &engine, RunFiles::default()).map_err(|message| {
        print(&message);
        USAGE
    })?;
    let settled = inputs.into_iter().map(|input| input.settled(&mut signals));
    let inputs: Vec<InputSource> =
        settled.filter_map(Result::transpose).collect::<Result<_, _>>().map_err(|error| {
            print(&format!("can't wait for a session: {}", reason(&error)));
            OUTPUT
        })?;
    let mut watch = args.watch.then(|| Watch::new(&build, &engine));
    let mut engine = Rc::new(engine);
    let mut is_again = false;
    loop {
        let engines = RunEngines { main: Rc::clone(&engine), also: &also };
        let mut run = FormatRun::begin(
            args,
            engines,
            RunFiles::default(),
            &mut signals,
            watch.as_mut(),
            assets.as_ref(),
            is_again,
        )?;
        for input in &inputs {
            run.format(input);
            let mut newest = None;
            while !run.is_over()
                && let Some(newer) = newest.as_ref().unwrap_or(input).successor()
            {
                run.format(&newer);
                newest = Some(newer);
            }
            if run.is_over() {
                break;
            }
        }
        let (code, report) = run.finish();
        let Some(watch) = watch.as_mut().filter(|_| is_shown_again && signals.caught().is_none()) else {
            return Ok((code, report));
        };
        match watch.wait(&mut signals) {
            Some(renewed) => engine = Rc::new(renewed),
            None => return Ok((signals.caught().map_or(code, |signal| SIGNAL + signal), report)),
        }
        is_again = true;
    }
}

/// Checks the engine built from the user's choices, and reports what is wrong with it.
fn checked(args: &Args, built: Result<Engine, Problems>) -> Result<Engine, u8> {
    let engine = built.map_err(|problems| {
        print_problems(&problems);
        USAGE
    })?;
    let place = engine.writer().pictures;
    if args.assets.is_some() && place != PicturePlace::Files {
        print(match place {
            PicturePlace::Within => "--assets needs --to markdown; an HTML page always embeds its images",
            _ => "--assets needs --to markdown",
        });
        return Err(USAGE);
    }
    if let Some(format) = never_live(&engine).filter(|_| args.live == WhenLive::Always) {
        print(&format!(
            "--live always: {format} can't be changed once it is written; ansi and text can on a terminal, and --to json \
             becomes updates"
        ));
        return Err(USAGE);
    }
    let profile = &engine.settings().profile;
    message::mask_messages(&profile.redaction);
    if profile.layout.ci != Ci::None {
        message::keep_messages_from_ci();
    }
    choice::announce(&engine);
    for name in engine.left_out() {
        print(&format!(
            "the native plugin {} is left out: if it crashed, the recording would end (--allow-native loads it)",
            message::one_line(name)
        ));
    }
    Ok(engine)
}

/// Builds an engine from the user's choices.
fn engine(
    args: &Args,
    capabilities: &OutputCapabilities,
    assets: Option<&Arc<Assets>>,
    files: Files,
) -> Result<Engine, Problems> {
    let mut builder = args.builder(&args.choice, files).capabilities(capabilities.clone());
    if let Some(name) = args.format() {
        builder = builder.writer(name);
    }
    if let Some(name) = &args.theme {
        builder = builder.theme(name);
    }
    if let Some(assets) = assets {
        builder = builder.keep_pictures(assets.keeper());
    }
    let engine = builder.build()?;
    Ok(if updates::are_wanted(args, &engine) { engine.updating() } else { engine })
}

/// The output format, if it can't show items that are still being written.
fn never_live(engine: &Engine) -> Option<&str> {
    match engine.own_writer() {
        Some(writer) => Some(writer.name).filter(|_| writer.live == LiveForm::Never),
        None => engine.plugin_writer().map(|(name, _)| name),
    }
}

/// Returns the manual page.
fn manual() -> Result<Vec<u8>, u8> {
    let mut page = Vec::new();
    clap_mangen::Man::new(args::command()).render(&mut page).map_err(|error| {
        print(&error.to_string());
        OUTPUT
    })?;
    Ok(page)
}
