//! Plugins that are folders.

use std::fs;
use std::path::PathBuf;

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = tempfile::TempDir::with_prefix(format!("streamfmt-lua-{name}-")).unwrap().keep();
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const ABOUT: &str = "name = \"demo\"\nversion = \"0.1.0\"\napi = 1\nentry = \"main.lua\"\n[options]\nlimit = \
                     { type = \"number\", default = 5, about = \"how many\" }\nwords = { default = [\"a\"] }\n";

#[test]
fn a_folder_has_modules_and_options() {
    let main = r#"
        local names = require("lib.names")
        assert(require("lib.names") == names and require("./lib/deep") == "deep")
        assert(not pcall(require, "../secret") and not pcall(require, "/etc/passwd") and not pcall(require, "nope"))
        sf.tool("Bash", { label = function(_) return names.sh end, arg = function(input, call) return nil end })
        sf.on("call", function(_, ctx) return sf.text(`{ctx.options.limit} {ctx.options.words[1]}`) end)"#;
    let folder = Folder::new(
        "pack",
        &[
            ("pack/plugin.toml", ABOUT),
            ("pack/main.lua", main),
            ("pack/lib/names.lua", "return { sh = 'shell' }"),
            ("pack/lib/deep/init.luau", "return 'deep'"),
            ("secret.lua", "return 'secret'"),
        ],
    );
    let mut pack = PluginSource::read(&Files::default(), &folder.0.join("pack")).unwrap();
    assert_eq!((pack.name.as_str(), pack.version.as_deref()), ("demo", Some("0.1.0")));
    assert!(pack.choose("limit", toml::Value::String("x".to_owned())).is_err());
    assert!(pack.choose("limt", toml::Value::Integer(1)).unwrap_err().contains("did you mean \"limit\"?"));
    pack.choose("limit", toml::Value::Integer(7)).unwrap();
    let engine = Engine::builder().writer("text").pack(pack).build().unwrap();
    let mut pipeline = Pipeline::new(engine.setup());
    let mut text = String::new();
    pipeline.push(bash().join("\n").as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    assert_eq!(engine.journal().take(), []);
    assert!(text.contains("shell cargo test") && text.contains("7 a"), "{text}");
}

#[test]
fn errors_in_a_folder_are_reported() {
    for (about, message) in [
        ("name = ", "plugin.toml:1:"),
        ("api = 1", "no name"),
        ("name = \"a b\"\napi = 1", "letters"),
        ("name = \"a\"", "which api"),
        ("name = \"a\"\napi = 9", "another api"),
        ("name = \"a\"\napi = 1", "no file init.lua"),
        ("name = \"a\"\napi = 1\n[options]\nx = {}", "no default"),
        (
            "name = \"a\"\napi = 1\n[options]\nx = { type = \"number\", default = \"y\" }",
            "the default is not a number",
        ),
    ] {
        let folder = Folder::new("wrong", &[("plugin.toml", about)]);
        let wrong = PluginSource::read(&Files::default(), &folder.0).unwrap_err();
        assert!(wrong.contains(message), "{about}: {wrong}");
    }
}
