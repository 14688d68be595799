//! `streamfmt sessions list --disk`: what sessions take on the disk.

use streamfmt::json;
use streamfmt_server::store::{DiskLine, DiskUse, SessionRecord, Store};
use unicode_width::UnicodeWidthStr;

use super::refuse;
use crate::message::one_line;
use crate::output::write_out;

/// The titles of the columns. The first one is aligned to the left.
const HEAD: [&str; 5] = ["ID", "LOG", "STDERR", "COPIES", "SUM"];

/// Lists what these sessions take, and what the database takes, in which all are.
pub(super) fn list(store: &Store, sessions: &[SessionRecord], is_json: bool) -> Result<u8, u8> {
    let mut total = DiskUse::default();
    let (mut lines, mut rows) = (Vec::new(), vec![HEAD.map(str::to_owned)]);
    for session in sessions {
        let id = session.run.id.as_str();
        let disk = store.disk_use(id).map_err(|error| refuse(&error))?;
        total.log_bytes += disk.log_bytes;
        total.stderr_bytes += disk.stderr_bytes;
        total.copies_bytes += disk.copies_bytes;
        if is_json {
            lines.push(json::line(&DiskLine { v: 1, id: Some(id), total: None, disk, database_bytes: None }));
        } else {
            rows.push(cells(&one_line(id), &disk));
        }
    }
    let database = store.database_bytes();
    if is_json {
        let disk = total;
        lines.push(json::line(&DiskLine {
            v: 1,
            id: None,
            total: Some(true),
            disk,
            database_bytes: Some(database),
        }));
    } else {
        rows.push(cells("all", &total));
        lines.extend(table(&rows));
        lines.push(format!("the database: {}", size(database)));
    }
    write_out(lines.join("\n").as_bytes())
}

fn cells(name: &str, disk: &DiskUse) -> [String; 5] {
    let [log, errors, copies] = [disk.log_bytes, disk.stderr_bytes, disk.copies_bytes].map(size);
    [name.to_owned(), log, errors, copies, size(disk.sum())]
}

fn table(rows: &[[String; 5]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or_default();
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let numbers: String = row
            .iter()
            .zip(widths)
            .skip(1)
            .map(|(cell, width)| format!("  {cell:>width$}"))
            .collect::<Vec<_>>()
            .concat();
        format!("{:<width$}{numbers}", row[0], width = widths[0])
    };
    rows.iter().map(line).collect()
}

/// A number of bytes with a unit; nothing for none.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return if bytes == 0 { "-".to_owned() } else { format!("{bytes} B") };
    }
    #[expect(clippy::cast_precision_loss, reason = "it is shown with one decimal")]
    let mut size = bytes as f64 / 1_000.0;
    let mut unit = 0;
    while size >= 999.95 && unit + 1 < UNITS.len() {
        size /= 1_000.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_at_most_four_digits() {
        let sizes = [0, 1, 999, 1_000, 999_949, 999_950, 20_000_000_000, u64::MAX].map(size);
        assert_eq!(sizes, ["-", "1 B", "999 B", "1.0 kB", "999.9 kB", "1.0 MB", "20.0 GB", "18446744.1 TB"]);
    }
}
