//! Profiles from files and options: inheritance, reported problems, and filters.

use std::fs;
use std::path::PathBuf;

use streamfmt_core::item::{Action, Item, Kind};
use streamfmt_core::profile::{Detail, Keep, LimitName};
use streamfmt_core::theme::Glyphs;

use super::*;
use crate::problem::{ChoiceNames, Problem, ProblemKind, Problems};
use crate::settings::document::{LARGEST, SettingsFile, SettingsLayer};
use crate::settings::{Request, tree};

/// Loads the profile with this name, or the file at this path.
fn load(name: &str) -> Result<Settings, Problems> {
    let resolved = Config::load(&Request::default()).resolve(&Named::given_by(name, "--profile"));
    resolved.problems.errors.or(Settings::of(&resolved.tree))
}

/// Parses a profile.
fn parse(source: &str) -> Result<Settings, Problems> {
    let document = SettingsFile::new("x.toml", None, SettingsLayer::Chosen, source.to_owned());
    let resolved = Config::default().resolve_text(document);
    resolved.problems.errors.or(Settings::of(&resolved.tree))
}

/// Loads a profile, with keys set as options do.
fn load_with(name: &str, assignments: &[&str]) -> Result<Settings, Problem> {
    let wanted = Named::given_by(name, "--profile");
    let mut tree = Config::load(&Request::default()).resolve(&wanted).tree;
    for assignment in assignments {
        tree.assign(&tree::read_assignment(assignment, ChoiceNames::Options)?);
    }
    Ok(Settings::of(&tree))
}

/// A folder of profile files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = tempfile::TempDir::with_prefix(format!("streamfmt-profile-{name}-")).unwrap().keep();
        fs::create_dir_all(&path).unwrap();
        for (file, text) in files {
            fs::write(path.join(file), text).unwrap();
        }
        Self(path)
    }

    fn load(&self, file: &str) -> Result<Settings, String> {
        let path = self.0.join(file);
        let folder = format!("{}/", self.0.display());
        load(&path.display().to_string()).map_err(|problems| problems.to_string().replace(&folder, ""))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn built_in_profiles_load_and_differ() {
    let all: Vec<Settings> = BUILT_IN.iter().map(|(name, _)| load(name).unwrap()).collect();
    for (index, settings) in all.iter().enumerate() {
        assert!(all[..index].iter().all(|other| other != settings), "{} is another", BUILT_IN[index].0);
    }
}

#[test]
fn a_profile_lies_over_the_default_unless_it_extends_none() {
    let default = load("default").unwrap();
    assert_eq!(default.profile.limits[LimitName::ErrorLines], Some(40));
    assert_eq!(default.profile.limits[LimitName::ResultBytes], Some(8192));
    assert_eq!(default.profile.limits.keep, Keep::HeadTail);
    let ci = load("ci").unwrap();
    assert_eq!(
        (ci.profile.detail, ci.writer.map(|writer| writer.name)),
        (Detail::Compact, Some("log".into()))
    );
    assert_eq!(ci.profile.limits[LimitName::ResultLines], Some(1000));
    assert_eq!(ci.profile.limits[LimitName::CallLines], default.profile.limits[LimitName::CallLines]);
    let full = load("full").unwrap();
    assert_eq!(full.profile.limits, streamfmt_core::profile::Limits::default());
}

#[test]
fn a_file_extends_by_name_and_by_path() {
    let folder = Folder::new(
        "extends",
        &[
            ("team.toml", "hide = ['thinking']\n[limits]\nresult-lines = 3\nerror-lines = 4\n"),
            ("mine.toml", "extends = ['plain', './team.toml']\nlimits.result-lines = 'none'\n"),
        ],
    );
    let mine = folder.load("mine.toml").unwrap();
    assert_eq!(mine.profile.limits[LimitName::ResultLines], None);
    assert_eq!(mine.profile.limits[LimitName::ErrorLines], Some(4));
    assert_eq!(mine.profile.limits[LimitName::DiffLines], Some(60));
    assert_eq!(mine.profile.layout.glyphs, Glyphs::Words);
    assert_eq!(mine.profile.filter.hide, [Selector::Kind(Kind::Thinking)]);
}

#[test]
fn all_problems_are_told_with_their_places_and_ways_out() {
    let text = "detial = \"full\"\nmarkdown = \"yes\"\nwriter = \"ansy\"\nresult-lines = 3\n\
                hide = [1]\n[limits]\nresult-lines = -1\nkeep = \"haed\"\nline = 1.5\n[layout]\nmargin = 400\n[colours]\nx = 1\n";
    let folder = Folder::new("problems", &[("bad.toml", text)]);
    let expected = "\
bad.toml:1:1: unknown key \"detial\" (did you mean \"detail\"?)
bad.toml:2:12: markdown must be true or false, not \"yes\"
bad.toml:4:1: unknown key \"result-lines\" (did you mean \"limits.result-lines\"?)
bad.toml:5:8: hide must be a list of names, not a list with other elements
bad.toml:7:16: limits.result-lines must be a number of lines, or \"none\", not -1
bad.toml:8:8: limits.keep can't be \"haed\" (did you mean \"head\"?)
bad.toml:9:8: limits.line must be a number of bytes (\"8KiB\"), or \"none\", not 1.5
bad.toml:11:10: layout.margin must be a number from 0 to 40, not 400
bad.toml:12:2: unknown key \"colours\" (one of: extends, writer, theme, plugins, detail, only, hide, show, filter, markdown, records, timestamps, limits, layout, live, redact, tool, plugin)
";
    let told = folder.load("bad.toml").unwrap_err() + "\n";
    assert_eq!(told, expected);
}

#[test]
fn syntax_errors_do_not_hide_the_other_problems() {
    let folder = Folder::new("syntax", &[("bad.toml", "markdown = \nwriter = \"ansi\"\nnope = 1\n")]);
    let told = folder.load("bad.toml").unwrap_err();
    assert!(told.contains("bad.toml:1:") && told.contains("bad.toml:3:1: unknown key \"nope\""), "{told}");
}

#[test]
fn circles_of_extends_are_told_with_the_chain() {
    let folder =
        Folder::new("circle", &[("a.toml", "extends = ['./b.toml']"), ("b.toml", "extends = ['./a.toml']")]);
    let told = folder.load("a.toml").unwrap_err();
    assert!(told.starts_with("./b.toml:1:12: profiles extend each other in a cycle: "), "{told}");
    assert!(told.matches(" → ").count() == 2, "{told}");
}

#[test]
fn a_missing_profile_is_told_with_the_nearest() {
    let told = |name| load(name).unwrap_err().to_string();
    assert_eq!(told("reveiw"), "--profile: unknown profile \"reveiw\" (did you mean \"review\"?)");
    assert!(told("./nowhere.toml").starts_with("--profile: can't read the profile \"./nowhere.toml\": "));
}

#[test]
fn a_file_that_is_too_large_or_no_text_is_refused() {
    let large = "#".repeat(300_000);
    let folder = Folder::new("large", &[("large.toml", &large)]);
    assert!(folder.load("large.toml").unwrap_err().contains("larger than 256 KiB"));
    fs::write(folder.0.join("bytes.toml"), b"\xff\xfe").unwrap();
    assert!(folder.load("bytes.toml").unwrap_err().contains("not UTF-8"));
}

#[test]
fn options_set_keys_by_the_same_table() {
    let assignments = [
        "limits.result-lines=40",
        "limits.error-lines=none",
        "hide=thinking,@edit",
        "markdown=false",
        "theme = \"x\"",
    ];
    let settings = load_with("default", &assignments).unwrap();
    assert_eq!(settings.profile.limits[LimitName::ResultLines], Some(40));
    assert_eq!(settings.profile.limits[LimitName::ErrorLines], None);
    assert_eq!(settings.profile.filter.hide.len(), 2);
    assert_eq!((settings.markdown, settings.theme.name.as_str()), (false, "x"));
    let told = |assignment| load_with("default", &[assignment]).unwrap_err().to_string();
    assert_eq!(
        told("limits.reslt-lines=4"),
        "--set limits.reslt-lines=4: unknown key \"limits.reslt-lines\" (did you mean \"limits.result-lines\"?)"
    );
    assert_eq!(
        told("detail=all"),
        "--set detail=all: detail can't be \"all\" (one of: compact, whole, full)"
    );
    assert!(told("detail").contains("expected KEY=VALUE"));
    for (assignment, expected) in [
        ("limits=1", "limits is a group of keys, such as limits.result-lines"),
        ("filter.kind=reply", "[[filter]] tables can only be set in a file"),
        ("tool.Bash=x", "expected tool.NAME.KEY=VALUE, such as tool.Bash.label=sh"),
    ] {
        assert_eq!(told(assignment), format!("--set {assignment}: {expected}"));
    }
}

#[test]
fn profiles_that_extend_each_other_many_times_over_are_given_up() {
    let many = |next: usize| format!("extends = [{}]", format!("\"{next}.toml\",").repeat(12));
    let files: Vec<(String, String)> = (0..7)
        .map(|number| (format!("{number}.toml"), many(number + 1)))
        .chain([("7.toml".into(), String::new())])
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let error = Folder::new("many", &files).load("0.toml").unwrap_err();
    assert_eq!(error.matches("more than 64 profiles in extends").count(), 1, "{error}");
}

#[test]
fn of_many_problems_the_first_are_told() {
    let keys: Vec<String> = (0..15_000).map(|number| format!("key-{number} = 1")).collect();
    let source = keys.join("\n");
    let folder = Folder::new("most", &[("mine.toml", &source)]);
    let error = folder.load("mine.toml").unwrap_err();
    assert_eq!(error.lines().count(), 21);
    assert_eq!(error.lines().next(), Some("mine.toml: there are more problems; 20 are reported"));
}

#[test]
fn each_condition_of_a_filter_counts() {
    type Holds = fn(&Item) -> bool;
    let item = |kind, tool: Option<&str>, action: Option<Action>, failed, inside: bool| {
        let mut item = Item::new("x", kind, 1);
        item.tool = tool.map(Into::into);
        (item.tool_kind, item.error) = (action.map(Into::into), failed);
        item.parent = inside.then(|| "parent".into());
        item
    };
    let mut items = Vec::new();
    for kind in [Kind::Call, Kind::Result, Kind::Reply] {
        for (tool, action) in
            [(Some("Read"), Some(Action::Read)), (Some("Bash"), Some(Action::Run)), (None, None)]
        {
            for failed in [false, true] {
                items.extend([false, true].map(|inside| item(kind, tool, action, failed, inside)));
            }
        }
    }
    let conditions: [&[(&str, Holds)]; 4] = [
        &[("", |_| true), ("kind = 'result'\n", |item| item.kind == Kind::Result)],
        &[
            ("", |_| true),
            ("tool = '@read'\n", |item| item.action() == Some(Action::Read)),
            ("tool = 'Ba*'\n", |item| item.tool.as_deref() == Some("Bash")),
        ],
        &[("", |_| true), ("failed = true\n", |item| item.error), ("failed = false\n", |item| !item.error)],
        &[
            ("", |_| true),
            ("inside = true\n", |item| item.parent.is_some()),
            ("inside = false\n", |item| item.parent.is_none()),
        ],
    ];
    let mut tried = 0;
    for kind in conditions[0] {
        for tool in conditions[1] {
            for failed in conditions[2] {
                for inside in conditions[3] {
                    let all = [kind, tool, failed, inside];
                    let text: String = all.iter().map(|(text, _)| *text).collect();
                    for action in ["hide", "only", "collapse"] {
                        let source = format!("[[filter]]\n{text}action = '{action}'\n");
                        let settings = parse(&source);
                        assert_eq!(settings.is_err(), text.is_empty(), "{source}");
                        let Ok(settings) = settings else { continue };
                        let filter = settings.profile.filter;
                        for item in &items {
                            let holds = all.iter().all(|(_, holds)| holds(item));
                            let expected = match action {
                                "hide" => (!holds, false),
                                "only" => (holds, false),
                                // A failure stays expanded unless the filter is about failures.
                                _ => (true, holds && (!item.error || failed.0.contains("true"))),
                            };
                            assert_eq!(
                                (filter.admits(item), filter.collapses(item)),
                                expected,
                                "{source}{item:?}"
                            );
                            tried += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(tried, (2 * 3 * 3 * 3 - 1) * 3 * items.len());
}

#[test]
fn what_detail_leaves_out_is_shown_to_who_asks_for_it() {
    let thinking = Selector::Kind(Kind::Thinking);
    for (source, shown) in [
        ("", vec![]),
        ("only = ['thinking', 'reply']", vec![thinking.clone()]),
        ("show = ['thinking']", vec![thinking.clone()]),
        ("hide = ['thinking']", vec![]),
        ("only = ['call']", vec![]),
        (
            "[[filter]]\nkind = 'thinking'\ninside = true\naction = 'only'",
            vec![Selector::All(vec![thinking, Selector::Inside])],
        ),
    ] {
        assert_eq!(parse(source).unwrap().profile.filter.shown(), shown, "{source}");
    }
}

#[test]
fn without_a_limit_of_lines_a_limit_of_bytes_below_goes_too() {
    for (source, bytes) in [
        ("", Some(8192)),
        ("limits.result-lines = 3", Some(8192)),
        ("limits.result-lines = 'none'", None),
        ("[limits]\nresult-lines = 'none'\nresult-bytes = '1KiB'", Some(1024)),
        ("[limits]\nresult-bytes = '1KiB'\nresult-lines = 'none'", Some(1024)),
        ("limits.error-lines = 'none'", Some(8192)),
    ] {
        let settings = parse(source).unwrap();
        assert_eq!(settings.profile.limits[LimitName::ResultBytes], bytes, "{source}");
        let source = format!("[tool.Bash]\n{}", source.replace("[limits]", "[tool.Bash.limits]"));
        let tools = parse(&source).unwrap().profile.tools;
        let mut own = tools.iter().flat_map(|tool| &tool.most);
        let own = own.find(|(limit, _)| *limit == LimitName::ResultBytes).map(|(_, most)| *most);
        let expected = if bytes == Some(8192) { None } else { Some(bytes) };
        assert_eq!(own, expected, "{source}");
    }
    for (assignments, bytes) in [
        (&["limits.result-lines=none"][..], None),
        (&["limits.result-lines=none", "limits.result-bytes=7"], Some(7)),
    ] {
        let settings = load_with("ci", assignments).unwrap();
        assert_eq!(settings.profile.limits[LimitName::ResultBytes], bytes);
    }
}

#[test]
fn what_is_over_a_limit_of_settings_is_reported_and_not_cut() {
    let names = |count: usize| (0..count).map(|number| format!("'T{number}', ")).collect::<Vec<_>>().concat();
    let tools = |count: usize| {
        (0..count).map(|number| format!("[tool.T{number}]\nlabel = 'x'\n")).collect::<Vec<_>>().concat()
    };
    let nested = |depth: usize| format!("plugin.x.y = {}{}\n", "[".repeat(depth), "]".repeat(depth));
    for (source, problem) in [
        ("#".repeat(LARGEST), None),
        ("#".repeat(LARGEST + 1), Some("larger than 256 KiB")),
        (format!("hide = [{}]", names(1_000)), None),
        (format!("hide = [{}]", names(1_001)), Some("a list has at most 1000 elements")),
        (tools(500), None),
        (tools(501), Some("there are more than 500 tables of tools and options of plugins")),
        (nested(5), None),
        (nested(13), Some("nested too deeply")),
    ] {
        let found = parse(&source).err().map(|problems| problems.to_string()).unwrap_or_default();
        assert_eq!(found.lines().next().is_some(), problem.is_some(), "{source:.60}: {found}");
        assert!(found.contains(problem.unwrap_or_default()), "{source:.60}: {found}");
    }
    let chain = |levels: usize| {
        let links = (1..levels).map(|level| format!("[profile.p{level}]\nextends = ['p{}']\n", level + 1));
        links.collect::<Vec<_>>().concat() + &format!("[profile.p{levels}]\ndetail = 'full'\n")
    };
    let wide = |count: usize| {
        let all = (2..=count).map(|number| format!("[profile.p{number}]\nhide = []\n"));
        let extended = (2..=count).map(|number| format!("'p{number}', ")).collect::<Vec<_>>().concat();
        all.collect::<Vec<_>>().concat() + &format!("[profile.p1]\nextends = [{extended}]\n")
    };
    for (source, problem) in [
        (chain(8), None),
        (chain(9), Some("more than 8 levels of extends: ")),
        (wide(63), None),
        (wide(64), Some("more than 64 profiles in extends")),
    ] {
        let found = Folder::new("limits", &[("x.toml", &source)]).load("x.toml#p1").err().unwrap_or_default();
        assert_eq!(found.is_empty(), problem.is_none(), "{source}: {found}");
        assert!(found.contains(problem.unwrap_or_default()), "{found}");
    }
    let mut problems = crate::settings::SettingsProblems::default();
    problems.add(
        SettingsLayer::User,
        (0..100).map(|number| Problem::of(ProblemKind::BadValue, "x", format!("{number}"))),
    );
    assert_eq!(problems.warnings.0.len(), 100);
    problems.add(
        SettingsLayer::User,
        (0..150).map(|number| Problem::of(ProblemKind::BadValue, "x", format!("{number}"))),
    );
    assert_eq!(problems.warnings.0.len(), 101);
    assert_eq!(problems.warnings.0[100].to_string(), "settings: there are more problems");
}

#[test]
fn of_many_problems_in_a_file_the_first_twenty_are_reported_and_the_rest_is_stated() {
    let numbered = |of: &dyn Fn(usize) -> String, count| (0..count).map(of).collect::<Vec<_>>().concat();
    let sources: [(&str, &dyn Fn(usize) -> String); 9] = [
        ("unknown keys", &|number| format!("zzz{number} = 1\n")),
        ("wrong values", &|number| format!("[tool.T{number}]\nlabel = 1\n")),
        ("unknown keys of tools", &|number| format!("[tool.T{number}]\nzzz = 1\n")),
        ("wrong tables", &|number| format!("tool.T{number} = 1\n")),
        ("invalid names of profiles", &|number| format!("[profile.'a/{number}']\n")),
        ("broken lines", &|number| format!("x{number} = \n")),
        ("deep values", &|number| format!("plugin.p.x{number} = {}{}\n", "[".repeat(13), "]".repeat(13))),
        ("filters", &|_| "[[filter]]\nkind = 'thinking'\n".to_owned()),
        ("unknown keys of filters", &|_| {
            "[[filter]]\nzzz = 1\nkind = 'thinking'\naction = 'hide'\n".to_owned()
        }),
    ];
    for (what, of) in sources {
        for (count, stated) in [(20, 0), (21, 1), (40, 1)] {
            let found = parse(&numbered(of, count)).unwrap_err().0;
            let more = "there are more problems; 20 are reported";
            let is_stated = |problem: &&Problem| problem.message == more;
            assert_eq!(found.iter().filter(is_stated).count(), stated, "{count} {what}: {found:?}");
            assert_eq!(found.len(), 20 + stated, "{count} {what}: {found:?}");
        }
    }
}

#[test]
fn no_line_is_longer_than_a_record_may_be() {
    for (value, bytes) in [("1GiB", 1 << 30), ("2GiB", 1 << 30), ("none", 1 << 30), ("5", 5)] {
        let settings = load_with("default", &[&format!("limits.line={value}")]).unwrap();
        assert_eq!(settings.max_line, bytes, "{value}");
    }
}
