//! `sessions stats`: figures added up.

use std::fs;
use std::io::{self, IsTerminal};

use jiff::tz::TimeZone;
use streamfmt::json;
use streamfmt_server::prices::PriceTable;
use streamfmt_server::store::{StatsKey, StatsQuery, StatsRow, Store, stats_of_files};

use super::stats_table::{StatsTable, html, markdown, text};
use super::{refuse, terminal_width};
use crate::args::{StatsArgs, StatsBy, StatsFormat};
use crate::exit_code::{OK, OUTPUT, USAGE};
use crate::folders::data_folder;
use crate::message::{print, print_problems};
use crate::output::write_out;

impl StatsBy {
    fn key(self) -> StatsKey {
        match self {
            Self::Day => StatsKey::Day,
            Self::Week => StatsKey::Week,
            Self::Month => StatsKey::Month,
            Self::Hour => StatsKey::Hour,
            Self::Session => StatsKey::Session,
            Self::Model => StatsKey::Model,
            Self::Folder => StatsKey::Folder,
            Self::Repo => StatsKey::Repo,
            Self::Agent => StatsKey::Agent,
            Self::Tool => StatsKey::Tool,
            Self::Host => StatsKey::Host,
        }
    }
}

impl StatsArgs {
    /// Adds up the sessions of the store.
    pub(super) fn run(&self, store: &mut Store) -> Result<u8, u8> {
        let prices = self.price_table()?;
        let query = self.query(&prices);
        let rows = store.mended(|store| store.stats(&query)).map_err(|error| refuse(&error))?;
        self.show(&rows)
    }

    /// Adds up the sessions in files, and in folders.
    pub(super) fn run_on_files(&self) -> Result<u8, u8> {
        let prices = self.price_table()?;
        let data = data_folder()?;
        let stats = stats_of_files(&self.paths, &data, &self.query(&prices));
        let (rows, unread) = stats.map_err(|error| refuse(&error))?;
        for error in &unread {
            print(&error.to_string());
        }
        self.show(&rows)?;
        if unread.is_empty() { Ok(OK) } else { Err(OUTPUT) }
    }

    fn price_table(&self) -> Result<PriceTable, u8> {
        let Some(path) = &self.prices else { return Ok(PriceTable::built_in().clone()) };
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| {
            print(&format!("can't read {name}: {error}"));
            USAGE
        })?;
        let own = PriceTable::read(&text, &name).map_err(|problems| {
            print_problems(&problems);
            USAGE
        })?;
        Ok(own.over(PriceTable::built_in()))
    }

    fn query<'a>(&self, prices: &'a PriceTable) -> StatsQuery<'a> {
        let zone = self.timezone.clone().unwrap_or_else(TimeZone::system);
        let folder =
            self.folder.as_ref().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        StatsQuery {
            by: self.by.key(),
            since: self.since.map(|day| day.span(&zone).0),
            until: self.until.map(|day| day.span(&zone).1),
            zone,
            agent: self.agent.clone(),
            folder,
            prices,
        }
    }

    fn show(&self, rows: &[StatsRow]) -> Result<u8, u8> {
        if self.json {
            return write_out(rows.iter().map(json::line).collect::<Vec<_>>().join("\n").as_bytes());
        }
        let table = StatsTable::of(rows, self.by.key(), self.ascii);
        let width = io::stdout().is_terminal().then(terminal_width).flatten();
        let text = match self.to {
            Some(StatsFormat::Markdown) => markdown(&table),
            Some(StatsFormat::Html) => html(&table),
            None => text(&table, width),
        };
        write_out(text.as_bytes())
    }
}
