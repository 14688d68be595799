//! Asks the system for folders: those of the user's settings, data and state, and the working directory.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use streamfmt::Folders;
use streamfmt::dialect::{DIALECTS, Histories};
use streamfmt::follow::SessionFolder;
use streamfmt::histories::WorkFilter;
use streamfmt::origins::SessionsBelow;
use streamfmt_server::store::AgentFolder;

use crate::exit_code::USAGE;
use crate::message::print;

/// The folder of the program in each of the system's folders.
const NAME: &str = "streamfmt";

/// The folders of this run, by the system's conventions, which include `XDG_CONFIG_HOME` and the like. Like those, a `HOME` that isn't
/// absolute is ignored: it depends on the working directory, which may belong to anybody.
pub(crate) fn folders() -> Folders {
    // Without a working directory, which may have been removed, no project is found.
    let work = env::current_dir().unwrap_or_default();
    let system = system().map(|folder| folder.join(NAME));
    let own = |folder: PathBuf| Some(folder.join(NAME)).filter(|folder| folder.is_absolute());
    let Ok(strategy) = etcetera::choose_base_strategy() else {
        // Without a home, a folder may be given all the same.
        let given = |name| env::var_os(name).map(PathBuf::from).and_then(own);
        let (data, state) = (given("XDG_DATA_HOME"), given("XDG_STATE_HOME"));
        return Folders { work, system, data, state, ..Folders::default() };
    };
    Folders {
        work,
        home: Some(strategy.home_dir().to_owned()).filter(|home| home.is_absolute()),
        config: own(strategy.config_dir()),
        data: own(strategy.data_dir()),
        state: own(strategy.state_dir().unwrap_or_else(|| strategy.data_dir())),
        system,
    }
}

/// The folder for recorded sessions and their database. The error is an exit code; its reason was reported.
pub(crate) fn data_folder() -> Result<PathBuf, u8> {
    own_folder(folders().data, "XDG_DATA_HOME")
}

/// A folder of the user's own, which is unknown without a home. `variable`: what else sets the folder. The error is an exit code; its reason
/// was reported.
pub(crate) fn own_folder(folder: Option<PathBuf>, variable: &str) -> Result<PathBuf, u8> {
    folder.ok_or_else(|| {
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| !home.as_os_str().is_empty());
        print(&match home {
            Some(home) => {
                format!(
                    "HOME is \"{}\", which isn't an absolute path; set it or {variable} to one",
                    home.display()
                )
            }
            None => format!("there is no home folder; set HOME or {variable} to an absolute path"),
        });
        USAGE
    })
}

/// The folders in which agents keep the sessions of the working directory.
pub(crate) fn session_folders() -> Vec<SessionFolder> {
    let Ok(work) = env::current_dir() else { return Vec::new() };
    let work = work.to_string_lossy().into_owned();
    let folder = |(histories, folder): (&Histories, PathBuf)| SessionFolder {
        path: below(&folder, &(histories.folder)(&work)),
        depth: histories.depth,
        is_named: Some(histories.is_named),
        work: histories.work.map(|read| WorkFilter { work: work.clone(), read }),
    };
    agents_folders().map(folder).collect()
}

/// The folders in which agents keep the sessions of all working directories together, each with the number of levels of folders in it.
pub(crate) fn all_session_folders() -> Vec<SessionsBelow> {
    let folders = agents_folders().filter(|(histories, _)| histories.work.is_some());
    folders.map(|(histories, folder)| (below(&folder, &(histories.folder)("")), histories.depth)).collect()
}

/// The folders in which the known agents keep their sessions, whether they exist or not.
pub(crate) fn agent_folders() -> Vec<AgentFolder> {
    let rows = DIALECTS.rows.iter().flat_map(|row| {
        let histories = row.histories.as_ref().filter(|histories| histories.root.is_some());
        let places = histories.map(|it| (it.variables, it.home, it.root.unwrap_or_default()));
        let database = row.database.as_ref().map(|it| (it.variables, it.home, ""));
        places.into_iter().chain(database).map(|place| (row.name, place))
    });
    rows.filter_map(|(agent, (variables, home, root))| {
        let product = product_folder(variables, home)?;
        Some(AgentFolder { agent, path: below(&product, root), product })
    })
    .collect()
}

/// The folders of the agents whose histories are known.
fn agents_folders() -> impl Iterator<Item = (&'static Histories, PathBuf)> {
    let histories = DIALECTS.rows.iter().filter_map(|dialect| dialect.histories.as_ref());
    histories.filter_map(|histories| Some((histories, product_folder(histories.variables, histories.home)?)))
}

/// The folder of a product, by the environment or in the user's home directory.
fn product_folder(variables: &[(&str, &str)], home: &str) -> Option<PathBuf> {
    let is_set = |folder: &OsString| !folder.is_empty();
    let set = variables.iter().find_map(|(variable, place)| {
        Some(below(&PathBuf::from(env::var_os(variable).filter(is_set)?), place))
    });
    set.or_else(|| Some(below(&etcetera::home_dir().ok()?, home)))
}

/// A folder in another one, or that itself.
fn below(folder: &Path, name: &str) -> PathBuf {
    if name.is_empty() { folder.to_owned() } else { folder.join(name) }
}

fn system() -> Option<PathBuf> {
    if cfg!(windows) { env::var_os("ProgramData").map(PathBuf::from) } else { Some(PathBuf::from("/etc")) }
}
