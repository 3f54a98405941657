//! SIGINT and SIGTERM ask the workload to finish its round, compare everything and report.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_stop(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// Installs the handlers. They work once: a second signal ends the process.
pub fn catch_stop() {
    // SAFETY: the structure is plain data for which zero is valid; the handler only stores to an
    // atomic, which is allowed in a signal handler.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_stop as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        for number in [libc::SIGINT, libc::SIGTERM] {
            libc::sigaction(number, &action, std::ptr::null_mut());
        }
    }
}

/// Whether a signal came.
pub fn stop() -> bool {
    STOP.load(Ordering::Relaxed)
}
