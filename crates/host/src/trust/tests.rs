//! The conditions of trust in a project, and the protection of records.

use std::fs;
use std::path::PathBuf;

use super::*;

/// A folder with a project and a place for records, removed on drop.
struct Disk(PathBuf);

impl Disk {
    fn new(name: &str) -> Self {
        let path = tempfile::TempDir::with_prefix(format!("streamfmt-trust-{name}-")).unwrap().keep();
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("project/.streamfmt/lib")).unwrap();
        let disk = Self(path);
        disk.write("streamfmt.toml", "theme = 'dark'\n");
        disk.write(".streamfmt/lib/a.lua", "return 1\n");
        disk.write("README.md", "not reached\n");
        disk
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.join("project").join(name), text).unwrap();
    }

    /// The closure of the project's current settings.
    fn closure(&self) -> Result<Closure, Problem> {
        let files = Files::default().within(&self.0.join("project")).unwrap();
        files.read("streamfmt.toml".as_ref(), 1000).unwrap();
        Closure::of(&files)
    }

    fn trust(&self, hashes: Option<&str>) -> Trust {
        Trust::new(Some(&self.0.join("state")), hashes)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn trust_depends_on_the_bytes_of_all_files_concerned() {
    let disk = Disk::new("bytes");
    let trust = disk.trust(None);
    let closure = disk.closure().unwrap();
    assert_eq!(closure.files.keys().collect::<Vec<_>>(), [".streamfmt/lib/a.lua", "streamfmt.toml"]);
    assert_eq!(trust.status(&closure), Ok(TrustStatus::Unknown));
    trust.allow(&closure).unwrap();
    assert_eq!(trust.status(&disk.closure().unwrap()), Ok(TrustStatus::Trusted));
    disk.write("README.md", "changed\n");
    assert_eq!(trust.status(&disk.closure().unwrap()), Ok(TrustStatus::Trusted));
    for change in [".streamfmt/lib/a.lua", ".streamfmt/new", "streamfmt.toml"] {
        let before = fs::read(disk.0.join("project").join(change)).ok();
        disk.write(change, "changed\n");
        assert_eq!(trust.status(&disk.closure().unwrap()), Ok(TrustStatus::Changed), "{change}");
        match before {
            Some(before) => disk.write(change, before),
            None => fs::remove_file(disk.0.join("project").join(change)).unwrap(),
        }
    }
    assert_eq!(trust.status(&disk.closure().unwrap()), Ok(TrustStatus::Trusted));
}

#[test]
fn a_denied_project_stays_denied_until_it_is_forgotten() {
    let disk = Disk::new("denied");
    let closure = disk.closure().unwrap();
    let trust = disk.trust(Some(&format!("abc, {}", closure.hash().to_uppercase())));
    assert_eq!(trust.status(&closure), Ok(TrustStatus::Trusted));
    assert_eq!(disk.trust(Some(&closure.hash()[..60])).status(&closure), Ok(TrustStatus::Unknown));
    trust.deny(&closure.root).unwrap();
    assert_eq!(trust.status(&closure), Ok(TrustStatus::Denied));
    let (entries, problems) = trust.entries();
    assert_eq!((entries.len(), entries[0].files.is_none(), problems), (1, true, Vec::new()));
    assert_eq!(trust.forget(&closure.root), Ok(true));
    assert_eq!(trust.forget(&closure.root), Ok(false));
    assert_eq!(disk.trust(None).status(&closure), Ok(TrustStatus::Unknown));
}

#[test]
fn changes_are_shown_clean() {
    let disk = Disk::new("diff");
    disk.write(".streamfmt/old", "x\n");
    disk.write(".streamfmt/binary", b"\xff");
    let (trust, before) = (disk.trust(None), disk.closure().unwrap());
    trust.allow(&before).unwrap();
    disk.write("streamfmt.toml", "theme = 'dark'\nhide = ['\u{1b}[2J']\n");
    disk.write(".streamfmt/binary", b"\xfe");
    fs::remove_file(disk.0.join("project/.streamfmt/old")).unwrap();
    let old = trust.entry(&before.root).unwrap().unwrap().files.unwrap();
    assert_eq!(old, before.files);
    assert_eq!(
        disk.closure().unwrap().changes(&old),
        "--- a/.streamfmt/binary\n+++ b/.streamfmt/binary\n  (not a text)\n\
         --- a/.streamfmt/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
         --- a/streamfmt.toml\n+++ b/streamfmt.toml\n@@ -1 +1,2 @@\n theme = 'dark'\n+hide = ['␛[2J']\n"
    );
}

#[test]
fn names_and_contents_are_delimited_in_hashes() {
    let hash = |files: &[(&str, &str)]| hash_of(files.iter().map(|(name, text)| (*name, text.as_bytes())));
    assert_ne!(hash(&[("a", "bc")]), hash(&[("ab", "c")]));
    assert_ne!(hash(&[("a", ""), ("b", "")]), hash(&[("a", "\0\0\0\0\0\0\0\u{1}b\0\0\0\0\0\0\0\0")]));
    assert_eq!(hash(&[]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[cfg(unix)]
#[test]
fn records_are_private_and_ignored_if_others_could_write_them() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let disk = Disk::new("private");
    let (trust, closure) = (disk.trust(None), disk.closure().unwrap());
    let path = trust.allow(&closure).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(trust.status(&closure).unwrap_err().message.contains("writable by others"));

    let elsewhere = disk.0.join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert!(trust.status(&closure).unwrap_err().message.contains("symbolic link"));
    let copied = fs::read(&elsewhere).unwrap();
    trust.deny(&closure.root).unwrap();
    assert_eq!((fs::read(&elsewhere).unwrap(), path.is_symlink()), (copied, false));

    fs::write(&path, "root = ").unwrap();
    assert!(trust.status(&closure).unwrap_err().message.contains("damaged"));
}

#[cfg(unix)]
#[test]
fn a_project_with_a_link_out_of_it_can_not_be_trusted() {
    let disk = Disk::new("leaves");
    fs::write(disk.0.join("secret"), "x").unwrap();
    std::os::unix::fs::symlink("../../secret", disk.0.join("project/.streamfmt/link")).unwrap();
    let problem = disk.closure().unwrap_err();
    assert_eq!(problem.to_string(), ".streamfmt: link is a symbolic link to a place outside");
}

#[test]
fn a_project_with_a_file_over_the_limit_can_not_be_trusted() {
    let disk = Disk::new("large");
    let file = fs::File::create(disk.0.join("project/.streamfmt/large")).unwrap();
    file.set_len(LARGEST as u64).unwrap();
    assert!(disk.closure().is_ok());
    file.set_len(LARGEST as u64 + 1).unwrap();
    assert_eq!(disk.closure().unwrap_err().to_string(), ".streamfmt/large: larger than 4 MiB");
}

#[cfg(unix)]
#[test]
fn a_record_over_the_limit_is_not_read() {
    let disk = Disk::new("record");
    let path = disk.0.join("record");
    disk::write_private(&path, b"12345").unwrap();
    assert_eq!(disk::read_private(&path, 5).unwrap(), b"12345");
    assert_eq!(disk::read_private(&path, 4).unwrap_err().to_string(), "too large");
}
