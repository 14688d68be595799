//! The settings of an untrusted project that apply, and the files that belong to a project once it is trusted.

use std::fs::{self, File};

use super::*;
use crate::settings::Request;

/// A folder with a project and the user's own settings, removed on drop.
struct Workplace(tempfile::TempDir);

impl Workplace {
    fn new(project: &str, user: &str) -> Self {
        let place = Self(tempfile::TempDir::with_prefix("streamfmt-project-").unwrap());
        place.write("project/streamfmt.toml", project);
        place.write("config/config.toml", user);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn folders(&self) -> Folders {
        let config = Some(self.path("config"));
        Folders { work: self.path("project"), config, ..Folders::default() }
    }

    /// All settings; with `is_trusted`, the project's current state is trusted.
    fn config(&self, is_trusted: bool) -> Config {
        let project = || Project::find(&Files::default(), &self.folders()).unwrap().unwrap();
        let trusted = is_trusted.then(|| project().closure().unwrap().hash());
        Config::load(&Request { folders: Some(self.folders()), trusted, ..Request::default() })
    }

    fn closure(&self) -> Closure {
        Project::find(&Files::default(), &self.folders()).unwrap().unwrap().closure().unwrap()
    }
}

/// The value of a key in a profile's settings, and its layer.
fn value(config: &Config, profile: &str, key: &str) -> Option<(SettingValue, SettingsLayer)> {
    let resolved = config.resolve(&Named::given_by(profile, "--profile"));
    let found = resolved.tree.values().find(|(path, _)| path.to_string() == key);
    found.map(|(_, leaf)| (leaf.value.clone(), leaf.spot.document.layer))
}

/// The texts in a list.
fn texts(value: &SettingValue) -> Vec<&str> {
    let SettingValue::List(list) = value else { return Vec::new() };
    list.iter().filter_map(|leaf| leaf.text()).collect()
}

#[test]
fn an_untrusted_project_neither_adds_to_the_users_lists_nor_removes_from_them() {
    let user = "plugins = ['cost', 'guard']\nhide = ['notice']\nallow-in-projects = ['cost', 'guard']\n";
    for (settings, key) in [
        ("plugins.remove = ['guard']", "plugins"),
        ("plugins.remove = ['cost', 'guard']", "plugins"),
        ("plugins.add = ['cost']", "plugins"),
        ("plugins.remove = []", "plugins"),
        ("hide.remove = ['notice']", "hide"),
        ("hide.add = ['call']", "hide"),
        ("only.add = ['call']", "only"),
    ] {
        let config = Workplace::new(settings, user).config(false);
        let refused = &config.project().unwrap().refusals;
        assert_eq!(
            refused.iter().map(|refusal| refusal.key.as_str()).collect::<Vec<_>>(),
            [key],
            "{settings}"
        );
        for (key, list) in [("plugins", &["cost", "guard"][..]), ("hide", &["notice"][..])] {
            let (value, layer) = value(&config, "default", key).unwrap();
            assert_eq!((texts(&value), layer), (list.to_vec(), SettingsLayer::User), "{settings}");
        }
    }
    // A new list that the user allows changes no other list.
    let config = Workplace::new("plugins = ['cost']", user).config(false);
    assert!(config.project().unwrap().refusals.is_empty());
    let (value, layer) = value(&config, "default", "plugins").unwrap();
    assert_eq!((texts(&value), layer), (vec!["cost"], SettingsLayer::Project));
}

#[test]
fn a_file_that_a_file_names_has_the_layer_of_that_file() {
    let names_it = "[profile.mine]\nextends = ['./more.toml']\n";
    for (project, user, profile, layer) in [
        (names_it, "", "mine", SettingsLayer::Project),
        ("", names_it, "mine", SettingsLayer::User),
        // A file named by an option has the layer of this run, and so do the files that it extends.
        ("", "", "more.toml", SettingsLayer::Chosen),
        ("", "", "first.toml", SettingsLayer::Chosen),
    ] {
        let place = Workplace::new(project, user);
        for folder in ["project", "config"] {
            place.write(&format!("{folder}/first.toml"), "extends = ['./more.toml']\n");
            place.write(&format!("{folder}/more.toml"), "extends = ['./last.toml']\nhide = ['call']\n");
            place.write(&format!("{folder}/last.toml"), "detail = 'full'\n");
        }
        let config = place.config(true);
        let profile = match layer {
            SettingsLayer::Chosen => place.path("project").join(profile).display().to_string(),
            _ => profile.to_owned(),
        };
        for key in ["hide", "detail"] {
            let found = value(&config, &profile, key).map(|(_, layer)| layer);
            assert_eq!(found, Some(layer), "{profile}: {key}");
        }
    }
}

#[test]
fn a_project_leads_to_so_many_settings_files_and_no_further() {
    let place = Workplace::new("[profile.x]\nextends = ['./1.toml']\n", "");
    for number in 1..=MOST_FILES + 2 {
        place.write(&format!("project/{number}.toml"), &format!("extends = ['./{}.toml']\n", number + 1));
    }
    let closure = place.closure();
    let has = |number: usize| closure.files.contains_key(&format!("{number}.toml"));
    // The last one is still trusted, but the file that it extends isn't, so that file isn't used either.
    assert_eq!([has(MOST_FILES), has(MOST_FILES + 1), has(MOST_FILES + 2)], [true, true, false]);
    place.write("project/streamfmt.toml", &format!("[profile.x]\nextends = ['./{}.toml']\n", MOST_FILES + 2));
    assert!(place.closure().files.contains_key(&format!("{}.toml", MOST_FILES + 2)));
}

#[test]
fn a_project_uses_no_file_over_the_limit() {
    for (more, is_used) in [(0, true), (1, false)] {
        let place = Workplace::new("[tool.Bash]\nscript.label = './big.lua#label'\n", "");
        let file = File::create(place.path("project/big.lua")).unwrap();
        file.set_len(LARGEST_PART as u64 + more).unwrap();
        let closure = place.closure();
        assert_eq!(closure.files.contains_key("big.lua"), is_used, "{more}");
        let text = trusted_text(&closure, &place.path("project/big.lua"));
        assert_eq!(text.err(), (!is_used).then_some(FileError::Missing), "{more}");
    }
}

#[test]
fn a_file_that_any_setting_names_is_part_of_what_is_trusted() {
    for (settings, file) in [
        ("theme = './x.toml'", "x.toml"),
        ("extends = './x.toml'", "x.toml"),
        ("records = './x.toml'", "x.toml"),
        ("[profile.mine]\nrecords = './x.toml'", "x.toml"),
        ("plugins = ['./x.lua']", "x.lua"),
        ("plugins.add = ['./x.lua']", "x.lua"),
        ("tool.Bash.script.label = './x.lua#label'", "x.lua"),
        ("hide = ['call']", ".streamfmt/x.lua"),
    ] {
        let place = Workplace::new(settings, "");
        place.write(&format!("project/{file}"), "");
        place.write("project/y.toml", "");
        let files: Vec<_> = place.closure().files.into_keys().collect();
        assert!(
            files.contains(&file.to_owned()) && !files.contains(&"y.toml".to_owned()),
            "{settings}: {files:?}"
        );
    }
}

#[test]
fn the_plugin_of_a_project_has_the_files_of_its_folder_by_their_names_in_it() {
    let place = Workplace::new("", "");
    for (name, text) in [("plugin.toml", "name = 'own'\napi = 1\n"), ("init.lua", ""), ("part.lua", "")] {
        place.write(&format!("project/.streamfmt/{name}"), text);
    }
    let read = texts_in(&place.closure(), ".streamfmt/");
    assert_eq!(read.keys().collect::<Vec<_>>(), ["init.lua", "part.lua", "plugin.toml"]);
    assert_eq!(read["plugin.toml"], "name = 'own'\napi = 1\n");
}

#[test]
fn what_is_left_out_names_the_folder_of_the_project_unless_it_is_the_current_one() {
    let place = Workplace::new("plugins = ['./x.lua']", "");
    fs::create_dir(place.path("project/sub")).unwrap();
    for (work, is_named) in [("project", false), ("project/sub", true)] {
        let folders = Folders { work: place.path(work), ..place.folders() };
        let config = Config::load(&Request { folders: Some(folders), ..Request::default() });
        let message = config.left_out().unwrap();
        assert!(message.contains("plugins"), "{message}");
        assert_eq!(message.contains(&place.path("project").display().to_string()), is_named, "{message}");
    }
}
