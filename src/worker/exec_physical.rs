//! Instance, physical device, device and queues.

use std::ffi::CStr;
use std::rc::Rc;

use ash::vk::{self, Handle};
use hesper_audit::tracker::{Robustness, Tracker};
use hesper_gpu::{
    Device, GpuError, HeapLimits, Instance, MEMORY_TYPE_DEVICE, PhysicalDevice, asks_for_hidden,
    hide_features,
};
use hesper_venus::{CmdFns, Command, Decoded, DeviceFns, InstanceFns, mesa};

use crate::channel::Warning;
use crate::context::{Context, Dev, Entry, Inst, Kind};
use crate::error::{WorkerError, argument};
use crate::raw;
use crate::submit::Queue;

/// Devices that one context may have at a time.
const DEVICES_MAX: usize = 16;

impl Context {
    pub(crate) fn physical(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
    ) -> Result<(), WorkerError> {
        match &mut decoded.command {
            Command::VkCreateInstance(args) => {
                let id = read_id(args.p_instance)?;
                args.ret = self.create_instance(bytes, id)?;
            }
            Command::VkDestroyInstance(args) => {
                let id = args.instance.as_raw();
                self.objects.get(vk::ObjectType::INSTANCE, id)?;
                self.destroy_everything();
            }
            Command::VkEnumerateInstanceVersion(args) => {
                // SAFETY: an output of the decoded command.
                if let Some(version) = unsafe { raw::get_mut(args.p_api_version) } {
                    *version = vk::API_VERSION_1_3;
                }
            }
            Command::VkEnumeratePhysicalDevices(_) => self.enumerate(decoded, bytes)?,
            Command::VkEnumeratePhysicalDeviceGroups(_) => self.enumerate_groups(decoded)?,
            Command::VkGetPhysicalDeviceProperties(_)
            | Command::VkGetPhysicalDeviceProperties2(_)
            | Command::VkGetPhysicalDeviceFeatures2(_)
            | Command::VkGetPhysicalDeviceMemoryProperties2(_)
            | Command::VkGetPhysicalDeviceQueueFamilyProperties2(_)
            | Command::VkGetPhysicalDeviceExternalBufferProperties(_)
            | Command::VkGetPhysicalDeviceExternalFenceProperties(_)
            | Command::VkGetPhysicalDeviceExternalSemaphoreProperties(_)
            | Command::VkEnumerateDeviceExtensionProperties(_) => self.shown(decoded)?,
            Command::VkGetPhysicalDeviceFormatProperties2(_) => self.format_properties(decoded)?,
            Command::VkGetPhysicalDeviceImageFormatProperties2(_) => {
                self.image_format_properties(decoded)?;
            }
            Command::VkCreateDevice(_) => self.create_device(decoded, bytes)?,
            Command::VkDestroyDevice(args) => {
                let id = args.device.as_raw();
                if id != 0 {
                    self.destroy_device(id)?;
                }
            }
            Command::VkGetDeviceQueue2(_) => self.get_queue(decoded, bytes)?,
            _ => self.plain_instance(decoded)?,
        }
        Ok(())
    }

    fn create_instance(&mut self, bytes: &[u8], id: u64) -> Result<vk::Result, WorkerError> {
        self.make_room(id)?;
        if self.instance.is_some() {
            return Err(argument("vkCreateInstance", "the context has an instance"));
        }
        let opened = self
            .ready
            .take()
            .map_or_else(|| open(self.config.device.as_deref()), Ok);
        let (host, physical) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.port.warn(Warning::Instance, &error);
                return Ok(error.result());
            }
        };
        let handle = host.raw().handle();
        let fns = InstanceFns::load(|name| {
            // SAFETY: the instance lives.
            unsafe { host.entry().get_instance_proc_addr(handle, name.as_ptr()) }
        });
        self.status.device = physical.name().to_owned();
        self.tracker = new_tracker(physical.has_robustness2());
        self.instance = Some(Inst {
            fns,
            physical,
            host,
        });
        let creation = self.objects.begin_creation(bytes, []);
        let data = Entry {
            device: 0,
            kind: Kind::Plain,
        };
        self.objects.add(
            creation,
            vk::ObjectType::INSTANCE,
            id,
            handle.as_raw(),
            data,
        )?;
        Ok(vk::Result::SUCCESS)
    }

    /// One device, whatever the host has: the one that was picked.
    fn enumerate(&mut self, decoded: &mut Decoded<'_>, bytes: &[u8]) -> Result<(), WorkerError> {
        let id = decoded.output_ids().next().map(|(_, id)| id);
        let handle = self.inst()?.physical.handle().as_raw();
        let Command::VkEnumeratePhysicalDevices(args) = &mut decoded.command else {
            return Err(argument("vkEnumeratePhysicalDevices", "is another command"));
        };
        let instance = args.instance.as_raw();
        self.objects.get(vk::ObjectType::INSTANCE, instance)?;
        // SAFETY: an output of the decoded command.
        let count = unsafe { raw::get_mut(args.p_physical_device_count) }
            .ok_or_else(|| argument("vkEnumeratePhysicalDevices", "no count"))?;
        *count = 1;
        args.ret = vk::Result::SUCCESS;
        if let Some(id) = id {
            match self.objects.get(vk::ObjectType::PHYSICAL_DEVICE, id) {
                Ok(known) if known.handle == handle => return Ok(()),
                _ => self.make_room(id)?,
            }
            let creation = self.objects.begin_creation(bytes, [instance]);
            let data = Entry {
                device: 0,
                kind: Kind::Plain,
            };
            self.objects
                .add(creation, vk::ObjectType::PHYSICAL_DEVICE, id, handle, data)?;
        }
        Ok(())
    }

    /// One group of the one device. The guest asks by id 0 which device is where.
    fn enumerate_groups(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let device = self
            .objects
            .iter()
            .find(|(_, object)| object.ty == vk::ObjectType::PHYSICAL_DEVICE)
            .map(|(id, _)| id);
        let Command::VkEnumeratePhysicalDeviceGroups(args) = &mut decoded.command else {
            return Err(argument(
                "vkEnumeratePhysicalDeviceGroups",
                "is another command",
            ));
        };
        self.objects
            .get(vk::ObjectType::INSTANCE, args.instance.as_raw())?;
        // SAFETY: outputs of the decoded command.
        unsafe {
            let count = raw::get_mut(args.p_physical_device_group_count)
                .ok_or_else(|| argument("vkEnumeratePhysicalDeviceGroups", "no count"))?;
            match raw::get_mut(args.p_physical_device_group_properties) {
                Some(group) if *count > 0 => {
                    group.physical_device_count = 1;
                    group.subset_allocation = vk::FALSE;
                    *count = 1;
                }
                Some(_) => args.ret = vk::Result::INCOMPLETE,
                None => *count = 1,
            }
        }
        decoded.answer_output_ids(|at, _| device.filter(|_| at == 0));
        Ok(())
    }

    /// What a guest is shown of the physical device.
    fn shown(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        match &mut decoded.command {
            Command::VkGetPhysicalDeviceExternalBufferProperties(_) => {
                Self::external_buffer_properties(&mut decoded.command);
                return Ok(());
            }
            Command::VkGetPhysicalDeviceExternalFenceProperties(args) => {
                // SAFETY: an argument and an output of the decoded command.
                if let (Some(info), Some(properties)) = unsafe {
                    (
                        raw::get(args.p_external_fence_info),
                        raw::get_mut(args.p_external_fence_properties),
                    )
                } {
                    PhysicalDevice::guest_fence_properties(info.handle_type, properties);
                }
                return Ok(());
            }
            Command::VkGetPhysicalDeviceExternalSemaphoreProperties(args) => {
                // SAFETY: an argument with its chain and an output of the decoded command.
                unsafe {
                    if let (Some(info), Some(properties)) = (
                        raw::get(args.p_external_semaphore_info),
                        raw::get_mut(args.p_external_semaphore_properties),
                    ) {
                        let timeline = raw::find::<vk::SemaphoreTypeCreateInfo<'_>>(
                            info.p_next,
                            vk::StructureType::SEMAPHORE_TYPE_CREATE_INFO,
                        )
                        .is_some_and(|ty| ty.semaphore_type == vk::SemaphoreType::TIMELINE);
                        PhysicalDevice::guest_semaphore_properties(
                            info.handle_type,
                            timeline,
                            properties,
                        );
                    }
                }
                return Ok(());
            }
            Command::VkEnumerateDeviceExtensionProperties(args) => {
                let shown = self.inst()?.physical.guest_extensions();
                // SAFETY: outputs of the decoded command, as many as their count.
                unsafe {
                    let count = raw::get_mut(args.p_property_count).ok_or_else(|| {
                        argument("vkEnumerateDeviceExtensionProperties", "no count")
                    })?;
                    if args.p_properties.is_null() {
                        *count = shown.len() as u32;
                    } else {
                        let room = (*count as usize).min(shown.len());
                        std::ptr::copy_nonoverlapping(shown.as_ptr(), args.p_properties, room);
                        *count = room as u32;
                        if room < shown.len() {
                            args.ret = vk::Result::INCOMPLETE;
                        }
                    }
                }
                return Ok(());
            }
            Command::VkGetPhysicalDeviceMemoryProperties2(args) => {
                let limits = HeapLimits {
                    device: self.config.device_memory_max,
                    host: self.config.host_memory_max,
                };
                // SAFETY: an output of the decoded command.
                if let Some(properties) = unsafe { raw::get_mut(args.p_memory_properties) } {
                    properties.memory_properties =
                        self.inst()?.physical.guest_memory_properties(limits);
                }
                return Ok(());
            }
            _ => {}
        }
        self.plain_instance(decoded)?;
        let physical = &self.inst()?.physical;
        // SAFETY: outputs of the decoded command, filled by the driver.
        unsafe {
            match &mut decoded.command {
                Command::VkGetPhysicalDeviceProperties(args) => {
                    if let Some(properties) = raw::get_mut(args.p_properties) {
                        physical.to_guest_properties(properties);
                    }
                }
                Command::VkGetPhysicalDeviceProperties2(args) => {
                    if let Some(properties) = raw::get_mut(args.p_properties) {
                        physical.to_guest_properties(&mut properties.properties);
                        raw::chain(properties.p_next, |next| {
                            PhysicalDevice::to_guest_properties_chained(next);
                        });
                    }
                }
                Command::VkGetPhysicalDeviceFeatures2(args) => {
                    if let Some(features) = raw::get_mut(args.p_features) {
                        let head = std::ptr::from_mut(features);
                        raw::chain(head.cast(), |next| hide_features(next));
                    }
                }
                Command::VkGetPhysicalDeviceQueueFamilyProperties2(args) => {
                    let families = match raw::get(args.p_queue_family_property_count) {
                        Some(count) if !args.p_queue_family_properties.is_null() => {
                            std::slice::from_raw_parts_mut(
                                args.p_queue_family_properties,
                                *count as usize,
                            )
                        }
                        _ => &mut [],
                    };
                    let queues_max = crate::capset::TIMELINES_MAX - 1;
                    PhysicalDevice::to_guest_families(families, queues_max);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn create_device(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
    ) -> Result<(), WorkerError> {
        let Some((_, id)) = decoded.output_ids().next() else {
            return Err(argument("vkCreateDevice", "no output"));
        };
        self.make_room(id)?;
        if self.devices.len() >= DEVICES_MAX {
            return Err(argument("vkCreateDevice", "too many devices"));
        }
        self.map(decoded)?;
        let inst = self.inst()?;
        let Command::VkCreateDevice(args) = &mut decoded.command else {
            return Err(argument("vkCreateDevice", "is another command"));
        };
        // SAFETY: arguments of the decoded command; nobody else refers to the chain.
        let (created, queue_info) = unsafe {
            let info = raw::get(args.p_create_info)
                .ok_or_else(|| argument("vkCreateDevice", "no create info"))?;
            let queue_info = raw::slice(info.p_queue_create_infos, info.queue_create_info_count)
                .first()
                .map(|queue| (queue.flags, queue.queue_family_index))
                .ok_or_else(|| argument("vkCreateDevice", "no queue"))?;
            let names = raw::slice(
                info.pp_enabled_extension_names,
                info.enabled_extension_count,
            );
            let names: Vec<&CStr> = names.iter().map(|name| CStr::from_ptr(*name)).collect();
            let shown = |name: &&CStr| {
                inst.physical
                    .guest_extensions()
                    .iter()
                    .any(|e| e.extension_name_as_c_str().is_ok_and(|n| n == *name))
            };
            let created = if let Some(feature) = asks_for_hidden(info) {
                tracing::debug!(feature, "A device asks for a hidden feature");
                Err(hesper_gpu::GpuError::Vulkan {
                    call: "vkCreateDevice",
                    result: vk::Result::ERROR_FEATURE_NOT_PRESENT,
                })
            } else if names.iter().all(shown) {
                Device::new(&inst.host, inst.physical.clone(), info, &names)
            } else {
                Err(hesper_gpu::GpuError::Vulkan {
                    call: "vkCreateDevice",
                    result: vk::Result::ERROR_EXTENSION_NOT_PRESENT,
                })
            };
            (created, queue_info)
        };
        let host = match created {
            Ok(host) => Rc::new(host),
            Err(error) => {
                self.port.warn(Warning::Device, &error);
                args.ret = error.result();
                Self::unmap(decoded);
                return Ok(());
            }
        };
        args.ret = vk::Result::SUCCESS;
        let handle = host.raw().handle();
        let find = |name: &CStr| {
            // SAFETY: instance and device live.
            unsafe { (inst.host.raw().fp_v1_0().get_device_proc_addr)(handle, name.as_ptr()) }
        };
        // Copies of ours run on the first queue there is, whether or not the guest asks for it.
        let (flags, family) = queue_info;
        let first = vk::DeviceQueueInfo2::default()
            .flags(flags)
            .queue_family_index(family);
        // SAFETY: the device was created with a queue of this family and these flags.
        let queue = unsafe { host.raw().get_device_queue2(&first) };
        let dev = Dev {
            cmd: CmdFns::load(find),
            fns: DeviceFns::load(find),
            queue,
            family,
            host,
        };
        Self::unmap(decoded);
        self.drain.add_device(&dev.host, queue, family)?;
        self.devices.insert(id, dev);
        let creation = self
            .objects
            .begin_creation(bytes, decoded.input_ids().map(|(_, id)| id));
        let data = Entry {
            device: id,
            kind: Kind::Plain,
        };
        self.objects
            .add(creation, vk::ObjectType::DEVICE, id, handle.as_raw(), data)?;
        Ok(())
    }

    fn get_queue(&mut self, decoded: &mut Decoded<'_>, bytes: &[u8]) -> Result<(), WorkerError> {
        let Some((_, id)) = decoded.output_ids().next() else {
            return Err(argument("vkGetDeviceQueue2", "no output"));
        };
        self.make_room(id)?;
        let Command::VkGetDeviceQueue2(args) = &mut decoded.command else {
            return Err(argument("vkGetDeviceQueue2", "is another command"));
        };
        let device = args.device.as_raw();
        // SAFETY: arguments of the decoded command.
        let (ring_idx, info) = unsafe {
            let info = raw::get_mut(args.p_queue_info)
                .ok_or_else(|| argument("vkGetDeviceQueue2", "no queue info"))?;
            let timeline = raw::find::<mesa::VkDeviceQueueTimelineInfoMESA>(
                info.p_next,
                raw::DEVICE_QUEUE_TIMELINE_INFO,
            )
            .ok_or_else(|| argument("vkGetDeviceQueue2", "no timeline"))?;
            (timeline.ring_idx, info)
        };
        if ring_idx == 0 || ring_idx >= crate::capset::TIMELINES_MAX {
            return Err(argument(
                "vkGetDeviceQueue2",
                format!("timeline {ring_idx}"),
            ));
        }
        if self.queues.iter().any(|queue| queue.ring_idx == ring_idx) {
            return Err(argument(
                "vkGetDeviceQueue2",
                format!("timeline {ring_idx} is taken"),
            ));
        }
        let host = Rc::clone(&self.dev(device)?.host);
        let plain = vk::DeviceQueueInfo2::default()
            .flags(info.flags)
            .queue_family_index(info.queue_family_index)
            .queue_index(info.queue_index);
        // SAFETY: the device lives. A family or index that it was not created with is the guest's
        // own harm: its worker alone suffers.
        let handle = unsafe { host.raw().get_device_queue2(&plain) };
        if handle == vk::Queue::null() {
            return Err(argument("vkGetDeviceQueue2", "no such queue"));
        }
        let queue = Queue::new(host, handle, ring_idx, device)?;
        let index = self.queues.len();
        self.queues.push(queue);
        let creation = self.objects.begin_creation(bytes, [device]);
        let data = Entry {
            device,
            kind: Kind::Queue(index),
        };
        self.objects
            .add(creation, vk::ObjectType::QUEUE, id, handle.as_raw(), data)?;
        Ok(())
    }

    /// Drops a device with everything made from it.
    fn destroy_device(&mut self, id: u64) -> Result<(), WorkerError> {
        self.objects.get(vk::ObjectType::DEVICE, id)?;
        let host = Rc::clone(&self.dev(id)?.host);
        // SAFETY: the device lives; nothing is submitted meanwhile, this is the only thread.
        if let Err(error) = unsafe { host.raw().device_wait_idle() } {
            self.port.warn(Warning::DeviceWait, &error);
        }
        let mine: Vec<(u64, vk::ObjectType)> = self
            .objects
            .iter()
            .filter(|(child, object)| object.data.device == id && *child != id)
            .map(|(id, object)| (id, object.ty))
            .collect();
        for (child, ty) in mine {
            forget_in_tracker(&mut self.tracker, ty, child);
            if ty == vk::ObjectType::DEVICE_MEMORY {
                self.drop_memory(child)?;
            } else {
                // Their host objects go with the device.
                self.objects.remove(ty, child)?;
            }
        }
        self.drop_replaced_of(id);
        for queue in &mut self.queues {
            if queue.device == id {
                queue.close();
            }
        }
        self.drain.forget_device(&host);
        self.devices.remove(&id);
        self.objects.remove(vk::ObjectType::DEVICE, id)?;
        Ok(())
    }

    fn destroy_everything(&mut self) {
        let devices: Vec<u64> = self.devices.keys().copied().collect();
        for id in devices {
            if let Err(error) = self.destroy_device(id) {
                self.port.warn(Warning::InstanceDevice, &error);
            }
        }
        let rest: Vec<(u64, vk::ObjectType)> = self
            .objects
            .iter()
            .map(|(id, object)| (id, object.ty))
            .collect();
        for (id, ty) in rest {
            let _ = self.objects.remove(ty, id);
        }
        self.instance = None;
    }
}

/// A host instance, and the device picked from it.
pub(crate) fn open(name: Option<&str>) -> Result<(Instance, PhysicalDevice), GpuError> {
    let host = Instance::new()?;
    let physical = host.pick(name)?;
    Ok((host, physical))
}

/// A tracker for a device that has robustBufferAccess2, or has not.
pub(crate) fn new_tracker(has_robustness2: bool) -> Tracker {
    let robustness = if has_robustness2 {
        Robustness::Descriptor
    } else {
        Robustness::MemoryObject
    };
    Tracker::new(robustness, 1 << MEMORY_TYPE_DEVICE)
}

/// Lets the audit forget an object that went without a command of its own.
pub(crate) fn forget_in_tracker(tracker: &mut Tracker, ty: vk::ObjectType, id: u64) {
    tracker.changed();
    match ty {
        vk::ObjectType::DEVICE_MEMORY => tracker.memory_freed(id),
        vk::ObjectType::BUFFER => tracker.buffer_destroyed(id),
        vk::ObjectType::BUFFER_VIEW => tracker.buffer_view_destroyed(id),
        vk::ObjectType::DESCRIPTOR_SET_LAYOUT => tracker.set_layout_destroyed(id),
        vk::ObjectType::PIPELINE_LAYOUT => tracker.pipeline_layout_destroyed(id),
        vk::ObjectType::DESCRIPTOR_POOL => tracker.descriptor_pool_destroyed(id),
        vk::ObjectType::DESCRIPTOR_SET => tracker.set_freed(id),
        vk::ObjectType::SHADER_MODULE => tracker.module_destroyed(id),
        vk::ObjectType::PIPELINE => tracker.pipeline_destroyed(id),
        vk::ObjectType::IMAGE => tracker.image_destroyed(id),
        vk::ObjectType::IMAGE_VIEW => tracker.image_view_destroyed(id),
        vk::ObjectType::RENDER_PASS => tracker.render_pass_destroyed(id),
        vk::ObjectType::FRAMEBUFFER => tracker.framebuffer_destroyed(id),
        vk::ObjectType::QUERY_POOL => tracker.query_pool_destroyed(id),
        vk::ObjectType::COMMAND_POOL => tracker.command_pool_destroyed(id),
        vk::ObjectType::COMMAND_BUFFER => tracker.command_buffer_freed(id),
        _ => {}
    }
}

/// The id in an output place.
fn read_id<T: Handle + Copy>(place: *const T) -> Result<u64, WorkerError> {
    // SAFETY: an output of a decoded command.
    unsafe { raw::get(place) }
        .map(|handle| handle.as_raw())
        .ok_or_else(|| argument("a creation", "has no output"))
}
