//! Which calls may be made, by seccomp. The lists were found by running real clients over
//! lavapipe under strace, at start, at work, at a cut and at a restore; what NVIDIA's driver asks
//! for was added.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

use crate::{Mode, Role, SandboxError};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// What both may do.
const SHARED: &[libc::c_long] = &[
    // Files and memory files. What may be opened is landlock's business.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_lseek,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_dup,
    libc::SYS_memfd_create,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    // Memory. Drivers compile: what they write, they execute.
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_msync,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_get_mempolicy,
    // Waiting, and being told.
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_futex,
    libc::SYS_restart_syscall,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_time,
    // Sockets that are open.
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    // Threads and signals of its own.
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_arch_prctl,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_getpriority,
    libc::SYS_setpriority,
    libc::SYS_getcpu,
    // About itself and the machine.
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
];

/// What only the front does: it listens, and starts and ends workers, which then load a driver and
/// confine themselves further.
const FRONT: &[libc::c_long] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_connect,
    libc::SYS_fchmod,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_close_range,
    libc::SYS_vfork,
    libc::SYS_execve,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_prlimit64,
    libc::SYS_prctl,
    libc::SYS_seccomp,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    libc::SYS_getpgrp,
    libc::SYS_setitimer,
];

/// Operations of prctl that a worker needs.
const WORKER_PRCTL: [libc::c_int; 8] = [
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_SET_VMA,
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_DUMPABLE,
    libc::PR_GET_SECCOMP,
    libc::PR_SET_TIMERSLACK,
    libc::PR_GET_TIMERSLACK,
];

/// Flags of clone that make namespaces.
const NAMESPACES: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

fn error(error: impl std::fmt::Display) -> SandboxError {
    SandboxError::Seccomp(error.to_string())
}

/// A rule that holds when argument `index` compares so with `value`.
fn when(
    index: u8,
    len: SeccompCmpArgLen,
    op: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, SandboxError> {
    SeccompCondition::new(index, len, op, value).map_err(error)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, SandboxError> {
    SeccompRule::new(conditions).map_err(error)
}

fn allowed(role: Role) -> Result<Rules, SandboxError> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    // No conditions: always.
    let mut rules: Rules = SHARED.iter().map(|call| (*call, Vec::new())).collect();
    // Pushing characters into a terminal that somebody else reads from.
    rules.insert(
        libc::SYS_ioctl,
        vec![rule(vec![
            when(1, Dword, Ne, libc::TIOCSTI)?,
            when(1, Dword, Ne, libc::TIOCLINUX)?,
        ])?],
    );
    // Refused by the second filter; here, so that it is that one's answer which counts.
    rules.insert(libc::SYS_clone3, Vec::new());
    let own = u64::from(std::process::id());
    match role {
        Role::Front => {
            rules.extend(FRONT.iter().map(|call| (*call, Vec::new())));
            rules.insert(
                libc::SYS_clone,
                vec![rule(vec![when(0, Qword, MaskedEq(NAMESPACES as u64), 0)?])?],
            );
            for call in [libc::SYS_socket, libc::SYS_socketpair] {
                rules.insert(
                    call,
                    vec![rule(vec![when(0, Dword, Eq, libc::AF_UNIX as u64)?])?],
                );
            }
            // Of whom, is not known yet: workers abort, too.
            rules.insert(libc::SYS_tgkill, Vec::new());
        }
        Role::Worker => {
            let thread = libc::CLONE_THREAD as u64;
            rules.insert(
                libc::SYS_clone,
                vec![rule(vec![when(0, Qword, MaskedEq(thread), thread)?])?],
            );
            rules.insert(
                libc::SYS_prctl,
                WORKER_PRCTL
                    .iter()
                    .map(|op| rule(vec![when(0, Dword, Eq, *op as u64)?]))
                    .collect::<Result<_, _>>()?,
            );
            // Asking for limits, not setting them.
            rules.insert(
                libc::SYS_prlimit64,
                vec![rule(vec![when(0, Dword, Eq, 0)?, when(2, Qword, Eq, 0)?])?],
            );
            rules.insert(
                libc::SYS_tgkill,
                vec![rule(vec![when(0, Dword, Eq, own)?])?],
            );
        }
    }
    Ok(rules)
}

/// Filters the calls of all threads.
pub fn filter(role: Role, mode: Mode) -> Result<(), SandboxError> {
    let refuse = match mode {
        Mode::On => SeccompAction::Errno(libc::EPERM as u32),
        Mode::Log => SeccompAction::Log,
        Mode::Off => return Ok(()),
    };
    // Its flags lie in memory, where no filter sees them: the C library then falls back to clone.
    let clone3 = Rules::from([(libc::SYS_clone3, Vec::new())]);
    for (rules, otherwise, matched) in [
        (
            clone3,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::ENOSYS as u32),
        ),
        (allowed(role)?, refuse, SeccompAction::Allow),
    ] {
        let filter =
            SeccompFilter::new(rules, otherwise, matched, TargetArch::x86_64).map_err(error)?;
        let program: BpfProgram = filter.try_into().map_err(error)?;
        apply_filter_all_threads(&program).map_err(error)?;
    }
    Ok(())
}
