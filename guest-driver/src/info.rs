//! What the guest sees, in plain words, and what is missing for Venus.

use std::fs;
use std::path::{Path, PathBuf};

use ash::vk;

use crate::drm;
use crate::vulkan::{Instance, PhysicalDevice};

/// Where the Vulkan loader looks for drivers by itself.
const ICD_FOLDERS: [&str; 3] = [
    "/usr/local/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
];

/// Prints everything; never fails, since what fails is what it is asked to tell.
pub fn run() {
    let mut missing = Vec::new();
    kernel(&mut missing);
    icd(&mut missing);
    vulkan(&mut missing);
    println!();
    if missing.is_empty() {
        println!("Nothing is missing.");
    } else {
        println!("Missing:");
        for what in missing {
            println!("  - {what}");
        }
    }
}

fn kernel(missing: &mut Vec<String>) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    println!("Kernel: {}", release.trim());

    let nodes = drm::nodes();
    if nodes.is_empty() {
        println!("DRM nodes: none");
    }
    for node in &nodes {
        let there = if node.path.exists() {
            ""
        } else {
            ", no device file"
        };
        println!(
            "DRM node: {} (driver {}{there})",
            node.path.display(),
            node.driver
        );
    }
    let render = nodes.iter().find(|node| {
        // The bus driver of a virtio-gpu on PCI is virtio-pci for the parent, virtio_gpu itself.
        node.driver.contains("virtio") && node.path.to_string_lossy().contains("renderD")
    });
    match render {
        None => missing.push(
            "a render node of the virtio_gpu driver: no virtio-gpu device, module not loaded, or a \
             device without 3D"
                .to_owned(),
        ),
        Some(node) => match drm::parameters(&node.path) {
            Err(error) => {
                println!("{}: {error}", node.path.display());
                missing.push(format!("access to {} ({error})", node.path.display()));
            }
            Ok((values, venus)) => parameters(&values, venus, missing),
        },
    }
    match drm::log_lines() {
        None => println!("Kernel log: not readable"),
        Some(lines) => {
            for line in lines.iter().take(20) {
                println!("Kernel log: {line}");
            }
        }
    }
}

fn parameters(values: &[bool], venus: Option<bool>, missing: &mut Vec<String>) {
    for ((_, name), on) in drm::PARAMETERS.iter().zip(values) {
        println!("virtio-gpu {name}: {}", yes(*on));
        // Venus does without sharing across devices.
        if !on && !name.contains("cross device") {
            missing.push(format!("virtio-gpu feature {name}"));
        }
    }
    match venus {
        Some(on) => {
            println!("virtio-gpu capability set Venus: {}", yes(on));
            if !on {
                missing.push("the Venus capability set: the device doesn't offer it".to_owned());
            }
        }
        None => println!("virtio-gpu capability set Venus: this kernel can't tell"),
    }
}

fn yes(on: bool) -> &'static str {
    if on { "yes" } else { "NO" }
}

fn icd(missing: &mut Vec<String>) {
    let chosen = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
        .into_iter()
        .find_map(|name| Some((name, std::env::var(name).ok()?)));
    let files: Vec<PathBuf> = match &chosen {
        Some((name, value)) => {
            println!("Vulkan drivers: chosen by {name}={value}");
            std::env::split_paths(value).collect()
        }
        None => ICD_FOLDERS
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
            .collect(),
    };
    let mut venus = false;
    for file in files.iter().filter(|file| is_venus(file)) {
        venus = true;
        match library(file) {
            Some(library) if Path::new(&library).is_absolute() && !Path::new(&library).exists() => {
                println!(
                    "Venus driver: {} names {library}, NOT THERE",
                    file.display()
                );
                missing.push(format!("the library {library} of {}", file.display()));
            }
            Some(library) => println!("Venus driver: {} ({library})", file.display()),
            None => {
                println!("Venus driver: {} is unreadable", file.display());
                missing.push(format!("a readable {}", file.display()));
            }
        }
    }
    if !venus {
        println!("Venus driver: none");
        missing.push(match chosen {
            Some((name, _)) => format!("virtio_icd.json in {name}"),
            None => "virtio_icd.json (Debian: package mesa-vulkan-drivers)".to_owned(),
        });
    }
}

fn is_venus(file: &Path) -> bool {
    file.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("virtio"))
}

fn library(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(json["ICD"]["library_path"].as_str()?.to_owned())
}

fn vulkan(missing: &mut Vec<String>) {
    let instance = match Instance::new() {
        Ok(instance) => instance,
        Err(error) => {
            println!("Vulkan: {error}");
            missing.push(format!("a Vulkan instance: {error}"));
            return;
        }
    };
    println!("Vulkan loader: {}", version(instance.loader_version()));
    let devices = match instance.devices() {
        Ok(devices) => devices,
        Err(error) => {
            println!("Vulkan: {error}");
            missing.push(format!("Vulkan devices: {error}"));
            return;
        }
    };
    if devices.is_empty() {
        println!("Vulkan devices: none");
        missing.push("a Vulkan device".to_owned());
    }
    for (index, device) in devices.iter().enumerate() {
        describe(index, device);
    }
    let is_venus = |device: &PhysicalDevice<'_>| {
        device
            .driver()
            .is_some_and(|(id, _, _)| id == vk::DriverId::MESA_VENUS)
    };
    if !devices.is_empty() && !devices.iter().any(is_venus) {
        missing.push("a Vulkan device of the Venus driver (MESA_VENUS)".to_owned());
    }
}

fn describe(index: usize, device: &PhysicalDevice<'_>) {
    let properties = device.properties();
    println!("Vulkan device {index}: {}", device.name());
    println!(
        "  type {:?}, Vulkan {}",
        properties.device_type,
        version(properties.api_version)
    );
    if let Some((id, name, about)) = device.driver() {
        println!("  driver {id:?}: {name}, {about}");
    }
    for (number, family) in device.families().iter().enumerate() {
        println!(
            "  queue family {number}: {} queues, {:?}",
            family.queue_count, family.queue_flags
        );
    }
    let memory = device.memory();
    for (number, kind) in memory.memory_types_as_slice().iter().enumerate() {
        println!(
            "  memory type {number}: heap {}, {:?}",
            kind.heap_index, kind.property_flags
        );
    }
    for (number, heap) in memory.memory_heaps_as_slice().iter().enumerate() {
        println!(
            "  memory heap {number}: {} MiB, {:?}",
            heap.size >> 20,
            heap.flags
        );
    }
}

fn version(number: u32) -> String {
    format!(
        "{}.{}.{}",
        vk::api_version_major(number),
        vk::api_version_minor(number),
        vk::api_version_patch(number)
    )
}
