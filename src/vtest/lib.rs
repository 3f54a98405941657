//! The vtest socket: Venus contexts for clients of this host, without a VM.
//!
//! The protocol is virglrenderer's vtest, as far as Mesa's Venus speaks it: requests of a header
//! `{length in dwords, command}` and a body, one context a connection.

mod client;
mod sync;
mod wire;

use std::collections::HashMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hesper_front::{ContextEvent, Front, FrontError};
use hesper_log::{Guest, guest_warn};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;

use crate::client::Client;

/// Clients at a time.
const CLIENTS_MAX: usize = 64;

/// Rest after a connection that could not be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What can go wrong with a client or the socket.
#[derive(Debug, thiserror::Error)]
pub enum VtestError {
    /// The socket broke.
    #[error("Socket: {0}")]
    Io(#[from] std::io::Error),
    /// The client broke the protocol.
    #[error("Request {command}: {reason}")]
    Protocol {
        /// The request's number.
        command: u32,
        /// What is wrong.
        reason: String,
    },
    /// The front.
    #[error(transparent)]
    Front(#[from] FrontError),
}

type Clients = Arc<Mutex<HashMap<u32, Arc<sync::Syncs>>>>;

/// A socket at `path`. One that nobody listens on is replaced.
///
/// # Errors
/// [`VtestError::Io`] when it can't be made.
pub fn listen(path: &Path) -> Result<UnixListener, VtestError> {
    if path.exists() && UnixStream::connect(path).is_err() {
        // A socket that nobody listens on was left behind.
        std::fs::remove_file(path)?;
    }
    Ok(UnixListener::bind(path)?)
}

/// Serves clients for ever.
///
/// # Errors
/// [`VtestError::Io`] when the socket breaks.
pub fn serve(listener: &UnixListener, front: &Front) -> Result<(), VtestError> {
    tracing::info!(socket = ?listener.local_addr(), "Serving vtest clients");
    let clients: Clients = Arc::default();
    let told = Arc::clone(&clients);
    front.add_event_handler(Box::new(move |event| tell(&told, &event)));
    let next_ctx = AtomicU32::new(1);
    let mut refused = false;
    for stream in listener.incoming() {
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                // Of descriptors or memory there may be more later; those who are served go on meanwhile.
                if !std::mem::replace(&mut refused, true) {
                    guest_warn!(%error, "No connection can be taken");
                }
                std::thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        refused = false;
        let ctx_id = next_ctx.fetch_add(1, Ordering::Relaxed);
        let guest = user(&stream);
        let mut all = clients.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= CLIENTS_MAX {
            guest_warn!(for guest, "Too many clients: one is turned away");
            continue;
        }
        let syncs = match stream.try_clone() {
            Ok(stream) => Arc::new(sync::Syncs::new(stream, guest)),
            Err(error) => {
                guest_warn!(for guest, %error, "A client is turned away");
                continue;
            }
        };
        all.insert(ctx_id, Arc::clone(&syncs));
        drop(all);
        let (front, served) = (front.clone(), Arc::clone(&clients));
        let started = std::thread::Builder::new()
            .name(format!("client-{ctx_id}"))
            .spawn(move || {
                let mut client = Client::new(ctx_id, guest, stream, front, syncs);
                if let Err(error) = client.serve() {
                    guest_warn!(for guest, ctx_id, %error, "Client ends");
                }
                client.close();
                served
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&ctx_id);
            });
        if let Err(error) = started {
            guest_warn!(for guest, %error, "A client is turned away");
            let mut all = clients.lock().unwrap_or_else(PoisonError::into_inner);
            all.remove(&ctx_id);
        }
    }
    Ok(())
}

/// Whose client it is, for logs.
fn user(stream: &UnixStream) -> Guest {
    getsockopt(stream, PeerCredentials).map_or(Guest::Others, |peer| Guest::User(peer.uid()))
}

fn tell(clients: &Clients, event: &ContextEvent) {
    let find = |ctx_id: &u32| {
        clients
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(ctx_id)
            .cloned()
    };
    match event {
        ContextEvent::Fence {
            ctx_id, fence_id, ..
        } => {
            if let Some(syncs) = find(ctx_id) {
                syncs.fence_done(*fence_id);
            }
        }
        ContextEvent::Lost { ctx_id, .. } => {
            if let Some(syncs) = find(ctx_id) {
                syncs.hang_up();
            }
        }
        ContextEvent::Hung { ctx_id, stalled } => {
            // There is no VM to take over: a client whose work does not end is in its own way only if it goes.
            if let Some(syncs) = find(ctx_id) {
                guest_warn!(
                    for syncs.guest,
                    ctx_id,
                    ?stalled,
                    "A client whose work does not end is ended"
                );
                syncs.hang_up();
            }
        }
        ContextEvent::Ring { .. } | ContextEvent::Cut { .. } => {}
    }
}
