//! The built-in plugins, as embedded files.
//!
//! Their sources are in `plugins/`, in the form that users write, and are read by the same code. One that has a profile of the
//! same name is used with `--profile NAME`; any can be used with `--plugin NAME` or in a profile's `plugins`.

/// A plugin's files: the path inside its folder, and the text.
type PluginFiles = &'static [(&'static str, &'static str)];

macro_rules! plugin {
    ($name:literal: $($file:literal),+) => {
        ($name, &[$(($file, include_str!(concat!("../../plugins/", $name, "/", $file)))),+])
    };
}

/// All built-in plugins, by name. Without Lua there are none.
pub static BUILT_IN: &[(&str, PluginFiles)] = if cfg!(feature = "lua") { ALL } else { &[] };

const ALL: &[(&str, PluginFiles)] = &[
    plugin!("claude-ops": "plugin.toml", "init.lua", "profiles/claude-ops.toml"),
    plugin!("claudedo": "plugin.toml", "init.lua", "profiles/claudedo.toml"),
    plugin!("cost": "plugin.toml", "init.lua"),
    plugin!("github-actions": "plugin.toml", "init.lua"),
    plugin!("mcp-pretty": "plugin.toml", "init.lua"),
    plugin!("redact": "plugin.toml", "init.lua"),
];

#[cfg(all(test, feature = "lua"))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::plugin::source::PluginSource;

    #[test]
    fn all_scripted_plugins_in_the_folder_are_built_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        let entries = fs::read_dir(&root).unwrap();
        // Native plugins are examples and aren't built in.
        let is_script = |name: &String| {
            let about = fs::read_to_string(root.join(name).join(crate::plugin::manifest::FILE)).unwrap();
            !crate::plugin::manifest::Manifest::parse(&about).unwrap().is_native()
        };
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).filter(is_script).collect();
        names.sort();
        assert_eq!(names, BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for (name, files) in BUILT_IN {
            let read = PluginSource::read(&crate::Files::default(), &root.join(name)).unwrap();
            let files = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
            let built_in = PluginSource::from_files(files.collect()).map(|pack| pack.at(root.join(name)));
            assert_eq!(built_in.as_ref(), Ok(&read), "{name}: a file is not in the table");
            assert_eq!(read.name, *name);
            assert!(
                root.join(name).join("README.md").is_file() && root.join(name).join("tests").is_dir(),
                "{name}"
            );
        }
    }
}
