//! Reads the Vulkan registry and writes the tables of the Venus codec.
//!
//! `hesper-codegen --xml vk.xml --out src/venus/gen` writes the files; with `--check` it writes nothing
//! and fails when the files there differ. The registry is the one of Vulkan 1.4.309, which Debian's
//! libvulkan-dev installs; what Venus adds to Vulkan is in `codegen/data`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use clap::Parser;
use thiserror::Error as ThisError;

use emit::Emitter;
use registry::Registry;
use select::{Numbered, Selection};

mod emit;
mod names;
mod registry;
mod select;

const VENUS_XML: &str = include_str!("../data/venus.xml");
const COMMANDS: &str = include_str!("../data/commands.txt");
const EXTENSIONS: &str = include_str!("../data/extensions.txt");
/// The patch version of the registry that the tables are made from: another would give other tables.
const HEADER_VERSION: &str = "309";
/// The core versions whose structures the codec knows.
const CORE: [&str; 4] = [
    "VK_VERSION_1_0",
    "VK_VERSION_1_1",
    "VK_VERSION_1_2",
    "VK_VERSION_1_3",
];

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("The registry is no XML")]
    Xml(#[from] roxmltree::Error),
    #[error("{0}")]
    Registry(&'static str),
    #[error("The registry is of patch version {0}, {HEADER_VERSION} is wanted")]
    Version(String),
    #[error("{0} is not in the registry")]
    Missing(String),
    #[error("The schema has no form for {0}")]
    Unsupported(String),
    #[error("Line {0} of commands.txt is no command")]
    CommandLine(usize),
    #[error("Can't use {path}")]
    File { path: PathBuf, source: io::Error },
    #[error("{0} differs from what the registry gives: run hesper-codegen without --check")]
    Stale(PathBuf),
}

#[derive(Parser)]
#[command(about = "Writes the tables of the Venus codec")]
struct Options {
    /// The Vulkan registry, vk.xml of Vulkan 1.4.309.
    #[arg(long)]
    xml: PathBuf,
    /// The folder of the generated files.
    #[arg(long)]
    out: PathBuf,
    /// Compare only; fail when a file differs.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            eprintln!("{error}{}", source.unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Error> {
    let read = |path: &PathBuf| {
        fs::read_to_string(path).map_err(|source| Error::File {
            path: path.clone(),
            source,
        })
    };
    let commands = numbered()?;
    let mut registry = Registry::new(CORE.iter().copied().chain(lines(EXTENSIONS)));
    registry.add(&read(&options.xml)?)?;
    if registry.header_version != HEADER_VERSION {
        return Err(Error::Version(registry.header_version));
    }
    registry.add(VENUS_XML)?;
    let selection = Selection::new(&registry, &commands, &supported(&registry))?;
    let emitter = Emitter {
        registry: &registry,
        selection: &selection,
        commands: &commands,
    };
    for (name, text) in emitter.files()? {
        let path = options.out.join(name);
        if options.check {
            if read(&path)? != text {
                return Err(Error::Stale(path));
            }
        } else {
            fs::write(&path, text).map_err(|source| Error::File { path, source })?;
        }
    }
    Ok(())
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn numbered() -> Result<Vec<Numbered>, Error> {
    let mut commands = Vec::new();
    for (at, line) in lines(COMMANDS).enumerate() {
        let mut words = line.split(' ');
        let (Some(id), Some(name)) = (words.next(), words.next()) else {
            return Err(Error::CommandLine(at + 1));
        };
        let id = id.parse().map_err(|_| Error::CommandLine(at + 1))?;
        let decode = words.next() == Some("decode");
        commands.push(Numbered {
            id,
            name: name.into(),
            decode,
        });
    }
    commands.sort_by_key(|command| command.id);
    Ok(commands)
}

/// Every type that the core versions, the supported extensions or Venus itself define.
fn supported(registry: &Registry) -> BTreeSet<String> {
    let known = |name: &&String| name.ends_with("MESA") || registry.is_supported(name);
    registry.types.keys().filter(known).cloned().collect()
}
