//! The nodes of a page while it is open, in a temporary table.
//!
//! `SQLite` keeps the last pages of the table in memory and the others in a file without a name, which ends with the process. Nothing in
//! it is needed later: it is made again from the log.

use std::path::Path;

use rusqlite::{Connection, Row, named_params};

use super::super::StoreError;
use super::{Database, failure};

/// The most memory for the table, in KiB.
const CACHE: i64 = 2_048;

const TABLE: &str = "
    CREATE TABLE node (
        place INTEGER PRIMARY KEY,
        id INTEGER NOT NULL,
        change INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        complete INTEGER NOT NULL,
        depth INTEGER NOT NULL,
        is_open INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        html TEXT NOT NULL
    );
    CREATE INDEX node_id ON node(id);
    CREATE INDEX node_change ON node(change);";

/// The nodes of a page, in document order. They are added at the end and never change.
#[derive(Debug)]
pub(crate) struct NodeTable {
    database: Database,
    len: u64,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableNode {
    /// The hash of its first entry's id.
    pub(crate) id: u64,
    /// The number of the change that made it what it is: later ones have higher numbers.
    pub(crate) change: u64,
    /// The revision at which that was.
    pub(crate) revision: u64,
    /// The last revision of which a reader has everything when it has the changes before this one.
    pub(crate) complete: u64,
    /// How many calls it is inside of.
    pub(crate) depth: u8,
    /// Whether its item is unfinished.
    pub(crate) is_open: bool,
    /// Its HTML, or its text in a profile of lines.
    pub(crate) html: String,
}

impl NodeTable {
    /// An empty table.
    ///
    /// # Errors
    ///
    /// If there is no folder for temporary files.
    pub(crate) fn new() -> Result<Self, StoreError> {
        let path = Path::new("a temporary file");
        let open = || {
            let connection = Connection::open("")?;
            // Nothing outlives the process, so nothing is made safe against its end.
            for (name, value) in
                [("journal_mode", "OFF"), ("synchronous", "OFF"), ("locking_mode", "EXCLUSIVE")]
            {
                connection.pragma_update_and_check(None, name, value, |_| Ok(())).or_else(ignore_no_row)?;
            }
            connection.pragma_update(None, "cache_size", -CACHE)?;
            connection.execute_batch(TABLE)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| failure(path, &error))?;
        Ok(Self { database: Database::new(connection, path), len: 0 })
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Adds a node at the end. If its id is taken, it gets another one, which depends on its place alone.
    ///
    /// # Errors
    ///
    /// If there is no room for temporary files. The nodes that were added before can still be read.
    pub(crate) fn push(&mut self, node: &TableNode) -> Result<(), StoreError> {
        let place = self.len + 1;
        let is_taken = self.place_of(node.id)?.is_some();
        let id = if is_taken { node.id.rotate_left(32) ^ place } else { node.id };
        self.database.change(
            "INSERT INTO node VALUES (:place, :id, :change, :revision, :complete, :depth, :is_open, :bytes, :html)",
            named_params! {
                ":place": place.cast_signed(),
                ":id": id.cast_signed(),
                ":change": node.change.cast_signed(),
                ":revision": node.revision.cast_signed(),
                ":complete": node.complete.cast_signed(),
                ":depth": node.depth,
                ":is_open": node.is_open,
                ":bytes": node.html.len(),
                ":html": node.html,
            },
        )?;
        self.len = place;
        Ok(())
    }

    /// The place of the node of this id, from 1 on.
    pub(crate) fn place_of(&self, id: u64) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT place FROM node WHERE id = ?1";
        self.database.first(sql, [id.cast_signed()], |row| number(row, "place"))
    }

    /// The id of the node at a place.
    pub(crate) fn id_at(&self, place: u64) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT id FROM node WHERE place = ?1";
        self.database.first(sql, [place.cast_signed()], |row| number(row, "id"))
    }

    /// The last `most` nodes before a place, in document order.
    pub(crate) fn before(&self, place: u64, most: usize) -> Result<Vec<TableNode>, StoreError> {
        let sql = "SELECT * FROM node WHERE place < ?1 ORDER BY place DESC LIMIT ?2";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut nodes: Vec<TableNode> = self.database.all(sql, [place.cast_signed(), most], node_of)?;
        nodes.reverse();
        Ok(nodes)
    }

    /// The nodes that changed after a change and after a revision, in the order of changes, each with its place: until they have about
    /// `most` bytes, and one more.
    pub(crate) fn changed(
        &self,
        change: u64,
        revision: u64,
        most: usize,
    ) -> Result<Vec<(u64, TableNode)>, StoreError> {
        let sql = "SELECT * FROM node WHERE change > ?1 AND revision > ?2 ORDER BY change";
        let (mut nodes, mut bytes) = (Vec::new(), 0);
        let read = |row: &Row<'_>| Ok((number(row, "place")?, node_of(row)?));
        self.database.each(sql, [change, revision].map(u64::cast_signed), read, |(place, node)| {
            // The one after the last shows where its revision ends.
            let is_last = bytes > most;
            bytes += node.html.len();
            nodes.push((place, node));
            !is_last
        })?;
        Ok(nodes)
    }

    /// Whether more than `most` bytes changed after a change and after a revision.
    pub(crate) fn are_more(&self, change: u64, revision: u64, most: usize) -> Result<bool, StoreError> {
        let sql = "SELECT bytes FROM node WHERE change > ?1 AND revision > ?2 ORDER BY change";
        let mut bytes = 0;
        let values = [change, revision].map(u64::cast_signed);
        self.database.each(
            sql,
            values,
            |row| number(row, "bytes"),
            |more| {
                bytes += more;
                bytes <= most as u64
            },
        )?;
        Ok(bytes > most as u64)
    }
}

fn number(row: &Row<'_>, name: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(name).map(i64::cast_unsigned)
}

fn node_of(row: &Row<'_>) -> rusqlite::Result<TableNode> {
    Ok(TableNode {
        id: number(row, "id")?,
        change: number(row, "change")?,
        revision: number(row, "revision")?,
        complete: number(row, "complete")?,
        depth: row.get("depth")?,
        is_open: row.get("is_open")?,
        html: row.get("html")?,
    })
}

/// Some pragmas answer with a row and some don't.
fn ignore_no_row(error: rusqlite::Error) -> rusqlite::Result<()> {
    if matches!(error, rusqlite::Error::QueryReturnedNoRows) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u64, change: u64, revision: u64, html: &str) -> TableNode {
        TableNode { id, change, revision, html: html.to_owned(), ..TableNode::default() }
    }

    #[test]
    fn nodes_are_found_by_place_id_and_change() {
        let mut table = NodeTable::new().unwrap();
        // The second changed last, like a call that waited for its result.
        for (id, change, revision) in [(u64::MAX, 1, 1), (7, 9, 5), (8, 3, 2), (9, 4, 2)] {
            table.push(&node(id, change, revision, "0123456789")).unwrap();
        }
        assert_eq!((table.len(), table.place_of(7).unwrap(), table.place_of(6).unwrap()), (4, Some(2), None));
        assert_eq!((table.id_at(1).unwrap(), table.id_at(5).unwrap()), (Some(u64::MAX), None));
        let ids = |nodes: Vec<TableNode>| nodes.into_iter().map(|node| node.id).collect::<Vec<_>>();
        assert_eq!(ids(table.before(5, 3).unwrap()), [7, 8, 9]);
        assert_eq!(ids(table.before(3, 9).unwrap()), [u64::MAX, 7]);
        let changed = |change, revision, most| {
            let nodes = table.changed(change, revision, most).unwrap();
            nodes.into_iter().map(|(place, node)| (place, node.change)).collect::<Vec<_>>()
        };
        assert_eq!(changed(0, 0, 1000), [(1, 1), (3, 3), (4, 4), (2, 9)]);
        assert_eq!(changed(3, 0, 1000), [(4, 4), (2, 9)]);
        assert_eq!(changed(0, 2, 1000), [(2, 9)], "not those of earlier revisions");
        assert_eq!(changed(0, 0, 10), [(1, 1), (3, 3), (4, 4)], "about so many bytes, and one more");
        assert_eq!(
            [9, 10, 29, 30].map(|most| table.are_more(1, 0, most).unwrap()),
            [true, true, true, false]
        );
        assert!(!table.are_more(4, 0, 10).unwrap() && !table.are_more(0, 5, 0).unwrap());
    }

    #[test]
    fn an_id_that_comes_again_is_another_node() {
        let mut table = NodeTable::new().unwrap();
        for place in 1..=3 {
            table.push(&node(5, place, place, "same")).unwrap();
        }
        let ids: Vec<u64> = table.before(9, 9).unwrap().into_iter().map(|node| node.id).collect();
        assert_eq!((ids[0], table.place_of(5).unwrap()), (5, Some(1)));
        assert!(ids[1] != 5 && ids[2] != 5 && ids[1] != ids[2]);
    }
}
