//! A small worker: runs commands on the host's GPU the way a real one does, through the wire codec and the audit.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk::{self, Handle};
use bumpalo::Bump;
use hesper_audit::dirty::DirtyMap;
use hesper_audit::marks::Marks;
use hesper_audit::oracle::Oracle;
use hesper_audit::rules;
use hesper_audit::tracker::{Robustness, Tracker};
use hesper_venus::{
    CmdFns, Command, DeviceFns, Encoder, Limits, call_cmd, call_device, decode, encode_request,
};

/// Ids of the objects that the host itself makes.
pub const DEVICE: u64 = 1;
pub const QUEUE: u64 = 2;
/// The guest's memory types.
pub const DEVICE_LOCAL: u32 = 0;
pub const HOST_VISIBLE: u32 = 1;

const BYTES_MAX: usize = 1 << 20;

/// The guest's memory as the host sees it.
struct Memory {
    at: *const u8,
    device_local: bool,
    /// Content at the last check, to the byte.
    copy: Vec<u8>,
}

/// What a program makes of an image.
#[derive(Clone, Copy, Debug)]
pub struct Texels {
    pub format: vk::Format,
    pub width: u32,
    pub height: u32,
    pub depth: u32,
    pub mips: u32,
    pub layers: u32,
    pub samples: vk::SampleCountFlags,
}

impl Texels {
    pub fn aspect(&self) -> vk::ImageAspectFlags {
        match self.format {
            vk::Format::D32_SFLOAT => vk::ImageAspectFlags::DEPTH,
            _ => vk::ImageAspectFlags::COLOR,
        }
    }

    pub fn extent(&self, mip: u32) -> vk::Extent3D {
        vk::Extent3D {
            width: (self.width >> mip).max(1),
            height: (self.height >> mip).max(1),
            depth: (self.depth >> mip).max(1),
        }
    }

    /// Bytes of a level's layer; every format here has 4 for a texel.
    fn len(&self, mip: u32) -> usize {
        let extent = self.extent(mip);
        (extent.width * extent.height * extent.depth * 4) as usize
    }
}

/// Reads images back: a command buffer and a buffer that is mapped.
struct ImageReader {
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    at: *const u8,
}

/// Bytes of all images of a program.
const IMAGES_LEN: u64 = 1 << 20;

pub struct Host {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    queue: vk::Queue,
    device_fns: DeviceFns,
    cmd_fns: CmdFns,
    /// The host's type for all memory: one that can be mapped, so that the oracle can read it.
    memory_type: u32,
    handles: HashMap<(vk::ObjectType, u64), u64>,
    memories: HashMap<u64, Memory>,
    image_reader: Option<ImageReader>,
    images: BTreeMap<u64, Texels>,
    /// Content at the last check by (image, level, layer).
    texels: HashMap<(u64, u32, u32), Vec<u8>>,
    /// Subresources that changed, and those that were marked.
    pub image_counts: (u64, u64),
    pub tracker: Tracker,
    pub oracle: Oracle,
    /// A command of this name is hidden from the audit.
    pub hidden: Option<&'static str>,
    pub hidden_count: u64,
    marks: Marks,
    submissions: u64,
}

/// The first device with what the programs need, or why there is none.
pub fn open() -> Result<Host, String> {
    // SAFETY: the loader is a trusted library of this machine.
    let entry = unsafe { ash::Entry::load() }.map_err(|error| error.to_string())?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the structure is complete, and destroyed at Host's drop.
    let instance =
        unsafe { entry.create_instance(&info, None) }.map_err(|error| error.to_string())?;
    // SAFETY: the instance lives.
    let physical =
        unsafe { instance.enumerate_physical_devices() }.map_err(|error| error.to_string())?;
    let physical = *physical.first().ok_or("no device")?;
    // SAFETY: the physical device is the instance's.
    let properties = unsafe { instance.get_physical_device_properties(physical) };
    if properties.api_version < vk::API_VERSION_1_3 {
        return Err("the device is older than Vulkan 1.3".into());
    }
    // SAFETY: as above.
    let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
    let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
    let memory_type = memory
        .memory_types_as_slice()
        .iter()
        .position(|memory_type| memory_type.property_flags.contains(wanted))
        .ok_or("no memory to map")? as u32;

    let features = vk::PhysicalDeviceFeatures::default()
        .robust_buffer_access(true)
        .shader_int64(true)
        .vertex_pipeline_stores_and_atomics(true)
        .fragment_stores_and_atomics(true)
        .shader_storage_buffer_array_dynamic_indexing(true);
    let mut variable_pointers = vk::PhysicalDeviceVariablePointersFeatures::default()
        .variable_pointers(true)
        .variable_pointers_storage_buffer(true);
    let mut features12 = vk::PhysicalDeviceVulkan12Features::default()
        .descriptor_indexing(true)
        .runtime_descriptor_array(true)
        .shader_storage_buffer_array_non_uniform_indexing(true)
        .descriptor_binding_partially_bound(true)
        .descriptor_binding_storage_buffer_update_after_bind(true)
        .descriptor_binding_storage_texel_buffer_update_after_bind(true)
        .buffer_device_address(true)
        .vulkan_memory_model(true)
        .vulkan_memory_model_device_scope(true);
    let mut features13 = vk::PhysicalDeviceVulkan13Features::default()
        .synchronization2(true)
        .dynamic_rendering(true)
        .maintenance4(true);
    let mut robustness =
        vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(0)
        .queue_priorities(&priorities)];
    let extensions = [
        c"VK_EXT_robustness2".as_ptr(),
        c"VK_KHR_push_descriptor".as_ptr(),
    ];
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .enabled_features(&features)
        .push_next(&mut variable_pointers)
        .push_next(&mut features12)
        .push_next(&mut features13)
        .push_next(&mut robustness);
    // SAFETY: the structures are complete and alive during the call.
    let device = unsafe { instance.create_device(physical, &info, None) }
        .map_err(|error| error.to_string())?;
    // SAFETY: the queue was asked for above.
    let queue = unsafe { device.get_device_queue(0, 0) };
    let handle = device.handle();
    let find = |name: &CStr| {
        // SAFETY: the name is a string, the device lives.
        unsafe { (instance.fp_v1_0().get_device_proc_addr)(handle, name.as_ptr()) }
    };
    let (device_fns, cmd_fns) = (DeviceFns::load(find), CmdFns::load(find));
    let handles = HashMap::from([
        ((vk::ObjectType::DEVICE, DEVICE), handle.as_raw()),
        ((vk::ObjectType::QUEUE, QUEUE), queue.as_raw()),
    ]);
    let mut host = Host {
        _entry: entry,
        instance,
        device,
        queue,
        device_fns,
        cmd_fns,
        memory_type,
        handles,
        memories: HashMap::new(),
        image_reader: None,
        images: BTreeMap::new(),
        texels: HashMap::new(),
        image_counts: (0, 0),
        tracker: Tracker::new(Robustness::Descriptor, 1 << DEVICE_LOCAL),
        oracle: Oracle::new(),
        hidden: None,
        hidden_count: 0,
        marks: Marks::new(),
        submissions: 0,
    };
    host.reset();
    Ok(host)
}

impl Host {
    /// A new tracker and oracle; the guest has destroyed everything.
    pub fn reset(&mut self) {
        self.tracker = Tracker::new(Robustness::Descriptor, 1 << DEVICE_LOCAL);
        self.oracle = Oracle::new();
        self.hidden = None;
        self.hidden_count = 0;
        self.images.clear();
        self.texels.clear();
        self.image_counts = (0, 0);
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
            unsafe { rules::before(&mut self.tracker, &decoded.command) }.unwrap();
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
                    .ok_or(format!("{name}: no {object_type:?} {id}"))
            })
            .unwrap();
        let guest_type = self.patch_memory_type(&mut decoded.command, None);
        let recorded = decoded.command_type().is_recorded();
        if recorded {
            // SAFETY: all handles are live ones of this device, and the programs are valid Vulkan.
            unsafe { call_cmd(&self.cmd_fns, &mut decoded.command) }.unwrap();
        } else {
            // SAFETY: as above.
            unsafe { call_device(&self.device_fns, &mut decoded.command) }.unwrap();
        }
        for (slot, value) in decoded.output_values() {
            self.handles.insert((slot.object_type, slot.id), value);
        }
        decoded.restore_output_ids();
        decoded.map_handles(|_, id| Ok::<_, ()>(id)).unwrap();
        self.patch_memory_type(&mut decoded.command, guest_type);
        if submits {
            self.after_submit();
        }
        if !hide {
            // SAFETY: the handles are guest ids again.
            unsafe { rules::after(&mut self.tracker, &decoded.command) }.unwrap();
        }
        self.follow_memory(&decoded.command)
    }

    /// Puts the host's memory type in the place of the guest's, or the guest's back.
    fn patch_memory_type(&self, command: &mut Command<'_>, back: Option<u32>) -> Option<u32> {
        let Command::VkAllocateMemory(args) = command else {
            return None;
        };
        // SAFETY: the structure lies in the arena of the decoded command, which nobody else reads now.
        let info = unsafe { &mut *args.p_allocate_info.cast_mut() };
        Some(std::mem::replace(
            &mut info.memory_type_index,
            back.unwrap_or(self.memory_type),
        ))
    }

    /// Maps new device-local memory for the oracle, forgets freed memory; checks that what mostly fails did not.
    fn follow_memory(&mut self, command: &Command<'_>) {
        match command {
            Command::VkAllocateMemory(args) => {
                assert_eq!(args.ret, vk::Result::SUCCESS);
                // SAFETY: decoded structures.
                let (info, id) = unsafe { (&*args.p_allocate_info, (*args.p_memory).as_raw()) };
                let memory = self.handles[&(vk::ObjectType::DEVICE_MEMORY, id)];
                let memory = vk::DeviceMemory::from_raw(memory);
                let flags = vk::MemoryMapFlags::empty();
                // SAFETY: the memory is host-visible and not mapped yet.
                let at =
                    unsafe { self.device.map_memory(memory, 0, vk::WHOLE_SIZE, flags) }.unwrap();
                let size = info.allocation_size as usize;
                // SAFETY: the mapping is as large as the memory, and nothing uses it yet.
                unsafe { at.cast::<u8>().write_bytes(0, size) };
                let memory = Memory {
                    at: at.cast_const().cast(),
                    device_local: info.memory_type_index == DEVICE_LOCAL,
                    copy: vec![0; size],
                };
                self.memories.insert(id, memory);
            }
            Command::VkFreeMemory(args) => {
                self.memories.remove(&args.memory.as_raw());
                self.oracle.forget(args.memory.as_raw());
            }
            Command::VkCreateBuffer(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkBindBufferMemory2(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateImage(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkBindImageMemory2(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateGraphicsPipelines(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkAllocateDescriptorSets(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkCreateComputePipelines(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkEndCommandBuffer(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkQueueSubmit(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            Command::VkQueueSubmit2(args) => assert_eq!(args.ret, vk::Result::SUCCESS),
            _ => {}
        }
    }

    fn before_submit(&mut self, command: &Command<'_>) {
        let device_local = self
            .memories
            .iter()
            .filter(|(_, memory)| memory.device_local);
        let memories: Vec<(u64, u64)> = device_local
            .map(|(id, memory)| (*id, memory.copy.len() as u64))
            .collect();
        self.oracle
            .baseline(memories, reader(&self.memories))
            .unwrap();
        self.marks.clear();
        // SAFETY: as in `run`.
        unsafe { rules::submitted(&mut self.tracker, command, &mut self.marks) }.unwrap();
        self.marks.mark_device();
        self.submissions += 1;
    }

    fn after_submit(&mut self) {
        // SAFETY: the queue lives, and this is its only user.
        unsafe { self.device.queue_wait_idle(self.queue) }.unwrap();
        self.marks.mark_device();
    }

    /// What the oracle finds about the last submission, `summary`.
    pub fn check(&mut self, summary: String) -> Result<(), String> {
        self.oracle.note(&self.marks, summary);
        let checked = self.oracle.check(reader(&self.memories));
        checked.map_err(|error| error.to_string())?;
        self.check_images()?;
        self.check_bytes()
    }

    /// From now on the image's content is checked; it is in GENERAL layout whenever [`Self::check`] is called.
    pub fn follow_image(&mut self, id: u64, texels: Texels) {
        self.images.insert(id, texels);
    }

    /// Every level and layer that changed since the last check must be in the marks.
    fn check_images(&mut self) -> Result<(), String> {
        let mut marked = HashSet::new();
        for range in self.marks.image_ranges() {
            let at = range.subresources;
            for mip in at.mip..at.mip + at.mips {
                for layer in at.layer..at.layer + at.layers {
                    marked.insert((range.image, mip, layer));
                }
            }
        }
        self.image_counts.1 += marked.len() as u64;
        for (at, new) in self.read_images() {
            let Some(old) = self.texels.insert(at, new) else {
                continue;
            };
            if old == self.texels[&at] {
                continue;
            }
            self.image_counts.0 += 1;
            if !marked.contains(&at) {
                let (image, mip, layer) = at;
                return Err(format!(
                    "Missed writes: image {image} level {mip} layer {layer}"
                ));
            }
        }
        Ok(())
    }

    /// Content of all images of one sample, by (image, level, layer).
    fn read_images(&mut self) -> Vec<((u64, u32, u32), Vec<u8>)> {
        if self.images.is_empty() {
            return Vec::new();
        }
        if self.image_reader.is_none() {
            self.image_reader = Some(self.make_image_reader());
        }
        let reader = self.image_reader.as_ref().unwrap();
        let mut offset = 0;
        let mut places = Vec::new();
        let begin = vk::CommandBufferBeginInfo::default();
        let submits =
            [vk::SubmitInfo::default().command_buffers(std::slice::from_ref(&reader.commands))];
        // SAFETY: the GPU is idle, all objects live, all images are in GENERAL layout, and the regions lie in the buffer.
        unsafe {
            self.device
                .begin_command_buffer(reader.commands, &begin)
                .unwrap();
            for (id, texels) in &self.images {
                if texels.samples != vk::SampleCountFlags::TYPE_1 {
                    continue;
                }
                let image = vk::Image::from_raw(self.handles[&(vk::ObjectType::IMAGE, *id)]);
                for mip in 0..texels.mips {
                    for layer in 0..texels.layers {
                        let region = vk::BufferImageCopy {
                            buffer_offset: offset as u64,
                            image_subresource: vk::ImageSubresourceLayers {
                                aspect_mask: texels.aspect(),
                                mip_level: mip,
                                base_array_layer: layer,
                                layer_count: 1,
                            },
                            image_extent: texels.extent(mip),
                            ..Default::default()
                        };
                        let layout = vk::ImageLayout::GENERAL;
                        self.device.cmd_copy_image_to_buffer(
                            reader.commands,
                            image,
                            layout,
                            reader.buffer,
                            &[region],
                        );
                        places.push(((*id, mip, layer), offset, texels.len(mip)));
                        offset += texels.len(mip);
                    }
                }
            }
            assert!(offset as u64 <= IMAGES_LEN);
            self.device.end_command_buffer(reader.commands).unwrap();
            self.device
                .queue_submit(self.queue, &submits, vk::Fence::null())
                .unwrap();
            self.device.queue_wait_idle(self.queue).unwrap();
        }
        places
            .into_iter()
            .map(|(at, offset, len)| {
                // SAFETY: inside of the mapped buffer, and the GPU is idle.
                let bytes = unsafe { std::slice::from_raw_parts(reader.at.add(offset), len) };
                (at, bytes.to_vec())
            })
            .collect()
    }

    fn make_image_reader(&self) -> ImageReader {
        let pool_info = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        let buffer_info = vk::BufferCreateInfo::default()
            .size(IMAGES_LEN)
            .usage(vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: new objects of the device, which lives; the type of the memory can be mapped.
        unsafe {
            let pool = self.device.create_command_pool(&pool_info, None).unwrap();
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .command_buffer_count(1);
            let commands = self.device.allocate_command_buffers(&info).unwrap()[0];
            let buffer = self.device.create_buffer(&buffer_info, None).unwrap();
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(self.memory_type);
            let memory = self.device.allocate_memory(&info, None).unwrap();
            self.device.bind_buffer_memory(buffer, memory, 0).unwrap();
            let flags = vk::MemoryMapFlags::empty();
            let at = self
                .device
                .map_memory(memory, 0, vk::WHOLE_SIZE, flags)
                .unwrap();
            ImageReader {
                pool,
                commands,
                buffer,
                memory,
                at: at.cast_const().cast(),
            }
        }
    }

    /// Size and alignment that the image needs; None where it cannot lie in memory that the oracle can read.
    pub fn image_requirements(&self, image: u64) -> Option<vk::MemoryRequirements> {
        let handle = vk::Image::from_raw(self.handles[&(vk::ObjectType::IMAGE, image)]);
        // SAFETY: the image lives.
        let needs = unsafe { self.device.get_image_memory_requirements(handle) };
        (needs.memory_type_bits >> self.memory_type & 1 == 1).then_some(needs)
    }

    /// Every byte of any memory that changed since the last check must lie in a marked range, chunks aside.
    fn check_bytes(&mut self) -> Result<(), String> {
        let host = self.marks.host_ranges().iter().copied();
        let ranges: Vec<_> = self.marks.device_ranges().chain(host).collect();
        for (id, memory) in &mut self.memories {
            let mut new = vec![0; memory.copy.len()];
            // SAFETY: memory in the table is mapped, and the GPU is idle.
            unsafe { memory.read(0, &mut new) };
            for (page, (old, new)) in memory.copy.chunks(4096).zip(new.chunks(4096)).enumerate() {
                if old == new {
                    continue;
                }
                let changed = (0..old.len()).filter(|index| old[*index] != new[*index]);
                for at in changed.map(|index| (page * 4096 + index) as u64) {
                    let covered = ranges.iter().any(|range| {
                        range.memory == *id && range.offset <= at && at < range.offset + range.len
                    });
                    if !covered {
                        return Err(format!("Missed writes: byte {at:#x} of memory {id}"));
                    }
                }
            }
            memory.copy = new;
        }
        Ok(())
    }

    /// Starts a thread that captures device-local memory again and again, whatever runs.
    pub fn start_captures(&self) -> Captures {
        let stop = Arc::new(AtomicBool::new(false));
        let mut copies: Vec<Copy> = Vec::new();
        for (id, map) in self.tracker.device_memories() {
            let memory = &self.memories[&id];
            copies.push(Copy {
                at: memory.at as usize,
                map: map.clone(),
                // New memory is zeros, which nobody has to mark.
                content: memory.copy.clone(),
            });
        }
        let thread = {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let mut early = 0;
                while !stop.load(Ordering::Acquire) {
                    early += copies.iter_mut().map(Copy::capture).sum::<u64>();
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
                let last = copies.iter_mut().map(Copy::capture).sum::<u64>();
                (early, last, copies)
            })
        };
        Captures { stop, thread }
    }

    /// The device address of a buffer.
    pub fn address(&self, buffer: u64) -> u64 {
        let handle = vk::Buffer::from_raw(self.handles[&(vk::ObjectType::BUFFER, buffer)]);
        let info = vk::BufferDeviceAddressInfo::default().buffer(handle);
        // SAFETY: the buffer lives, has memory, and was made with the usage flag.
        unsafe { self.device.get_buffer_device_address(&info) }
    }

    /// Size and alignment that the buffer needs.
    pub fn requirements(&self, buffer: u64) -> vk::MemoryRequirements {
        let handle = vk::Buffer::from_raw(self.handles[&(vk::ObjectType::BUFFER, buffer)]);
        // SAFETY: the buffer lives.
        unsafe { self.device.get_buffer_memory_requirements(handle) }
    }
}

impl Memory {
    /// # Safety
    /// The memory is mapped still, and the GPU does not write to this range now.
    unsafe fn read(&self, offset: usize, out: &mut [u8]) {
        assert!(offset + out.len() <= self.copy.len());
        // SAFETY: inside of the mapping, by the contract of this function.
        unsafe {
            self.at
                .add(offset)
                .copy_to_nonoverlapping(out.as_mut_ptr(), out.len())
        };
    }
}

fn reader(
    memories: &HashMap<u64, Memory>,
) -> impl FnMut(u64, u64, &mut [u8]) -> Result<(), String> + '_ {
    |memory, offset, out| {
        let memory = memories.get(&memory).ok_or("unknown memory")?;
        // SAFETY: memory in the table is mapped, and the GPU is idle.
        unsafe { memory.read(offset as usize, out) };
        Ok(())
    }
}

/// A device-local memory object's captured content.
struct Copy {
    at: usize,
    map: Arc<DirtyMap>,
    content: Vec<u8>,
}

impl Copy {
    /// Takes the marks, then copies; the number of chunks.
    fn capture(&mut self) -> u64 {
        let set = self.map.take();
        for (offset, len) in set.runs() {
            for at in offset as usize..(offset + len) as usize {
                // SAFETY: inside of the mapping, which outlives the captures. The GPU may write meanwhile: read whatever
                // is there, as a capture does.
                self.content[at] = unsafe { (self.at as *const u8).add(at).read_volatile() };
            }
        }
        set.len()
    }
}

/// A thread that captures.
pub struct Captures {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<(u64, u64, Vec<Copy>)>,
}

impl Captures {
    /// Captures once more and compares with the memory itself; the chunks captured while programs ran, and at the end.
    pub fn stop(self) -> (u64, u64) {
        self.stop.store(true, Ordering::Release);
        let (early, last, copies) = self.thread.join().unwrap();
        for copy in copies {
            assert!(copy.map.take().is_empty());
            for (at, byte) in copy.content.iter().enumerate() {
                // SAFETY: as in `capture`; the GPU is idle.
                let now = unsafe { (copy.at as *const u8).add(at).read_volatile() };
                assert_eq!(*byte, now, "byte {at:#x} was lost");
            }
        }
        (early, last)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: everything made from the device is gone or goes with it; both are destroyed once.
        unsafe {
            let _ = self.device.device_wait_idle();
            if let Some(reader) = self.image_reader.take() {
                self.device.destroy_command_pool(reader.pool, None);
                self.device.destroy_buffer(reader.buffer, None);
                self.device.free_memory(reader.memory, None);
            }
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// `run` with the arguments of a command by name.
macro_rules! run {
    ($host:expr, $name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        $host.run(Command::$name(Args::new(&mut args::$name { $($field: $value),* })))
    };
}
pub(crate) use run;
