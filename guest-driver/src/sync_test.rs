//! A check of Vulkan 1.3 synchronization, and of sync files where the device shows them.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use ash::vk;

use crate::error::{Error, Named};

const WORDS: u64 = 1024;
const WAIT_NS: u64 = 60_000_000_000;
const SYNC_FD: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD;

/// What the checks work with. Objects go with the process: a failed device may not answer.
struct Rig {
    raw: ash::Device,
    queue: vk::Queue,
    buffer: vk::Buffer,
    mapped: *const u32,
    pool: vk::CommandPool,
    semaphore_fd: Option<ash::khr::external_semaphore_fd::Device>,
    fence_fd: Option<ash::khr::external_fence_fd::Device>,
}

/// Runs it; true if all is right.
pub fn run(wanted: Option<&str>) -> Result<bool, Error> {
    // SAFETY: the loader is the system's Vulkan library; its initialisers are trusted.
    let entry = unsafe { ash::Entry::load() }?;
    let app = vk::ApplicationInfo::default()
        .application_name(c"hesper-guest")
        .api_version(vk::API_VERSION_1_3);
    let create = vk::InstanceCreateInfo::default().application_info(&app);
    // SAFETY: `create` and what it points to live across the call.
    let instance = unsafe { entry.create_instance(&create, None) }.named("vkCreateInstance")?;
    // SAFETY: the instance is alive.
    let handles =
        unsafe { instance.enumerate_physical_devices() }.named("vkEnumeratePhysicalDevices")?;
    let found = handles.into_iter().find_map(|handle| {
        // SAFETY: the handle is of this instance.
        let properties = unsafe { instance.get_physical_device_properties(handle) };
        let name = properties.device_name_as_c_str().ok()?.to_str().ok()?;
        name.contains(wanted.unwrap_or(""))
            .then(|| (handle, properties.api_version, name.to_owned()))
    });
    let Some((physical, version, name)) = found else {
        return Err(Error::NoDevice(String::new()));
    };
    println!("sync-test: device \"{name}\"");
    let mut good = tell(
        "Vulkan 1.3",
        version >= vk::API_VERSION_1_3,
        &format!("version {version:#x}"),
    );
    if !good {
        return Ok(false);
    }
    good &= groups(&instance, physical)?;
    let rig = open(&instance, physical)?;
    good &= queue_submit2(&rig)?;
    match (&rig.semaphore_fd, &rig.fence_fd) {
        (Some(semaphores), Some(fences)) => {
            good &= semaphore_files(&rig, semaphores)?;
            good &= fence_files(&rig, fences)?;
        }
        _ => println!("sync-test: sync files: SKIPPED, the device shows none (vtest has none)"),
    }
    println!("sync-test: {}", if good { "PASS" } else { "FAIL" });
    Ok(good)
}

fn tell(what: &str, good: bool, detail: &str) -> bool {
    println!(
        "sync-test: {what}: {} {detail}",
        if good { "ok" } else { "WRONG" }
    );
    good
}

fn groups(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Result<bool, Error> {
    // SAFETY: the instance is alive; the structures live across the calls.
    let groups = unsafe {
        let count = instance
            .enumerate_physical_device_groups_len()
            .named("vkEnumeratePhysicalDeviceGroups")?;
        let mut groups = vec![vk::PhysicalDeviceGroupProperties::default(); count];
        instance
            .enumerate_physical_device_groups(&mut groups)
            .named("vkEnumeratePhysicalDeviceGroups")?;
        groups
    };
    let mine = groups
        .iter()
        .filter(|group| {
            let count = group.physical_device_count as usize;
            group.physical_devices[..count] == [physical]
        })
        .count();
    let detail = format!("{} in all, {mine} of this device alone", groups.len());
    Ok(tell("device group", mine == 1, &detail))
}

fn open(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Result<Rig, Error> {
    // SAFETY: for the whole block: handles are of this instance and its device, structures live across
    // the calls, and the mapping is as long as the buffer.
    unsafe {
        let extensions = instance
            .enumerate_device_extension_properties(physical)
            .named("vkEnumerateDeviceExtensionProperties")?;
        let names = [
            ash::khr::external_semaphore_fd::NAME,
            ash::khr::external_fence_fd::NAME,
        ];
        let has = |name| {
            extensions
                .iter()
                .any(|e| e.extension_name_as_c_str() == Ok(name))
        };
        let enabled: Vec<_> = names
            .iter()
            .filter(|name| has(**name))
            .map(|name| name.as_ptr())
            .collect();
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let mut features = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&enabled)
            .push_next(&mut features);
        let raw = instance
            .create_device(physical, &create, None)
            .named("vkCreateDevice")?;
        let create = vk::BufferCreateInfo::default()
            .size(WORDS * 4)
            .usage(vk::BufferUsageFlags::TRANSFER_DST);
        let buffer = raw.create_buffer(&create, None).named("vkCreateBuffer")?;
        let needs = raw.get_buffer_memory_requirements(buffer);
        let types = instance.get_physical_device_memory_properties(physical);
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let index = (0..types.memory_type_count)
            .find(|index| {
                needs.memory_type_bits >> index & 1 == 1
                    && types.memory_types[*index as usize]
                        .property_flags
                        .contains(wanted)
            })
            .ok_or(Error::NoMemoryType("host-visible"))?;
        let allocate = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(index);
        let memory = raw
            .allocate_memory(&allocate, None)
            .named("vkAllocateMemory")?;
        raw.bind_buffer_memory(buffer, memory, 0)
            .named("vkBindBufferMemory")?;
        let mapped = raw
            .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
            .named("vkMapMemory")?
            .cast_const()
            .cast();
        let pool = raw
            .create_command_pool(&vk::CommandPoolCreateInfo::default(), None)
            .named("vkCreateCommandPool")?;
        Ok(Rig {
            queue: raw.get_device_queue(0, 0),
            semaphore_fd: has(names[0])
                .then(|| ash::khr::external_semaphore_fd::Device::new(instance, &raw)),
            fence_fd: has(names[1])
                .then(|| ash::khr::external_fence_fd::Device::new(instance, &raw)),
            raw,
            buffer,
            mapped,
            pool,
        })
    }
}

impl Rig {
    /// Submits a fill of the whole buffer by vkQueueSubmit2.
    fn fill(
        &self,
        value: u32,
        wait: Option<vk::Semaphore>,
        signal: Option<vk::Semaphore>,
        fence: vk::Fence,
    ) -> Result<(), Error> {
        let info = |semaphore: vk::Semaphore| {
            vk::SemaphoreSubmitInfo::default()
                .semaphore(semaphore)
                .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        };
        let waits: Vec<_> = wait.map(info).into_iter().collect();
        let signals: Vec<_> = signal.map(info).into_iter().collect();
        let allocate = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .command_buffer_count(1);
        let barriers = [vk::MemoryBarrier2::default()
            .src_stage_mask(vk::PipelineStageFlags2::ALL_TRANSFER)
            .src_access_mask(vk::AccessFlags2::TRANSFER_WRITE)
            .dst_stage_mask(vk::PipelineStageFlags2::HOST | vk::PipelineStageFlags2::TRANSFER)
            .dst_access_mask(vk::AccessFlags2::HOST_READ | vk::AccessFlags2::TRANSFER_WRITE)];
        let barrier = vk::DependencyInfo::default().memory_barriers(&barriers);
        // SAFETY: for the whole block: handles live as long as the process, structures across the calls.
        unsafe {
            let commands = self
                .raw
                .allocate_command_buffers(&allocate)
                .named("vkAllocateCommandBuffers")?[0];
            let begin = vk::CommandBufferBeginInfo::default()
                .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
            self.raw
                .begin_command_buffer(commands, &begin)
                .named("vkBeginCommandBuffer")?;
            self.raw
                .cmd_fill_buffer(commands, self.buffer, 0, vk::WHOLE_SIZE, value);
            self.raw.cmd_pipeline_barrier2(commands, &barrier);
            self.raw
                .end_command_buffer(commands)
                .named("vkEndCommandBuffer")?;
            let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(commands)];
            let submit = vk::SubmitInfo2::default()
                .wait_semaphore_infos(&waits)
                .command_buffer_infos(&commands)
                .signal_semaphore_infos(&signals);
            self.raw
                .queue_submit2(self.queue, &[submit], fence)
                .named("vkQueueSubmit2")
        }
    }

    fn semaphore(&self) -> Result<vk::Semaphore, Error> {
        let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(SYNC_FD);
        let mut create = vk::SemaphoreCreateInfo::default();
        if self.semaphore_fd.is_some() {
            create = create.push_next(&mut export);
        }
        // SAFETY: the device lives as long as the process.
        unsafe { self.raw.create_semaphore(&create, None) }.named("vkCreateSemaphore")
    }

    fn fence(&self) -> Result<vk::Fence, Error> {
        let mut export = vk::ExportFenceCreateInfo::default()
            .handle_types(vk::ExternalFenceHandleTypeFlags::SYNC_FD);
        let mut create = vk::FenceCreateInfo::default();
        if self.fence_fd.is_some() {
            create = create.push_next(&mut export);
        }
        // SAFETY: the device lives as long as the process.
        unsafe { self.raw.create_fence(&create, None) }.named("vkCreateFence")
    }

    fn wait(&self, fence: vk::Fence) -> Result<(), Error> {
        // SAFETY: device and fence live as long as the process.
        unsafe { self.raw.wait_for_fences(&[fence], true, WAIT_NS) }.named("vkWaitForFences")
    }

    fn holds(&self, value: u32) -> bool {
        // SAFETY: the mapping lives as long as the process, and nothing that was submitted runs.
        let words = unsafe { std::slice::from_raw_parts(self.mapped, WORDS as usize) };
        words.iter().all(|word| *word == value)
    }
}

fn queue_submit2(rig: &Rig) -> Result<bool, Error> {
    let (semaphore, fence) = (rig.semaphore()?, rig.fence()?);
    rig.fill(1, None, Some(semaphore), vk::Fence::null())?;
    rig.fill(2, Some(semaphore), None, fence)?;
    rig.wait(fence)?;
    Ok(tell("vkQueueSubmit2 and barriers", rig.holds(2), ""))
}

fn export(
    functions: &ash::khr::external_semaphore_fd::Device,
    semaphore: vk::Semaphore,
) -> Result<Option<OwnedFd>, Error> {
    let get = vk::SemaphoreGetFdInfoKHR::default()
        .semaphore(semaphore)
        .handle_type(SYNC_FD);
    // SAFETY: device and semaphore live as long as the process.
    let fd = unsafe { functions.get_semaphore_fd(&get) }.named("vkGetSemaphoreFdKHR")?;
    // SAFETY: a descriptor that was made for us; -1 says signalled.
    Ok((fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) }))
}

fn import(
    functions: &ash::khr::external_semaphore_fd::Device,
    semaphore: vk::Semaphore,
    file: Option<OwnedFd>,
) -> Result<(), Error> {
    let import = vk::ImportSemaphoreFdInfoKHR::default()
        .semaphore(semaphore)
        .flags(vk::SemaphoreImportFlags::TEMPORARY)
        .handle_type(SYNC_FD)
        .fd(file.map_or(-1, IntoRawFd::into_raw_fd));
    // SAFETY: device and semaphore live as long as the process; the descriptor goes over.
    unsafe { functions.import_semaphore_fd(&import) }.named("vkImportSemaphoreFdKHR")
}

fn semaphore_files(
    rig: &Rig,
    functions: &ash::khr::external_semaphore_fd::Device,
) -> Result<bool, Error> {
    let (a, b) = (rig.semaphore()?, rig.semaphore()?);
    let mut good = true;
    for round in 0..8 {
        let value = 10 + round * 10;
        // Signalled, exported, imported elsewhere, waited for; then both are used plainly again.
        let fence = rig.fence()?;
        rig.fill(value, None, Some(a), vk::Fence::null())?;
        import(functions, b, export(functions, a)?)?;
        rig.fill(value + 1, Some(b), Some(a), vk::Fence::null())?;
        rig.fill(value + 2, Some(a), Some(b), vk::Fence::null())?;
        rig.fill(value + 3, Some(b), None, fence)?;
        rig.wait(fence)?;
        good &= rig.holds(value + 3);
    }
    // A file that is signalled already, and one that is exported again at once.
    let fence = rig.fence()?;
    import(functions, a, None)?;
    let again = export(functions, a)?;
    import(functions, b, again)?;
    rig.fill(1000, Some(b), None, fence)?;
    rig.wait(fence)?;
    good &= rig.holds(1000);
    Ok(tell("semaphores as sync files", good, ""))
}

fn fence_files(rig: &Rig, functions: &ash::khr::external_fence_fd::Device) -> Result<bool, Error> {
    let fence = rig.fence()?;
    let mut good = true;
    for round in 0..8 {
        rig.fill(2000 + round, None, None, fence)?;
        let get = vk::FenceGetFdInfoKHR::default()
            .fence(fence)
            .handle_type(vk::ExternalFenceHandleTypeFlags::SYNC_FD);
        // SAFETY: device and fence live as long as the process.
        let fd = unsafe { functions.get_fence_fd(&get) }.named("vkGetFenceFdKHR")?;
        if fd >= 0 {
            // SAFETY: a descriptor that was made for us.
            let file = unsafe { OwnedFd::from_raw_fd(fd) };
            let mut poll = libc::pollfd {
                fd: file.as_fd().as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one valid element.
            good &= unsafe { libc::poll(&raw mut poll, 1, 60_000) } == 1;
        }
        good &= rig.holds(2000 + round);
        // The payload went into the file: the fence is free again without a reset.
        // SAFETY: device and fence live as long as the process.
        let signalled = unsafe { rig.raw.get_fence_status(fence) }.named("vkGetFenceStatus")?;
        good &= !signalled;
    }
    rig.fill(3000, None, None, fence)?;
    rig.wait(fence)?;
    good &= rig.holds(3000);
    Ok(tell("fences as sync files", good, ""))
}
