//! What the device asks of the front behind it.

use std::time::Duration;

use hesper_front::{Arena, Blob, ContextEvent};

/// Why the front refused.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    /// A quota or the arena is used up.
    #[error("Out of memory")]
    OutOfMemory,
    /// No such context.
    #[error("No context {0}")]
    NoContext(u32),
    /// No such resource, or none with that blob id.
    #[error("No resource {0}")]
    NoResource(u32),
    /// Work did not finish before the deadline.
    #[error("The GPU is hung")]
    Hung,
    /// The context is gone: its worker died or its stream was bad.
    #[error("The context is lost")]
    Lost,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// Contexts, blobs, fences, the cut and the image, as the device sees them.
///
/// Calls come from the device's queue thread, except for [`reset`](Self::reset),
/// [`set_log`](Self::set_log), [`quiesce`](Self::quiesce) and
/// [`attach_arena`](Self::attach_arena) (the window channel's thread), and
/// [`save`](Self::save) and [`load`](Self::load) (a thread of their own). While `reset`,
/// `quiesce`, `save` or `load` runs, no call comes from the queue thread. `set_log` and
/// [`capset`](Self::capset) may come at any time.
pub trait FrontApi: Send + Sync {
    /// Takes over the memory that blobs and the image live in. Called once, before any context.
    ///
    /// # Errors
    /// When the arena is too small or is already there.
    fn attach_arena(&self, arena: Arena) -> Result<(), FrontError>;

    /// Takes over blobs in the arena that were made by a process that has died. Called once, right
    /// after [`attach_arena`](Self::attach_arena), if there was one.
    ///
    /// # Errors
    /// When they can't be where they are said to be.
    fn adopt_blobs(&self, blobs: &[(u32, Blob)]) -> Result<(), FrontError>;

    /// The Venus capability set, 160 bytes.
    ///
    /// # Errors
    /// When no host driver can be offered.
    fn capset(&self) -> Result<Vec<u8>, FrontError>;

    /// Creates a Venus context. `name` is what the guest calls it, for people.
    ///
    /// # Errors
    /// [`FrontError::OutOfMemory`] when a quota is used up.
    fn create_context(&self, ctx_id: u32, name: &str) -> Result<(), FrontError>;

    /// Destroys a context; its fences need no more answer.
    ///
    /// # Errors
    /// [`FrontError::NoContext`].
    fn destroy_context(&self, ctx_id: u32) -> Result<(), FrontError>;

    /// Runs a command stream outside any ring, in order with other submits of the context.
    ///
    /// # Errors
    /// [`FrontError::NoContext`], [`FrontError::Lost`].
    fn submit(&self, ctx_id: u32, stream: &[u8]) -> Result<(), FrontError>;

    /// Makes resource `res_id` a blob of the arena: new zeroed memory for `blob_id` 0, or the
    /// context's device memory object of that id. `size` is in bytes, as the guest gave it.
    ///
    /// # Errors
    /// [`FrontError::NoContext`], [`FrontError::OutOfMemory`], [`FrontError::NoResource`] when
    /// there is no memory object of that id.
    fn create_blob(
        &self,
        ctx_id: u32,
        res_id: u32,
        blob_id: u64,
        size: u64,
    ) -> Result<Blob, FrontError>;

    /// Drops a resource that [`create_blob`](Self::create_blob) made. It is unmapped from the
    /// guest before.
    ///
    /// # Errors
    /// [`FrontError::NoResource`].
    fn unref_resource(&self, res_id: u32) -> Result<(), FrontError>;

    /// Lets a context use a blob resource.
    ///
    /// # Errors
    /// [`FrontError::NoContext`], [`FrontError::NoResource`].
    fn attach_resource(&self, ctx_id: u32, res_id: u32) -> Result<(), FrontError>;

    /// Takes a resource from a context again.
    ///
    /// # Errors
    /// [`FrontError::NoContext`], [`FrontError::NoResource`].
    fn detach_resource(&self, ctx_id: u32, res_id: u32) -> Result<(), FrontError>;

    /// Asks for a [`ContextEvent::Fence`] once everything submitted to timeline `ring_idx` (1 to
    /// 63) so far has finished. The event may come before this returns.
    ///
    /// # Errors
    /// [`FrontError::NoContext`], [`FrontError::Lost`]: no event will come.
    fn create_fence(&self, ctx_id: u32, ring_idx: u32, fence_id: u64) -> Result<(), FrontError>;

    /// Says who is told of events. The handler returns soon and never calls back into the front.
    fn set_event_handler(&self, handler: Box<dyn Fn(ContextEvent) + Send + Sync>);

    /// The guest was reset: drops all contexts and resources.
    fn reset(&self);

    /// Dirty logging (a migration) starts or ends.
    fn set_log(&self, on: bool);

    /// Brings all contexts to a cut within `deadline` and writes the image, `device_tables` in
    /// its superblock. Fences that signal on the way are told as ever. Afterwards nothing of the
    /// front's writes to the arena until [`resume`](Self::resume).
    ///
    /// # Errors
    /// [`FrontError::Hung`] when work did not finish; a `resume` follows in any case.
    fn quiesce(&self, device_tables: &[u8], deadline: Duration) -> Result<(), FrontError>;

    /// The VM runs again: work goes on. Called after `quiesce` and after `load`, never otherwise.
    fn resume(&self);

    /// What a destination needs besides the arena, a few KiB. The front is quiesced.
    ///
    /// # Errors
    /// When there is nothing that could be restored; the migration fails and the guest goes on.
    fn save(&self) -> Result<Vec<u8>, FrontError>;

    /// Replaces all state by what the arena and `state` say, and returns the device tables that
    /// `quiesce` was given at that time. The front is quiesced afterwards.
    ///
    /// # Errors
    /// When they can't be restored here, with the reason.
    ///
    /// Fences that were open are asked for again, by [`create_fence`](Self::create_fence) after
    /// [`resume`](Self::resume): the front need not keep them.
    fn load(&self, state: &[u8]) -> Result<Vec<u8>, FrontError>;
}
