//! A context without a client: commands handed to the front as they are.

#![allow(
    dead_code,
    reason = "each test binary uses its own share of these helpers"
)]

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use ash::vk::{self, Handle};
use hesper_front::{Arena, ContextEvent, Front, FrontConfig, Quotas};
use hesper_memory::{DirtyBitmap, Mapping};
use hesper_venus::{Args, Command, Encoder, args, encode_request, mesa};

pub const LAVAPIPE: &str = "/usr/share/vulkan/icd.d/lvp_icd.json";
pub const LIMIT: Duration = Duration::from_secs(60);

pub const CTX: u32 = 1;
const INSTANCE: u64 = 1;
pub const PHYSICAL: u64 = 2;
pub const DEVICE: u64 = 3;
pub const QUEUE: u64 = 4;
pub const TIMELINE: u32 = 1;

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
        self.encode(ctx_id, command, false);
    }

    fn encode(&self, ctx_id: u32, command: &Command<'_>, reply: bool) {
        let mut bytes = Vec::new();
        // SAFETY: the callers' structures live, and their counts are those of their arrays.
        unsafe { encode_request(command, reply, &mut Encoder::append(&mut bytes, 1 << 20)) }
            .unwrap();
        self.front.submit(ctx_id, &bytes).unwrap();
    }

    /// Sends a command and waits for what it is answered: its result.
    pub fn ask(&mut self, command: &Command<'_>) -> vk::Result {
        self.hear(command);
        vk::Result::from_raw(i32::from_le_bytes(self.answer(4)))
    }

    /// Sends a command and waits for its answer: see [`World::answer`].
    pub fn hear(&mut self, command: &Command<'_>) {
        self.replies.get_or_insert_with(|| {
            let blob = self.front.create_blob(CTX, REPLIES, 0, 4096).unwrap();
            self.front.attach_resource(CTX, REPLIES).unwrap();
            blob.offset
        });
        // vkSetReplyCommandStreamMESA: from the start of the blob on.
        let stream: [u32; 9] = [178, 0, 1, 0, REPLIES, 0, 0, 4096, 0];
        let stream: Vec<u8> = stream.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.front.submit(CTX, &stream).unwrap();
        self.encode(CTX, command, true);
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
        let info = vk::InstanceCreateInfo::default();
        let mut instance = vk::Instance::from_raw(INSTANCE);
        self.send_to(
            ctx_id,
            &Command::VkCreateInstance(Args::new(&mut args::VkCreateInstance {
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_instance: &raw mut instance,
                ret: vk::Result::SUCCESS,
            })),
        );
        let (mut count, mut physical) = (1, vk::PhysicalDevice::from_raw(PHYSICAL));
        self.send_to(
            ctx_id,
            &Command::VkEnumeratePhysicalDevices(Args::new(
                &mut args::VkEnumeratePhysicalDevices {
                    instance,
                    p_physical_device_count: &raw mut count,
                    p_physical_devices: &raw mut physical,
                    ret: vk::Result::SUCCESS,
                },
            )),
        );
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
        let mut device = vk::Device::from_raw(DEVICE);
        self.send_to(
            ctx_id,
            &Command::VkCreateDevice(Args::new(&mut args::VkCreateDevice {
                physical_device: physical,
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_device: &raw mut device,
                ret: vk::Result::SUCCESS,
            })),
        );
        let timeline = mesa::VkDeviceQueueTimelineInfoMESA {
            s_type: vk::StructureType::from_raw(1_000_384_005),
            p_next: std::ptr::null(),
            ring_idx: TIMELINE,
        };
        let info = vk::DeviceQueueInfo2 {
            p_next: (&raw const timeline).cast::<c_void>(),
            ..Default::default()
        };
        let mut queue = vk::Queue::from_raw(QUEUE);
        self.send_to(
            ctx_id,
            &Command::VkGetDeviceQueue2(Args::new(&mut args::VkGetDeviceQueue2 {
                device,
                p_queue_info: (&raw const info).cast(),
                p_queue: &raw mut queue,
            })),
        );
    }
}
