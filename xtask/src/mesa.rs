//! Stock Mesa of two ages as client: the host's, and the one of trixie's backports in a root folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{self, Lock};
use crate::error::{FileContext, Result};
use crate::python;
use crate::root::{Recipe, Root};
use crate::vtest::Server;

const RECIPE: Recipe = Recipe {
    name: "mesa",
    suites: &["trixie", "trixie-backports"],
    packages: &[PACKAGE, "libvulkan1", "vulkan-tools", "python3"],
};
/// The package whose version matters.
const PACKAGE: &str = "mesa-vulkan-drivers";
/// The root folder's Python, for pip.
const PYTHON: &str = "3.13";

/// A Mesa to run clients with.
#[derive(Debug)]
pub struct Mesa {
    /// None for the host's own.
    other: Option<Other>,
}

#[derive(Debug)]
struct Other {
    root: Root,
    version: String,
    /// Names the root folder's Venus driver to the Vulkan loader.
    driver: PathBuf,
}

impl Mesa {
    /// The host's.
    pub fn host() -> Mesa {
        Mesa { other: None }
    }

    /// That of trixie's backports, fetched once.
    pub fn backports() -> Result<Mesa> {
        let root = RECIPE.build(false)?;
        let version = root.version(PACKAGE)?;
        // By the name alone that Debian's file has, this machine's could be found.
        let text = serde_json::json!({
            "file_format_version": "1.0.0",
            "ICD": {
                "library_path": root.libraries().join("libvulkan_virtio.so"),
                "api_version": "1.3.0",
            },
        });
        let driver = root.path("venus.json");
        let _lock = Lock::take(&cache::root()?, "root-mesa")?;
        std::fs::write(&driver, format!("{text}\n")).at("write", &driver)?;
        Ok(Mesa {
            other: Some(Other {
                root,
                version,
                driver,
            }),
        })
    }

    /// The version of its package; none for the host's.
    pub fn version(&self) -> Option<&str> {
        self.other.as_ref().map(|other| other.version.as_str())
    }

    /// A client of a server. A bare name is one of the system's programs, of the root folder's system where there is one.
    pub fn client(&self, server: &Server, program: &Path) -> Command {
        let command = server.command(program);
        let Some(other) = &self.other else {
            return command;
        };
        let mut inside = if program.components().count() == 1 {
            other.root.run(&other.root.path("usr/bin").join(program))
        } else {
            other.root.run(program)
        };
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                inside.env(name, value);
            }
        }
        inside.env("VK_DRIVER_FILES", &other.driver);
        inside
    }

    /// The Python of a client, with the packages that the programs of `tests/NAME` need; `None` where Python can't make
    /// environments.
    pub fn python(&self, server: &Server, name: &str) -> Result<Option<Command>> {
        let Some(other) = &self.other else {
            let python = python::environment(name)?;
            return Ok(python.map(|python| self.client(server, &python)));
        };
        let Some(packages) = python::packages(name, PYTHON)? else {
            return Ok(None);
        };
        let mut command = self.client(server, Path::new(&format!("python{PYTHON}")));
        command
            .env("PYTHONHOME", other.root.path("usr"))
            .env("PYTHONPATH", packages)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(Some(command))
    }
}
