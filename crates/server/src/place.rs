//! Where a session ran: the machine, and the repository of a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// The most bytes of a file of Git that are read.
const MOST: u64 = 64 * 1024;

/// Returns the name of this machine.
pub(crate) fn host() -> Option<String> {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    Some(name).filter(|name| !name.is_empty())
}

/// Returns the main working tree of the repository that a folder is in, whatever linked working tree that is. No program is run: Git's
/// files are read, as described in gitrepository-layout(5).
pub(crate) fn repo_of(folder: &Path) -> Option<PathBuf> {
    // A relative folder would depend on where this program runs.
    let mut trees = folder.is_absolute().then_some(folder)?.ancestors();
    let tree = trees.find(|tree| tree.join(".git").symlink_metadata().is_ok())?;
    let git = tree.join(".git");
    if git.is_dir() {
        return Some(tree.to_owned());
    }
    let own = tree.join(line_of(&git)?.strip_prefix("gitdir:")?.trim());
    let Some(common) = line_of(&own.join("commondir")) else {
        // A submodule, or a repository whose data lies elsewhere.
        return Some(tree.to_owned());
    };
    let common = own.join(common.trim()).canonicalize().ok()?;
    let is_named_git = common.file_name().is_some_and(|name| name == ".git");
    // A bare repository has no main working tree.
    Some(if is_named_git { common.parent()?.to_owned() } else { common })
}

fn line_of(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok().filter(|about| about.is_file() && about.len() <= MOST)?;
    let text = fs::read_to_string(file).ok().filter(|_| about.len() > 0)?;
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_working_tree_belongs_to_the_main_one_and_a_submodule_to_itself() {
        let home = tempfile::TempDir::with_prefix("streamfmt-repo-").unwrap();
        let home = home.path().canonicalize().unwrap();
        let (main, linked, submodule) = (home.join("main"), home.join("linked"), home.join("main/lib"));
        for folder in
            [main.join(".git/worktrees/linked"), main.join("src/deep"), linked.join("src"), submodule.clone()]
        {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(main.join(".git/worktrees/linked/commondir"), "../..\n").unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}\n", main.join(".git/worktrees/linked").display()))
            .unwrap();
        fs::create_dir_all(main.join(".git/modules/lib")).unwrap();
        fs::write(submodule.join(".git"), "gitdir: ../.git/modules/lib\n").unwrap();
        for (folder, repo) in [
            (main.join("src/deep"), Some(&main)),
            (main.join("gone/deeper"), Some(&main)),
            (linked.join("src"), Some(&main)),
            (submodule.clone(), Some(&submodule)),
            (home.join("elsewhere"), None),
            (PathBuf::from("main"), None),
        ] {
            assert_eq!(repo_of(&folder).as_ref(), repo, "{}", folder.display());
        }
        fs::write(linked.join(".git"), "no such line\n").unwrap();
        assert_eq!(repo_of(&linked), None);
    }
}
