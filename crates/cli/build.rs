//! Links the C++ library that Lua needs into the program: one thing less that must be on a user's machine, and that is loaded at
//! every start.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The library, to be linked into a program.
const ARCHIVE: &str = "libstdc++.a";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
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
    let told = compiler.to_command().arg(format!("-print-file-name={ARCHIVE}")).output().ok()?;
    let path = Path::new(str::from_utf8(&told.stdout).ok()?.trim());
    path.is_absolute().then(|| path.to_owned())
}
