//! Memory that two processes share: what a shader of one writes, the CPU and a shader of the other read.

use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use ash::vk;
use clap::Args;

use crate::error::Error;
use crate::model::mix;
use crate::vulkan::command::Level;
use crate::vulkan::pipeline::{Resource, Write};
use crate::vulkan::share::{Exported, Mapped};
use crate::vulkan::{Batch, Buffer, Gpu, Place};

const MIX: &[u8] = include_bytes!("../shaders/mix.spv");
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const GROUP_WORDS: u32 = 64;
const WORDS: u32 = 64 * 1024;
const BYTES: u64 = WORDS as u64 * 4;
/// Pixels of an edge of the image: its rows are shorter than any driver would place them.
const SIDE: u32 = 50;
/// Keys of the mixes: the exporter's, the importer's, the importer's answer.
const KEYS: [u32; 3] = [0x0bad_5eed, 0x1234_5678, 0x9abc_def1];

/// Options of `share`.
#[derive(Debug, Args)]
pub struct Options {
    /// Use the device whose name contains this
    #[arg(long, value_name = "SUBSTR")]
    device: Option<String>,
    /// Fail where another process can't import
    #[arg(long)]
    import: bool,
    /// The other process: import the dma-buf on standard input
    #[arg(long, value_name = "KIND", hide = true, num_args = 1.., value_delimiter = ',')]
    imported: Vec<u64>,
}

/// Runs it; true if all is right.
pub fn run(options: &Options) -> Result<bool, Error> {
    let gpu = Gpu::open_sharing(options.device.as_deref())?;
    let name = gpu.name();
    match options.imported[..] {
        [] => {}
        [size] => return import_buffer(&gpu, size),
        [size, offset, row_pitch] => return import_image(&gpu, size, (offset, row_pitch)),
        _ => return Err(Error::Option("--imported takes 1 or 3 numbers".into())),
    }
    let sharing = gpu.sharing();
    println!("share: device \"{name}\": {sharing:?}");
    let imports = sharing.contains(vk::ExternalMemoryFeatureFlags::IMPORTABLE);
    if !sharing.contains(vk::ExternalMemoryFeatureFlags::EXPORTABLE) || (options.import && !imports)
    {
        println!("share: FAIL: dma-bufs are not served");
        return Ok(false);
    }
    let good = gpu.shares_linear_images_only();
    tell("formats say that shared images are linear", good);
    let good =
        export_buffer(&gpu, options, imports)? & export_image(&gpu, options, imports)? & good;
    println!("share: {}", if good { "PASS" } else { "FAIL" });
    Ok(good)
}

fn tell(what: &str, good: bool) {
    println!("share: {what}: {}", if good { "ok" } else { "WRONG" });
}

fn source(index: u32) -> u32 {
    index.wrapping_mul(0x0101_0101) ^ 0x5a5a_0000
}

/// What the exporter's shader writes.
fn exported(index: u32) -> u32 {
    mix(source(index), index, KEYS[0])
}

/// What the importer's shader makes of it.
fn imported(index: u32) -> u32 {
    mix(exported(index), index, KEYS[1])
}

/// What the importer's shader writes back.
fn answered(index: u32) -> u32 {
    mix(imported(index), index, KEYS[2])
}

fn export_buffer(gpu: &Gpu, options: &Options, imports: bool) -> Result<bool, Error> {
    let from = host_buffer(gpu, vk::BufferUsageFlags::STORAGE_BUFFER)?;
    from.write(0, &(0..WORDS).map(source).collect::<Vec<_>>());
    let (shared, dma_buf) = gpu.exported_buffer(BYTES)?;
    mix_on_gpu(gpu, &from, &shared, KEYS[0])?;
    let mapped = Mapped::new(&dma_buf)?;
    let sees = |expected: fn(u32) -> u32| {
        (0..WORDS).all(|index| mapped.word(index as usize * 4) == expected(index))
    };
    let mut good = sees(exported);
    tell(
        "the CPU sees what a shader wrote, through the dma-buf",
        good,
    );
    if !imports {
        println!("share: this device imports nothing");
        return Ok(good);
    }
    let other = import_elsewhere(options, &dma_buf, &[])?;
    tell("another process imports the buffer", other);
    let answer = sees(answered);
    tell("the CPU sees what the other process' shader wrote", answer);
    mix_on_gpu(gpu, &shared, &from, 0)?;
    let gpu_sees = words(&from)
        == (0..WORDS)
            .map(|i| mix(answered(i), i, 0))
            .collect::<Vec<_>>();
    tell(
        "a shader sees what the other process' shader wrote",
        gpu_sees,
    );
    good &= other & answer & gpu_sees;
    Ok(good)
}

fn export_image(gpu: &Gpu, options: &Options, imports: bool) -> Result<bool, Error> {
    let from = host_buffer(gpu, vk::BufferUsageFlags::TRANSFER_SRC)?;
    from.write(0, &(0..WORDS).map(source).collect::<Vec<_>>());
    let (image, dma_buf) = gpu.exported_image(SIDE)?;
    let commands = gpu.commands(Level::Primary)?;
    gpu.record_image_write(&commands, &from, &image)?;
    finish(gpu, &commands)?;
    let mapped = Mapped::new(&dma_buf)?;
    let (offset, row_pitch) = (image.offset as usize, image.row_pitch as usize);
    let good = (0..SIDE * SIDE).all(|index| {
        let (x, y) = ((index % SIDE) as usize, (index / SIDE) as usize);
        mapped.word(offset + y * row_pitch + x * 4) == source(index)
    });
    tell("the CPU sees the rows of a linear image", good);
    if !imports {
        return Ok(good);
    }
    let other = import_elsewhere(options, &dma_buf, &[image.offset, image.row_pitch])?;
    tell("another process imports the image", other);
    Ok(good & other)
}

/// Starts this program once more, to import.
fn import_elsewhere(options: &Options, dma_buf: &Exported, more: &[u64]) -> Result<bool, Error> {
    let failed = |error| Error::Option(format!("Could not start the importer: {error}"));
    let fd = dma_buf.fd.try_clone().map_err(failed)?;
    let numbers: Vec<_> = std::iter::once(dma_buf.size)
        .chain(more.iter().copied())
        .map(|number| number.to_string())
        .collect();
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["share", "--imported", &numbers.join(",")]);
    if let Some(device) = &options.device {
        command.args(["--device", device]);
    }
    let status = command.stdin(Stdio::from(fd)).status().map_err(failed)?;
    Ok(status.success())
}

fn import_buffer(gpu: &Gpu, memory_size: u64) -> Result<bool, Error> {
    let shared = gpu.imported_buffer(BYTES, std::io::stdin().as_fd(), memory_size)?;
    let result = host_buffer(gpu, vk::BufferUsageFlags::STORAGE_BUFFER)?;
    mix_on_gpu(gpu, &shared, &result, KEYS[1])?;
    let good = words(&result) == (0..WORDS).map(imported).collect::<Vec<_>>();
    tell("a shader reads what the other process' shader wrote", good);
    mix_on_gpu(gpu, &result, &shared, KEYS[2])?;
    Ok(good)
}

fn import_image(gpu: &Gpu, memory_size: u64, layout: (u64, u64)) -> Result<bool, Error> {
    let image = gpu.imported_image(SIDE, std::io::stdin().as_fd(), memory_size, layout)?;
    let result = host_buffer(gpu, vk::BufferUsageFlags::TRANSFER_DST)?;
    let commands = gpu.commands(Level::Primary)?;
    gpu.record_image_read(&commands, &image, &result)?;
    finish(gpu, &commands)?;
    let good = (0..SIDE * SIDE)
        .zip(words(&result))
        .all(|(index, word)| word == source(index));
    tell("the image is as the other process drew it", good);
    Ok(good)
}

fn host_buffer(gpu: &Gpu, usage: vk::BufferUsageFlags) -> Result<Buffer, Error> {
    let buffer = gpu.buffer(Place::HostVisible, BYTES, usage)?;
    buffer.write(0, &vec![0; WORDS as usize]);
    Ok(buffer)
}

fn words(buffer: &Buffer) -> Vec<u32> {
    let mut words = vec![0; WORDS as usize];
    buffer.read(0, &mut words);
    words
}

/// `target[i] = mix(source[i])` for all words, waited for.
fn mix_on_gpu(gpu: &Gpu, source: &Buffer, target: &Buffer, key: u32) -> Result<(), Error> {
    let layout = gpu.layout(&[(STORAGE, 1), (STORAGE, 1)], 20)?;
    let pipeline = gpu.pipeline(&layout, MIX, &[])?;
    let pool = gpu.set_pool(1, &[(STORAGE, 2)])?;
    let set = gpu.set(&pool, &layout)?;
    let write = |binding, buffer| Write {
        binding,
        element: 0,
        kind: STORAGE,
        resource: Resource::Buffer {
            buffer,
            offset: 0,
            range: BYTES,
        },
    };
    set.update(&[write(0, source), write(1, target)]);
    let commands = gpu.commands(Level::Primary)?;
    commands.record(false, |recorder| {
        recorder.pipeline(&pipeline);
        recorder.set(&layout, &set, &[]);
        recorder.push(&layout, &[0, 0, WORDS, key, 1]);
        recorder.dispatch(WORDS / GROUP_WORDS, 1);
        recorder.barrier_to_host();
    })?;
    finish(gpu, &commands)
}

fn finish(gpu: &Gpu, commands: &crate::vulkan::Commands) -> Result<(), Error> {
    let fence = gpu.fence()?;
    let batch = Batch {
        commands: vec![commands],
        ..Batch::default()
    };
    gpu.submit(&[batch], Some(&fence))?;
    fence.wait_and_reset()
}
