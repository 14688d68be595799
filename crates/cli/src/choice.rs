//! The options that choose settings (`--profile`, `--config`, `--set`, …), and the engine built from them.

use std::env;
use std::path::PathBuf;

use streamfmt::{Builder, Engine};

use crate::exit_code::USAGE;
use crate::folders::folders;
use crate::message::{print, print_problems};

/// The options that choose settings.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SettingsChoice {
    /// How much to show: default, page, full, quiet, ci, review, plain, a profile of yours, or the path of a file
    #[arg(long, value_name = "NAME", help_heading = "What is shown", display_order = 0)]
    pub(crate) profile: Option<String>,

    /// Read this settings file instead of yours and the project's
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,

    /// Ignore the project's settings
    #[arg(long, help_heading = "Settings")]
    pub(crate) no_project: bool,

    /// Set one value of the profile for this run, such as `limits.result-lines=40`; repeatable
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Settings")]
    pub(crate) set: Vec<String>,

    /// Exit with 2 if a settings file contains an error, instead of ignoring the wrong part
    #[arg(long, help_heading = "Settings")]
    pub(crate) strict_config: bool,
}

impl SettingsChoice {
    /// A builder with the choices of these options and of the environment.
    pub(crate) fn builder(&self) -> Builder {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let mut builder = Engine::builder()
            .names_options(true)
            .defer_plugins(true)
            .folders(folders())
            .no_project(self.no_project)
            .strict(self.strict_config);
        if let Some(name) = &self.profile {
            builder = builder.profile(name);
        }
        if let Some(name) = variable("STREAMFMT_PROFILE") {
            builder = builder.environment_profile(name);
        }
        if let Some(hashes) = variable("STREAMFMT_TRUST") {
            builder = builder.trusted(hashes);
        }
        if let Some(path) = &self.config {
            builder = builder.config(path);
        }
        for assignment in &self.set {
            builder = builder.set(assignment);
        }
        builder
    }
}

/// Builds an engine, and reports problems. The error is an exit code.
pub(crate) fn build(builder: Builder) -> Result<Engine, u8> {
    let engine = builder.build().map_err(|problems| {
        print_problems(&problems);
        USAGE
    })?;
    announce(&engine);
    Ok(engine)
}

/// Reports problems in settings files, and settings of a project that were ignored.
pub(crate) fn announce(engine: &Engine) {
    print_problems(engine.warnings());
    if let Some(line) = engine.config().left_out() {
        print(&line);
    }
}
