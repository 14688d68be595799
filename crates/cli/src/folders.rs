//! Asks the system for the folders of this run: where the user's settings, data and state lie, and where we work.

use std::env;
use std::path::PathBuf;

use etcetera::BaseStrategy;
use streamfmt::Folders;

/// The folder of the program in each of the system's folders.
const NAME: &str = "streamfmt";

/// The folders of this run: those of the system's custom, `XDG_CONFIG_HOME` and its like included.
pub(crate) fn folders() -> Folders {
    // Without a working directory, which may have been removed, no project is found.
    let work = env::current_dir().unwrap_or_default();
    let system = system().map(|folder| folder.join(NAME));
    let Ok(strategy) = etcetera::choose_base_strategy() else {
        return Folders { work, system, ..Folders::default() };
    };
    let own = |folder: PathBuf| Some(folder.join(NAME));
    Folders {
        work,
        home: Some(strategy.home_dir().to_owned()),
        config: own(strategy.config_dir()),
        data: own(strategy.data_dir()),
        state: own(strategy.state_dir().unwrap_or_else(|| strategy.data_dir())),
        system,
    }
}

fn system() -> Option<PathBuf> {
    if cfg!(windows) { env::var_os("ProgramData").map(PathBuf::from) } else { Some(PathBuf::from("/etc")) }
}
