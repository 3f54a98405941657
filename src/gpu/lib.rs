//! The host GPU through `ash`: instances, physical devices as the guest sees them, devices, and
//! where memory comes from.
//!
//! What a guest is shown is decided here and nowhere else: two memory types on every host, only
//! extensions and features whose state can be restored, and a device name that says what is below.

mod advertised;
mod device;
mod external;
mod features;
mod host;
mod memory;
mod physical;

pub use advertised::{extension_mask, extension_names, hidden_extensions, is_emulated};
pub use device::Device;
pub use external::{
    DRM_FORMAT_MOD_LINEAR, SHARED_HANDLE_TYPE, has_linear_modifier, shared_memory_properties,
};
pub use features::{asks_for_hidden, hidden_features, hide_features};
pub use host::{Instance, VENUS_VK_XML_VERSION};
pub use memory::{DeviceMemory, HostPages};
pub use physical::{HeapLimits, Identity, MEMORY_TYPE_DEVICE, MEMORY_TYPE_HOST, PhysicalDevice};

use ash::vk;

/// What can go wrong with the host GPU.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// No Vulkan loader on this host.
    #[error("Vulkan loader: {0}")]
    Loader(#[from] ash::LoadingError),
    /// A Vulkan call failed.
    #[error("{call}: {result}")]
    Vulkan {
        /// Name of the call.
        call: &'static str,
        /// What it returned.
        result: vk::Result,
    },
    /// No device fits.
    #[error("No Vulkan device {0}")]
    NoDevice(String),
    /// The host device lacks something that Hesper stands on.
    #[error("{device} lacks {what}")]
    Lacks {
        /// Host device name.
        device: String,
        /// What is missing.
        what: &'static str,
    },
    /// Shared memory.
    #[error(transparent)]
    Memory(#[from] hesper_memory::MemoryError),
}

impl GpuError {
    /// The Vulkan result that a guest should see for this error.
    pub fn result(&self) -> vk::Result {
        match self {
            Self::Vulkan { result, .. } => *result,
            Self::Memory(_) => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
            _ => vk::Result::ERROR_INITIALIZATION_FAILED,
        }
    }
}

pub(crate) trait Named<T> {
    /// Attaches the name of the call to a Vulkan error.
    fn named(self, call: &'static str) -> Result<T, GpuError>;
}

impl<T> Named<T> for Result<T, vk::Result> {
    fn named(self, call: &'static str) -> Result<T, GpuError> {
        self.map_err(|result| GpuError::Vulkan { call, result })
    }
}
