//! hesperd's side of the control socket: `status`, `inject`, and the events that watchers hear.

use std::path::Path;
use std::sync::Arc;

use hesper_control::{ControlError, ControlServer, Request};
use hesper_device::Figures;
use hesper_front::{ContextEvent, Fault, Front};
use serde_json::{Value, json};

/// Serves a control socket for `front`; `figures` are those of its device, if it has one.
///
/// # Errors
/// [`ControlError`] when the socket can't be had.
pub fn serve(
    path: &Path,
    front: &Front,
    figures: &Arc<Figures>,
) -> Result<Arc<ControlServer>, ControlError> {
    let answering = front.clone();
    let figures = Arc::clone(figures);
    let handler = Arc::new(move |request: &Request| answer(&answering, &figures, request));
    let server = Arc::new(ControlServer::bind(path, handler)?);
    let telling = Arc::downgrade(&server);
    front.add_event_handler(Box::new(move |event| {
        if let (Some(server), Some(event)) = (telling.upgrade(), describe(&event)) {
            server.broadcast(event);
        }
    }));
    Ok(server)
}

fn answer(front: &Front, figures: &Figures, request: &Request) -> Result<Value, String> {
    match request.command.as_str() {
        "status" => {
            let mut status =
                serde_json::to_value(front.status()).map_err(|error| error.to_string())?;
            status["queue"] = json!(figures.read());
            Ok(status)
        }
        "inject" => {
            let ctx_id = match request.args.get("ctx_id") {
                None => None,
                Some(id) => Some(
                    id.as_u64()
                        .and_then(|id| u32::try_from(id).ok())
                        .ok_or("ctx_id is not a context id")?,
                ),
            };
            match request.args.get("fault").and_then(Value::as_str) {
                Some("hang") => front
                    .inject(ctx_id, Fault::Hang)
                    .map(|()| json!({}))
                    .map_err(|error| error.to_string()),
                Some(other) => Err(format!("{other:?} is no fault")),
                None => Err("Which fault?".into()),
            }
        }
        other => Err(format!("{other:?} is no command")),
    }
}

/// An event as watchers hear it; fences are nobody's business.
fn describe(event: &ContextEvent) -> Option<Value> {
    Some(match event {
        ContextEvent::Fence { .. } | ContextEvent::Ring { .. } => return None,
        ContextEvent::Lost { ctx_id, reason } => {
            json!({"event": "context-lost", "ctx_id": ctx_id, "reason": reason})
        }
        ContextEvent::Hung { ctx_id, stalled } => {
            json!({"event": "hang", "ctx_id": ctx_id, "stalled_ms": stalled.as_millis() as u64})
        }
        ContextEvent::Cut { figures } => json!({
            "event": "cut",
            "sequence": figures.sequence,
            "pause_us": figures.pause.as_micros() as u64,
            "gate_us": figures.gate.as_micros() as u64,
            "drained_bytes": figures.drained_bytes,
            "pages_moved": figures.pages_moved,
        }),
    })
}
