//! A small worker: runs commands on the host's GPU the way a real one does, through the wire codec and the audit.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk::{self, Handle};
use bumpalo::Bump;
use hesper_audit::buffers::Buffer;
use hesper_audit::marks::Marks;
use hesper_audit::oracle::Oracle;
use hesper_audit::rules;
use hesper_audit::tracker::{Robustness, Tracker};
use hesper_venus::{
    Command, Decoded, Encoder, Limits, call_cmd, call_device, decode, encode_request,
};

use super::gpu::{Access, Gpu, Has};
use super::read::{Memory, Opaque, Reader, Subresource, reader};
use super::texels::Texels;
use crate::audited::keep;

/// Ids of the objects that the host itself makes.
pub const DEVICE: u64 = 1;
pub const QUEUE: u64 = 2;
/// The guest's memory types.
pub const DEVICE_LOCAL: u32 = 0;
pub const HOST_VISIBLE: u32 = 1;

const BYTES_MAX: usize = 1 << 20;
/// Allocations are a multiple of this where the device copies: a buffer over all of one must fit.
const ALLOCATION_UNIT: u64 = 64 * 1024;

pub struct Host {
    pub(super) handles: HashMap<(vk::ObjectType, u64), u64>,
    pub(super) memories: BTreeMap<u64, Memory>,
    pub(super) reader: Reader,
    pub(super) images: BTreeMap<u64, Texels>,
    /// Content at the last check.
    pub(super) texels: HashMap<Subresource, Vec<u8>>,
    /// Bytes of memory objects that images are bound to, where what lies there is the device's own affair.
    pub(super) opaque: Opaque,
    /// Chunks' pages of these that changed though nothing had marked them, and snapshots that differed though nothing ran
    /// in between.
    pub unmarked_opaque: u64,
    pub unstable: u64,
    /// Subresources that changed, and those that were marked.
    pub image_counts: (u64, u64),
    pub tracker: Tracker,
    pub(super) buffers: HashMap<u64, Buffer>,
    pub oracle: Oracle,
    /// A command of this name is hidden from the audit.
    pub hidden: Option<&'static str>,
    pub hidden_count: u64,
    pub(super) marks: Marks,
    /// Goes up when the device gets a submission and when it is done: odd while it works.
    pub work: Arc<AtomicU64>,
    /// Device-local memory came that the oracle does not know.
    fresh: bool,
    // The last one: what was made of it goes before.
    pub(super) gpu: Gpu,
}

/// A host on the device that the environment chooses, or why there is none.
pub fn open() -> Result<Host, String> {
    let gpu = super::gpu::open()?;
    let handles = HashMap::from([
        ((vk::ObjectType::DEVICE, DEVICE), gpu.handle()),
        ((vk::ObjectType::QUEUE, QUEUE), gpu.queue.as_raw()),
    ]);
    Ok(Host {
        handles,
        memories: BTreeMap::new(),
        reader: Reader::new(&gpu),
        images: BTreeMap::new(),
        texels: HashMap::new(),
        opaque: Opaque::default(),
        unmarked_opaque: 0,
        unstable: 0,
        image_counts: (0, 0),
        tracker: new_tracker(gpu.has),
        buffers: HashMap::new(),
        oracle: Oracle::new(),
        hidden: None,
        hidden_count: 0,
        marks: Marks::by_command(),
        work: Arc::default(),
        fresh: false,
        gpu,
    })
}

/// The driver's call.
fn call_driver(gpu: &Gpu, decoded: &mut Decoded<'_>) {
    if decoded.command_type().is_recorded() {
        // SAFETY: all handles are live ones of this device, and the programs are valid Vulkan.
        unsafe { call_cmd(&gpu.cmd_fns, &mut decoded.command) }.unwrap();
    } else {
        // SAFETY: as above.
        unsafe { call_device(&gpu.device_fns, &mut decoded.command) }.unwrap();
    }
}

fn new_tracker(has: Has) -> Tracker {
    let robustness = match has.robust_descriptors {
        true => Robustness::Descriptor,
        false => Robustness::MemoryObject,
    };
    Tracker::new(robustness, 1 << DEVICE_LOCAL)
}

impl Host {
    /// A new tracker and oracle; the guest has destroyed everything.
    pub fn reset(&mut self) {
        self.tracker = new_tracker(self.gpu.has);
        self.buffers.clear();
        // They are compared with the tracker that made them.
        self.marks = Marks::by_command();
        self.oracle = Oracle::new();
        self.hidden = None;
        self.hidden_count = 0;
        self.images.clear();
        self.texels.clear();
        self.opaque.clear();
        self.unmarked_opaque = 0;
        self.unstable = 0;
        self.image_counts = (0, 0);
    }

    /// What the device has beyond what every program needs.
    pub fn has(&self) -> Has {
        self.gpu.has
    }

    pub fn access(&self) -> Access {
        self.gpu.access
    }

    /// What lies in the memory of images is the device's own affair.
    pub fn is_opaque(&self) -> bool {
        self.gpu.opaque
    }

    /// Bytes that keep an image and a buffer apart in one memory object.
    pub fn granularity(&self) -> u64 {
        self.gpu.granularity
    }

    /// Runs a command: over the wire, past the audit, on the driver.
    pub fn run(&mut self, command: Command<'_>) {
        let mut bytes = Vec::new();
        // SAFETY: the programs of these tests put only valid pointers into commands.
        unsafe { encode_request(&command, false, &mut Encoder::append(&mut bytes, BYTES_MAX)) }
            .unwrap();
        let bump = Bump::new();
        let mut decoded = decode(&bytes, &bump, &Limits::default()).unwrap();
        assert_eq!(decoded.len, bytes.len());
        let name = decoded.command_type().name().unwrap();

        let hide = self.hidden == Some(name);
        self.hidden_count += u64::from(hide);
        if !hide {
            // SAFETY: just decoded; the handles are still guest ids.
            unsafe { rules::before(&mut self.tracker, &self.buffers, &decoded.command) }.unwrap();
        }
        let submits = name.starts_with("vkQueueSubmit");
        if submits {
            self.before_submit(&decoded.command);
        }

        decoded
            .map_handles(|object_type, id| {
                self.handles
                    .get(&(object_type, id))
                    .copied()
                    .ok_or_else(|| format!("{name}: no {object_type:?} {id}"))
            })
            .unwrap();
        let guest = self.patch_allocation(&mut decoded.command, None);
        call_driver(&self.gpu, &mut decoded);
        for (slot, value) in decoded.output_values() {
            self.handles.insert((slot.object_type, slot.id), value);
        }
        decoded.restore_output_ids();
        decoded.map_handles(|_, id| Ok::<_, ()>(id)).unwrap();
        self.patch_allocation(&mut decoded.command, guest);
        if submits {
            self.after_submit();
        }
        keep(&mut self.buffers, &decoded.command);
        if !hide {
            // SAFETY: the handles are guest ids again.
            unsafe { rules::after(&mut self.tracker, &decoded.command) }.unwrap();
        }
        self.follow_memory(&decoded.command)
    }

    /// Puts the host's memory type and size in the place of the guest's, or the guest's back.
    fn patch_allocation(
        &self,
        command: &mut Command<'_>,
        back: Option<(u32, u64)>,
    ) -> Option<(u32, u64)> {
        let Command::VkAllocateMemory(args) = command else {
            return None;
        };
        // SAFETY: the structure lies in the arena of the decoded command, which nobody else reads now.
        let info = unsafe { &mut *args.p_allocate_info.cast_mut() };
        let old = (info.memory_type_index, info.allocation_size);
        (info.memory_type_index, info.allocation_size) = back.unwrap_or(match old.0 {
            DEVICE_LOCAL => (self.gpu.local_type, old.1.next_multiple_of(ALLOCATION_UNIT)),
            _ => (self.gpu.visible_type, old.1),
        });
        Some(old)
    }

    /// Makes new memory readable for the oracle, forgets freed memory; checks that what mostly fails did not.
    fn follow_memory(&mut self, command: &Command<'_>) {
        match command {
            Command::VkAllocateMemory(args) => {
                assert_eq!(args.ret, vk::Result::SUCCESS);
                // SAFETY: decoded structures.
                let (info, id) = unsafe { (&*args.p_allocate_info, (*args.p_memory).as_raw()) };
                let memory = self.handles[&(vk::ObjectType::DEVICE_MEMORY, id)];
                let memory = Memory::new(
                    &self.gpu,
                    &self.reader,
                    vk::DeviceMemory::from_raw(memory),
                    info.allocation_size,
                    info.memory_type_index == DEVICE_LOCAL,
                );
                self.fresh |= memory.device_local;
                self.memories.insert(id, memory);
            }
            Command::VkFreeMemory(args) => {
                let id = args.memory.as_raw();
                if let Some(memory) = self.memories.remove(&id) {
                    memory.forget(&self.gpu);
                }
                self.oracle.forget(id);
            }
            Command::VkCreateBuffer(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkBindBufferMemory2(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateImage(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkBindImageMemory2(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateImageView(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateRenderPass(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateRenderPass2(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateFramebuffer(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateGraphicsPipelines(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkAllocateDescriptorSets(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateDescriptorSetLayout(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateComputePipelines(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkEndCommandBuffer(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkQueueSubmit(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkQueueSubmit2(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            _ => {}
        }
    }

    fn before_submit(&mut self, command: &Command<'_>) {
        if std::mem::take(&mut self.fresh) {
            self.reader.snapshot(&self.gpu, &mut self.memories);
            let device_local = self
                .memories
                .iter()
                .filter(|(_, memory)| memory.device_local);
            let memories: Vec<(u64, u64)> = device_local
                .map(|(id, memory)| (*id, memory.copy.len() as u64))
                .collect();
            self.oracle
                .baseline(memories, reader(&self.memories, &self.opaque))
                .unwrap();
        }
        // SAFETY: as in `run`.
        unsafe { rules::submitted(&mut self.tracker, &self.buffers, command, &mut self.marks) }
            .unwrap();
        self.marks.mark_device();
        self.work.fetch_add(1, Ordering::AcqRel);
    }

    fn after_submit(&mut self) {
        // SAFETY: the queue lives, and this is its only user.
        unsafe { self.gpu.device.queue_wait_idle(self.gpu.queue) }.unwrap();
        self.work.fetch_add(1, Ordering::AcqRel);
        self.marks.mark_device();
    }

    /// From now on the image's content is checked; it is in GENERAL layout whenever [`Self::check`] is called.
    pub fn follow_image(&mut self, id: u64, texels: Texels) {
        self.images.insert(id, texels);
    }

    /// An image, or a plane of it, lies in these bytes of a memory object.
    pub fn image_lies(&mut self, memory: u64, offset: u64, size: u64) {
        if self.gpu.opaque {
            let ranges = self.opaque.entry(memory).or_default();
            ranges.push(offset as usize..(offset + size) as usize);
        }
    }

    /// The device address of a buffer.
    pub fn address(&self, buffer: u64) -> u64 {
        let handle = vk::Buffer::from_raw(self.handles[&(vk::ObjectType::BUFFER, buffer)]);
        let info = vk::BufferDeviceAddressInfo::default().buffer(handle);
        // SAFETY: the buffer lives, has memory, and was made with the usage flag.
        unsafe { self.gpu.device.get_buffer_device_address(&info) }
    }

    /// Size and alignment that the buffer needs.
    pub fn requirements(&self, buffer: u64) -> vk::MemoryRequirements {
        let handle = vk::Buffer::from_raw(self.handles[&(vk::ObjectType::BUFFER, buffer)]);
        // SAFETY: the buffer lives.
        unsafe { self.gpu.device.get_buffer_memory_requirements(handle) }
    }

    /// Size and alignment that the image, or a plane of it, needs; None where it cannot lie in the memory that the
    /// programs use.
    pub fn image_requirements(
        &self,
        image: u64,
        plane: Option<vk::ImageAspectFlags>,
    ) -> Option<vk::MemoryRequirements> {
        let handle = vk::Image::from_raw(self.handles[&(vk::ObjectType::IMAGE, image)]);
        let mut of_plane = vk::ImagePlaneMemoryRequirementsInfo::default();
        let mut info = vk::ImageMemoryRequirementsInfo2::default().image(handle);
        if let Some(aspect) = plane {
            of_plane = of_plane.plane_aspect(aspect);
            info = info.push_next(&mut of_plane);
        }
        let mut out = vk::MemoryRequirements2::default();
        // SAFETY: the image lives.
        unsafe {
            self.gpu
                .device
                .get_image_memory_requirements2(&info, &mut out)
        };
        let needs = out.memory_requirements;
        (needs.memory_type_bits >> self.gpu.local_type & 1 == 1).then_some(needs)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.reader.destroy(&self.gpu);
    }
}

/// `run` with the arguments of a command by name.
macro_rules! run {
    ($host:expr, $name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        $host.run(Command::$name(Args::new(&mut args::$name { $($field: $value),* })))
    };
}
pub(crate) use run;
