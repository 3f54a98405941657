//! Tries what must not work, from inside. A test runs it in a process of its own.

use std::ffi::CStr;
use std::io::Write;

use nix::errno::Errno;

/// What was tried, and what the kernel said.
pub type Attempt = (&'static str, Result<(), Errno>);

fn call(number: libc::c_long, arguments: [libc::c_long; 5]) -> Result<(), Errno> {
    let [a, b, c, d, e] = arguments;
    // SAFETY: called with null or with pointers to static text only, from `attempts`, with calls
    // that keep no pointer and write through none.
    Errno::result(unsafe { libc::syscall(number, a, b, c, d, e) }).map(drop)
}

fn text(text: &'static CStr) -> libc::c_long {
    text.as_ptr() as libc::c_long
}

fn open(path: &str, write: bool) -> Result<(), Errno> {
    std::fs::OpenOptions::new()
        .read(!write)
        .write(write)
        .create(write)
        .truncate(false)
        .open(path)
        .map(drop)
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))
}

/// Tries everything that a confined worker must not do. `file` is one that exists and may be read
/// and written as far as its mode goes.
pub fn refused_to_workers(file: &str) -> Vec<Attempt> {
    let parent = nix::unistd::getppid().as_raw().into();
    let mut all = refused_to_all();
    all.extend([
        ("open for reading", open(file, false)),
        ("open for writing", open(file, true)),
        ("create a file", open(&format!("{file}.new"), true)),
        ("read /etc/passwd", open("/etc/passwd", false)),
        (
            "socket AF_UNIX",
            call(libc::SYS_socket, [libc::AF_UNIX.into(), 1, 0, 0, 0]),
        ),
        ("fork", call(libc::SYS_fork, [0; 5])),
        // Signal 0 only asks.
        (
            "kill the parent",
            call(libc::SYS_kill, [parent, 0, 0, 0, 0]),
        ),
        (
            "tgkill the parent",
            call(libc::SYS_tgkill, [parent, parent, 0, 0, 0]),
        ),
        (
            "execve",
            call(libc::SYS_execve, [text(c"/bin/true"), 0, 0, 0, 0]),
        ),
        (
            "unlink",
            call(libc::SYS_unlink, [text(c"/nowhere/a"), 0, 0, 0, 0]),
        ),
        (
            "become dumpable",
            call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 1, 0, 0, 0]),
        ),
    ]);
    all
}

/// Tries everything that neither the front nor a worker must do.
pub fn refused_to_all() -> Vec<Attempt> {
    vec![
        (
            "socket AF_INET",
            call(libc::SYS_socket, [libc::AF_INET.into(), 1, 0, 0, 0]),
        ),
        (
            "socket AF_NETLINK",
            call(libc::SYS_socket, [libc::AF_NETLINK.into(), 3, 0, 0, 0]),
        ),
        (
            "ptrace",
            call(libc::SYS_ptrace, [libc::PTRACE_TRACEME as _, 0, 0, 0, 0]),
        ),
        ("mount", call(libc::SYS_mount, [0; 5])),
        (
            "unshare",
            call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0]),
        ),
        ("clone3", call(libc::SYS_clone3, [0; 5])),
        ("bpf", call(libc::SYS_bpf, [0; 5])),
        (
            "io_uring_setup",
            call(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]),
        ),
        ("userfaultfd", call(libc::SYS_userfaultfd, [0; 5])),
        ("keyctl", call(libc::SYS_keyctl, [0; 5])),
        (
            "process_vm_readv",
            call(libc::SYS_process_vm_readv, [1, 0, 0, 0, 0]),
        ),
        ("setuid", call(libc::SYS_setuid, [0; 5])),
        ("chroot", call(libc::SYS_chroot, [text(c"/"), 0, 0, 0, 0])),
        ("init_module", call(libc::SYS_init_module, [0; 5])),
        ("reboot", call(libc::SYS_reboot, [0; 5])),
        (
            "symlink",
            call(
                libc::SYS_symlink,
                [text(c"a"), text(c"/nowhere/a"), 0, 0, 0],
            ),
        ),
        ("open /dev/mem", open("/dev/mem", true)),
        ("write below /usr", open("/usr/hesper-probe", true)),
        ("write below /tmp", open("/tmp/hesper-probe", true)),
    ]
}

/// Tries what drivers and the worker itself need; all of it must work.
///
/// # Errors
/// What failed.
pub fn needed() -> Result<(), String> {
    let told = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    std::thread::spawn(|| ()).join().map_err(|_| "thread")?;
    let name = c"probe";
    let fd = nix::sys::memfd::memfd_create(name, nix::sys::memfd::MFdFlags::MFD_CLOEXEC)
        .map_err(|error| told("memfd", &error))?;
    std::fs::File::from(fd)
        .write_all(&[0; 4096])
        .map_err(|error| told("write", &error))?;
    let len = std::num::NonZeroUsize::MIN;
    use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
    // SAFETY: fresh pages, given back at once; nothing is executed.
    unsafe {
        let pages = mmap_anonymous(
            None,
            len,
            ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
            MapFlags::MAP_PRIVATE,
        )
        .map_err(|error| told("mmap", &error))?;
        mprotect(pages, 1, ProtFlags::PROT_READ | ProtFlags::PROT_EXEC)
            .map_err(|error| told("mprotect", &error))?;
        munmap(pages, 1).map_err(|error| told("munmap", &error))?;
    }
    open("/proc/self/maps", false).map_err(|error| told("own maps", &error))?;
    open("/dev/null", true).map_err(|error| told("/dev/null", &error))
}
