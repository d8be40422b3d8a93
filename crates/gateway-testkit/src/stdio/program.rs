//! Where the fake's program is, built if need be.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::SystemTime,
};

/// The argv that runs the fake with these switches.
///
/// # Panics
/// As [`fake_mcp`].
pub fn command<S: AsRef<str>>(switches: impl IntoIterator<Item = S>) -> Vec<String> {
    let program = fake_mcp().to_string_lossy().into_owned();
    std::iter::once(program).chain(switches.into_iter().map(|s| s.as_ref().to_owned())).collect()
}

/// The program `fake-mcp`.
///
/// `cargo test -p X` builds no programs of X's dev-dependencies, so the first call in a process looks for the
/// program beside the running test (`target/PROFILE/fake-mcp`) and, unless it is newer than its sources, has
/// cargo build it into the same target folder. For a program in that folder, whatever stands beside it will
/// do. Processes that do so at once wait for each other on cargo's lock. Later calls cost nothing.
///
/// # Panics
/// If cargo cannot build it; its messages are in the panic's text.
pub fn fake_mcp() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| locate().unwrap_or_else(|why| panic!("no fake-mcp: {why}"))).clone()
}

fn locate() -> Result<PathBuf, String> {
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let profile = profile_dir(&exe).ok_or_else(|| format!("{} is in no target folder", exe.display()))?;
    let program = profile.join(format!("fake-mcp{}", std::env::consts::EXE_SUFFIX));
    // A program, unlike a test, is built together with the fake beside it, and may have been moved since.
    let is_program = exe.parent() == Some(profile);
    if is_program && program.is_file() {
        return Ok(program);
    }
    if !is_fresh(&program) {
        build(profile)?;
    }
    if program.is_file() { Ok(program) } else { Err(format!("cargo did not leave {}", program.display())) }
}

/// `target/debug` of `target/debug/deps/x-1234`, `target/debug/examples/x` or `target/debug/x`.
fn profile_dir(exe: &Path) -> Option<&Path> {
    let folder = exe.parent()?;
    match folder.file_name()?.to_str()? {
        "deps" | "examples" => folder.parent(),
        _ => Some(folder),
    }
}

fn is_fresh(program: &Path) -> bool {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let newest = newest(&manifest.join("src")).max(changed(&manifest.join("Cargo.toml")));
    changed(program).is_some_and(|built| newest.is_some_and(|source| built > source))
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter_map(|path| if path.is_dir() { newest(&path) } else { changed(&path) }).max()
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn build(profile: &Path) -> Result<(), String> {
    let name = profile.file_name().and_then(|n| n.to_str()).unwrap_or("debug");
    let target = profile.parent().ok_or("the target folder has no parent")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--quiet", "--package", "gateway-testkit", "--bin", "fake-mcp"])
        .args(["--profile", if name == "debug" { "dev" } else { name }])
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .output()
        .map_err(|e| format!("cargo does not run: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
