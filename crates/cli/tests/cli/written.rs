//! The files that the program writes and removes: their modes, what happens to an existing file, and whether a symbolic link is followed.
//! The files of recorded runs and of the server are in tables of that crate (`serve/tests/modes.rs`, `store/remove.rs`).

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::Mode;

use crate::program::{Folder, SESSION};

/// What happens to an existing file.
#[derive(Debug, PartialEq, Eq)]
enum Before {
    /// It gets the new content and keeps its mode.
    Replaced,
    /// A new file, with a new file's mode, replaces it.
    Renewed,
    /// The new content is appended, and it keeps its mode.
    Continued,
    /// It doesn't change: the command fails, or the output gets another name.
    Kept,
}

/// What happens to a symbolic link in the place of the file.
#[derive(Debug, PartialEq, Eq)]
enum Linked {
    /// Its target is written, and the link stays.
    Followed,
    /// A file replaces the link.
    Replaced,
    /// It doesn't change: the command fails, or the output gets another name.
    Kept,
}

/// A kind of file that the program writes.
struct Writing {
    command: &'static str,
    file: &'static str,
    /// The modes of new files and new folders.
    modes: [u32; 2],
    before: Before,
    linked: Linked,
}

/// Files written where the user asked for them: readable like the folder.
const OPEN: [u32; 2] = [0o644, 0o755];
/// The user's decisions, agents' output and the names of runs: readable by their owner only.
const PRIVATE: [u32; 2] = [0o600, 0o700];

/// Every kind of file.
const WRITINGS: [Writing; 19] = [
    writing("s.jsonl -o out", "out", OPEN, Before::Replaced, Linked::Followed),
    writing("s.jsonl --to html -o pages/", "pages/index.html", OPEN, Before::Replaced, Linked::Followed),
    writing("s.jsonl --to html -o pages/", "pages/s.html", OPEN, Before::Replaced, Linked::Followed),
    writing("s.jsonl --also markdown=out", "out", OPEN, Before::Replaced, Linked::Followed),
    writing("s.jsonl --summary out", "out", OPEN, Before::Continued, Linked::Followed),
    writing("s.jsonl --tee out", "out", PRIVATE, Before::Continued, Linked::Kept),
    // Its name is derived from its content.
    writing(
        "s.jsonl --to markdown -o page.md --assets pictures",
        "pictures/6b7fa434f92a8b80aab02d9bf1a12e49.png",
        OPEN,
        Before::Renewed,
        Linked::Replaced,
    ),
    writing("share s.jsonl -o out", "out", OPEN, Before::Replaced, Linked::Followed),
    writing("share s.jsonl", "s.html", OPEN, Before::Kept, Linked::Kept),
    writing("config init", "home/.config/streamfmt/config.toml", OPEN, Before::Kept, Linked::Kept),
    writing("config init out", "out", OPEN, Before::Kept, Linked::Kept),
    writing("plugin new demo", "demo/init.lua", OPEN, Before::Kept, Linked::Kept),
    writing("plugin types types", "types/sf.d.lua", OPEN, Before::Replaced, Linked::Followed),
    writing(
        "golden bless cases",
        "cases/one/expected/default.text.txt",
        OPEN,
        Before::Replaced,
        Linked::Kept,
    ),
    writing(
        "golden check cases --report junit --report-file out",
        "out",
        OPEN,
        Before::Replaced,
        Linked::Followed,
    ),
    writing(
        "golden drift s.jsonl --baseline out --write-baseline",
        "out",
        OPEN,
        Before::Replaced,
        Linked::Followed,
    ),
    writing(
        "trust --deny project",
        "home/.local/state/streamfmt/trust/*",
        PRIVATE,
        Before::Renewed,
        Linked::Replaced,
    ),
    writing("run --id-file out -- /bin/cat s.jsonl", "out", PRIVATE, Before::Replaced, Linked::Followed),
    writing("run --log out -- /bin/cat s.jsonl", "out", PRIVATE, Before::Continued, Linked::Kept),
];

const fn writing(
    command: &'static str,
    file: &'static str,
    modes: [u32; 2],
    before: Before,
    linked: Linked,
) -> Writing {
    Writing { command, file, modes, before, linked }
}

const PICTURE: &str = r#"{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},"session_id":"s-1","uuid":"u-9"}"#;

impl Writing {
    /// A folder in which the command can run.
    fn folder(&self) -> Folder {
        let folder = Folder::with(&[
            ("s.jsonl", &format!("{SESSION}{PICTURE}\n")),
            ("cases/one/input.ndjson", SESSION),
            ("project/streamfmt.toml", "hide = ['call']\n"),
            ("types/x", ""),
        ]);
        fs::create_dir(folder.path("home")).unwrap();
        folder
    }

    /// The same, with something in the place of the file.
    fn folder_with(&self, put: impl FnOnce(&Folder, &Path)) -> (Folder, String) {
        let folder = self.folder();
        let name = match self.file.strip_suffix('*') {
            None => self.file.to_owned(),
            // The name is only known once the file exists.
            Some(above) => {
                folder.run(self.command);
                let name = format!("{above}{}", folder.names_in(above)[0]);
                fs::remove_file(folder.path(&name)).unwrap();
                name
            }
        };
        fs::create_dir_all(folder.path(&name).parent().unwrap()).unwrap();
        put(&folder, &folder.path(&name));
        (folder, name)
    }
}

/// Collects the mode of everything below a folder, and whether it is a folder.
fn modes(folder: &Path, above: &str, found: &mut BTreeMap<String, (u32, bool)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let about = entry.metadata().unwrap();
        let name = format!("{above}{}", entry.file_name().into_string().unwrap());
        if about.is_dir() {
            modes(&entry.path(), &format!("{name}/"), found);
        }
        found.insert(name, (about.mode() & 0o7777, about.is_dir()));
    }
}

fn all_modes(folder: &Folder) -> BTreeMap<String, (u32, bool)> {
    let mut found = BTreeMap::new();
    modes(&folder.path(""), "", &mut found);
    found
}

#[test]
fn each_new_file_has_its_mode_and_nothing_is_left_beside_it() {
    // With a narrower umask, a missing mode wouldn't be noticed.
    rustix::process::umask(Mode::from_raw_mode(0o022));
    for writing in &WRITINGS {
        let Writing { command, file, modes: [of_file, of_folder], .. } = writing;
        let folder = writing.folder();
        let before = all_modes(&folder);
        folder.run(command);
        let new: BTreeMap<_, _> =
            all_modes(&folder).into_iter().filter(|(name, _)| !before.contains_key(name)).collect();
        let is_there =
            |name: &String| file.strip_suffix('*').map_or(name == file, |above| name.starts_with(above));
        assert!(new.keys().any(is_there), "{command}: {new:?}");
        for (name, (mode, is_folder)) in &new {
            assert_eq!(mode, if *is_folder { of_folder } else { of_file }, "{command}: {name} has {mode:o}");
            assert!(!name.contains(".tmp"), "{command}: {name} is left");
        }
    }
}

#[test]
fn a_file_in_the_place_of_another_is_replaced_continued_or_kept() {
    for writing in &WRITINGS {
        let Writing { command, modes: [of_file, _], before, .. } = writing;
        let (folder, name) = writing.folder_with(|_, path| {
            fs::write(path, "{}\n").unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o640)).unwrap();
        });
        let outcome = folder.run(command);
        let now = fs::read(folder.path(&name)).unwrap();
        let mode = fs::metadata(folder.path(&name)).unwrap().mode() & 0o7777;
        let became = match (now.as_slice(), mode) {
            (b"{}\n", 0o640) => Before::Kept,
            (now, 0o640) if now.starts_with(b"{}\n") => Before::Continued,
            (_, 0o640) => Before::Replaced,
            (_, mode) => {
                assert_eq!(mode, *of_file, "{command}: {mode:o}");
                Before::Renewed
            }
        };
        assert_eq!(became, *before, "{command}: {outcome:?}");
    }
}

#[test]
fn a_link_in_the_place_of_a_file_is_followed_replaced_or_kept() {
    for writing in &WRITINGS {
        let Writing { command, linked, .. } = writing;
        for there in [Some("{}\n"), None] {
            let (folder, name) =
                writing.folder_with(|folder, path| symlink(folder.path("mine"), path).unwrap());
            if let Some(text) = there {
                folder.write("mine", text);
            }
            let outcome = folder.run(command);
            let now = fs::read_to_string(folder.path("mine")).ok();
            let became = match (folder.path(&name).is_symlink(), now.as_deref() == there) {
                (true, false) => Linked::Followed,
                (true, true) => Linked::Kept,
                (false, true) => Linked::Replaced,
                (false, false) => panic!("{command}: both are written"),
            };
            assert_eq!(became, *linked, "{command}: {there:?}: {outcome:?}");
        }
    }
}

#[test]
fn what_is_removed_is_a_link_itself_and_never_what_it_leads_to() {
    for (before, command, file, target, is_removed) in [
        (
            &["trust --deny project"][..],
            "trust --forget project",
            "home/.local/state/streamfmt/trust/*",
            "mine/x",
            true,
        ),
        (&["golden bless cases"], "golden clean cases", "cases/one/expected/old.text.txt", "mine/x", false),
        (
            &["plugin new demo", "plugin add demo"],
            "plugin remove demo",
            "home/.local/share/streamfmt/plugins/demo",
            "mine",
            true,
        ),
    ] {
        let folder = WRITINGS[0].folder();
        folder.write("mine/x", "kept");
        for command in before {
            assert_eq!(folder.run(command).code, Some(0), "{command}");
        }
        let name = match file.strip_suffix('*') {
            Some(above) => format!("{above}{}", folder.names_in(above)[0]),
            None => file.to_owned(),
        };
        if folder.path(&name).exists() {
            // An installed plugin is read-only.
            fs::set_permissions(folder.path(&name), Permissions::from_mode(0o700)).unwrap();
            fs::rename(folder.path(&name), folder.path("before")).unwrap();
        }
        symlink(folder.path(target), folder.path(&name)).unwrap();
        let outcome = folder.run(command);
        assert_eq!(folder.read("mine/x"), "kept", "{command}: {outcome:?}");
        assert_eq!(folder.path(&name).is_symlink(), !is_removed, "{command}: {outcome:?}");
    }
}
