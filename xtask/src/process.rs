//! Child processes: none outlives its owner.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::error::{Error, FileContext, Result};

/// How many bytes of a failed program's output an error shows.
const TAIL_BYTES: u64 = 4096;

/// Asks the kernel to kill the child when the thread that started it dies, so that not even SIGKILL to xtask leaves
/// it behind. Start children from threads that live as long as they are needed.
fn die_with_parent(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec; prctl is async-signal-safe and it allocates nothing.
    unsafe {
        command.pre_exec(|| {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
                .map_err(|e| std::io::Error::from_raw_os_error(e as i32))
        });
    }
}

fn name_of(command: &Command) -> String {
    Path::new(command.get_program())
        .file_name()
        .unwrap_or(OsStr::new("?"))
        .to_string_lossy()
        .into_owned()
}

fn failure(program: String, status: ExitStatus, output: &str) -> Error {
    let output = output.trim_end();
    Error::Program {
        program,
        status: status.to_string(),
        output: if output.is_empty() {
            String::new()
        } else {
            format!("\n{output}")
        },
    }
}

/// Runs a program to its end and returns what it wrote to its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let program = name_of(command);
    die_with_parent(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::Start {
            program: program.clone(),
            source,
        })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let all = text(&output.stdout) + &text(&output.stderr);
        let from = all.len().saturating_sub(TAIL_BYTES as usize);
        return Err(failure(
            program,
            output.status,
            all.get(from..).unwrap_or(&all),
        ));
    }
    Ok(text(&output.stdout))
}

/// Runs a program to its end with both outputs in a log file, each line of its standard output also given to `line`.
pub fn logged(command: &mut Command, log: &Path, mut line: impl FnMut(&str)) -> Result<()> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(log)
        .at("open", log)?;
    let errors = file.try_clone().at("open", log)?;
    let mut file = file;
    command.stdout(Stdio::piped()).stderr(errors);
    let mut process = Process::start(command)?;
    // Piped just above, and taken only here.
    if let Some(stdout) = process.child.stdout.take() {
        for text in BufReader::new(stdout).split(b'\n') {
            let text = text.at("read", log)?;
            let text = String::from_utf8_lossy(&text);
            std::io::Write::write_all(&mut file, format!("{text}\n").as_bytes())
                .at("write", log)?;
            line(&text);
        }
    }
    let status = process.wait()?;
    if status.success() {
        Ok(())
    } else {
        let why = format!("{}\n(all of it: {})", tail(log), log.display());
        Err(failure(process.name.clone(), status, &why))
    }
}

/// The end of a log file, for error messages; empty if there is none.
pub fn tail(log: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

/// A running child. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: Option<PathBuf>,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts a program as the command says; it reads nothing from standard input.
    pub fn start(command: &mut Command) -> Result<Process> {
        let name = name_of(command);
        die_with_parent(command);
        let child = command
            .stdin(Stdio::null())
            .spawn()
            .map_err(|source| Error::Start {
                program: name.clone(),
                source,
            })?;
        Ok(Process {
            name,
            child,
            log: None,
            status: None,
        })
    }

    /// Starts a program with both outputs appended to a log file.
    pub fn start_logged(command: &mut Command, log: &Path) -> Result<Process> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .at("open", log)?;
        let errors = file.try_clone().at("open", log)?;
        command.stdout(file).stderr(errors);
        let mut process = Process::start(command)?;
        process.log = Some(log.to_owned());
        Ok(process)
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its exit status, once it has one.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait().map_err(|source| Error::Start {
                program: self.name.clone(),
                source,
            })?;
        }
        Ok(self.status)
    }

    /// Fails, with the end of its log, if the program no longer runs.
    pub fn check_running(&mut self) -> Result<()> {
        match self.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let log = self.log.as_deref().map(tail).unwrap_or_default();
                Err(Error::Ended(
                    self.name.clone(),
                    format!("{status}\n{}", log.trim_end()),
                ))
            }
        }
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = self.child.wait().map_err(|source| Error::Start {
            program: self.name.clone(),
            source,
        })?;
        self.status = Some(status);
        Ok(status)
    }

    /// Waits for its end, no longer than `limit`.
    pub fn wait_within(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(Error::Deadline {
                    what: format!("The end of {}", self.name),
                    limit,
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal, unless it has ended already.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.try_wait()?.is_some() {
            return Ok(());
        }
        // Not reaped yet, so the id is still this child's; ids of Linux processes fit in an i32.
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(pid, signal).map_err(|e| Error::Start {
            program: self.name.clone(),
            source: e.into(),
        })
    }

    /// Kills and reaps it.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            // Both fail only for a child that is gone, which is what is wanted.
            let _ = self.child.kill();
            self.status = self.child.wait().ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_dropped_is_killed_and_reaped() {
        let process = Process::start(Command::new("sleep").arg("600")).unwrap();
        let proc_path = PathBuf::from(format!("/proc/{}", process.id()));
        assert!(proc_path.exists());

        drop(process);

        assert!(!proc_path.exists());
    }

    #[test]
    fn output_program_fails_error_carries_what_it_said() {
        let result = output(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]));

        let text = result.unwrap_err().to_string();
        assert!(text.contains("broken") && text.contains('3'), "{text}");
    }

    #[test]
    fn logged_program_prints_every_line_is_seen_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut lines = Vec::new();

        logged(
            Command::new("sh").args(["-c", "echo one; echo two; echo three >&2"]),
            &log,
            |line| lines.push(line.to_owned()),
        )
        .unwrap();

        assert_eq!(lines, ["one", "two"]);
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(["one", "two", "three"].iter().all(|w| text.contains(w)));
    }

    #[test]
    fn wait_within_program_runs_on_returns_deadline() {
        let mut process = Process::start(Command::new("sleep").arg("600")).unwrap();

        let result = process.wait_within(Duration::from_millis(20));

        assert!(matches!(result, Err(Error::Deadline { .. })));
    }
}
