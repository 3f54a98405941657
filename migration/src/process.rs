//! Children that die with us, and process file descriptors.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::{Context, Result};

/// Has the kernel kill the child when the *thread* that starts it ends: start it from the main
/// thread. Should that end before the child is set up, the child gives up by itself.
pub fn die_with_parent(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    // SAFETY: between fork and exec the closure makes two async-signal-safe system calls, and
    // allocates nothing.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
            if nix::unistd::getppid().as_raw() as u32 != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        })
    }
}

/// A reference to a process that can't be taken over by another process of the same number.
#[derive(Debug)]
pub struct PidFd(File);

impl PidFd {
    /// Opens a live process.
    ///
    /// # Errors
    /// [`crate::error::Error::Io`] when there is none of this number.
    pub fn open(pid: u32) -> Result<Self> {
        // SAFETY: the call takes two integers and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error()).context(|| format!("open process {pid}"));
        }
        // SAFETY: the kernel has just returned this descriptor, and nobody else owns it.
        Ok(Self(unsafe { File::from_raw_fd(fd as i32) }))
    }

    /// Sends SIGKILL. A process that has ended already is no error.
    ///
    /// # Errors
    /// [`crate::error::Error::Io`] for a process that we may not kill.
    pub fn kill(&self) -> Result<()> {
        // SAFETY: the descriptor is open, the info pointer may be null, nothing else is passed.
        let code = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.0.as_raw_fd(),
                libc::SIGKILL,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
        if code < 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::ESRCH) {
                return Err(error).context(|| "kill a process".into());
            }
        }
        Ok(())
    }

    /// Waits until the process has ended, at most so long; true when it has.
    pub fn ended(&self, within: Duration) -> bool {
        let end = std::time::Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, timeout) {
                Ok(0) if left.is_zero() => return false,
                Ok(0) | Err(nix::Error::EINTR) => {}
                Ok(_) => return true,
                Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kill_running_child_is_seen_ended() {
        let mut child = Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("start sleep");
        let fd = PidFd::open(child.id()).expect("open the child");
        assert!(!fd.ended(Duration::ZERO));
        fd.kill().expect("kill");
        assert!(fd.ended(Duration::from_secs(5)));
        child.wait().expect("reap");
        fd.kill().expect("a second kill is no error");
    }

    #[test]
    fn die_with_parent_thread_ended_child_is_dead() {
        let child = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            die_with_parent(command.arg("60"))
                .spawn()
                .expect("start sleep")
        });
        let mut child = child.join().expect("starter thread");
        let fd = PidFd::open(child.id()).expect("open the child");
        assert!(fd.ended(Duration::from_secs(5)));
        child.wait().expect("reap");
    }
}
