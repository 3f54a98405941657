//! The committed SPIR-V is what the committed sources give.

use std::path::Path;
use std::process::Command;

/// The compiler that made the committed files; others give other, equally right words.
const COMPILER: &str = "Glslang Version: 11:12.0.0";

#[test]
fn shaders_rebuilt_equal_committed() {
    match Command::new("glslangValidator").arg("--version").output() {
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains(COMPILER) => {}
        Ok(_) => return println!("SKIPPED: glslangValidator isn't {COMPILER}"),
        Err(error) => return println!("SKIPPED: glslangValidator: {error}"),
    }
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let out = std::env::temp_dir().join(format!("hesper-shaders-{}", std::process::id()));
    std::fs::create_dir(&out).unwrap();

    let status = Command::new(shaders.join("build.sh"))
        .arg(&out)
        .status()
        .unwrap();

    let mut compared = 0;
    let folders = [shaders.clone(), shaders.join("oracle"), shaders.join("bad")];
    let entries = folders.iter().flat_map(|f| std::fs::read_dir(f).unwrap());
    for entry in entries {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "spv") {
            let rebuilt = std::fs::read(out.join(path.strip_prefix(&shaders).unwrap()))
                .unwrap_or_else(|error| panic!("{} wasn't rebuilt: {error}", path.display()));
            let committed = std::fs::read(&path).unwrap();
            assert!(committed == rebuilt, "{} differs", path.display());
            compared += 1;
        }
    }
    std::fs::remove_dir_all(&out).unwrap();
    assert!(status.success());
    assert!(compared == 6 + 18 + 2);
}
