//! How a product's program is started so that its standard output is a stream that we can read.

/// How the program of a product is started without a person at it.
pub struct Launch {
    /// What the program is called, without its folder.
    pub programs: &'static [&'static str],
    /// Which arguments a command line lacks; it begins behind the program's name.
    pub complete: fn(&[&str], LaunchWish) -> Result<LaunchPlan, LaunchRefusal>,
}

/// What is wanted of a stream beside that it can be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchWish {
    /// Whether it shows messages while they are written.
    pub is_live: bool,
    /// The program's version, if it is known.
    pub version: Option<[u32; 3]>,
}

/// What a command line lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchPlan {
    /// Arguments to add.
    pub added: Vec<&'static str>,
    /// Where they go, counted from behind the program's name.
    pub at: usize,
    /// Whether an open pipe that nobody writes to would make the program wait for ever.
    pub waits_for_stdin: bool,
    /// The task on the command line, if there is one.
    pub task: Option<String>,
    /// The session that it goes on from, if the command line names it.
    pub resumes: Option<String>,
}

/// A command line that can't become a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchRefusal {
    /// Why not.
    pub why: LaunchObstacle,
    /// The arguments that work, behind the program's name.
    pub instead: Vec<String>,
}

/// Why a command line can't become a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchObstacle {
    /// It opens a screen of its own for a person.
    Interactive,
    /// It asks for another format of its output: this option with its value.
    OtherFormat(String),
}
