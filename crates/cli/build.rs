//! Puts into the program from which commit and for which target it is built, and links the C++ library that Lua needs into it: one thing less
//! that must be on a user's machine, and that is loaded at every start.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The library, to be linked into a program.
const ARCHIVE: &str = "libstdc++.a";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let target = env::var("TARGET").unwrap_or_default();
    let version = [
        Some(env!("CARGO_PKG_VERSION").to_owned()),
        commit().map(|commit| format!("({commit})")),
        Some(target),
    ];
    println!(
        "cargo:rustc-env=STREAMFMT_VERSION={}",
        version.into_iter().flatten().collect::<Vec<_>>().join(" ")
    );
    // Elsewhere it is a part of the system, or another one.
    let is_gnu = ["OS", "ENV"].map(|what| env::var(format!("CARGO_CFG_TARGET_{what}")))
        == ["linux", "gnu"].map(|name| Ok(name.to_owned()));
    let Some(archive) = is_gnu.then(archive).flatten() else { return Ok(()) };
    // A linker takes the shared library if both are in one folder, so this gets a folder of its own, which is searched first.
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::copy(archive, folder.join(ARCHIVE))?;
    println!("cargo:rustc-link-search=native={}", folder.display());
    Ok(())
}

/// Where the compiler has the archive, if it has it: what it doesn't have it names without a folder.
fn archive() -> Option<PathBuf> {
    let compiler = cc::Build::new().cpp(true).cargo_metadata(false).try_get_compiler().ok()?;
    let printed = compiler.to_command().arg(format!("-print-file-name={ARCHIVE}")).output().ok()?;
    let path = Path::new(str::from_utf8(&printed.stdout).ok()?.trim());
    path.is_absolute().then(|| path.to_owned())
}

/// The beginning of the commit's hash. A published crate carries it in a file; a debug build has none, or each commit would build it anew.
fn commit() -> Option<String> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let published = manifest.join(".cargo_vcs_info.json");
    let hash = if let Ok(info) = fs::read_to_string(&published) {
        info.split('"')
            .find(|part| part.len() == 40 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))?
            .to_owned()
    } else {
        if env::var("PROFILE").ok()? == "debug" {
            return None;
        }
        let git = |arguments: &[&str]| {
            let output = Command::new("git").arg("-C").arg(&manifest).args(arguments).output().ok()?;
            output.status.success().then(|| String::from_utf8(output.stdout).ok()).flatten()
        };
        // Every commit and checkout adds a line to this file.
        let log = manifest.join(git(&["rev-parse", "--git-path", "logs/HEAD"])?.trim());
        println!("cargo:rerun-if-changed={}", log.display());
        git(&["rev-parse", "HEAD"])?
    };
    Some(hash.trim().get(..9)?.to_owned())
}
