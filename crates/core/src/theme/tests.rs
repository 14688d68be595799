//! Reading themes, reporting their problems, and whether the built-in ones are complete and readable.

use super::color::Lab;
use super::*;

/// Reads a theme that can extend a few others. Returns it with its problems as messages.
fn read_on(background: Appearance, text: &str) -> (Theme, Vec<String>) {
    let lookup: Lookup<'_> = &|name, _| match name {
        "loop" => Ok(ThemeSource::new("loop", "extends = \"mine\"")),
        "base" => Ok(ThemeSource::new(
            "base",
            "[palette]\nmain = \"#010203\"\n[roles]\ntool = \"main\"\nmuted = \"dim\"\n[syntax]\nkeyword = \"main\"",
        )),
        "mine" => Ok(ThemeSource::new("mine", "")),
        "long" => Ok(ThemeSource::new("long", "extends = \"long-1\"")),
        _ => match name.strip_prefix("long-").and_then(|number| number.parse::<u32>().ok()) {
            Some(number) => Ok(ThemeSource::new(name, format!("extends = \"long-{}\"", number + 1))),
            None => Theme::find_builtin(name),
        },
    };
    let (theme, problems) = Theme::parse(&ThemeSource::new("mine", text), &mut || background, lookup);
    (theme, problems.iter().map(ToString::to_string).collect())
}

fn read(text: &str) -> (Theme, Vec<String>) {
    read_on(Appearance::Dark, text)
}

fn fg(theme: &Theme, role: &'static str) -> Option<Color> {
    theme.style(role).fg
}

#[test]
fn roles_fall_back_to_their_parents_and_then_to_text() {
    let (theme, problems) = read(
        "extends = \"none\"\n[roles]\ntool = \"bold\"\ntext = \"red\"\n\"tool.name\" = { fg = 200, italic = true }",
    );
    assert_eq!(problems, [""; 0]);
    assert!(theme.style("tool.path.base").bold);
    assert_eq!(fg(&theme, "tool.name"), Some(Color::Index(200)));
    assert_eq!(fg(&theme, "other"), Some(Color::Index(1)));
}

#[test]
fn dotted_names_need_no_quotes() {
    let source = "[roles]\ntool.name = \"bold\"\n[roles.diff]\nadd.word = \"on #102030\"\nadd.bg = \"red\"";
    let (theme, problems) = read(source);
    assert_eq!(problems, [""; 0]);
    assert_eq!(theme.style("diff.add").bg, Some(Color::Index(1)));
    assert!(theme.style("tool.name").bold);
    assert!(!theme.style("tool").bold);
    assert_eq!(theme.style("diff.add.word").bg, Some(Color::Rgb(0x10, 0x20, 0x30)));
}

#[test]
fn a_theme_with_only_a_palette_is_complete() {
    let (theme, problems) = read("[palette]\ncyan = \"#010203\"\nadd-ground = \"#040506\"\n");
    assert_eq!(problems, [""; 0]);
    assert_eq!(fg(&theme, "call.arg"), Some(Color::Rgb(1, 2, 3)));
    assert_eq!(theme.style("diff.add").bg, Some(Color::Rgb(4, 5, 6)));
}

#[test]
fn a_reference_to_a_role_follows_it() {
    let (theme, problems) = read(
        "[roles]\nmuted = \"italic #010203\"\nmine = \"@muted bold default\"\nnest = { like = \"mine\", italic = false }\n",
    );
    assert_eq!(problems, [""; 0]);
    assert_eq!(fg(&theme, "result.text"), Some(Color::Rgb(1, 2, 3)), "the base says that it is like muted");
    assert_eq!(theme.style("mine"), Style { bold: true, italic: true, ..Style::default() });
    assert_eq!(theme.style("nest"), Style { bold: true, ..Style::default() });
    assert_eq!(
        read("[roles]\na = \"@b\"\nb = \"@a\"\nok = \"@gone\"\n").1,
        [
            "mine:2:5: \"a\" is like itself",
            "mine:3:5: \"b\" is like itself",
            "mine:4:6: unknown role \"gone\" (a role of your own goes below a known one, as in \"tool.name.mine\")"
        ]
    );
}

#[test]
fn variants_are_chosen_by_the_background() {
    let source = "[palette]\nred = \"#010101\"\n[dark.palette]\nred = \"#020202\"\n[light.palette]\nred = \"#030303\"\n[light.roles]\ntool = \"italic\"\n";
    for (background, red, italic) in
        [(Appearance::Dark, Color::Rgb(2, 2, 2), false), (Appearance::Light, Color::Rgb(3, 3, 3), true)]
    {
        let (theme, problems) = read_on(background, source);
        assert_eq!(problems, [""; 0]);
        assert!(theme.follows_background());
        assert_eq!((fg(&theme, "error"), theme.style("tool").italic), (Some(red), italic));
    }
    let (theme, _) = read_on(Appearance::Dark, "extends = \"auto\"\nappearance = \"light\"");
    assert_eq!(
        theme,
        Theme { name: "mine".to_owned(), about: None, ..Theme::builtin("light", Appearance::Dark).unwrap() }
    );
    assert!(!theme.follows_background());
}

#[test]
fn the_background_is_queried_only_if_it_matters() {
    for (name, is_asked) in
        [("auto", true), ("dark", false), ("ansi", false), ("mono", false), ("paper", false)]
    {
        let mut asked = false;
        let mut ask = || {
            asked = true;
            Appearance::Dark
        };
        let source = Theme::find_builtin(name).unwrap();
        Theme::parse(&source, &mut ask, &|name, _| Theme::find_builtin(name));
        assert_eq!(asked, is_asked, "{name}");
    }
}

#[test]
fn a_bad_line_is_reported_and_the_rest_applies() {
    let source = "[roles]\ntool = \"bold blurple\"\ncall = \"blink\"\nok = { fg = \"#12\" }\nreply = \"italic\"\nerror = \"bald\"\n[glyphs]\nnope = \"x\"\ncall = \"a\\u001bb\"\noutcome-okay = \"x\"\n[glyphs.ascii]\ncall = \"é\"\n[palete]\n[dark]\nextends = \"x\"\n";
    let (theme, problems) = read(source);
    assert_eq!(
        problems,
        [
            "mine:2:8: unknown colour \"blurple\" (a name from [palette], an ANSI name or #rrggbb)",
            "mine:3:8: unknown colour \"blink\" (a name from [palette], an ANSI name or #rrggbb)",
            "mine:4:13: unknown colour \"#12\" (a name from [palette], an ANSI name or #rrggbb)",
            "mine:6:9: unknown colour \"bald\" (did you mean \"bold\"?)",
            "mine:8:1: unknown glyph \"nope\" (one of: call, result, output, inside, ok, error, warning, notice, prompt, reply, thinking, plan, session, outcome-ok, outcome-error, totals, nest, elided, command, arrow, image, quote, diff-add, diff-remove, diff-keep, diff-hunk, plain, open, active, done, failed, row, column, cross)",
            "mine:9:8: a glyph is one to eight visible characters",
            "mine:10:1: unknown glyph \"outcome-okay\" (did you mean \"outcome-ok\"?)",
            "mine:12:8: a glyph of this set is of ASCII characters",
            "mine:13:2: unknown key \"palete\" (did you mean \"palette\"?)",
            "mine:15:1: unknown key \"extends\" (one of: background, palette, roles, syntax)",
        ]
    );
    assert!(theme.style("reply").italic);
    assert!(theme.style("tool").bold, "the part that can be read holds");
}

#[test]
fn misspelled_roles_and_keys_are_reported_with_their_position() {
    let source = "[roles]\nreplyy = \"red\"\n\"tool.nam\" = \"red\"\nreply = { fgg = \"red\", colour = \"red\" }\nok = \"@mutd\"\n\
                  \"tool.name.mine\" = \"red\"\ntool.mine = { fg = \"red\" }\n[roles.diff]\nad = \"red\"\n[roles.notice]\nerorr = \"red\"\n\
                  [syntax]\nkeywrd = \"red\"\n[dark.roles.session]\nfolderr = { bold = true }\n";
    let (theme, problems) = read(source);
    assert_eq!(
        problems,
        [
            "mine:2:1: unknown role \"replyy\" (did you mean \"reply\"?)",
            "mine:3:1: unknown role \"tool.nam\" (did you mean \"tool.name\"?)",
            "mine:4:11: unknown key \"fgg\" (did you mean \"fg\"?)",
            "mine:4:24: unknown key \"colour\" (one of: fg, bg, like, bold, dim, italic, underline, reverse)",
            "mine:5:6: unknown role \"mutd\" (did you mean \"muted\"?)",
            "mine:9:1: unknown role \"diff.ad\" (did you mean \"diff.add\"?)",
            "mine:11:1: unknown role \"notice.erorr\" (did you mean \"notice.error\"?)",
            "mine:13:1: unknown role \"syntax.keywrd\" (did you mean \"syntax.keyword\"?)",
            "mine:15:1: unknown role \"session.folderr\" (did you mean \"session.folder\"?)",
        ]
    );
    assert_eq!(theme.style("tool.name.mine").fg, Color::parse("red"));
}

#[test]
fn a_syntax_error_has_a_position_and_affects_one_line() {
    let (theme, problems) = read("[roles]\ntool = bold\nreply = \"italic\"\n");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("mine:2:8: "), "{problems:?}");
    assert!(theme.style("reply").italic);
}

#[test]
fn a_theme_changes_the_palette_of_the_one_it_extends() {
    let (theme, problems) =
        read("extends = \"base\"\n[palette]\nmain = \"#ffffff\"\n[roles]\nmuted = \"bold\"");
    assert_eq!(problems, [""; 0]);
    assert_eq!(fg(&theme, "tool"), Some(Color::Rgb(255, 255, 255)));
    assert!(theme.style("muted").bold && !theme.style("muted").dim);
}

#[test]
fn styles_for_code_come_from_a_table_or_from_another_theme() {
    let words = |source| {
        let (theme, problems) = read(source);
        assert_eq!(problems, [""; 0]);
        (fg(&theme, "syntax.keyword"), fg(&theme, "syntax.string"), fg(&theme, "tool"))
    };
    let (main, red) = (Some(Color::Rgb(1, 2, 3)), Some(Color::Index(1)));
    assert_eq!(words("syntax = \"base\"\n[palette]\nmain = \"red\"").0, main, "with the palette of its own");
    assert_eq!(words("syntax = \"base\"").2, None, "nothing but the words of code");
    assert_eq!(words("[syntax]\nkeyword = \"red\"").0, red);
    assert_eq!(words("[syntax]\nextends = \"base\"\nstring = \"red\""), (main, red, None));
    assert_eq!(
        read("syntax = \"drak\"").1,
        ["mine:1:10: no theme is called \"drak\" (did you mean \"dark\"?)"]
    );
}

#[test]
fn glyphs_are_changed_set_by_set() {
    let (theme, problems) =
        read("[glyphs]\ncall = \"»\"\n[glyphs.ascii]\ncall = \"=>\"\n[glyphs.nerd]\nok = \"\u{f012}\"");
    assert_eq!(problems, [""; 0]);
    let glyphs = Glyphs::ALL.map(|set| (theme.glyph(set, "call"), theme.glyph(set, "ok")));
    assert_eq!(glyphs, [(Some("»"), None), (Some("=>"), None), (None, None), (None, Some("\u{f012}"))]);
}

#[test]
fn cycles_depth_and_missing_bases_are_reported() {
    assert_eq!(read("extends = \"loop\"").1, ["loop:1:11: a theme can't extend itself: mine > loop > mine"]);
    assert_eq!(
        read("extends = \"long\"").1,
        [
            "long-6:1:11: more than 8 themes extend one another: mine > long > long-1 > long-2 > long-3 > long-4 > long-5 > long-6 > long-7"
        ]
    );
    let (theme, problems) = read("extends = \"gone\"");
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("mine:1:11: no theme is called \"gone\" (one of: auto, dark"),
        "{problems:?}"
    );
    assert_eq!(fg(&theme, "error"), Some(Color::Index(1)), "it lies over the base all the same");
}

#[test]
fn text_on_a_background_that_cant_be_shown_is_underlined() {
    let theme = Theme::builtin("dark", Appearance::Dark).unwrap();
    let at = |depth| theme.clone().at(depth);
    for depth in [ColorDepth::Ansi16, ColorDepth::None] {
        let theme = at(depth);
        assert!(theme.style("diff.add.word").underline && !theme.style("diff.add").underline);
        assert_eq!(theme.style("diff.add").bg, None);
    }
    assert_eq!(fg(&at(ColorDepth::Ansi16), "diff.add.word"), Some(Color::Index(2)), "it is still green");
    assert!(!at(ColorDepth::TrueColor).style("diff.add.word").underline);
    let theme = at(ColorDepth::Ansi256);
    let [add, remove] = ["diff.add.word", "diff.remove.word"].map(|role| theme.style(role).bg);
    assert_eq!((add, remove), (Some(Color::Index(22)), Some(Color::Index(52))), "tints don't become grey");
    let [add, remove] = ["diff.add", "diff.remove"].map(|role| theme.style(role));
    assert_eq!((add.bg, remove.bg), (None, None), "subtle tints don't become loud");
    assert_eq!((add.fg, remove.fg), (Some(Color::Index(151)), Some(Color::Index(217))));
}

#[test]
fn greys_are_dim_among_sixteen_colours() {
    for on in Appearance::ALL {
        for name in ["ember", "catppuccin", "gruvbox", "dracula", "auto"] {
            let theme = Theme::builtin(name, on).unwrap().at(ColorDepth::Ansi16);
            let dim = Style { dim: true, ..Style::default() };
            assert_eq!([theme.style("result.text"), theme.style("nest")], [dim; 2], "{name} {on:?}");
            assert_eq!(theme.style("text"), Style::default(), "{name} {on:?}");
            assert_eq!(
                theme.style("result.error").fg,
                Theme::builtin(name, on).unwrap().style("result.error").at(ColorDepth::Ansi16).fg
            );
        }
    }
}

// --- Built-in themes

/// Each built-in theme on each background for which it is meant.
fn builtins() -> impl Iterator<Item = (String, Theme)> {
    Theme::builtin_names().flat_map(|name| {
        Appearance::ALL.into_iter().filter_map(move |on| {
            let theme = Theme::builtin(name, on)?;
            let fits = theme.appearance().is_none_or(|appearance| appearance == on);
            fits.then(|| (format!("{name}:{}", on.name()), theme))
        })
    })
}

#[test]
fn built_in_themes_are_without_problems() {
    for (name, _) in BUILTIN {
        let source = Theme::find_builtin(name).unwrap();
        for on in Appearance::ALL {
            let (theme, problems) = Theme::parse(&source, &mut || on, &|name, _| Theme::find_builtin(name));
            assert_eq!(problems, []);
            assert!(!theme.roles().is_empty());
            assert!(name.starts_with('@') || theme.about().is_some(), "{name} says what it is");
        }
    }
    let mono = Theme::builtin("mono", Appearance::Dark).unwrap();
    assert!(mono.roles().iter().all(|(_, style)| style.fg.is_none() && style.bg.is_none()));
    let ansi = Theme::builtin("ansi", Appearance::Dark).unwrap();
    let of_sixteen = |color: Option<Color>| color.is_none_or(|color| matches!(color, Color::Index(0..=15)));
    assert!(ansi.roles().iter().all(|(_, style)| of_sixteen(style.fg) && of_sixteen(style.bg)));
}

#[test]
fn built_in_themes_can_be_read_on_their_background() {
    for (name, theme) in builtins() {
        assert_eq!(theme.hard_to_read(), [], "{name}");
        let Some(own) = theme.background() else { continue };
        let is_light = own.appearance() == Some(Appearance::Light);
        assert_eq!(is_light, name.ends_with(":light"), "{name}");
        for (role, style) in theme.roles().into_iter().filter(|_| name.starts_with("contrast")) {
            let Some(fg) = style.fg else { continue };
            let contrast = fg.contrast(style.bg.unwrap_or(own)).unwrap();
            assert!(contrast >= 7.0, "{name} {role}: {contrast:.2}");
        }
    }
}

#[test]
fn themes_that_are_chosen_for_reading_have_no_role_that_is_fainter_than_text() {
    let strict = ["auto", "dark", "light", "contrast"];
    for (name, theme) in builtins() {
        let Some(own) = theme.background() else { continue };
        let fainter: Vec<_> = theme
            .roles()
            .into_iter()
            .filter(|(_, style)| {
                let contrast = style.fg.and_then(|fg| fg.contrast(style.bg.unwrap_or(own)));
                contrast.is_some_and(|contrast| contrast < 4.5)
            })
            .map(|(role, _)| role)
            .collect();
        if strict.iter().any(|strict| name.starts_with(&format!("{strict}:"))) {
            assert_eq!(fainter, [""; 0], "{name}");
        }
        // The others keep the muted colours of their well-known palettes: only for these roles, and with a contrast of at least 3.
        assert!(fainter.iter().all(|role| SHAPES.contains(role)), "{name}: {fainter:?}");
    }
}

#[test]
fn roles_that_are_hard_to_read_are_found() {
    let dim = "background = \"#000000\"\n[palette]\nblock-ground = \"#444444\"\n[roles]\npath = \"#606060\"\nfaint = \"#606060\"\n[syntax]\nstring = \"#808080\"";
    let (theme, problems) = read(dim);
    assert_eq!(problems, [""; 0]);
    let found: Vec<_> = theme
        .hard_to_read()
        .iter()
        .map(|it| format!("{} {:.1} of {}", it.role, it.contrast, it.least))
        .collect();
    assert_eq!(found, ["call.arg 3.3 of 4.5", "path 3.3 of 4.5", "syntax.string 2.5 of 4.5"]);
}

#[test]
fn good_and_bad_look_different_to_every_eye() {
    // Red, green and blue light as seen without the cones for green or for red (Machado, Oliveira and
    // Fernandes 2009, full severity).
    let without_green = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]];
    let without_red = [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]];
    for (name, theme) in builtins().filter(|(name, _)| name.starts_with("colorblind")) {
        for eye in [without_green, without_red] {
            let seen = |color: Option<Color>| Lab::seen_through(&eye, color.unwrap().rgb().unwrap());
            let far = |one: &'static str, other: &'static str| {
                let (one, other) = (theme.style(one), theme.style(other));
                let ground = one.bg.map(|bg| seen(Some(bg)).distance(seen(other.bg)).sqrt());
                (seen(one.fg).distance(seen(other.fg)).sqrt(), ground)
            };
            for (good, bad) in [
                ("ok", "error"),
                ("diff.add", "diff.remove"),
                ("diff.add.word", "diff.remove.word"),
                ("change.add", "change.remove"),
                ("mark.done", "mark.failed"),
                ("mark.ok", "mark.error"),
            ] {
                let (text, ground) = far(good, bad);
                // A background is compared as well.
                let least = if ground.is_some() { 0.04 } else { 0.15 };
                assert!(text >= least, "{name} {good}, {bad}: {text:.3}");
                assert!(ground.is_none_or(|far| far >= 0.09), "{name} {good}, {bad}: ground {ground:?}");
            }
        }
    }
}

#[test]
fn the_list_for_users_has_every_role_of_the_built_in_themes() {
    let page = include_str!("../../../../docs/roles.md");
    for (name, theme) in builtins() {
        for (role, _) in theme.roles() {
            assert!(page.contains(&format!("`{role}`")), "{name} {role}");
        }
    }
}

#[test]
fn the_list_for_users_has_every_theme() {
    let page = include_str!("../../../../docs/themes.md");
    for name in Theme::builtin_names() {
        let theme = Theme::builtin(name, Appearance::Dark).unwrap();
        let grounds = match theme.appearance() {
            Some(appearance) => appearance.name(),
            None if theme.follows_background() => "dark and light",
            None => "any",
        };
        let row = format!("| `{name}` | {} | {grounds} |", theme.about().unwrap_or_default());
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn styles_begin_with_one_sequence() {
    let style =
        Style { bold: true, fg: Some(Color::Index(9)), bg: Some(Color::Rgb(1, 2, 3)), ..Style::default() };
    let mut out = String::new();
    style.begin(&mut out);
    Style::default().begin(&mut out);
    assert_eq!(out, "\x1b[1;91;48;2;1;2;3m");
}
