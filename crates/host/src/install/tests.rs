//! Installing from folders and archives, hostile ones too, and what happens to installed files later.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;

const ABOUT: &str = "name = 'demo'\nversion = '1.0'\napi = 1\n";
const SCRIPT: &str = "sf.tool('Bash', { label = 'sh' })\n";

/// A folder with a home in it. It goes away with the test.
struct Disk(PathBuf);

impl Disk {
    fn new(name: &str) -> Self {
        let path = tempfile::TempDir::with_prefix(format!("streamfmt-install-{name}-")).unwrap().keep();
        fs::create_dir_all(path.join("source/tests/a")).unwrap();
        let disk = Self(path);
        disk.write("source/plugin.toml", ABOUT);
        disk.write("source/init.lua", SCRIPT);
        disk.write("source/tests/a/input.ndjson", "{}\n");
        disk
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), bytes).unwrap();
    }

    fn installed(&self) -> Installed {
        Installed { own: Some(self.0.join("config/plugins")), data: Some(self.0.join("data")) }
    }

    fn add(&self, name: &str) -> Result<Installation, String> {
        self.installed().add(&self.0.join(name), false).map_err(|problem| problem.message)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = tree::remove(&self.0.join("data/plugins/demo"));
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A `.tar.gz` with a good plugin and one more entry, whose name is written as it is.
fn tar_with(name: &str, kind: EntryType, content: &[u8]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut put = |name: &str, kind: EntryType, content: &[u8]| {
        let mut header = Header::new_gnu();
        // The crate's own setter refuses what is tried here.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o777);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        builder.append(&header, content).unwrap();
    };
    put("plugin.toml", EntryType::Regular, ABOUT.as_bytes());
    put("init.lua", EntryType::Regular, SCRIPT.as_bytes());
    put(name, kind, content);
    builder.into_inner().unwrap().finish().unwrap()
}

#[test]
fn a_folder_and_its_archives_install_the_same_files() {
    let disk = Disk::new("same");
    disk.write("source/.secret", "not part of it");
    disk.write("source/old.tar.gz", "nor this");
    let from_folder = disk.add("source").unwrap();
    assert_eq!((from_folder.files, from_folder.before.is_none()), (3, true));

    let tree = PluginTree::read(&Files::default(), &disk.0.join("source")).unwrap();
    let archive = tree.archive("demo-1.0").unwrap();
    assert_eq!(archive, tree.archive("demo-1.0").unwrap());
    disk.write("demo.tar.gz", archive);
    let from_archive = disk.add("demo.tar.gz").unwrap();
    assert_eq!((from_archive.hash, from_archive.before), (from_folder.hash, Some(Some("1.0".to_owned()))));
    assert_eq!(disk.installed().find(&Files::default(), "demo").unwrap().name, "demo");
}

#[test]
fn nothing_of_a_hostile_archive_reaches_the_disk() {
    let disk = Disk::new("hostile");
    let long = "a/".repeat(30) + "b";
    let names = [
        "../evil",
        "a/../../evil",
        "/evil",
        "./../evil",
        "a//b",
        "a\\..\\evil",
        "c:evil",
        "",
        "a/./b",
        "e\u{1b}[2J",
        "x.",
        "INIT.LUA",
        &long,
    ];
    for name in names {
        disk.write("x.tar.gz", tar_with(name, EntryType::Regular, b"x"));
        assert!(disk.add("x.tar.gz").is_err(), "{name:?} in a tar");
    }
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo, EntryType::Char, EntryType::GNUSparse]
    {
        disk.write("x.tar.gz", tar_with("link", kind, b""));
        assert!(disk.add("x.tar.gz").is_err(), "{kind:?}");
    }
    assert!(!disk.0.join("data/plugins/demo").exists() && !disk.0.join("evil").exists());
    let listed = disk.installed().list(&Files::default());
    assert!(listed.iter().all(|listed| listed.home == Home::BuiltIn));
}

#[test]
fn archives_that_unfold_without_end_are_refused() {
    let disk = Disk::new("bombs");
    let zeros = vec![0; LARGE];
    disk.write("x.tar.gz", tar_with("zeros", EntryType::Regular, &zeros));
    assert_eq!(disk.add("x.tar.gz").unwrap_err(), "its files are larger than 32 MiB");
    // Nothing but zeros, which a tar has at its end.
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..4 {
        packer.write_all(&zeros).unwrap();
    }
    disk.write("x.tar.gz", packer.finish().unwrap());
    assert!(disk.add("x.tar.gz").is_err());
    disk.write("x.zip", b"PK\x05\x06");
    assert!(disk.add("x.zip").unwrap_err().contains(".tar.gz or .tgz"));
    for bytes in [&b""[..], b"PK\x05\x06", b"\x1f\x8b\x08\x00", b"plain"] {
        disk.write("x.tar.gz", bytes);
        assert!(disk.add("x.tar.gz").is_err());
    }
}

const LARGE: usize = 40 << 20;

#[cfg(unix)]
#[test]
fn what_was_installed_is_read_only_and_edits_of_it_are_found() {
    use std::os::unix::fs::PermissionsExt;

    let disk = Disk::new("edits");
    let folder = disk.add("source").unwrap().folder;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.join("init.lua")), mode(&folder)), (0o444, 0o555));
    assert_eq!(mode(&disk.0.join("data/plugins")), 0o700);
    let find = || disk.installed().find(&Files::default(), "demo");
    assert!(find().is_ok());

    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("more.lua"), "return 1").unwrap();
    let told = find().unwrap_err();
    assert!(told.contains("streamfmt plugin fork demo") && told.contains("--discard"), "{told}");
    assert_eq!(disk.add("source").unwrap_err(), told);
    disk.installed().add(&disk.0.join("source"), true).unwrap();
    assert!(find().is_ok());

    fs::remove_file(disk.0.join("data/plugins.lock")).unwrap();
    assert!(find().unwrap_err().contains("its source is unknown"));
}

#[test]
fn a_fork_is_the_users_own_and_goes_over_what_is_installed() {
    let disk = Disk::new("fork");
    disk.add("source").unwrap();
    let installed = disk.installed();
    let folder = installed.fork("demo").unwrap();
    assert_eq!(installed.home("demo"), Some(Home::Own));
    fs::write(folder.join("init.lua"), "sf.tool('Read', { label = 'mine' })").unwrap();
    assert!(installed.find(&Files::default(), "demo").is_ok());
    assert!(installed.fork("demo").unwrap_err().message.contains("already"));
    assert!(installed.remove("demo").unwrap_err().message.contains("your own"));
    disk.add("source").unwrap();
    let listed = installed.list(&Files::default());
    let homes: Vec<Home> = listed.iter().filter(|it| it.name == "demo").map(|listed| listed.home).collect();
    assert_eq!(homes, [Home::Own, Home::Installed]);
    installed.remove("demo").unwrap();
    assert_eq!(installed.home("demo"), Some(Home::Own));
    assert!(installed.find(&Files::default(), "dmeo").unwrap_err().contains("did you mean \"demo\"?"));
    assert!(installed.find(&Files::default(), "../source").is_err());
}
