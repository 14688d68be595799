//! Formats inputs, one after the other: through pipelines into the outputs.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use streamfmt::core::pipeline::{Pipeline, Report, Stages};
use streamfmt::core::profile::Ci;
use streamfmt::writer::ci::parted;
use streamfmt::{Engine, run_parallel, subagents};
#[cfg(unix)]
use streamfmt_server::store::{FiguresCollector, SessionFigures};

use crate::also::{AlsoOutput, SummaryPlace, SummaryText};
use crate::args::Args;
use crate::assets::Assets;
use crate::input::{InputSource, OpenInput};
use crate::live::{self, LiveTerminal};
use crate::message::{
    self, OK, OUTPUT, PLUGIN, RUN_FAILED, SIGNAL, USAGE, one_line, reason, tell, tell_below, tell_messages,
};
use crate::output::TextOutput;
use crate::output_paths::OutputPaths;
use crate::page_folder::Folder;
use crate::progress::Progress;
use crate::read_outcome::ReadOutcome;
use crate::report;
use crate::screen::Screen;
use crate::signal::Signals;
use crate::tee::Tee;
use crate::updates::{self, UpdateLines};
use crate::watch::{TICK, Watch};

/// Files larger than this are formatted on several threads.
const LARGE: u64 = 1024 * 1024;

/// The most threads: more would wait for each other.
const THREADS: usize = 3;

/// The most bytes of one read.
const CHUNK: usize = 64 * 1024;

/// The engines of a run.
pub(crate) struct RunEngines<'a> {
    /// Of the main output.
    pub(crate) main: Rc<Engine>,
    /// Of each `--also`.
    pub(crate) also: &'a [Engine],
}

/// A run over all inputs: its outputs and counts.
pub(crate) struct FormatRun<'a, 'w> {
    args: &'a Args,
    engines: RunEngines<'a>,
    signals: &'a mut Signals,
    watch: Option<&'a mut Watch<'w>>,
    tee: Option<Tee>,
    /// For `--summary`.
    summary: Option<SummaryPlace>,
    /// The main output. Between the pages of a folder it is the index.
    output: TextOutput,
    /// Paints open items below the text, on a terminal.
    live: Option<LiveTerminal>,
    /// Writes updates of the current input, with `--live always`.
    updates: Option<UpdateLines>,
    /// Further outputs.
    also: Vec<AlsoOutput>,
    folder: Option<Folder>,
    assets: Option<Arc<Assets>>,
    /// Why outputs could not be written.
    unwritten: Vec<String>,
    buffer: Vec<u8>,
    /// The counts of all inputs so far.
    total: Report,
    /// Bytes of all inputs so far.
    bytes: u64,
    /// The number of inputs so far.
    begun: usize,
    has_unread_input: bool,
    /// Whether a signal arrived before a file was read to its end. A pipe ends with the signal, so it is whole.
    is_cut: bool,
    /// The counts of all summaries so far.
    summed: Report,
    /// Failures of plugins that `--watch` has replaced since.
    failures: u64,
    /// Inputs whose run ended in an error or without a result, or that no dialect claimed.
    unsuccessful: u64,
    is_again: bool,
    /// The figures of the input, for the row of a run in the store.
    #[cfg(unix)]
    figures: Option<FormattedFigures>,
}

impl<'a, 'w> FormatRun<'a, 'w> {
    /// Opens all outputs. The error is an exit code; its reason was reported. `log`: the log of a running agent. `is_again`: everything
    /// was shown before and is replaced.
    pub(crate) fn begin(
        args: &'a Args,
        engines: RunEngines<'a>,
        log: Option<&Path>,
        signals: &'a mut Signals,
        watch: Option<&'a mut Watch<'w>>,
        assets: Option<&Arc<Assets>>,
        is_again: bool,
    ) -> Result<Self, u8> {
        let fail = |message: String| {
            tell(&message);
            OUTPUT
        };
        let refuse = |message: String| {
            tell(&message);
            USAGE
        };
        let (folder, first) = check_outputs(args, &engines.main, log).map_err(refuse)?;
        folder.as_ref().map_or(Ok(()), Folder::create).map_err(fail)?;
        let mut output = TextOutput::open(first.as_deref(), args.tail, signals).map_err(fail)?;
        if is_again {
            output.clear();
        }
        let is_on_stdout = first.is_none() && args.tail.is_none();
        let live = is_on_stdout.then(|| LiveTerminal::wanted(args.live, &engines.main)).flatten();
        if live.is_some() {
            output.put_on(Screen::new(live::reflows()));
            // Without these signals, a change of the size is only noticed later.
            let _ = signals.catch_terminal();
        }
        let tee = args.tee.as_deref().filter(|_| !is_again).map(|path| {
            let (tee, message) = Tee::open(path, signals);
            if let Some(message) = message {
                tell(&message);
            }
            tee
        });
        let summary = args
            .summary
            .as_deref()
            .filter(|_| !is_again)
            .map(|path| SummaryPlace::open(path, signals).map_err(|message| tell(&message)));
        let also = args.also.iter().zip(engines.also);
        let also: Vec<AlsoOutput> =
            also.map(|(wanted, engine)| AlsoOutput::open(args, wanted, engine, signals)).collect();
        let buffer = vec![0; CHUNK];
        let total = Report::default();
        Ok(Self {
            args,
            engines,
            signals,
            watch,
            tee,
            summary: summary.and_then(Result::ok),
            output,
            live,
            updates: None,
            also,
            folder,
            assets: assets.cloned(),
            unwritten: Vec::new(),
            buffer,
            total,
            bytes: 0,
            begun: 0,
            has_unread_input: false,
            is_cut: false,
            summed: Report::default(),
            failures: 0,
            unsuccessful: 0,
            is_again,
            #[cfg(unix)]
            figures: None,
        })
    }

    /// Whether a further output could not be opened.
    fn lacks_output(&self) -> bool {
        let lacks_summary = self.args.summary.is_some() && self.summary.is_none() && !self.is_again;
        let lacks_copy = self.tee.as_ref().is_some_and(Tee::has_failed);
        lacks_summary || lacks_copy || self.also.iter().any(|also| !also.is_begun())
    }

    /// Fails if an output could not be opened. The reason was reported.
    #[cfg(unix)]
    pub(crate) fn with_all_outputs(self) -> Result<Self, u8> {
        if self.lacks_output() { Err(USAGE) } else { Ok(self) }
    }

    /// Formats one input to its end.
    pub(crate) fn format(&mut self, input: &InputSource) {
        match input.open(self.args.follow, self.is_again) {
            Ok(mut source) => self.format_open(input, &mut source),
            Err(error) => {
                // Existing files stay as they are.
                self.also.clear();
                self.tell_unread(input, &error);
            }
        }
    }

    /// Formats an open input to its end.
    pub(crate) fn format_open(&mut self, input: &InputSource, source: &mut OpenInput) {
        let Self { folder, signals, .. } = self;
        let opened = folder.as_mut().map(|folder| folder.open(input, signals)).transpose();
        let page = match opened {
            Ok(page) => page,
            Err(message) => {
                self.also.clear();
                self.unwritten.push(message);
                return;
            }
        };
        // Between pages the output is the index.
        let page = page.map(|(page, name)| (std::mem::replace(&mut self.output, page), name));
        let mut setup = self.engines.main.setup();
        // Plugins can add patterns to mask.
        message::mask_messages(&setup.profile.redaction);
        // A named file is whole. Standard input may be a pipe the next time, and should look the same then.
        setup.is_whole =
            input.path().is_some() && matches!(source, OpenInput::File { .. } | OpenInput::Part { .. });
        setup.shows_open = self.live.is_some() && source.size().is_none();
        self.updates = updates::are_wanted(self.args, &self.engines.main)
            .then(|| UpdateLines::new(&self.engines.main, source.size().is_none()));
        let also = self.also.iter().zip(self.engines.also);
        setup.also.extend(also.filter_map(|(also, engine)| also.sink(engine)));
        let summary = self.summary.as_ref().map(|_| {
            let (summary, sink) = SummaryText::new(&self.engines.main);
            setup.also.push(sink);
            summary
        });
        #[cfg(unix)]
        if let Some(figures) = &mut self.figures {
            let (collector, sink) = FiguresCollector::sink();
            setup.also.push(sink);
            *figures = FormattedFigures::Collecting(collector);
        }
        setup.subagents = input.path().map(|path| match source.follower() {
            Some(follower) => follower.follow_side_files(&self.args.files, setup.max_line),
            None => subagents(path.to_owned(), self.args.files.clone()),
        });
        // The output keeps a failure, which is reported at the end.
        let _ = self.write_heading(input);
        // The pages of a file that grows are read before its end.
        setup.holds_head = self.engines.main.has_head() && !self.args.follow && self.output.hold();
        let mut pipeline = Pipeline::new(setup);
        let before = self.bytes;
        let large = source.large_file(LARGE);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let fed = match (large, pipeline.stages()) {
            (Some(file), Some(stages)) if threads > 1 && self.updates.is_none() => {
                self.run_parallel(file, threads, stages)
            }
            _ => self.feed(source, &mut pipeline),
        };
        if let Err(error) = fed {
            self.tell_unread(input, &error);
        }
        let is_whole = source.size().is_none_or(|size| self.bytes - before >= size);
        self.is_cut |= self.signals.caught().is_some() && !is_whole;
        if let Some(live) = &mut self.live {
            live.leave(&mut self.output);
        }
        if self.is_wanted() {
            if self.signals.caught().is_none() && !input.is_in_progress() {
                pipeline.require_outcome();
            }
            let _ = pipeline.finish(&mut self.output);
            let mut head = String::new();
            let _ = pipeline.head(&mut head);
            self.output.release(&head);
            if self.updates.is_some() {
                updates::finish(&mut pipeline, &mut self.output);
            }
            self.flush();
        } else if source.goes_on() {
            let _ = pipeline.finish(&mut Nowhere);
        }
        #[cfg(unix)]
        if let Some(FormattedFigures::Collecting(collector)) = &self.figures {
            let figures = Box::new(collector.so_far(&pipeline));
            self.figures = Some(FormattedFigures::Collected(figures));
        }
        let mut counted = pipeline.other_reports();
        self.also
            .iter_mut()
            .filter(|also| also.is_begun())
            .zip(&mut counted)
            .for_each(|(also, report)| also.note(report));
        counted.take(usize::from(summary.is_some())).for_each(|report| report::add(&mut self.summed, report));
        if let (Some(summary), Some(place)) = (summary, &mut self.summary) {
            self.unwritten.extend(summary.append_to(place).err());
        }
        if let Some((index, name)) = page {
            let page = std::mem::replace(&mut self.output, index);
            let is_given_up = self.is_cut && page.replaces().is_some();
            let written = if is_given_up { Ok(()) } else { page.finish() };
            match (written, &mut self.folder) {
                (Ok(()), Some(folder)) if !is_given_up => folder.note(name, input, &pipeline),
                (Ok(()), _) => {}
                (Err(message), _) => self.unwritten.push(message),
            }
        }
        self.tell_journal();
        let report = pipeline.report();
        // A command that `run` starts needn't be an agent.
        let is_unclaimed = report.events == 0 && !source.goes_on();
        let lacks_outcome = report.lacks_outcome() && !input.is_in_progress();
        self.unsuccessful += u64::from(report.failed || lacks_outcome || is_unclaimed);
        let is_empty_by_choice = source.goes_on() || self.signals.caught().is_some();
        if report.events == 0 && (report.lines > report.blank_lines || !is_empty_by_choice) {
            let hint = input.named_agent().map(|name| format!(" (if it starts {name}, use --agent {name})"));
            let hint = hint.unwrap_or_default();
            tell(&format!("{}: {}{hint}", input.name(), report::without_events(report)));
        }
        report::add(&mut self.total, report);
    }

    /// Whether items are shown while they are being written.
    #[cfg(unix)]
    pub(crate) fn is_live(&self) -> bool {
        self.live.is_some() || updates::are_wanted(self.args, &self.engines.main)
    }

    /// Collects the figures of the input while it is formatted.
    #[cfg(unix)]
    pub(crate) fn collect_figures(&mut self) {
        self.figures = Some(FormattedFigures::Wanted);
    }

    /// The figures of the input, if they were collected.
    #[cfg(unix)]
    pub(crate) fn take_figures(&mut self) -> Option<SessionFigures> {
        match self.figures.take() {
            Some(FormattedFigures::Collected(figures)) => Some(*figures),
            _ => None,
        }
    }

    /// Whether further inputs needn't be read.
    pub(crate) fn is_over(&self) -> bool {
        self.signals.caught().is_some() || !(self.is_wanted() || self.tee.is_some())
    }

    /// Whether an output still takes text.
    fn is_wanted(&self) -> bool {
        self.output.is_open() || self.summary.is_some() || self.also.iter().any(AlsoOutput::is_open)
    }

    /// Flushes all outputs.
    fn flush(&mut self) {
        self.output.flush();
        self.also.iter_mut().for_each(AlsoOutput::flush);
    }

    /// Ends the run and returns its exit code.
    pub(crate) fn finish(mut self) -> u8 {
        if let Some(folder) = &self.folder {
            folder.write_index(&mut self.output);
        }
        let nothing_of_only = self.nothing_of_only();
        let lacks_output = self.lacks_output();
        let mut unwritten = std::mem::take(&mut self.unwritten);
        let is_cut = self.is_cut || self.signals.caught().is_some() && self.begun < self.args.files.len();
        match self.output.replaces().filter(|_| is_cut) {
            // Under its name, a part of the output would be taken for all of it.
            Some(file) => {
                tell(&format!("{}: not written, because the input was not read to its end", file.display()));
            }
            None => unwritten.extend(self.output.finish().err()),
        }
        unwritten.extend(self.assets.as_ref().and_then(|assets| assets.failure()));
        let uncopied = self.tee.as_mut().and_then(Tee::finish);
        for message in unwritten.iter().chain(&uncopied) {
            tell(message);
        }
        let counts: Vec<String> = self.also.iter().filter_map(AlsoOutput::counts).collect();
        // Each is finished, even if another failed.
        let also = std::mem::take(&mut self.also).into_iter().map(AlsoOutput::finish);
        let is_beside_whole = also.fold(true, |all, one| all & one);
        let journal = self.engines.main.journal();
        if journal.untold() > 0 {
            let failures = if journal.untold() == 1 { "failure" } else { "failures" };
            tell(&format!("{} more plugin {failures} like these", journal.untold()));
        }
        if let Some(message) = nothing_of_only {
            tell(&message);
        }
        if self.args.report {
            let mut lines = report::lines(&self.total, self.bytes);
            lines.extend(counts);
            lines.extend(
                self.args
                    .summary
                    .as_ref()
                    .map(|path| report::line(&format!("--summary {}", path.display()), &self.summed)),
            );
            for line in lines {
                tell(&line);
            }
        }
        let is_copy_broken = self.tee.as_ref().is_some_and(Tee::has_failed);
        match self.signals.caught() {
            _ if !unwritten.is_empty() || is_copy_broken || !is_beside_whole || lacks_output => OUTPUT,
            Some(signal) => SIGNAL + signal,
            None if self.has_unread_input => USAGE,
            None if self.args.strict_plugins && self.failures + journal.failures() > 0 => PLUGIN,
            None if self.args.fail && self.unsuccessful > 0 => RUN_FAILED,
            None => OK,
        }
    }

    /// A message if items matched `only`, but none of them was shown.
    fn nothing_of_only(&self) -> Option<String> {
        let only = self.args.only.join(",");
        let is_limited = !only.is_empty() || !self.engines.main.settings().profile.filter.only.is_empty();
        // Items that the filters let through but something else hides.
        let is_hidden = self.total.hidden.keys().any(|rule| rule != "filter");
        if !is_limited || !is_hidden || !self.total.shown.is_empty() {
            return None;
        }
        let (option, way) = if only.is_empty() {
            ("only".to_owned(), "a list show".to_owned())
        } else {
            (format!("--only {only}"), format!("--set show={only}"))
        };
        Some(format!(
            "{option}: nothing is shown: the detail or a plugin leaves out all that matches ({way} shows what the \
             detail leaves out)"
        ))
    }

    /// Reads `source` to its end: every byte goes to the copy first, then through the pipeline to the outputs.
    fn feed(&mut self, source: &mut OpenInput, pipeline: &mut Pipeline) -> std::io::Result<()> {
        let mut progress = Progress::begin(source.size(), self.output.is_out_of_sight(), self.label());
        let mut ends_in_line = false;
        // Once nobody reads the output, reading on serves only the copy.
        while self.is_wanted() || self.tee.is_some() || source.goes_on() {
            let is_alone = self.tee.is_none() && self.summary.is_none() && self.also.is_empty();
            let watch_output = is_alone && self.args.output.is_none();
            let tick = self.watch.is_some().then_some(TICK);
            let patience = self.live.as_ref().and_then(LiveTerminal::patience);
            let until_look = self.updates.as_ref().and_then(UpdateLines::patience);
            let patience = patience.into_iter().chain(tick).chain(until_look).min();
            let step = source.read(&mut self.buffer, self.signals, watch_output, patience)?;
            if source.size().is_none() {
                self.renew(pipeline);
            }
            // The files of sub-agents first: their lines precede those of the main file that were written after them.
            if let Some(follower) = source.follower().filter(|_| self.is_wanted()) {
                let known = pipeline.report().items;
                let _ = follower.read_side_files(pipeline, &mut self.output);
                if pipeline.report().items > known {
                    self.tell_journal();
                    self.pass_on(pipeline, true);
                }
            }
            let count = match step {
                ReadOutcome::End => break,
                ReadOutcome::Note(message) => {
                    self.output.step_aside();
                    tell(&message);
                    continue;
                }
                ReadOutcome::Aside(lines) => {
                    self.output.step_aside();
                    for line in &lines {
                        tell_below(line);
                    }
                    continue;
                }
                // The unfinished line doesn't continue: it is ended here, for the pipeline only.
                ReadOutcome::Cut if ends_in_line => {
                    ends_in_line = false;
                    self.push(pipeline, None);
                    self.pass_on(pipeline, true);
                    continue;
                }
                ReadOutcome::Cut | ReadOutcome::Pause => {
                    self.pass_on(pipeline, false);
                    continue;
                }
                ReadOutcome::Bytes(count) => count,
            };
            let bytes = &self.buffer[..count];
            ends_in_line = bytes.last() != Some(&b'\n');
            self.bytes += count as u64;
            if let Some(message) = copy(bytes, &mut self.tee, progress.as_mut()) {
                self.output.step_aside();
                tell_beside(&message, progress.as_ref());
            }
            if self.is_wanted() {
                self.push(pipeline, Some(count));
                self.tell_journal();
                self.pass_on(pipeline, true);
            } else if source.goes_on() {
                // Nobody reads the output, but the session's facts and figures are still needed.
                let _ = pipeline.push(&self.buffer[..count], &mut Nowhere);
            }
            source.note(pipeline, &self.buffer[..count]);
        }
        if let Some(follower) = source.follower().filter(|_| self.is_wanted()) {
            let _ = follower.finish_side_files(pipeline, &mut self.output);
        }
        Ok(())
    }

    /// Reports failures and messages of plugins, after the text before them.
    fn tell_journal(&mut self) {
        let messages = self.engines.main.journal().take();
        if !messages.is_empty() {
            self.output.step_aside();
            tell_messages(messages);
        }
    }

    /// Pushes this many bytes of the buffer; `None`: the end of an unfinished line.
    fn push(&mut self, pipeline: &mut Pipeline, count: Option<usize>) {
        let Self { updates, buffer, output, .. } = self;
        let bytes = count.map_or(b"\n".as_slice(), |count| &buffer[..count]);
        match updates {
            Some(updates) => updates.push(pipeline, bytes, output),
            // The output keeps a failure.
            None => drop(pipeline.push(bytes, output)),
        }
    }

    /// Flushes finished text, and shows open items where they are shown. `is_news`: something was read.
    fn pass_on(&mut self, pipeline: &mut Pipeline, is_news: bool) {
        let Self { live, updates, output, signals, .. } = self;
        if let Some(updates) = updates {
            updates.look(pipeline, output);
            return self.flush();
        }
        match live {
            Some(live) => {
                if is_news {
                    live.note();
                }
                live.look(pipeline, output, signals);
                self.also.iter_mut().for_each(AlsoOutput::flush);
            }
            None if is_news => self.flush(),
            None => {}
        }
    }

    /// Reads a large file to its end, on several threads.
    fn run_parallel(&mut self, file: File, threads: usize, stages: Stages<'_>) -> std::io::Result<()> {
        let size = file.metadata().ok().map(|about| about.len());
        let label = self.label();
        let is_summed = self.summary.is_some();
        let Self { output, also, tee, signals, bytes, .. } = self;
        let mut progress = Progress::begin(size, output.is_out_of_sight(), label);
        let mut input = CopyingReader { file, tee, progress: progress.as_mut(), signals, bytes };
        run_parallel(stages, threads, &mut input, |text| {
            // The output keeps a failure, which `is_open` shows.
            let _ = output.write_str(text);
            output.flush();
            let is_wanted = output.is_open() || is_summed || also.iter().any(AlsoOutput::is_open);
            if is_wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        // Once nobody reads the output, reading on serves only the copy.
        while input.tee.is_some() && input.read(&mut self.buffer)? > 0 {}
        Ok(())
    }

    /// Continues with the new settings and plugins if they changed. An input that has an end is formatted again at its end instead.
    fn renew(&mut self, pipeline: &mut Pipeline) {
        let Some(engine) = self.watch.as_mut().and_then(|watch| watch.renewed()) else { return };
        let setup = engine.setup();
        // A page needs one writer from its beginning to its end; lines don't.
        let writer = !self.engines.main.is_document() && !engine.is_document();
        let _ = pipeline.replace(setup, writer, &mut self.output);
        self.output.step_aside();
        self.failures += self.engines.main.journal().failures();
        self.engines.main = Rc::new(engine);
        tell("reloaded");
    }

    /// The text before the progress bar.
    fn label(&self) -> String {
        self.folder.as_ref().map(Folder::progress).unwrap_or_default()
    }

    /// Writes the name of an input among several, except in formats for programs.
    fn write_heading(&mut self, input: &InputSource) -> std::fmt::Result {
        self.begun += 1;
        if self.args.files.len() < 2 || self.folder.is_some() || self.engines.main.writer().is_data {
            return Ok(());
        }
        let gap = if self.begun > 1 { "\n" } else { "" };
        let name = one_line(&input.name());
        let is_log = self.engines.main.settings().profile.layout.ci != Ci::None;
        let name = if is_log { parted(&name) } else { name.into() };
        writeln!(self.output, "{gap}==> {name} <==")
    }

    fn tell_unread(&mut self, input: &InputSource, error: &std::io::Error) {
        self.has_unread_input = true;
        tell(&format!("{}: {}", input.name(), reason(error)));
    }
}

/// Checks that no two outputs are one file. Returns the folder for pages, if there is one, and the path of the main output, which is
/// the index there. `log`: the log of a running agent. The error is a message.
pub(crate) fn check_outputs(
    args: &Args,
    engine: &Engine,
    log: Option<&Path>,
) -> Result<(Option<Folder>, Option<PathBuf>), String> {
    let mut folder = Folder::wanted(args, engine)?;
    if let Some(also) = args.also.first().filter(|_| args.files.len() > 1) {
        return Err(format!("{also} takes a single FILE"));
    }
    let first = folder.as_ref().map_or_else(|| args.output.clone(), |folder| Some(folder.index()));
    let mut outputs = OutputPaths::default();
    outputs.add_main(first.as_deref())?;
    for (option, path) in
        [("--log", log), ("--tee", args.tee.as_deref()), ("--summary", args.summary.as_deref())]
    {
        if let Some(path) = path {
            outputs.add_file(option, path)?;
        }
    }
    for also in &args.also {
        outputs.add_text(also.to_string(), &also.path)?;
    }
    if let Some(log) = log {
        outputs.check_log(log)?;
    }
    if let Some(folder) = &mut folder {
        folder.avoid(&outputs);
    }
    Ok((folder, first))
}

/// The figures of an input, in their stages.
#[cfg(unix)]
enum FormattedFigures {
    Wanted,
    Collecting(FiguresCollector),
    Collected(Box<SessionFigures>),
}

/// Takes text that nobody reads.
struct Nowhere;

impl Write for Nowhere {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

/// A file whose bytes are copied as they are read. It ends early at a signal.
struct CopyingReader<'a> {
    file: File,
    tee: &'a mut Option<Tee>,
    progress: Option<&'a mut Progress>,
    signals: &'a mut Signals,
    /// The number of bytes read.
    bytes: &'a mut u64,
}

impl Read for CopyingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.signals.caught().is_some() {
            return Ok(0);
        }
        let count = self.file.read(buffer)?;
        *self.bytes += count as u64;
        if let Some(message) = copy(&buffer[..count], self.tee, self.progress.as_deref_mut()) {
            tell_beside(&message, self.progress.as_deref());
        }
        Ok(count)
    }
}

/// Writes bytes to the copy and advances the progress bar. Returns a message at the first failure.
fn copy(bytes: &[u8], tee: &mut Option<Tee>, progress: Option<&mut Progress>) -> Option<String> {
    if let Some(progress) = progress {
        progress.advance(bytes.len());
    }
    tee.as_mut().and_then(|tee| tee.write(bytes))
}

/// Reports a message while a progress bar may be shown.
fn tell_beside(message: &str, progress: Option<&Progress>) {
    match progress {
        Some(progress) => progress.aside(|| tell(message)),
        None => tell(message),
    }
}
