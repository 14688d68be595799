//! Installing from folders, including hostile ones, and edits of installed files.

use super::*;

const ABOUT: &str = "name = 'demo'\nversion = '1.0'\napi = 1\n";
const SCRIPT: &str = "sf.tool('Bash', { label = 'sh' })\n";

/// A folder with a origin directory in it, removed on drop.
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
        self.installed().add(&self.0.join(name), false, false).map_err(|problem| problem.message)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = tree::remove(&self.0.join("data/plugins/demo"));
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_is_installed_without_hidden_files_and_replaces_itself() {
    let disk = Disk::new("same");
    disk.write("source/.secret", "not part of it");
    let first = disk.add("source").unwrap();
    assert_eq!((first.files, first.before.is_none()), (3, true));
    let again = disk.add("source").unwrap();
    assert_eq!((again.hash, again.before), (first.hash, Some(Some("1.0".to_owned()))));
    assert_eq!(disk.installed().find(&Files::default(), "demo").unwrap().name, "demo");
}

#[cfg(unix)]
#[test]
fn nothing_of_a_hostile_folder_is_installed() {
    let long = "n".repeat(201);
    for name in ["INIT.LUA", "e\u{1b}[2J", "x.", "c:evil", "a\\..\\evil", &long] {
        let disk = Disk::new("hostile");
        disk.write(&format!("source/{name}"), "x");
        assert!(disk.add("source").is_err(), "{name:?}");
        assert!(!disk.0.join("data/plugins/demo").exists());
    }
    let disk = Disk::new("link");
    std::os::unix::fs::symlink("/etc/passwd", disk.0.join("source/link")).unwrap();
    assert!(disk.add("source").is_err(), "a link to a place outside");
    let deep = Disk::new("deep");
    fs::create_dir_all(deep.0.join("source").join("a/".repeat(13))).unwrap();
    deep.write(&format!("source/{}b", "a/".repeat(13)), "x");
    assert!(deep.add("source").is_err(), "a path of 14 parts");
    let listed = deep.installed().list(&Files::default());
    assert!(listed.iter().all(|listed| listed.origin == PluginOrigin::BuiltIn));
}

#[test]
fn too_large_plugins_and_other_files_are_refused() {
    let disk = Disk::new("large");
    for number in 0..3 {
        disk.write(&format!("source/zeros-{number}"), vec![0; 12 << 20]);
    }
    assert_eq!(disk.add("source").unwrap_err(), "its files are larger than 32 MiB");
    let many = Disk::new("many");
    for number in 3..2_000 {
        many.write(&format!("source/{number}"), "");
    }
    assert_eq!(many.add("source").unwrap().files, 2_000);
    many.write("source/2000", "");
    assert_eq!(many.add("source").unwrap_err(), "it has more than 2000 files");
    let deep = Disk::new("parts");
    fs::create_dir_all(deep.0.join("source").join("a/".repeat(12))).unwrap();
    deep.write(&format!("source/{}b", "a/".repeat(11)), "x");
    assert!(deep.add("source").is_ok(), "a path of 12 parts");
    deep.write(&format!("source/{}b", "a/".repeat(12)), "x");
    assert!(deep.add("source").unwrap_err().ends_with("b: this path is not allowed in a plugin"));
    disk.write("x.tar.gz", b"\x1f\x8b\x08\x00");
    assert_eq!(
        disk.add("x.tar.gz").unwrap_err(),
        "a plugin is installed from a folder or a Lua file on this computer"
    );
}

#[cfg(unix)]
#[test]
fn installed_files_are_read_only_and_edits_are_detected() {
    use std::os::unix::fs::PermissionsExt;

    let disk = Disk::new("edits");
    let folder = disk.add("source").unwrap().folder;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.join("init.lua")), mode(&folder)), (0o444, 0o555));
    assert_eq!(mode(&disk.0.join("data/plugins")), 0o700);
    assert_eq!(mode(&disk.0.join("data/plugins.lock")), 0o600);
    let find = || disk.installed().find(&Files::default(), "demo");
    assert!(find().is_ok());

    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("more.lua"), "return 1").unwrap();
    let error = find().unwrap_err();
    let message = error.message;
    assert!(message.contains("streamfmt plugin fork demo") && message.contains("--discard"), "{message}");
    assert_eq!(disk.add("source").unwrap_err(), message);
    disk.installed().add(&disk.0.join("source"), true, false).unwrap();
    assert!(find().is_ok());

    fs::remove_file(disk.0.join("data/plugins.lock")).unwrap();
    assert!(find().unwrap_err().message.contains("its source is unknown"));
}

#[test]
fn a_fork_is_the_users_own_and_overrides_the_installed_plugin() {
    let disk = Disk::new("fork");
    disk.add("source").unwrap();
    let installed = disk.installed();
    let folder = installed.fork("demo").unwrap();
    assert_eq!(installed.origin("demo"), Some(PluginOrigin::Own));
    fs::write(folder.join("init.lua"), "sf.tool('Read', { label = 'mine' })").unwrap();
    assert!(installed.find(&Files::default(), "demo").is_ok());
    assert!(installed.fork("demo").unwrap_err().message.contains("already"));
    assert!(installed.remove("demo").unwrap_err().message.contains("your own"));
    disk.add("source").unwrap();
    let listed = installed.list(&Files::default());
    let origins: Vec<PluginOrigin> =
        listed.iter().filter(|it| it.name == "demo").map(|listed| listed.origin).collect();
    assert_eq!(origins, [PluginOrigin::Own, PluginOrigin::Installed]);
    installed.remove("demo").unwrap();
    assert_eq!(installed.origin("demo"), Some(PluginOrigin::Own));
    assert!(
        installed.find(&Files::default(), "dmeo").unwrap_err().message.contains("did you mean \"demo\"?")
    );
    assert!(installed.find(&Files::default(), "../source").is_err());
}
