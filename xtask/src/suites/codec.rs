//! `codec`: the generated wire codec is what the generator makes of trixie's vk.xml.

use std::process::Command;

use super::{Context, Outcome, Suite};
use crate::cache;
use crate::debian::{self, Apt};
use crate::error::{FileContext, Result};
use crate::process;

/// The package with the Vulkan registry.
const REGISTRY_PACKAGE: &str = "libvulkan-dev";
const REGISTRY: &str = "usr/share/vulkan/registry/vk.xml";
const OUTPUT: &str = "src/venus/gen";

pub struct Codec;

impl Suite for Codec {
    fn name(&self) -> &'static str {
        "codec"
    }

    fn about(&self) -> &'static str {
        "the generated codec is up to date"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        context.case("generated_sources_match_registry", check);
        Ok(())
    }
}

fn check() -> Result<Outcome> {
    let repository = cache::repository();
    let generator = repository.join("codegen/src/main.rs");
    let text = std::fs::read_to_string(&generator).at("read", &generator)?;
    if text.trim() == "fn main() {}" {
        return Ok(Outcome::Skipped("the generator is not written yet".into()));
    }

    let apt = Apt::new(&cache::root()?)?;
    let unpacked = tempfile::tempdir().at("create a folder in", std::env::temp_dir())?;
    for deb in apt.download(&[REGISTRY_PACKAGE])? {
        debian::unpack(&deb, unpacked.path())?;
    }
    process::output(
        Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--package", "hesper-codegen", "--"])
            .arg("--xml")
            .arg(unpacked.path().join(REGISTRY))
            .args(["--out", OUTPUT, "--check"])
            .current_dir(repository),
    )?;
    Ok(Outcome::Passed)
}
