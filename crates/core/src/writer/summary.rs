//! A run on half a page of Markdown: what it is, what failed, the answer, and what it came to.
//!
//! It is asked for all entries, since only what comes after a reply tells that it was no answer.

use std::fmt::{self, Write};

use crate::entry::Entry;
use crate::formatter::figures;
use crate::item::{Kind, Status};
use crate::writer::Writer;
use crate::writer::markdown::Markdown;
use crate::writer::sheet::{self, Sheet};

/// Failures that are told; further ones are counted.
const MOST_FAILURES: u64 = 10;

/// Bytes of the answer. A service that shows summaries takes a megabyte.
const MOST_BYTES: usize = 256 * 1024;

/// Writes a summary.
#[derive(Debug)]
pub struct Summary {
    page: Markdown,
    /// The replies that are the answer, if nothing else comes.
    replies: Vec<Entry>,
    /// The call that the next result may be of.
    call: Option<Entry>,
    failures: u64,
}

impl Default for Summary {
    fn default() -> Self {
        let page = Markdown::new(Sheet { fold: Some(3), ..Sheet::default() });
        Self { page, replies: Vec::new(), call: None, failures: 0 }
    }
}

impl Summary {
    fn result(&mut self, entry: &Entry, out: &mut dyn Write) -> fmt::Result {
        let call = self.call.take();
        if entry.status != Status::Failed && entry.view.mark != Some("error") {
            return Ok(());
        }
        self.failures += 1;
        if self.failures > MOST_FAILURES {
            return Ok(());
        }
        // What doesn't name its call stands below it.
        if let Some(call) = call.filter(|_| entry.of.is_none()) {
            self.page.entry(&Entry { depth: 0, of: None, ..call }, out)?;
        }
        self.page.entry(&Entry { depth: 0, ..entry.clone() }, out)
    }

    /// Writes how many failures were not told, and the answer.
    fn answer(&mut self, out: &mut dyn Write) -> fmt::Result {
        let untold = self.failures.saturating_sub(MOST_FAILURES);
        if untold > 0 {
            self.page.end(out)?;
            writeln!(
                out,
                "\n{} not told here",
                &*figures::count_of(untold, "more failure", "more failures")
            )?;
            self.failures = 0;
        }
        std::mem::take(&mut self.replies).iter().try_for_each(|reply| self.page.entry(reply, out))
    }
}

impl Writer for Summary {
    fn entry(&mut self, entry: &Entry, out: &mut dyn Write) -> fmt::Result {
        match entry.kind {
            Kind::Reply if entry.depth == 0 => {
                self.replies.push(entry.clone());
                while self.replies.iter().map(|reply| sheet::size(&reply.view.body)).sum::<usize>()
                    > MOST_BYTES
                {
                    self.replies.remove(0);
                }
                Ok(())
            }
            Kind::Notice if entry.view.mark == Some("session") => self.page.entry(entry, out),
            Kind::Notice => Ok(()),
            Kind::Outcome => {
                self.answer(out)?;
                self.page.entry(entry, out)
            }
            kind => {
                self.replies.clear();
                match kind {
                    Kind::Result => self.result(entry, out),
                    Kind::Call => {
                        self.call = Some(entry.clone());
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.answer(out)?;
        self.page.end(out)
    }
}
