//! A shader that never ends, for the server to end.

use ash::vk;

use crate::error::Error;
use crate::vulkan::command::Level;
use crate::vulkan::pipeline::{Resource, Write};
use crate::vulkan::{Batch, Features, Gpu, Place};

/// Compiled from `endless.comp`.
const ENDLESS: &[u8] = include_bytes!("../shaders/endless.spv");
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const SIZE: u64 = 4096;

/// Submits it and waits; never succeeds on a device that works.
pub fn run(device: Option<&str>) -> Result<bool, Error> {
    let gpu = Gpu::open(device, Features::default())?;
    println!("endless: device \"{}\"", gpu.name());
    let buffer = gpu.buffer(
        Place::HostVisible,
        SIZE,
        vk::BufferUsageFlags::STORAGE_BUFFER,
    )?;
    buffer.write(0, &[0; (SIZE / 4) as usize]);
    let layout = gpu.layout(&[(STORAGE, 1)], 0)?;
    let pipeline = gpu.pipeline(&layout, ENDLESS, &[])?;
    let pool = gpu.set_pool(1, &[(STORAGE, 1)])?;
    let set = gpu.set(&pool, &layout)?;
    set.update(&[Write {
        binding: 0,
        element: 0,
        kind: STORAGE,
        resource: Resource::Buffer {
            buffer: &buffer,
            offset: 0,
            range: SIZE,
        },
    }]);
    let commands = gpu.commands(Level::Primary)?;
    commands.record(false, |recorder| {
        recorder.pipeline(&pipeline);
        recorder.set(&layout, &set, &[]);
        recorder.dispatch(1, 1);
    })?;
    let fence = gpu.fence()?;
    gpu.submit(
        &[Batch {
            commands: vec![&commands],
            ..Batch::default()
        }],
        Some(&fence),
    )?;
    println!("endless: submitted");
    let waited = fence.wait_and_reset();
    // What was submitted holds all of it, and may do so for ever.
    std::mem::forget((gpu, buffer, layout, pipeline, pool, set, commands, fence));
    waited.map(|()| false)
}
