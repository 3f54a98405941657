//! A Venus context: its objects, devices, resources and memory.

use std::rc::Rc;
use std::time::Instant;

use ash::vk;
use hesper_audit::buffers::Buffers;
use hesper_gpu::{Device, DeviceMemory, Instance, PhysicalDevice};
use hesper_image::{Extent, ImageArea};
use hesper_memory::{DirtyBitmap, Mapping};
use hesper_venus::{CmdFns, DeviceFns, InstanceFns, Limits};

use crate::channel::{Area, Audit, Warning, WorkerConfig, WorkerStatus};
use crate::drain::Drain;
use crate::error::{WorkerError, argument};
use crate::grants::Grants;
use crate::port::Port;
use crate::submit::Queue;
use crate::table::{IdMap, Table};

/// Resources that one context may have attached.
const RESOURCES_MAX: usize = 1 << 16;

/// A resource as commands see it.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The mapping it lies in.
    pub memory: Mapping,
    /// Where it starts in the mapping, bytes.
    pub base: u64,
    /// Length, bytes.
    pub len: u64,
    /// The arena range, if it is one.
    pub extent: Option<Extent>,
}

impl Resource {
    /// Checks a range of the resource; returns where it starts in the mapping.
    ///
    /// # Errors
    /// [`WorkerError::Memory`].
    pub fn locate(&self, offset: u64, len: u64) -> Result<u64, WorkerError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(self.base + offset),
            _ => Err(hesper_memory::MemoryError::OutOfRange {
                offset,
                len,
                mapping_len: self.len,
            }
            .into()),
        }
    }
}

/// Device memory that the guest allocated.
#[derive(Debug)]
pub struct Memory {
    /// The host allocation; `None` only while it is being freed.
    pub allocation: Option<DeviceMemory>,
    /// Bytes that the guest asked for.
    pub len: u64,
    /// The arena range behind host-visible memory, if it lies in an arena.
    pub extent: Option<Extent>,
    /// Whether the guest's CPU, or another context, can see it.
    pub host_visible: bool,
}

/// A buffer.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// What the audit asks for.
    pub facts: hesper_audit::buffers::Buffer,
    /// It is for memory that others see as well.
    pub shared: bool,
}

/// An image.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Its tiling is linear: it may lie in host-visible memory.
    pub linear: bool,
    /// Its planes are bound one by one.
    pub disjoint: bool,
    /// It is for memory that others see as well; linear then.
    pub shared: bool,
    /// The guest made it with a DRM format modifier; linear then.
    pub modifier: bool,
    /// It was bound to memory, with all its planes.
    pub bound: bool,
}

/// A command buffer.
#[derive(Debug)]
pub struct CommandBuffer {
    /// Its pool.
    pub pool: u64,
    /// The raw commands from begin to the last recorded one.
    pub recorded: Vec<u8>,
}

/// A descriptor, as it was last written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Slot {
    /// Descriptor type, raw.
    pub ty: i32,
    /// What is there, by guest ids.
    pub content: SlotContent,
    /// Order of writes within the set.
    pub order: u64,
}

/// What a descriptor names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SlotContent {
    /// A buffer range.
    Buffer {
        /// Buffer id.
        buffer: u64,
        /// Offset, bytes.
        offset: u64,
        /// Length, bytes or `VK_WHOLE_SIZE`.
        range: u64,
    },
    /// A texel buffer view.
    Texel {
        /// View id.
        view: u64,
    },
    /// An image with its sampler.
    Image {
        /// Sampler id, or 0.
        sampler: u64,
        /// View id, or 0.
        view: u64,
        /// Layout, raw.
        layout: i32,
    },
}

/// A descriptor set.
#[derive(Debug, Default)]
pub struct DescriptorSet {
    /// Its pool.
    pub pool: u64,
    /// Last write of each (binding, element).
    pub slots: IdMap<(u32, u32), Slot>,
    /// Order of the next write.
    pub order: u64,
}

/// A semaphore.
#[derive(Debug)]
pub struct Semaphore {
    /// Timeline, or binary.
    pub timeline: bool,
    /// Timeline: the highest value that work handed to the host will signal. Binary: 1 when it is
    /// signalled or work handed to the host will signal it, else 0.
    pub pending: u64,
    /// Binary: signalled payloads that the guest lent it; each serves one wait.
    pub imports: u32,
}

/// What is kept beside each kind of object.
#[derive(Debug)]
pub enum Kind {
    /// Nothing.
    Plain,
    /// Index of the queue's tracking.
    Queue(usize),
    /// Device memory.
    Memory(Memory),
    /// Buffer.
    Buffer(Buffer),
    /// Image.
    Image(Image),
    /// Command buffer.
    CommandBuffer(CommandBuffer),
    /// Descriptor set.
    DescriptorSet(DescriptorSet),
    /// Semaphore.
    Semaphore(Semaphore),
}

/// What the table keeps with each object.
#[derive(Debug)]
pub struct Entry {
    /// Guest id of the device it belongs to, 0 for none.
    pub device: u64,
    /// By kind.
    pub kind: Kind,
}

impl Entry {
    /// Whether it is a buffer or an image that was not bound to memory.
    pub fn is_unbound(&self) -> bool {
        match &self.kind {
            Kind::Buffer(buffer) => buffer.facts.binding.is_none(),
            Kind::Image(image) => !image.bound,
            _ => false,
        }
    }
}

/// The audit asks for buffers here.
impl Buffers for Table<Entry> {
    fn buffer(&self, id: u64) -> Option<hesper_audit::buffers::Buffer> {
        match &self.get(vk::ObjectType::BUFFER, id).ok()?.data.kind {
            Kind::Buffer(buffer) => Some(buffer.facts),
            _ => None,
        }
    }
}

/// A device with its functions.
pub struct Dev {
    /// The host device.
    pub host: Rc<Device>,
    /// `vkCmd*`.
    pub cmd: CmdFns,
    /// The rest.
    pub fns: DeviceFns,
    /// The first queue there is, for work of ours, and its family.
    pub queue: vk::Queue,
    /// Family of the queue.
    pub family: u32,
}

/// The guest's instance on the host.
pub struct Inst {
    /// Functions of the instance.
    pub fns: InstanceFns,
    /// The device that is presented.
    pub physical: PhysicalDevice,
    /// The host instance.
    pub host: Instance,
}

/// The arena as a worker sees it.
#[derive(Clone, Debug)]
pub struct WorkerArena {
    /// The whole mapping.
    pub mapping: Mapping,
    /// Where writes are marked.
    pub bitmap: Option<DirtyBitmap>,
    /// The image.
    pub area: ImageArea,
}

/// A context.
pub struct Context {
    pub(crate) config: WorkerConfig,
    pub(crate) port: Port,
    /// When this turn of the main loop began: a look at the clock at every submission would cost.
    pub(crate) now: Instant,
    pub(crate) arena: Option<WorkerArena>,
    pub(crate) limits: Limits,
    pub(crate) objects: Table<Entry>,
    pub(crate) resources: IdMap<u32, Resource>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) tracker: hesper_audit::tracker::Tracker,
    pub(crate) oracle: Option<hesper_audit::oracle::Oracle>,
    pub(crate) drain: Drain,
    pub(crate) replaced: Vec<crate::exec_external::Replaced>,
    // Devices before the instance that they were made from: fields are dropped in order.
    pub(crate) devices: IdMap<u64, Dev>,
    pub(crate) instance: Option<Inst>,
    /// An instance for the guest's first, and the device picked from it: made ahead, because a driver takes long for it.
    pub(crate) ready: Option<(Instance, PhysicalDevice)>,
    pub(crate) not_migratable: Option<String>,
    pub(crate) status: WorkerStatus,
    pub(crate) restoring: Option<crate::restore::Placement>,
    pub(crate) image: Option<crate::cut::Image>,
    pub(crate) device_grants: Grants,
    pub(crate) host_grants: Grants,
}

impl Context {
    pub(crate) fn new(config: WorkerConfig, port: Port, arena: Option<WorkerArena>) -> Self {
        let oracle = config.oracle.then(hesper_audit::oracle::Oracle::new);
        let not_migratable =
            (config.audit != Audit::On).then(|| "the audit does not see everything".to_owned());
        let drain = Drain::new(arena.as_ref().map(|arena| arena.area.clone()));
        Self {
            config,
            port,
            now: Instant::now(),
            arena,
            limits: Limits::default(),
            objects: Table::default(),
            resources: IdMap::default(),
            queues: Vec::new(),
            tracker: crate::exec_physical::new_tracker(true),
            oracle,
            drain,
            replaced: Vec::new(),
            devices: IdMap::default(),
            instance: None,
            ready: None,
            not_migratable,
            status: WorkerStatus::default(),
            restoring: None,
            image: None,
            device_grants: Grants::new(Area::Device),
            host_grants: Grants::new(Area::Host),
        }
    }

    /// Remembers the first reason why the context can't be restored elsewhere.
    pub(crate) fn forbid_migration(&mut self, reason: &str) {
        if self.not_migratable.is_none() {
            tracing::info!(ctx_id = self.config.ctx_id, reason, "Not migratable");
            self.not_migratable = Some(reason.to_owned());
        }
    }

    pub(crate) fn resource(&self, res_id: u32) -> Result<&Resource, WorkerError> {
        self.resources
            .get(&res_id)
            .ok_or(WorkerError::NoResource(res_id))
    }

    /// Makes a resource known.
    pub(crate) fn attach(
        &mut self,
        res_id: u32,
        extent: Option<Extent>,
        len: u64,
        file: Option<std::os::fd::OwnedFd>,
    ) -> Result<(), WorkerError> {
        if self.resources.len() >= RESOURCES_MAX {
            return Err(argument("attach", "too many resources"));
        }
        let resource = match (extent, &self.arena, file) {
            (Some(extent), Some(arena), _) => {
                arena.mapping.as_ptr(extent.offset, extent.len)?;
                Resource {
                    memory: arena.mapping.clone(),
                    base: extent.offset,
                    len: extent.len,
                    extent: Some(extent),
                }
            }
            (None, _, Some(fd)) => Resource {
                memory: Mapping::new(std::sync::Arc::new(fd.into()), 0, len)?,
                base: 0,
                len,
                extent: None,
            },
            _ => return Err(argument("attach", "neither a range nor a file")),
        };
        self.resources.insert(res_id, resource);
        Ok(())
    }

    /// Marks a range of a resource that we wrote.
    pub(crate) fn mark_resource(&self, resource: &Resource, offset: u64, len: u64) {
        if let (Some(extent), Some(arena)) = (resource.extent, &self.arena)
            && let Some(bitmap) = &arena.bitmap
            && let Err(error) = bitmap.mark(extent.offset.saturating_add(offset), len)
        {
            // Ranges were checked when the resource was attached and written.
            self.port.warn(Warning::DirtyBitmap, &error);
        }
    }

    /// The device that an object belongs to.
    pub(crate) fn device_of(&self, ty: vk::ObjectType, id: u64) -> Result<u64, WorkerError> {
        let object = self.objects.get(ty, id)?;
        Ok(match ty {
            vk::ObjectType::DEVICE => id,
            _ => object.data.device,
        })
    }

    pub(crate) fn dev(&self, id: u64) -> Result<&Dev, WorkerError> {
        self.devices
            .get(&id)
            .ok_or(WorkerError::Table(crate::table::TableError::Unknown(id)))
    }

    pub(crate) fn inst(&self) -> Result<&Inst, WorkerError> {
        self.instance
            .as_ref()
            .ok_or_else(|| argument("a command", "there is no instance"))
    }

    /// Pages for host-visible memory: a range of the arena, or (vtest) a memory file.
    pub(crate) fn host_pages(
        &mut self,
        len: u64,
    ) -> Result<Option<(hesper_gpu::HostPages, Option<Extent>)>, WorkerError> {
        let Some(len) = len.checked_next_multiple_of(4096).filter(|len| *len > 0) else {
            return Ok(None);
        };
        match self.arena.clone() {
            Some(arena) => {
                let Some(extent) = self.port.allocate(Area::Window, len)? else {
                    return Ok(None);
                };
                let pages = hesper_gpu::HostPages {
                    mapping: arena.mapping,
                    offset: extent.offset,
                    len: extent.len,
                };
                Ok(Some((pages, Some(extent))))
            }
            None if !self.host_grants.take(&mut self.port, len)? => Ok(None),
            None => match Mapping::anonymous("hesper-memory", len) {
                Ok(mapping) => Ok(Some((
                    hesper_gpu::HostPages {
                        mapping,
                        offset: 0,
                        len,
                    },
                    None,
                ))),
                Err(error) => {
                    tracing::debug!(%error, "No memory file");
                    self.host_grants.give_back(&self.port, len)?;
                    Ok(None)
                }
            },
        }
    }
}
