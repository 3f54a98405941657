//! Suites on a machine where nothing can be built, such as a bare one with a GPU.
//!
//! `HESPER_PREBUILT` names a folder that holds `hesperd`, `hesper`, `hesper-guest`, QEMU's installation `qemu`, and the
//! guest's `vmlinuz` and `initrd.img` with `hesper-guest` in it. `HESPER_VULKAN_DRIVER` names the host driver's JSON file;
//! without it, that is Debian's lavapipe.

use std::path::PathBuf;

/// Where Debian puts the software Vulkan driver.
const LAVAPIPE: &str = "/usr/share/vulkan/icd.d/lvp_icd.json";

/// The folder of what was built elsewhere, if there is one.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os("HESPER_PREBUILT").map(PathBuf::from)
}

/// The host's Vulkan driver, as `VK_DRIVER_FILES` names it.
pub fn driver() -> String {
    std::env::var("HESPER_VULKAN_DRIVER").unwrap_or_else(|_| LAVAPIPE.to_owned())
}
