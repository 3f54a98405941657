//! Memory that no device has: allocations may seem to succeed, because Mesa does not wait for the answer, but nothing of it
//! can be mapped, and what is made afterwards must work.

use ash::vk;

use crate::error::Error;
use crate::selftest;
use crate::session::Session;
use crate::vulkan::{Gpu, Place};

/// 32 TiB.
const LEN: u64 = 1 << 45;
const BUFFER_LEN: u64 = 65536;
/// Of each kind of memory.
const TIMES: u32 = 20;

/// Runs it; true if no such memory could be used and what was made afterwards is right.
pub fn run(device: Option<&str>) -> Result<bool, Error> {
    let (gpu, shape) = selftest::open(device)?;
    println!("out-of-memory: device \"{}\"", gpu.name());
    let mut good = true;
    for place in [Place::DeviceLocal, Place::HostVisible] {
        let mut silent = 0;
        for _ in 0..TIMES {
            match attempt(&gpu, place) {
                Ok(Told::Allocation) => {}
                Ok(Told::Nothing) => silent += 1,
                Ok(Told::WrongMap) => {
                    println!("out-of-memory: {place:?}: WRONG, it could be mapped");
                    good = false;
                }
                Err(error) => {
                    // As in `work`: a device that failed may not answer a tear-down.
                    std::mem::forget(gpu);
                    return Err(error);
                }
            }
        }
        println!("out-of-memory: {place:?}: {silent} of {TIMES} seemed to succeed");
    }
    let mut session = Session::on(gpu, shape)?;
    let right = selftest::check(&mut session);
    if right.is_err() {
        std::mem::forget(session);
    }
    let good = good & right?;
    println!("out-of-memory: {}", if good { "PASS" } else { "FAIL" });
    Ok(good)
}

/// What a program hears of it.
enum Told {
    /// The allocation failed.
    Allocation,
    /// It seemed to succeed, and so did all that is done with it here, but for a map.
    Nothing,
    /// It was even mapped.
    WrongMap,
}

/// Allocates, binds a buffer, maps, and gives everything back.
fn attempt(gpu: &Gpu, place: Place) -> Result<Told, Error> {
    let raw = &gpu.shared.raw;
    let info = vk::MemoryAllocateInfo::default()
        .allocation_size(LEN)
        .memory_type_index(gpu.memory_type(place, u32::MAX)?);
    // SAFETY: all structures are complete and live across the calls; the buffer is never used.
    unsafe {
        let memory = match raw.allocate_memory(&info, None) {
            Ok(memory) => memory,
            Err(vk::Result::ERROR_DEVICE_LOST) => {
                return Err(Error::Vulkan {
                    call: "vkAllocateMemory",
                    result: vk::Result::ERROR_DEVICE_LOST,
                });
            }
            Err(_) => return Ok(Told::Allocation),
        };
        let info = vk::BufferCreateInfo::default()
            .size(BUFFER_LEN)
            .usage(vk::BufferUsageFlags::TRANSFER_DST);
        let buffer = raw.create_buffer(&info, None);
        if let Ok(buffer) = buffer {
            // Whether it is told that this fails is Mesa's own business.
            let _ = raw.bind_buffer_memory(buffer, memory, 0);
        }
        let mapped = match place {
            Place::DeviceLocal => None,
            Place::HostVisible => {
                Some(raw.map_memory(memory, 0, BUFFER_LEN, vk::MemoryMapFlags::empty()))
            }
        };
        if let Ok(buffer) = buffer {
            raw.destroy_buffer(buffer, None);
        }
        raw.free_memory(memory, None);
        Ok(match mapped {
            Some(Ok(_)) => Told::WrongMap,
            _ => Told::Nothing,
        })
    }
}
