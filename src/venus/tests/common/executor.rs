//! The smallest thing that executes decoded commands on the host's Vulkan driver.
#![allow(dead_code)]

use std::collections::HashMap;

use ash::vk::{self, Handle};
use bumpalo::Bump;
use hesper_venus::{
    CmdFns, Command, DeviceFns, Encoder, InstanceFns, Limits, call_cmd, call_device, call_instance,
    decode, encode_reply,
};

pub struct Executor {
    entry: ash::Entry,
    handles: HashMap<u64, u64>,
    instance: Option<(vk::Instance, InstanceFns)>,
    device: Option<(ash::Device, DeviceFns, CmdFns)>,
    bump: Bump,
    pub executed: usize,
}

impl Executor {
    /// `None` when the machine has no Vulkan loader.
    pub fn new() -> Option<Self> {
        // SAFETY: the loader is the system's.
        let entry = unsafe { ash::Entry::load() }.ok()?;
        let bump = Bump::new();
        Some(Executor {
            entry,
            handles: HashMap::new(),
            instance: None,
            device: None,
            bump,
            executed: 0,
        })
    }

    /// Executes every command in `bytes`; the replies asked for, one after the other.
    pub fn execute(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut replies = Vec::new();
        while !bytes.is_empty() {
            let len = self.one(bytes, &mut replies);
            bytes = &bytes[len..];
        }
        replies
    }

    /// The host's handle for a guest's id.
    pub fn host(&self, id: u64) -> u64 {
        self.handles[&id]
    }

    pub fn device(&self) -> &ash::Device {
        &self.device.as_ref().expect("the client made a device").0
    }

    fn one(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> usize {
        let mut bump = std::mem::take(&mut self.bump);
        bump.reset();
        let mut decoded = decode(bytes, &bump, &Limits::default()).expect("a command");
        let handles = &self.handles;
        decoded
            .map_handles(|kind, id| handles.get(&id).copied().ok_or((kind, id)))
            .expect("a handle that was created");
        let id = decoded.command_type();
        let command = &mut decoded.command;
        // SAFETY: the client is a test that sends valid Vulkan; handles are mapped.
        unsafe {
            if let Command::VkCreateInstance(a) = command {
                let create = self.entry.fp_v1_0().create_instance;
                a.ret = create(a.p_create_info, a.p_allocator, a.p_instance);
                if a.ret == vk::Result::SUCCESS {
                    let made = *a.p_instance;
                    let entry = &self.entry;
                    let fns =
                        InstanceFns::load(|name| entry.get_instance_proc_addr(made, name.as_ptr()));
                    self.instance = Some((made, fns));
                }
            } else if let Command::VkEnumerateInstanceVersion(a) = command {
                *a.p_api_version = vk::API_VERSION_1_3;
            } else if let Command::VkCreateDevice(_) = command {
                let (instance, fns) = self.instance.as_ref().expect("an instance");
                call_instance(fns, command).expect("vkCreateDevice");
                let Command::VkCreateDevice(a) = command else {
                    unreachable!()
                };
                assert_eq!(a.ret, vk::Result::SUCCESS);
                let instance = ash::Instance::load(self.entry.static_fn(), *instance);
                let made = *a.p_device;
                let find =
                    |name: &std::ffi::CStr| instance.get_device_proc_addr(made, name.as_ptr());
                let device = ash::Device::load(instance.fp_v1_0(), made);
                self.device = Some((device, DeviceFns::load(find), CmdFns::load(find)));
            } else if id.is_recorded() {
                let fns = &self.device.as_ref().expect("a device").2;
                call_cmd(fns, command).expect("a command that the driver has");
            } else if let Some((_, fns)) = &self.instance
                && call_instance(fns, command).is_ok()
            {
            } else {
                let fns = &self.device.as_ref().expect("a device").1;
                call_device(fns, command).expect("a command that the driver has");
            }
        }
        for (slot, handle) in decoded.output_values() {
            self.handles.insert(slot.id, handle);
        }
        if decoded.wants_reply {
            encode_reply(&mut decoded, &mut Encoder::append(replies, 1 << 20)).expect("room");
        }
        self.executed += 1;
        let len = decoded.len;
        self.bump = bump;
        len
    }
}

impl Executor {
    fn instance(&self) -> ash::Instance {
        let handle = self
            .instance
            .as_ref()
            .expect("the client made an instance")
            .0;
        // SAFETY: the instance is alive.
        unsafe { ash::Instance::load(self.entry.static_fn(), handle) }
    }

    /// What the driver says of a physical device when asked directly.
    pub fn properties(&self, id: u64) -> vk::PhysicalDeviceProperties {
        let physical = vk::PhysicalDevice::from_raw(self.host(id));
        // SAFETY: the handle came from the driver.
        unsafe { self.instance().get_physical_device_properties(physical) }
    }

    /// A memory type that the host can map.
    pub fn host_visible_type(&self, id: u64) -> u32 {
        let physical = vk::PhysicalDevice::from_raw(self.host(id));
        // SAFETY: the handle came from the driver.
        let known = unsafe {
            self.instance()
                .get_physical_device_memory_properties(physical)
        };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let types = known.memory_types_as_slice();
        let at = types
            .iter()
            .position(|kind| kind.property_flags.contains(wanted));
        at.expect("Vulkan demands such a type") as u32
    }

    /// The first bytes of a memory object, by its id.
    pub fn read_memory(&self, id: u64, len: usize) -> Vec<u8> {
        let memory = vk::DeviceMemory::from_raw(self.host(id));
        let device = self.device();
        // SAFETY: the memory is host-visible and idle; the test knows its size.
        unsafe {
            let at = device
                .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                .expect("host-visible memory");
            let bytes = std::slice::from_raw_parts(at.cast::<u8>(), len).to_vec();
            device.unmap_memory(memory);
            bytes
        }
    }
}
