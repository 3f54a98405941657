//! The memory heaps that a guest is shown: no larger than what it may allocate, and never empty.

mod common;
#[macro_use]
mod raw;

use std::path::Path;
use std::process::Command as Program;

use ash::vk::{self, Handle};
use hesper_front::Quotas;
use hesper_memory::Mapping;

use common::Hesperd;
use raw::{ARENA_LEN, PHYSICAL, World, arena};

const VIRTIO: &str = "/usr/share/vulkan/icd.d/virtio_icd.json";
const WINDOW_LEN: u64 = ARENA_LEN / 2;
const PAGE: u64 = 4096;

impl World {
    /// Sizes of the two heaps, bytes: device-local, host-visible.
    fn heaps(&mut self) -> [u64; 2] {
        let mut properties = vk::PhysicalDeviceMemoryProperties2::default();
        self.hear(&command!(VkGetPhysicalDeviceMemoryProperties2 {
            physical_device: vk::PhysicalDevice::from_raw(PHYSICAL),
            p_memory_properties: &mut properties,
        }));
        // Type, pointer, sType, pNext; count and array of 32 types; count of heaps, and of their array of 16.
        let heaps = 4 + 8 + 4 + 8 + (4 + 8 + 32 * 8) + 4;
        let word = |at| u64::from(u32::from_le_bytes(self.answer(at)));
        assert_eq!((word(heaps - 4), word(heaps)), (2, 16));
        [0, 1].map(|at| {
            let at = heaps + 8 + at * 12;
            word(at) | word(at + 4) << 32
        })
    }

    fn allocate(&mut self, id: u64, memory_type: u32, len: u64) -> vk::Result {
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(len)
            .memory_type_index(memory_type);
        self.ask(&create!(VkAllocateMemory {
            p_allocate_info: &info,
            p_memory: &mut vk::DeviceMemory::from_raw(id),
        }))
    }
}

fn world(arena: &Mapping, device_memory_max: u64, blob_memory_max: u64) -> World {
    let quotas = Quotas {
        device_memory_max,
        blob_memory_max,
        ..Quotas::default()
    };
    let world = World::limited(arena, quotas);
    world.set_up();
    world
}

#[test]
fn heaps_are_what_quota_and_window_allow() {
    let Some(arena) = arena() else { return };
    let mut small = world(&arena, 48 << 20, u64::MAX);
    assert_eq!(small.heaps(), [48 << 20, WINDOW_LEN]);
    // All of it can be had, and no more.
    assert_eq!(small.allocate(20, 0, 48 << 20), vk::Result::SUCCESS);
    assert_eq!(
        small.allocate(21, 0, PAGE),
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
    );
    drop(small);

    let mut few_blobs = world(&arena, 48 << 20, 8 << 20);
    assert_eq!(few_blobs.heaps(), [48 << 20, 8 << 20]);
    drop(few_blobs);

    let mut nothing = world(&arena, 0, u64::MAX);
    assert_eq!(nothing.heaps(), [PAGE, WINDOW_LEN]);
    drop(nothing);

    // Without a limit the host's own is shown.
    let mut unlimited = world(&arena, u64::MAX, u64::MAX);
    let [device, host] = unlimited.heaps();
    assert!(device > 48 << 20 && device < 1 << 50, "{device}");
    assert_eq!(host, WINDOW_LEN);
}

#[test]
fn stock_client_is_shown_no_more_than_the_quota() {
    let probe = Program::new("vulkaninfo").arg("--help").output();
    if probe.is_err() || !Path::new(VIRTIO).exists() {
        println!("SKIPPED: no vulkaninfo, or no {VIRTIO}");
        return;
    }
    let limits = ["--device-memory-max", "300", "--host-memory-max", "200"];
    let Some(hesperd) = Hesperd::start(&limits) else {
        return;
    };
    let told = Program::new("vulkaninfo")
        .env("VN_DEBUG", "vtest")
        .env("VTEST_SOCKET_NAME", hesperd.socket())
        .env("VK_DRIVER_FILES", VIRTIO)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&told.stdout);
    let sizes: Vec<u64> = told
        .split("memoryHeaps[")
        .skip(1)
        .filter_map(|heap| {
            let (_, rest) = heap.split_once("size")?;
            let size = rest.trim_start_matches([' ', '=']);
            size.split_whitespace().next()?.parse().ok()
        })
        .collect();
    assert_eq!(sizes, [300 << 20, 200 << 20], "{told}");
}
