//! `streamfmt_plugin.h` and the tables in Rust agree in C and in C++: in every size, offset and constant.

#![cfg(unix)]
use std::fmt::Write;
use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use streamfmt_plugin::table::{self, SfHost, SfPlugin, SfStr};

/// The size of a struct, and the offsets of its fields.
macro_rules! layout {
    ($c:literal, $rust:ty: $($field:ident),+) => {
        (
            concat!("sizeof(", $c, ")"),
            size_of::<$rust>(),
            vec![$((concat!("offsetof(", $c, ", ", stringify!($field), ")"), offset_of!($rust, $field))),+],
        )
    };
}

/// Each expression in C, with its value in Rust.
fn expected() -> Vec<(String, i128)> {
    let layouts = [
        layout!("sf_str", SfStr: ptr, len),
        layout!("sf_host", SfHost: size, minor, has, log, item_json, item_str, item_num, item_call, item_default, sink_default,
            sink_clear, sink_span, sink_code, sink_blocks, sink_view),
        layout!("sf_plugin", SfPlugin: size, minor, name, version, formats, create, destroy, format, session, observes, observe),
    ];
    let mut all = Vec::new();
    for (size_name, size, fields) in layouts {
        all.push((size_name.to_owned(), size as i128));
        all.extend(fields.into_iter().map(|(name, at)| (name.to_owned(), at as i128)));
    }
    let codes = [
        ("SF_OK", table::OK),
        ("SF_ABSENT", table::ABSENT),
        ("SF_INVALID", table::INVALID),
        ("SF_LIMIT", table::LIMIT),
        ("SF_SHOW", table::SHOW),
        ("SF_PASS", table::PASS),
        ("SF_HIDE", table::HIDE),
        ("SF_FAILED", table::FAILED),
        ("SF_BEGIN", table::BEGIN),
        ("SF_END", table::END),
        ("SF_TITLE", table::TITLE),
        ("SF_BODY", table::BODY),
        ("SF_LOG_INFO", table::LOG_INFO),
        ("SF_LOG_ERROR", table::LOG_ERROR),
    ];
    all.extend(codes.map(|(name, code)| (name.to_owned(), i128::from(code))));
    all.push(("SF_MINOR".to_owned(), i128::from(table::MINOR)));
    all
}

#[test]
fn the_header_is_what_the_tables_are_in_c_and_cpp() {
    let expected = expected();
    let header =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/streamfmt_plugin.h")).unwrap();
    assert!(header.contains(&format!("streamfmt_plugin_v{}(", table::MAJOR)));
    // A field that only the header has would follow the last one and change the size; a code would be missing here.
    let is_code = |line: &&str| line.starts_with("#define SF_") && line.split_whitespace().count() > 2;
    let is_other = |line: &&str| !line.contains("SF_EXPORT") && !line.contains("SF_STR(");
    let codes = header.lines().filter(is_code).filter(is_other).count();
    assert_eq!(codes, expected.iter().filter(|(name, _)| name.starts_with("SF_")).count());

    let mut source = String::from(
        "#include \"streamfmt_plugin.h\"\n#include <stdio.h>\nstatic const sf_str name = SF_STR(\"name\");\nint main(void) {\n  \
         if (!sf_is(name, \"name\") || sf_is(sf_text(\"\"), \"x\") || !sf_is(sf_text(\"\"), \"\")) return 1;\n",
    );
    for (expression, _) in &expected {
        writeln!(source, "  printf(\"%lld\\n\", (long long)({expression}));").unwrap();
    }
    source.push_str("  return 0;\n}\n");
    let folder = tempfile::tempdir().unwrap();
    for (compiler, file, standard) in [
        ("cc", "a.c", "-std=c99"),
        ("cc", "b.c", "-std=c11"),
        ("c++", "c.cc", "-std=c++11"),
        ("c++", "d.cc", "-std=c++20"),
    ] {
        let (file, program) = (folder.path().join(file), folder.path().join("program"));
        fs::write(&file, &source).unwrap();
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include")).arg(&file).arg("-o").arg(&program);
        let compiled = command.output().unwrap();
        assert!(compiled.status.success(), "{standard}: {}", String::from_utf8_lossy(&compiled.stderr));
        let run = Command::new(&program).output().unwrap();
        assert!(run.status.success(), "texts are compared");
        let told = String::from_utf8(run.stdout).unwrap();
        let numbers: Vec<i128> = told.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(numbers.len(), expected.len());
        for ((expression, number), told) in expected.iter().zip(numbers) {
            assert_eq!(told, *number, "{expression} with {standard}");
        }
    }
}
