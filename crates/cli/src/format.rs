//! Formats inputs, one after the other: through pipelines into the outputs.

mod counts;
mod outputs;

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use streamfmt::core::pipeline::{Pipeline, Report};
use streamfmt::core::profile::Ci;
use streamfmt::unpack::{UnpackedReader, Unpacker};
use streamfmt::writer::ci::parted;
use streamfmt::{Engine, format_ahead, origins};
#[cfg(unix)]
use streamfmt_server::store::{FiguresCollector, ReadSession};
use streamfmt_server::store::{Store, facts_of, subagents_of};

use crate::also::{AlsoOutput, SummaryText};
use crate::args::Args;
use crate::assets::Assets;
use crate::exit_code::{OK, OUTPUT, PLUGIN, RUN_FAILED, SIGNAL, USAGE};
use crate::folders::{all_session_folders, folders};
use crate::input::{InputSource, OpenInput};
use crate::live::LiveTerminal;
use crate::message::{self, one_line, print, print_below, reason};
#[cfg(unix)]
use crate::notify::Notifier;
use crate::output::InputsRead;
use crate::output_paths::RunFiles;
use crate::page_folder::Folder;
use crate::progress::Progress;
use crate::read_outcome::ReadOutcome;
use crate::report;
use crate::signal::Signals;
use crate::tee::Tee;
use crate::updates::{self, UpdateLines};
use crate::watch::{TICK, Watch};
use counts::FormatCounts;
use outputs::FormatOutputs;
pub(crate) use outputs::check_outputs;

/// Larger files are decoded ahead on a second thread.
const LARGE: u64 = 1024 * 1024;

/// The most bytes of one read.
const CHUNK: usize = 64 * 1024;

/// The engines of a run.
pub(crate) struct RunEngines<'a> {
    /// Of the main output.
    pub(crate) main: Rc<Engine>,
    /// Of each `--also`.
    pub(crate) also: &'a [Engine],
}

/// A run over all inputs.
pub(crate) struct FormatRun<'a, 'w> {
    args: &'a Args,
    engines: RunEngines<'a>,
    signals: &'a mut Signals,
    watch: Option<&'a mut Watch<'w>>,
    outputs: FormatOutputs,
    counts: FormatCounts,
    buffer: Vec<u8>,
    /// Whether everything was shown before and is replaced.
    is_again: bool,
    /// The figures of the input, for the row of a run in the store.
    #[cfg(unix)]
    figures: Option<FormattedFigures>,
    /// Notifies of calls that wait for a person, if that is wanted.
    #[cfg(unix)]
    pub(crate) notifier: Option<Notifier>,
}

impl<'a, 'w> FormatRun<'a, 'w> {
    /// Opens all outputs. The error is an exit code; its reason was reported. `files`: those of a running agent. `is_again`: everything
    /// was shown before and is replaced.
    pub(crate) fn begin(
        args: &'a Args,
        engines: RunEngines<'a>,
        files: RunFiles<'_>,
        signals: &'a mut Signals,
        watch: Option<&'a mut Watch<'w>>,
        assets: Option<&Arc<Assets>>,
        is_again: bool,
    ) -> Result<Self, u8> {
        let outputs = FormatOutputs::open(args, &engines, files, signals, assets, is_again)?;
        Ok(Self {
            args,
            engines,
            signals,
            watch,
            outputs,
            counts: FormatCounts::default(),
            buffer: vec![0; CHUNK],
            is_again,
            #[cfg(unix)]
            figures: None,
            #[cfg(unix)]
            notifier: None,
        })
    }

    /// Whether a further output could not be opened.
    fn lacks_output(&self) -> bool {
        self.outputs.lack_one(self.args.summary.is_some() && !self.is_again)
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
                self.outputs.also.clear();
                self.print_unread(input, &error);
            }
        }
    }

    /// Formats an open input to its end.
    pub(crate) fn format_open(&mut self, input: &InputSource, source: &mut OpenInput) {
        let opened = self.outputs.folder.as_mut().map(|folder| folder.open(input, self.signals)).transpose();
        let page = match opened {
            Ok(page) => page,
            Err(message) => {
                self.outputs.also.clear();
                self.counts.unwritten.push(message);
                return;
            }
        };
        // Between pages the output is the index.
        let page = page.map(|(page, name)| (std::mem::replace(&mut self.outputs.main, page), name));
        let mut setup = self.engines.main.setup();
        // Plugins can add patterns to mask.
        message::mask_messages(&setup.profile.redaction);
        // A named file is whole. Standard input may be a pipe the next time, and should look the same then.
        setup.is_whole =
            input.path().is_some() && matches!(source, OpenInput::File { .. } | OpenInput::Part { .. });
        setup.shows_open = self.outputs.live.is_some() && source.size().is_none();
        self.outputs.updates = updates::are_wanted(self.args, &self.engines.main)
            .then(|| UpdateLines::new(&self.engines.main, source.size().is_none()));
        let also = self.outputs.also.iter().zip(self.engines.also);
        setup.also.extend(also.filter_map(|(also, engine)| also.sink(engine)));
        let summary = self.outputs.summary.as_ref().map(|_| {
            let (summary, sink) = SummaryText::new(&self.engines.main);
            setup.also.push(sink);
            summary
        });
        #[cfg(unix)]
        if let Some(figures) = &mut self.figures {
            *figures = FormattedFigures::Collecting(FiguresCollector::watching(&mut setup, true));
        }
        source.watch(&mut setup);
        setup.subagents = input.path().map(|path| match source.follower() {
            Some(follower) => follower.follow_side_files(&self.args.files, setup.max_line),
            None => subagents_of(path.to_owned(), self.args.files.clone()),
        });
        setup.facts = input.path().map(|path| facts_of(path.to_owned()));
        setup.origins = input.path().map(|path| {
            let data = folders().data;
            let known = move |session: &str| {
                data.as_deref().map(|data| Store::histories_of(data, session)).unwrap_or_default()
            };
            origins(path.to_owned(), all_session_folders(), Box::new(known))
        });
        // The output keeps a failure, which is reported at the end.
        let _ = self.write_heading(input);
        // The pages of a file that grows are read before its end.
        setup.holds_head = self.engines.main.has_head() && !self.args.follow && self.outputs.main.hold();
        setup.lists_finds = self.args.lists_finds;
        let mut pipeline = Pipeline::new(setup);
        let before = self.counts.bytes;
        let fed = match source.large_file(LARGE).filter(|_| self.outputs.updates.is_none()) {
            Some(file) => self.feed_ahead(file, &mut pipeline),
            None => self.feed(source, &mut pipeline),
        };
        if let Err(error) = &fed {
            self.print_unread(input, error);
        }
        let is_whole = source.size().is_none_or(|size| self.counts.bytes - before >= size);
        self.counts.is_cut |= self.signals.caught().is_some() && !is_whole;
        if let Some(live) = &mut self.outputs.live {
            live.leave(&mut self.outputs.main);
        }
        if self.outputs.take_text() {
            if self.signals.caught().is_none() && !input.is_in_progress() {
                pipeline.require_outcome();
                if let Some(reason) = source.stopped_for() {
                    pipeline.note_stop(reason);
                }
            } else {
                pipeline.end_within_run();
            }
            let _ = pipeline.finish(&mut self.outputs.main);
            let mut head = String::new();
            let _ = pipeline.head(&mut head);
            self.outputs.main.release(&head);
            if self.outputs.updates.is_some() {
                updates::finish(&mut pipeline, &mut self.outputs.main);
            }
            self.outputs.flush();
        } else if source.goes_on() {
            let _ = pipeline.finish(&mut Nowhere);
        }
        #[cfg(unix)]
        if let Some(FormattedFigures::Collecting(collector)) = &self.figures {
            let figures = Box::new(collector.so_far(&pipeline));
            self.figures = Some(FormattedFigures::Collected(figures));
        }
        let mut counted = pipeline.other_reports();
        self.outputs
            .also
            .iter_mut()
            .filter(|also| also.is_begun())
            .zip(&mut counted)
            .for_each(|(also, report)| also.note(report));
        counted
            .take(usize::from(summary.is_some()))
            .for_each(|report| report::add(&mut self.counts.summed, report));
        if let (Some(summary), Some(place)) = (summary, &mut self.outputs.summary) {
            self.counts.unwritten.extend(summary.append_to(place).err());
        }
        if let Some((index, name)) = page {
            let page = std::mem::replace(&mut self.outputs.main, index);
            match page.withheld(InputsRead::of(self.counts.is_cut, fed.is_err())) {
                // After a signal, the index isn't written either, and reported.
                Some(_) if self.counts.is_cut => {}
                Some(message) => print(&message),
                None => match (page.finish(), &mut self.outputs.folder) {
                    (Ok(()), Some(folder)) => folder.note(name, input, &pipeline),
                    (Ok(()), None) => {}
                    (Err(message), _) => self.counts.unwritten.push(message),
                },
            }
        }
        self.outputs.print_journal(&self.engines.main);
        let report = pipeline.report();
        // A command that `run` starts needn't be an agent.
        let is_fallback = report::is_fallback(report);
        let is_unclaimed = (report.events == report.unknown_events || is_fallback) && !source.goes_on();
        let lacks_outcome = report.lacks_outcome() && !input.is_in_progress();
        self.counts.unsuccessful +=
            u64::from(report.failed || report.unsaved > 0 || lacks_outcome || is_unclaimed);
        let is_empty_by_choice = source.goes_on() || self.signals.caught().is_some();
        let is_chosen = is_fallback && self.args.from != "auto";
        let has_no_events = report.events == 0 || is_fallback && !is_chosen;
        if fed.is_err() && report.lines == 0 {
            // Why it is empty was reported.
        } else if has_no_events && (report.lines > report.blank_lines || !is_empty_by_choice) {
            let hint = input.named_agent().map(|name| format!(" (if it starts {name}, use --agent {name})"));
            let hint = hint.unwrap_or_default();
            print(&format!("{}: {}{hint}", input.name(), report::without_events(report)));
        } else if report.is_mostly_unknown() {
            print(&format!("{}: {}", input.name(), report::mostly_unknown(report)));
        }
        for report in std::iter::once(report).chain(pipeline.other_reports()) {
            if let Some(left_out) = report::left_out(report) {
                print(&format!("{}: {left_out}", input.name()));
            }
        }
        report::add(&mut self.counts.total, report);
    }

    /// Whether items are shown while they are being written.
    #[cfg(unix)]
    pub(crate) fn is_live(&self) -> bool {
        self.outputs.live.is_some() || updates::are_wanted(self.args, &self.engines.main)
    }

    /// Collects the figures of the input while it is formatted.
    #[cfg(unix)]
    pub(crate) fn collect_figures(&mut self) {
        self.figures = Some(FormattedFigures::Wanted);
    }

    /// The figures of the input, if they were collected.
    #[cfg(unix)]
    pub(crate) fn take_figures(&mut self) -> Option<ReadSession> {
        match self.figures.take() {
            Some(FormattedFigures::Collected(figures)) => Some(*figures),
            _ => None,
        }
    }

    /// Whether further inputs needn't be read.
    pub(crate) fn is_over(&self) -> bool {
        self.signals.caught().is_some() || !self.outputs.take_bytes()
    }

    /// Whether an agent could not save all that it should keep of its session.
    #[cfg(unix)]
    pub(crate) fn has_lost_writes(&self) -> bool {
        self.counts.total.unsaved > 0
    }

    /// Ends the run and returns its exit code and its report.
    pub(crate) fn finish(self) -> (u8, Report) {
        let lacks_output = self.lacks_output();
        let Self { args, engines, signals, outputs, mut counts, .. } = self;
        let is_stopped = counts.is_cut || signals.caught().is_some() && counts.begun < args.files.len();
        // An index lists the pages that there are.
        let is_damaged = counts.has_unread_input && outputs.folder.is_none();
        let unwritten = std::mem::take(&mut counts.unwritten);
        let (counts_of_also, is_written) = outputs.finish(unwritten, InputsRead::of(is_stopped, is_damaged));
        let journal = engines.main.journal();
        if journal.unreported() > 0 {
            let failures = if journal.unreported() == 1 { "failure" } else { "failures" };
            print(&format!("{} more plugin {failures} like these", journal.unreported()));
        }
        report::exceeded(&counts.total).for_each(|message| print(&message));
        let is_limited = !engines.main.settings().profile.filter.only.is_empty();
        if let Some(message) = counts.nothing_of_only(args, is_limited) {
            print(&message);
        }
        if args.report {
            for line in counts.lines(args, counts_of_also) {
                print(&line);
            }
        }
        let code = match signals.caught() {
            _ if !is_written || lacks_output => OUTPUT,
            Some(signal) => SIGNAL + signal,
            None if counts.has_unread_input => USAGE,
            None if args.strict_plugins && counts.failures + journal.failures() > 0 => PLUGIN,
            None if args.fail && counts.unsuccessful > 0 => RUN_FAILED,
            None => OK,
        };
        (code, counts.total)
    }

    /// Reads `source` to its end: every byte goes to the copy first, then through the pipeline to the outputs.
    fn feed(&mut self, source: &mut OpenInput, pipeline: &mut Pipeline) -> std::io::Result<()> {
        let mut progress = Progress::begin(source.size(), self.outputs.main.is_out_of_sight(), self.label());
        let mut ends_in_line = false;
        // The output of an agent is never decompressed.
        let mut unpacker = (!source.goes_on()).then(Unpacker::default);
        // Once nobody reads the output, reading on serves only the copy.
        while self.outputs.take_bytes() || source.goes_on() {
            let watch_output = self.outputs.are_main_alone() && self.args.output.is_none();
            let tick = self.watch.is_some().then_some(TICK);
            let patience = self.outputs.live.as_ref().and_then(LiveTerminal::patience);
            let until_look = self.outputs.updates.as_ref().and_then(UpdateLines::patience);
            let patience = patience.into_iter().chain(tick).chain(until_look).min();
            let step = source.read(&mut self.buffer, self.signals, watch_output, patience)?;
            if source.size().is_none() {
                self.renew(pipeline);
            }
            // The files of sub-agents first: their lines precede those of the main file that were written after them.
            if let Some(follower) = source.follower().filter(|_| self.outputs.take_text()) {
                let known = pipeline.report().items;
                let _ = follower.read_side_files(pipeline, &mut self.outputs.main);
                if pipeline.report().items > known {
                    self.outputs.print_journal(&self.engines.main);
                    self.outputs.pass_on(pipeline, self.signals, true);
                }
            }
            if matches!(step, ReadOutcome::Cut) {
                unpacker = unpacker.map(|_| Unpacker::default());
            }
            let count = match step {
                ReadOutcome::End => break,
                ReadOutcome::Note(message) => {
                    self.outputs.main.step_aside();
                    print(&message);
                    continue;
                }
                ReadOutcome::Aside(lines) => {
                    self.outputs.main.step_aside();
                    for line in &lines {
                        print_below(line);
                    }
                    continue;
                }
                // The unfinished line doesn't continue: it is ended here, for the pipeline only.
                ReadOutcome::Cut if ends_in_line => {
                    ends_in_line = false;
                    self.outputs.push(pipeline, b"\n");
                    self.outputs.pass_on(pipeline, self.signals, true);
                    continue;
                }
                ReadOutcome::Cut | ReadOutcome::Pause => {
                    self.outputs.pass_on(pipeline, self.signals, false);
                    continue;
                }
                ReadOutcome::Bytes(count) => count,
            };
            let bytes = &self.buffer[..count];
            ends_in_line = bytes.last() != Some(&b'\n');
            self.counts.bytes += count as u64;
            if let Some(message) = copy(bytes, &mut self.outputs.tee, progress.as_mut()) {
                self.outputs.main.step_aside();
                print_beside(&message, progress.as_ref());
            }
            if self.outputs.take_text() {
                let Self { outputs, buffer, .. } = self;
                let pushed = if let Some(unpacker) = &mut unpacker {
                    unpacker.push(&buffer[..count], |bytes| outputs.push(pipeline, bytes))
                } else {
                    outputs.push(pipeline, &buffer[..count]);
                    Ok(())
                };
                if let Err(error) = pushed {
                    self.outputs.pass_on(pipeline, self.signals, true);
                    return Err(error);
                }
                self.outputs.print_journal(&self.engines.main);
                self.outputs.pass_on(pipeline, self.signals, true);
            } else if source.goes_on() {
                // Nobody reads the output, but the session's facts and figures are still needed.
                let _ = pipeline.push(&self.buffer[..count], &mut Nowhere);
            }
            source.note(pipeline, &self.buffer[..count]);
            #[cfg(unix)]
            if let Some(notifier) = &mut self.notifier {
                notifier.look(pipeline.session());
            }
        }
        if let Some(follower) = source.follower().filter(|_| self.outputs.take_text()) {
            let _ = follower.finish_side_files(pipeline, &mut self.outputs.main);
        }
        match unpacker.filter(|_| self.signals.caught().is_none() && self.outputs.take_text()) {
            Some(mut unpacker) => unpacker.finish(|bytes| self.outputs.push(pipeline, bytes)),
            None => Ok(()),
        }
    }

    /// Reads a large file to its end, decoded ahead on another thread.
    fn feed_ahead(&mut self, file: File, pipeline: &mut Pipeline) -> std::io::Result<()> {
        let size = file.metadata().ok().map(|about| about.len());
        let label = self.label();
        let is_summed = self.outputs.summary.is_some();
        let Self { outputs: FormatOutputs { main: output, also, tee, .. }, signals, counts, .. } = self;
        let mut progress = Progress::begin(size, output.is_out_of_sight(), label);
        let bytes = &mut counts.bytes;
        let mut input = CopyingReader { file, tee, progress: progress.as_mut(), signals, bytes };
        let formatted = format_ahead(pipeline, UnpackedReader::new(&mut input), |text| {
            // The output keeps a failure, which `is_open` shows.
            let _ = output.write_str(text);
            output.flush();
            let is_wanted = output.is_open() || is_summed || also.iter().any(AlsoOutput::is_open);
            if is_wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        // At a signal, an archive isn't complete.
        if input.signals.caught().is_none() {
            formatted?;
        }
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
        let _ = pipeline.replace(setup, writer, &mut self.outputs.main);
        self.outputs.main.step_aside();
        self.counts.failures += self.engines.main.journal().failures();
        self.engines.main = Rc::new(engine);
        print("reloaded");
    }

    /// The text before the progress bar.
    fn label(&self) -> String {
        self.outputs.folder.as_ref().map(Folder::progress).unwrap_or_default()
    }

    /// Writes the name of an input among several, except in formats for programs.
    fn write_heading(&mut self, input: &InputSource) -> std::fmt::Result {
        self.counts.begun += 1;
        if self.args.files.len() < 2 || self.outputs.folder.is_some() || self.engines.main.writer().is_data {
            return Ok(());
        }
        let gap = if self.counts.begun > 1 { "\n" } else { "" };
        let name = one_line(&input.name());
        let is_log = self.engines.main.settings().profile.layout.ci != Ci::None;
        let name = if is_log { parted(&name) } else { name.into() };
        writeln!(self.outputs.main, "{gap}==> {name} <==")
    }

    fn print_unread(&mut self, input: &InputSource, error: &std::io::Error) {
        self.counts.has_unread_input = true;
        print(&format!("{}: {}", input.name(), reason(error)));
    }
}

/// The figures of an input, in their stages.
#[cfg(unix)]
enum FormattedFigures {
    Wanted,
    Collecting(FiguresCollector),
    Collected(Box<ReadSession>),
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
            print_beside(&message, self.progress.as_deref());
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
fn print_beside(message: &str, progress: Option<&Progress>) {
    match progress {
        Some(progress) => progress.aside(|| print(message)),
        None => print(message),
    }
}
