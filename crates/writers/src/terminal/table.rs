//! Writes tables with aligned columns that fit the width.

use pulldown_cmark::Alignment;

use super::block::{addressed, pieces, targets};
use super::rows::{RowWriter, glyph};
use super::wrap::{self, StyledText};
use streamfmt_core::entry::{Line, Role};

/// The most columns that cells are padded to. In a table that isn't wrapped, wider cells aren't aligned.
const MAX_PADDED: usize = wrap::SPACES.len();

/// The smallest readable width of a column. A table that needs narrower ones is written as a list.
const LEAST: usize = 6;

/// A cell: the pieces of one line.
pub(super) type TableCell<'a> = Vec<StyledText<'a>>;

/// Writes a table of lines.
pub(super) fn write(writer: &mut RowWriter<'_>, head: &[Line], rows: &[Vec<Line>]) {
    let look = writer.look();
    let lines: Vec<_> = head.iter().chain(rows.iter().flatten()).map(|line| addressed(look, line)).collect();
    let all = || lines.iter().map(|line| &**line);
    let targets: Vec<_> = all().map(|line| targets(look.links(), line)).collect();
    let mut cells = all().zip(&targets).map(|(line, targets)| pieces(look, line, targets));
    let mut head: Vec<TableCell<'_>> = cells.by_ref().take(head.len()).collect();
    let style = look.style("table.head");
    for piece in head.iter_mut().flatten().filter(|piece| piece.role == Role::of("text")) {
        piece.role = "table.head".into();
        piece.style = style;
    }
    let rows =
        rows.iter().map(|row| cells.by_ref().take(row.len()).collect()).collect::<Vec<Vec<TableCell<'_>>>>();
    drop(cells);
    grid(writer, &head, &rows, &[]);
}

/// Writes a table of cells.
pub(super) fn grid(
    writer: &mut RowWriter<'_>,
    head: &[TableCell<'_>],
    rows: &[Vec<TableCell<'_>>],
    aligns: &[Alignment],
) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(head.len());
    let mut widths = vec![0; columns];
    for row in std::iter::once(head).chain(rows.iter().map(Vec::as_slice)) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(wrap::width_of(cell));
        }
    }
    let look = writer.look();
    let shape = if look.is_ansi() { glyph(look, "column") } else { "" };
    let between = if shape.is_empty() {
        vec![StyledText::blank(2)]
    } else {
        vec![StyledText::blank(1), look.piece("table.border", shape), StyledText::blank(1)]
    };
    let gaps = wrap::width_of(&between) * columns.saturating_sub(1);
    match writer.room() {
        Some(room) if room < gaps + LEAST * columns && gaps + widths.iter().sum::<usize>() > room => {
            return list(writer, head, rows);
        }
        Some(room) => fit(&mut widths, room - gaps.min(room)),
        None => widths.iter_mut().for_each(|width| *width = (*width).min(MAX_PADDED)),
    }
    let table = Columns { widths: &widths, between: &between, aligns };
    if !head.is_empty() {
        table.row(writer, head);
        table.ruler(writer);
    }
    for row in rows {
        table.row(writer, row);
    }
}

/// Narrows the widest columns until all fit into `room`.
fn fit(widths: &mut [usize], room: usize) {
    let mut sorted = widths.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    let mut limit = usize::MAX;
    for (at, width) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if *width > share {
            limit = share.max(1);
            break;
        }
        left -= width;
    }
    for width in widths {
        *width = (*width).min(limit);
    }
}

/// Writes a table that is too wide for columns: each row as lines of head and cell. The first row has a line for each head.
fn list(writer: &mut RowWriter<'_>, head: &[TableCell<'_>], rows: &[Vec<TableCell<'_>>]) {
    if rows.is_empty() {
        for cell in head {
            writer.line(cell, 2);
        }
    }
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            writer.blank();
        }
        for (column, cell) in row.iter().enumerate() {
            let mut line = head.get(column).filter(|head| !head.is_empty()).cloned().unwrap_or_default();
            if cell.is_empty() && (at > 0 || line.is_empty()) {
                continue;
            }
            if !line.is_empty() {
                line.push(StyledText { text: ": ", ..StyledText::blank(0) });
            }
            line.extend_from_slice(cell);
            writer.line(&line, 2);
        }
    }
}

struct Columns<'t, 'a> {
    widths: &'t [usize],
    between: &'t [StyledText<'a>],
    aligns: &'t [Alignment],
}

impl Columns<'_, '_> {
    /// Writes a row of cells, in as many lines as its highest cell needs.
    fn row(&self, writer: &mut RowWriter<'_>, cells: &[TableCell<'_>]) {
        let wraps = writer.room().is_some();
        let mut broken: Vec<Vec<TableCell<'_>>> = Vec::with_capacity(cells.len());
        for (cell, width) in cells.iter().zip(self.widths) {
            let mut lines = Vec::new();
            if wraps {
                wrap::rows(cell, (*width).max(1), (*width).max(1), |line| lines.push(line.to_vec()));
            } else {
                lines.push(cell.clone());
            }
            broken.push(lines);
        }
        let height = broken.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let mut line = Vec::new();
            for (column, width) in self.widths.iter().enumerate() {
                if column > 0 {
                    line.extend_from_slice(self.between);
                }
                let part = broken.get(column).and_then(|lines| lines.get(at)).map_or(&[][..], Vec::as_slice);
                let missing = width.saturating_sub(wrap::width_of(part));
                let before = match self.aligns.get(column) {
                    None | Some(Alignment::None | Alignment::Left) => 0,
                    Some(Alignment::Center) => missing / 2,
                    Some(Alignment::Right) => missing,
                };
                pad(&mut line, before);
                line.extend_from_slice(part);
                pad(&mut line, missing - before);
            }
            writer.row(&line);
        }
    }

    fn ruler(&self, writer: &mut RowWriter<'_>) {
        let look = writer.look();
        let (dash, cross) = (glyph(look, "row"), glyph(look, "cross"));
        if !look.is_ansi() || dash.is_empty() {
            return;
        }
        let dashes = |width: usize| dash.repeat(width);
        let joint = format!("{dash}{cross}{dash}");
        let line = self.widths.iter().map(|width| dashes(*width)).collect::<Vec<_>>().join(&joint);
        writer.row(&[look.piece("table.border", &line)]);
    }
}

fn pad(line: &mut Vec<StyledText<'_>>, mut columns: usize) {
    while columns > 0 {
        let part = columns.min(wrap::SPACES.len());
        line.push(StyledText::blank(part));
        columns -= part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_give_room_to_narrow_ones() {
        for (widths, room, fitted) in [
            (vec![3, 50, 4], 30, vec![3, 23, 4]),
            (vec![40, 50], 30, vec![15, 15]),
            (vec![5, 5], 30, vec![5, 5]),
            (vec![], 3, vec![]),
        ] {
            let mut widths = widths;
            fit(&mut widths, room);
            assert_eq!(widths, fitted);
        }
    }
}
