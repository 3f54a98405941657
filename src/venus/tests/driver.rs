//! A guest's commands through the codec to a real Vulkan driver, and its answers back.

use std::ptr::null;

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, Encoder, args, encode_request};

#[path = "common/executor.rs"]
mod executor;
use executor::Executor;

/// The guest's side: sends a command and returns the reply after its type.
struct Client(Executor);

impl Client {
    fn send(&mut self, command: Command<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        // SAFETY: the tests' arguments are valid for their counts.
        unsafe { encode_request(&command, true, &mut Encoder::append(&mut bytes, 1 << 20)) }
            .unwrap();
        let reply = self.0.execute(&bytes);
        assert_eq!(reply[..4], command.command_type().0.to_le_bytes());
        reply[4..].to_vec()
    }

    /// Sends a command that returns a VkResult; what follows it.
    fn call(&mut self, command: Command<'_>) -> Vec<u8> {
        let name = command.command_type();
        let reply = self.send(command);
        assert_eq!(word(&reply, 0), 0, "{name}");
        reply[4..].to_vec()
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

macro_rules! command {
    ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        Command::$name(Args::new(&mut args::$name { $($field: $value,)* }))
    };
    ($name:ident -> { $($field:ident: $value:expr),* $(,)? }) => {
        Command::$name(Args::new(&mut args::$name {
            $($field: $value,)*
            ret: vk::Result::SUCCESS,
        }))
    };
}

/// The guest's ids.
const INSTANCE: u64 = 1;
const PHYSICAL: u64 = 2;
const DEVICE: u64 = 3;
const QUEUE: u64 = 4;
const BUFFER: u64 = 5;
const MEMORY: u64 = 6;
const POOL: u64 = 7;
const COMMANDS: u64 = 8;
const FENCE: u64 = 9;

/// An instance and a physical device; `None` where the machine has none.
fn client() -> Option<Client> {
    let mut client = Client(Executor::new()?);
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: with 'static dropped again at once, only for the type of the argument.
    let info: &vk::InstanceCreateInfo<'static> = unsafe { std::mem::transmute(&info) };
    let mut instance = vk::Instance::from_raw(INSTANCE);
    let reply = client.send(command!(VkCreateInstance -> {
        p_create_info: info, p_allocator: null(), p_instance: &mut instance,
    }));
    if word(&reply, 0) != 0 {
        return None;
    }
    let (mut count, mut physical) = (1, vk::PhysicalDevice::from_raw(PHYSICAL));
    let reply = client.send(command!(VkEnumeratePhysicalDevices -> {
        instance: instance, p_physical_device_count: &mut count, p_physical_devices: &mut physical,
    }));
    // VK_INCOMPLETE is as good: the first device does.
    (word(&reply, 12) == 1).then_some(client)
}

#[test]
fn properties_through_the_codec_equal_the_drivers() {
    let Some(mut client) = client() else {
        println!("SKIPPED: no Vulkan device on this machine");
        return;
    };
    let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2 {
        p_next: (&raw mut subgroup).cast(),
        ..Default::default()
    };

    let reply = client.send(command!(VkGetPhysicalDeviceProperties2 {
        physical_device: vk::PhysicalDevice::from_raw(PHYSICAL),
        p_properties: &mut properties,
    }));

    let direct = client.0.properties(PHYSICAL);
    // Pointer, sType, pointer, sType, end of chain, four words of subgroup properties.
    let at = 8 + 4 + 8 + 4 + 8 + 16;
    assert_eq!(word(&reply, at), direct.api_version);
    assert_eq!(word(&reply, at + 8), direct.vendor_id);
    // SAFETY: a driver's name ends in NUL.
    let name = unsafe { std::ffi::CStr::from_ptr(direct.device_name.as_ptr()) }.to_bytes();
    assert_eq!(&reply[at + 28..at + 28 + name.len()], name);
}

#[test]
fn fill_through_the_codec_writes_memory() {
    let Some(mut client) = client() else {
        println!("SKIPPED: no Vulkan device on this machine");
        return;
    };
    let device = vk::Device::from_raw(DEVICE);
    let priorities = [1.0];
    let queue_info = vk::DeviceQueueCreateInfo {
        queue_count: 1,
        p_queue_priorities: priorities.as_ptr(),
        ..Default::default()
    };
    let info = vk::DeviceCreateInfo {
        queue_create_info_count: 1,
        p_queue_create_infos: &queue_info,
        ..Default::default()
    };
    client.call(command!(VkCreateDevice -> {
        physical_device: vk::PhysicalDevice::from_raw(PHYSICAL), p_create_info: &info,
        p_allocator: null(), p_device: &mut vk::Device::from_raw(DEVICE),
    }));
    client.send(command!(VkGetDeviceQueue2 {
        device: device,
        p_queue_info: &vk::DeviceQueueInfo2::default(),
        p_queue: &mut vk::Queue::from_raw(QUEUE),
    }));
    let info = vk::BufferCreateInfo {
        size: 4096,
        usage: vk::BufferUsageFlags::TRANSFER_DST,
        ..Default::default()
    };
    client.call(command!(VkCreateBuffer -> {
        device: device, p_create_info: &info, p_allocator: null(),
        p_buffer: &mut vk::Buffer::from_raw(BUFFER),
    }));
    let info = vk::MemoryAllocateInfo {
        allocation_size: 4096,
        memory_type_index: client.0.host_visible_type(PHYSICAL),
        ..Default::default()
    };
    client.call(command!(VkAllocateMemory -> {
        device: device, p_allocate_info: &info, p_allocator: null(),
        p_memory: &mut vk::DeviceMemory::from_raw(MEMORY),
    }));
    let bind = vk::BindBufferMemoryInfo {
        buffer: vk::Buffer::from_raw(BUFFER),
        memory: vk::DeviceMemory::from_raw(MEMORY),
        ..Default::default()
    };
    client.call(command!(VkBindBufferMemory2 -> {
        device: device, bind_info_count: 1, p_bind_infos: &bind,
    }));
    client.call(command!(VkCreateCommandPool -> {
        device: device, p_create_info: &vk::CommandPoolCreateInfo::default(),
        p_allocator: null(), p_command_pool: &mut vk::CommandPool::from_raw(POOL),
    }));
    let info = vk::CommandBufferAllocateInfo {
        command_pool: vk::CommandPool::from_raw(POOL),
        command_buffer_count: 1,
        ..Default::default()
    };
    let mut commands = vk::CommandBuffer::from_raw(COMMANDS);
    client.call(command!(VkAllocateCommandBuffers -> {
        device: device, p_allocate_info: &info, p_command_buffers: &mut commands,
    }));

    client.call(command!(VkBeginCommandBuffer -> {
        command_buffer: commands, p_begin_info: &vk::CommandBufferBeginInfo::default(),
    }));
    client.send(command!(VkCmdFillBuffer {
        command_buffer: commands,
        dst_buffer: vk::Buffer::from_raw(BUFFER),
        dst_offset: 0,
        size: vk::WHOLE_SIZE,
        data: 0x5a5a_1234,
    }));
    let update = [1u8, 2, 3, 4, 5, 6, 7, 8];
    client.send(command!(VkCmdUpdateBuffer {
        command_buffer: commands,
        dst_buffer: vk::Buffer::from_raw(BUFFER),
        dst_offset: 16,
        data_size: 8,
        p_data: update.as_ptr().cast(),
    }));
    client.call(command!(VkEndCommandBuffer -> { command_buffer: commands }));
    let mut fence = vk::Fence::from_raw(FENCE);
    client.call(command!(VkCreateFence -> {
        device: device, p_create_info: &vk::FenceCreateInfo::default(), p_allocator: null(),
        p_fence: &mut fence,
    }));
    let submit = vk::SubmitInfo {
        command_buffer_count: 1,
        p_command_buffers: &commands,
        ..Default::default()
    };
    client.call(command!(VkQueueSubmit -> {
        queue: vk::Queue::from_raw(QUEUE), submit_count: 1, p_submits: &submit, fence: fence,
    }));
    client.call(command!(VkWaitForFences -> {
        device: device, fence_count: 1, p_fences: &fence, wait_all: 1, timeout: u64::MAX,
    }));

    let bytes = client.0.read_memory(MEMORY, 4096);
    assert_eq!(word(&bytes, 0), 0x5a5a_1234);
    assert_eq!(bytes[16..24], update);
    assert_eq!(word(&bytes, 4092), 0x5a5a_1234);
    client.send(command!(VkDestroyFence {
        device: device,
        fence: fence,
        p_allocator: null()
    }));
}
