//! Starting a product's program so that it writes a stream to its standard output.

/// How to start the program of a product so that it runs without user interaction.
pub struct Launch {
    /// The names of the program, without its folder.
    pub programs: &'static [&'static str],
    /// Finds the arguments that a command line lacks. Its first argument is the one after the program's name.
    pub complete: fn(&[&str], LaunchWish) -> Result<LaunchPlan, LaunchRefusal>,
}

/// Requirements for a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchWish {
    /// Whether it should contain messages while they are being written.
    pub is_live: bool,
    /// The program's version, if it is known.
    pub version: Option<[u32; 3]>,
}

/// The changes to a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchPlan {
    /// Arguments to add.
    pub added: Vec<&'static str>,
    /// The index at which they are inserted, counted after the program's name.
    pub at: usize,
    /// Whether the program would wait forever for an open standard input to which nobody writes.
    pub waits_for_stdin: bool,
    /// The task on the command line, if there is one.
    pub task: Option<String>,
    /// The session that it continues, if the command line names one.
    pub resumes: Option<String>,
}

/// The error for a command line whose program won't write a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchRefusal {
    /// The reason.
    pub why: LaunchObstacle,
    /// Arguments that work, without the program's name.
    pub instead: Vec<String>,
}

/// Why a program won't write a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchObstacle {
    /// It would run interactively.
    Interactive,
    /// The command line requests another output format: this option with its value.
    OtherFormat(String),
}
