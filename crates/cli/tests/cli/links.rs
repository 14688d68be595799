//! Symbolic links as the last component of output paths.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};

use crate::program::{Folder, SESSION, skip};

/// A user who owns no file here.
const STRANGER: u32 = 65_534;

#[test]
fn another_users_link_in_a_shared_folder_is_not_followed() {
    let picture = r#"{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},"session_id":"s-1","uuid":"u-9"}"#;
    let session = format!("{SESSION}{picture}\n");
    let folder = Folder::with(&[("s.jsonl", &*session), ("mine", "kept"), ("shared/x", ""), ("pages/x", "")]);
    let shared = folder.path("shared");
    fs::set_permissions(&shared, PermissionsExt::from_mode(0o1777)).unwrap();
    let plant = |name: &str, target: &str| {
        let link = shared.join(name);
        symlink(folder.path(target), &link).unwrap();
        lchown(&link, Some(STRANGER), None)
    };
    if plant("planted", "mine").is_err() || plant("folder", "pages").is_err() {
        return skip("only root can give a link to another user");
    }
    // The user's own link is refused as well if it leads to another user's link.
    symlink(shared.join("planted"), folder.path("own")).unwrap();
    for options in [
        "-o shared/planted",
        "-o own",
        "--also markdown=shared/planted",
        "--also ansi=own",
        "--summary shared/planted",
        "--to markdown --assets shared/folder -o page.md",
    ] {
        let refused = folder.run(&format!("s.jsonl {options}"));
        assert!(refused.stderr.contains("a symbolic link of another user"), "{options}: {}", refused.stderr);
        assert_eq!(folder.read("mine"), "kept", "{options}");
    }
    assert_eq!(fs::read_dir(folder.path("pages")).unwrap().count(), 1);
    // All other links are followed: the user's own, and those of others in folders where not everyone may create files.
    symlink(folder.path("mine"), shared.join("own")).unwrap();
    for (options, mode) in
        [("-o shared/own", 0o1777), ("-o shared/planted", 0o755), ("-o shared/planted", 0o777)]
    {
        fs::set_permissions(&shared, PermissionsExt::from_mode(mode)).unwrap();
        folder.write("mine", "kept");
        folder.run(&format!("s.jsonl {options}")).expect(0, "");
        assert_ne!(folder.read("mine"), "kept", "{options} {mode:o}");
        assert!(shared.join("planted").is_symlink() && shared.join("own").is_symlink(), "links stay");
    }
    folder.write("mine", "");
    folder.run("s.jsonl --summary own").expect(0, "");
    assert!(!folder.read("mine").is_empty());
}
