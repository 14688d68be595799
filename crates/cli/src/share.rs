//! `streamfmt share`: writes the masked page of a session, and lists the masked secrets, and texts that look like secrets but weren't masked.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use streamfmt::contract::FindLine;
use streamfmt::json;
use streamfmt::redact::{FindList, FindPlace, FindSort, ListedFind, Redaction};
use streamfmt::writer::ci::parted;
use streamfmt::writer::html::HtmlFragments;

use crate::args::ShareArgs;
use crate::exit_code::{OK, OUTPUT, PLUGIN, RUN_FAILED, USAGE};
use crate::input::InputSource;
use crate::message::{mask_messages, one_line, print, unwritten, usable};
use crate::output::write_out;
use crate::output_paths::OutputPaths;
use crate::page_folder::page_stem;
use crate::report::size;
use crate::{format_and_report, sessions, terminal};

/// The most places of a masked kind that are listed as text.
const MOST_PLACES: usize = 10;

impl ShareArgs {
    pub(crate) fn run(mut self) -> Result<u8, u8> {
        mask_messages(&Redaction::everything());
        if let [first, ..] = self.unfit()[..] {
            print(&format!(
                "share doesn't take {first} (it writes a masked HTML page; for others: streamfmt --redact)"
            ));
            return Err(USAGE);
        }
        let refuse = |message: String| {
            print(&message);
            USAGE
        };
        let input = self.input()?;
        let page = self.page(&input)?;
        let _named = (self.args.output.as_deref() != Some(&*page)).then(|| NamedPage(page.clone()));
        OutputPaths::check_beside_stdout("-o", &page).map_err(refuse)?;
        self.args.to = Some("html".to_owned());
        self.args.output = Some(page.clone());
        (self.args.redact, self.args.lists_finds) = (true, true);
        let written = || fs::metadata(&page).and_then(|metadata| metadata.modified()).ok();
        let before = written();
        let (code, report) = format_and_report(&self.args, vec![input])?;
        // A page of an input that broke off has its list, too.
        if !matches!(code, OK | RUN_FAILED | PLUGIN) && written() == before {
            return Ok(code);
        }
        let list = report.finds;
        let shared =
            SharedPage { bytes: fs::metadata(&page).map_or(0, |metadata| metadata.len()), path: page };
        let text = if self.json { shared.json(&list) } else { shared.text(&list) };
        let text = if terminal::is_ci() && !self.json { parted(&text).into_owned() } else { text };
        let written = write_out(text.as_bytes())?;
        let is_left = self.strict && list.count(FindSort::Left) > 0;
        Ok(if is_left && code == OK { RUN_FAILED } else { code.max(written) })
    }

    /// The input: a file, or a session of the store.
    fn input(&mut self) -> Result<InputSource, u8> {
        let name = self.args.files.first().cloned().unwrap_or_default();
        let is_path = name == Path::new("-") || name.exists() || name.components().count() > 1;
        if !is_path && let Some(id) = name.to_str() {
            self.args.files.clear();
            return sessions::input(id, &self.args);
        }
        let inputs = InputSource::all(&self.args).map_err(|messages| {
            for message in messages {
                print(&message);
            }
            USAGE
        })?;
        inputs.into_iter().next().ok_or(USAGE)
    }

    /// The path of the page. A file whose name wasn't given is new, and made here: several at once get names of their own. The error is
    /// an exit code; its reason was reported.
    fn page(&self, input: &InputSource) -> Result<PathBuf, u8> {
        let folder = match self.args.output.as_deref() {
            None => PathBuf::new(),
            Some(page) if page == Path::new("-") => {
                print("-o -: the list is written to standard output; name a file for the page");
                return Err(USAGE);
            }
            Some(folder) if folder.is_dir() => folder.to_owned(),
            Some(page) => return Ok(page.to_owned()),
        };
        let stem = page_stem(input);
        let mut number = 1_u64;
        loop {
            let path = folder.join(if number == 1 {
                format!("{stem}.html")
            } else {
                format!("{stem}-{number}.html")
            });
            match File::create_new(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    print(&unwritten(&path, &error));
                    return Err(OUTPUT);
                }
            }
        }
    }
}

/// A new page whose name wasn't given. If nothing was written to it, it goes.
struct NamedPage(PathBuf);

impl Drop for NamedPage {
    fn drop(&mut self) {
        if fs::metadata(&self.0).is_ok_and(|metadata| metadata.len() == 0) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

/// The page that was written.
struct SharedPage {
    path: PathBuf,
    bytes: u64,
}

impl SharedPage {
    /// The list for programs.
    fn json(&self, list: &FindList) -> String {
        let anchor = |place: &FindPlace| HtmlFragments::anchor(&place.shown_in);
        let finds = list.finds.iter().map(|find| FindLine::of(find, find.place.as_deref().map(anchor)));
        let total = FindLine::total(list, self.path.to_string_lossy().into_owned(), self.bytes);
        finds.chain([total]).map(|line| json::line(&line)).collect::<Vec<_>>().join("\n")
    }

    /// The list for people.
    fn text(&self, list: &FindList) -> String {
        let mut text = String::new();
        for (sort, heading) in [
            (FindSort::Masked, "Masked"),
            (FindSort::Left, "Left, although it looks like a secret"),
            (FindSort::Picture, "Pictures, shown as they are"),
            (FindSort::File, "Files, of which only the name is shown"),
        ] {
            let count = list.count(sort);
            if count == 0 {
                continue;
            }
            let _ = writeln!(text, "{heading}: {count}");
            for ((_, kind), count) in list.counts.iter().filter(|((other, _), _)| *other == sort) {
                let _ = writeln!(text, "  {}: {count}", one_line(described(sort, kind)));
                let finds: Vec<&ListedFind> =
                    list.finds.iter().filter(|find| find.sort == sort && find.kind == *kind).collect();
                // A few places of a masked secret are enough. All others have to be looked at.
                let most = if sort == FindSort::Masked { MOST_PLACES } else { usize::MAX };
                rows(&finds, most, &mut text);
            }
            if let Some(more) = list.unlisted.get(&sort) {
                let _ = writeln!(text, "  {more} more aren't listed");
            }
        }
        let (masked, left) = (list.count(FindSort::Masked), list.count(FindSort::Left));
        let _ = write!(
            text,
            "{masked} masked, {left} left: {} ({}). Read the page before you send it; a pattern of your own masks more \
             (sf.redact).",
            usable(&self.path),
            size(self.bytes)
        );
        text
    }
}

/// The rows of a kind, one for each find at its first place, as far as `most` allows.
fn rows(finds: &[&ListedFind], most: usize, text: &mut String) {
    let mut others: BTreeMap<usize, usize> = BTreeMap::new();
    for find in finds {
        *others.entry(find.value).or_default() += 1;
    }
    let mut shown = 0;
    for find in finds {
        // Further places of the same find were counted at its first one.
        let Some(places) = others.remove(&find.value) else { continue };
        if shown == most {
            let _ = writeln!(text, "    and {} others (--json lists them)", others.len() + 1);
            return;
        }
        shown += 1;
        let _ = write!(text, "    {}", place(find.place.as_deref()));
        if !find.text.is_empty() {
            let _ = write!(text, ": {}", one_line(&find.text));
        }
        if let Some((_, length)) = &find.start {
            let _ = write!(text, " ({length} characters)");
        }
        let _ = match places {
            1 => writeln!(text),
            2 => writeln!(text, "; in one more place"),
            _ => writeln!(text, "; in {} more places", places - 1),
        };
    }
}

/// The name of a kind for people.
fn described(sort: FindSort, kind: &str) -> &str {
    match kind {
        _ if sort != FindSort::Left => kind,
        "value-of-name" => "values of names like key, token and password",
        "random" => "random characters",
        "base64" => "Base64",
        "private-address" => "private addresses",
        _ => kind,
    }
}

fn place(place: Option<&FindPlace>) -> String {
    let Some(place) = place else { return "head of the page".to_owned() };
    let anchor = HtmlFragments::anchor(&place.shown_in);
    let inside = if place.parent.is_some() { " of a sub-agent" } else { "" };
    let tool = place.tool.as_deref().map(|tool| format!(" of {}", one_line(tool))).unwrap_or_default();
    format!("#{anchor} line {}{inside}, {}{tool}", place.line, place.kind.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_places_of_a_masked_kind_are_listed_and_all_of_what_was_left() {
        for (sort, listed, last) in [
            (FindSort::Masked, 10, "    and 2 others (--json lists them)"),
            (FindSort::Left, 12, "    head of the page: find 12"),
        ] {
            let find = |value: usize| ListedFind {
                sort,
                kind: "kind".to_owned(),
                count: 1,
                value,
                place: None,
                text: format!("find {value}"),
                start: None,
            };
            let counts = [((sort, "kind".to_owned()), 12)].into();
            let list = FindList { finds: (1..=12).map(find).collect(), counts, ..FindList::default() };
            let text = SharedPage { path: "a.html".into(), bytes: 1 }.text(&list);
            assert_eq!(text.matches("head of the page").count(), listed, "{text}");
            assert_eq!(text.lines().nth_back(1), Some(last), "{text}");
        }
    }
}
