//! A context without a client: commands handed to the front as they are.

#![allow(
    dead_code,
    reason = "each test binary uses its own share of these helpers"
)]

use std::path::Path;
use std::ptr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use ash::vk::{self, Handle};
use hesper_front::{Arena, ContextEvent, Front, FrontConfig, Quotas};
use hesper_memory::{DirtyBitmap, Mapping};
use hesper_venus::{Command, Encoder, encode_request, mesa};

const LAVAPIPE: &str = "/usr/share/vulkan/icd.d/lvp_icd.json";
pub const LIMIT: Duration = Duration::from_secs(60);
pub const ARENA_LEN: u64 = 64 << 20;

pub const CTX: u32 = 1;
const INSTANCE: u64 = 1;
pub const PHYSICAL: u64 = 2;
const DEVICE: u64 = 3;
const QUEUE: u64 = 4;
pub const TIMELINE: u32 = 1;

/// The two memory types that every guest sees: device-local, host-visible.
pub const MEMORY_TYPE_DEVICE: u32 = 0;
pub const MEMORY_TYPE_HOST: u32 = 1;

/// A command with its arguments by name.
macro_rules! command {
    ($name:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        hesper_venus::Command::$name(hesper_venus::Args::new(
            &mut hesper_venus::args::$name { $($field $(: $value)?),* },
        ))
    };
}

/// A [`command`] that makes an object of the device, without an allocator; its result is success until it ran.
macro_rules! create {
    ($name:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        command!($name {
            device: $crate::raw::device(),
            $($field $(: $value)?,)*
            p_allocator: std::ptr::null(),
            ret: ash::vk::Result::SUCCESS,
        })
    };
}

/// A [`command`] that ends an object of the device, without an allocator.
macro_rules! destroy {
    ($name:ident { $field:ident $(: $value:expr)? }) => {
        command!($name {
            device: $crate::raw::device(),
            $field $(: $value)?,
            p_allocator: std::ptr::null(),
        })
    };
}

pub fn device() -> vk::Device {
    vk::Device::from_raw(DEVICE)
}

pub fn queue() -> vk::Queue {
    vk::Queue::from_raw(QUEUE)
}

/// Whether there is no lavapipe, which is told.
pub fn is_skipped() -> bool {
    let lacks = !Path::new(LAVAPIPE).exists();
    if lacks {
        println!("SKIPPED: no {LAVAPIPE}");
    }
    lacks
}

/// Of [`ARENA_LEN`] bytes; `None`, told, where there is no lavapipe.
pub fn arena() -> Option<Mapping> {
    (!is_skipped()).then(|| Mapping::anonymous("test", ARENA_LEN).unwrap())
}

/// A command as a client sends it.
pub fn encode(command: &Command<'_>, reply: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    // SAFETY: the callers' structures live, and their counts are those of their arrays.
    unsafe { encode_request(command, reply, &mut Encoder::append(&mut bytes, 1 << 20)) }.unwrap();
    bytes
}

/// Hands `tell` the command that binds a buffer to the start of a memory.
pub fn binding<R>(buffer: u64, memory: u64, tell: impl FnOnce(&Command<'_>) -> R) -> R {
    let bind = vk::BindBufferMemoryInfo::default()
        .buffer(vk::Buffer::from_raw(buffer))
        .memory(vk::DeviceMemory::from_raw(memory));
    tell(&command!(VkBindBufferMemory2 {
        device: device(),
        bind_info_count: 1,
        p_bind_infos: &bind,
        ret: vk::Result::SUCCESS,
    }))
}

/// A front with an arena of its own, and the fences that it tells.
pub struct World {
    pub front: Front,
    pub arena: Mapping,
    told: Receiver<Result<u64, String>>,
    last: u64,
    /// Where answers are in the arena, once somebody asked.
    replies: Option<u64>,
}

/// The resource that answers go to.
const REPLIES: u32 = 9999;
const REPLIES_LEN: u64 = 4096;

impl World {
    pub fn new(arena: &Mapping) -> Self {
        Self::marking(arena, None)
    }

    /// As [`World::new`], where all contexts together have no more than `quotas`.
    pub fn limited(arena: &Mapping, quotas: Quotas) -> Self {
        Self::on(Self::of(quotas), arena, None)
    }

    /// As [`World::new`], with a bitmap where writes to the arena are marked.
    pub fn marking(arena: &Mapping, bitmap: Option<DirtyBitmap>) -> Self {
        Self::on(Self::without_arena(), arena, bitmap)
    }

    fn on(world: Self, arena: &Mapping, bitmap: Option<DirtyBitmap>) -> Self {
        let attached = Arena {
            mapping: arena.clone(),
            window_len: arena.len() / 2,
            bitmap,
        };
        world.front.attach_arena(attached).unwrap();
        Self {
            arena: arena.clone(),
            ..world
        }
    }

    /// A front as for vtest clients; [`World::arena`] is none of its.
    pub fn without_arena() -> Self {
        Self::of(Quotas::default())
    }

    fn of(quotas: Quotas) -> Self {
        let front = Front::new(FrontConfig {
            worker_exe: env!("CARGO_BIN_EXE_hesperd").into(),
            gpu: Some("llvmpipe".into()),
            hang_timeout: LIMIT,
            oracle: false,
            audit: Default::default(),
            fault_injection: false,
            quotas,
            sandbox: Default::default(),
        });
        let (tell, told) = channel();
        front.add_event_handler(Box::new(move |event| {
            let said = match event {
                ContextEvent::Fence { fence_id, .. } => Ok(fence_id),
                ContextEvent::Lost { reason, .. } => Err(reason),
                _ => return,
            };
            // Nobody listens any more when the test is over.
            let _ = tell.send(said);
        }));
        Self {
            front,
            arena: Mapping::anonymous("test", 4096).unwrap(),
            told,
            last: 100,
            replies: None,
        }
    }

    pub fn send(&self, command: &Command<'_>) {
        self.send_to(CTX, command);
    }

    pub fn send_to(&self, ctx_id: u32, command: &Command<'_>) {
        self.front.submit(ctx_id, &encode(command, false)).unwrap();
    }

    /// Sends a command and waits for what it is answered: its result.
    pub fn ask(&mut self, command: &Command<'_>) -> vk::Result {
        self.hear(command);
        vk::Result::from_raw(i32::from_le_bytes(self.answer(4)))
    }

    /// Sends a command and waits for its answer: see [`World::answer`].
    pub fn hear(&mut self, command: &Command<'_>) {
        self.replies.get_or_insert_with(|| {
            let blob = self
                .front
                .create_blob(CTX, REPLIES, 0, REPLIES_LEN)
                .unwrap();
            self.front.attach_resource(CTX, REPLIES).unwrap();
            blob.offset
        });
        let stream = mesa::VkCommandStreamDescriptionMESA {
            resource_id: REPLIES,
            offset: 0,
            size: REPLIES_LEN as usize,
        };
        self.send(&command!(VkSetReplyCommandStreamMESA { p_stream: &stream }));
        self.front.submit(CTX, &encode(command, true)).unwrap();
        self.finish();
    }

    /// Bytes of what was answered last.
    pub fn answer<const N: usize>(&self, at: u64) -> [u8; N] {
        let replies = self.replies.expect("somebody asked");
        let mut bytes = [0; N];
        self.arena.read(replies + at, &mut bytes).unwrap();
        bytes
    }

    /// A fence behind everything that was sent.
    pub fn fence(&mut self, timeline: u32) -> u64 {
        self.fence_of(CTX, timeline)
    }

    fn fence_of(&mut self, ctx_id: u32, timeline: u32) -> u64 {
        self.last += 1;
        self.front
            .create_fence(ctx_id, timeline, self.last)
            .unwrap();
        self.last
    }

    pub fn is_told(&self, fence: u64, limit: Duration) -> bool {
        match self.told.recv_timeout(limit) {
            Ok(Ok(told)) => {
                assert_eq!(told, fence);
                true
            }
            Ok(Err(reason)) => panic!("the context is lost: {reason}"),
            Err(RecvTimeoutError::Timeout) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Waits until everything that was sent has executed.
    pub fn finish(&mut self) {
        self.finish_of(CTX);
    }

    pub fn finish_of(&mut self, ctx_id: u32) {
        let fence = self.fence_of(ctx_id, TIMELINE);
        assert!(self.is_told(fence, LIMIT), "what was submitted never ends");
    }

    /// Waits until the context is lost; returns why.
    pub fn loss(&self) -> String {
        match self.told.recv_timeout(LIMIT) {
            Ok(Err(reason)) => reason,
            other => panic!("the context is not lost: {other:?}"),
        }
    }

    /// A context with a device and a queue on [`TIMELINE`].
    pub fn set_up(&self) {
        self.set_up_as(CTX);
    }

    pub fn set_up_as(&self, ctx_id: u32) {
        self.front.create_context(ctx_id, "test").unwrap();
        let send = |command: &Command<'_>| self.send_to(ctx_id, command);
        let info = vk::InstanceCreateInfo::default();
        let mut instance = vk::Instance::from_raw(INSTANCE);
        send(&command!(VkCreateInstance {
            p_create_info: &info,
            p_allocator: ptr::null(),
            p_instance: &mut instance,
            ret: vk::Result::SUCCESS,
        }));
        let mut physical_device = vk::PhysicalDevice::from_raw(PHYSICAL);
        send(&command!(VkEnumeratePhysicalDevices {
            instance,
            p_physical_device_count: &mut 1,
            p_physical_devices: &mut physical_device,
            ret: vk::Result::SUCCESS,
        }));
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let mut features = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
        let names = [
            c"VK_KHR_external_semaphore_fd".as_ptr(),
            c"VK_KHR_external_fence_fd".as_ptr(),
        ];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&names)
            .push_next(&mut features);
        send(&command!(VkCreateDevice {
            physical_device,
            p_create_info: (&raw const info).cast(),
            p_allocator: ptr::null(),
            p_device: &mut device(),
            ret: vk::Result::SUCCESS,
        }));
        let timeline = mesa::VkDeviceQueueTimelineInfoMESA {
            s_type: vk::StructureType::from_raw(1_000_384_005),
            p_next: ptr::null(),
            ring_idx: TIMELINE,
        };
        let info = vk::DeviceQueueInfo2 {
            p_next: (&raw const timeline).cast(),
            ..Default::default()
        };
        send(&command!(VkGetDeviceQueue2 {
            device: device(),
            p_queue_info: &info,
            p_queue: &mut queue(),
        }));
    }

    /// Saves the front and ends it; the one that `start` makes then goes on from there.
    pub fn restored(self, start: impl FnOnce() -> World) -> World {
        self.front.quiesce(b"tables", LIMIT).unwrap();
        let saved = self.front.save().unwrap();
        drop(self);
        let world = start();
        world.front.load(&saved).unwrap();
        world.front.resume();
        world
    }

    pub fn allocate_as(&self, ctx_id: u32, memory: u64, info: &vk::MemoryAllocateInfo<'_>) {
        self.send_to(
            ctx_id,
            &create!(VkAllocateMemory {
                p_allocate_info: ptr::from_ref(info).cast(),
                p_memory: &mut vk::DeviceMemory::from_raw(memory),
            }),
        );
    }

    pub fn free(&self, ctx_id: u32, memory: u64) {
        let memory = vk::DeviceMemory::from_raw(memory);
        self.send_to(ctx_id, &destroy!(VkFreeMemory { memory }));
    }

    pub fn create_buffer_as(&self, ctx_id: u32, buffer: u64, info: &vk::BufferCreateInfo<'_>) {
        self.send_to(
            ctx_id,
            &create!(VkCreateBuffer {
                p_create_info: ptr::from_ref(info).cast(),
                p_buffer: &mut vk::Buffer::from_raw(buffer),
            }),
        );
    }

    /// A command pool with one command buffer.
    pub fn create_command_buffer(
        &self,
        ctx_id: u32,
        pool: u64,
        flags: vk::CommandPoolCreateFlags,
        command_buffer: u64,
    ) -> vk::CommandBuffer {
        let send = |command: &Command<'_>| self.send_to(ctx_id, command);
        let mut pool = vk::CommandPool::from_raw(pool);
        send(&create!(VkCreateCommandPool {
            p_create_info: &vk::CommandPoolCreateInfo::default().flags(flags),
            p_command_pool: &mut pool,
        }));
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .command_buffer_count(1);
        let mut command_buffer = vk::CommandBuffer::from_raw(command_buffer);
        send(&command!(VkAllocateCommandBuffers {
            device: device(),
            p_allocate_info: &info,
            p_command_buffers: &mut command_buffer,
            ret: vk::Result::SUCCESS,
        }));
        command_buffer
    }

    /// Begins a command buffer, with a fill of `size` bytes from the start of a buffer.
    pub fn begin_filling(
        &self,
        ctx_id: u32,
        command_buffer: vk::CommandBuffer,
        buffer: u64,
        size: u64,
        word: u32,
    ) {
        let send = |command: &Command<'_>| self.send_to(ctx_id, command);
        send(&command!(VkBeginCommandBuffer {
            command_buffer,
            p_begin_info: &vk::CommandBufferBeginInfo::default(),
            ret: vk::Result::SUCCESS,
        }));
        send(&command!(VkCmdFillBuffer {
            command_buffer,
            dst_buffer: vk::Buffer::from_raw(buffer),
            dst_offset: 0,
            size,
            data: word,
        }));
    }

    /// vkQueueSubmit of one batch, without a fence.
    pub fn submit_as(&self, ctx_id: u32, batch: &vk::SubmitInfo<'_>) {
        self.send_to(
            ctx_id,
            &command!(VkQueueSubmit {
                queue: queue(),
                submit_count: 1,
                p_submits: ptr::from_ref(batch).cast(),
                fence: vk::Fence::null(),
                ret: vk::Result::SUCCESS,
            }),
        );
    }
}
