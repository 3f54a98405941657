//! The crate's errors and the exit codes they mean.

use ash::vk;

/// What can go wrong in a guest tool.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `libvulkan.so.1` is missing or unusable.
    #[error("Could not load libvulkan.so.1: {0}")]
    Loader(#[from] ash::LoadingError),
    /// A Vulkan call did not succeed.
    #[error("{call} answered {result:?}")]
    Vulkan {
        /// Name of the entry point.
        call: &'static str,
        /// What it returned.
        result: vk::Result,
    },
    /// No device (of that name) that can compute.
    #[error("No Vulkan device with a compute queue{0}")]
    NoDevice(String),
    /// The device offers no memory type for the purpose named.
    #[error("No {0} memory type fits")]
    NoMemoryType(&'static str),
    /// A buffer's place in its memory isn't one that the device accepts.
    #[error("A buffer can't be bound at {offset}: the device asks for {needs:?}")]
    Unfit {
        /// Byte offset in the memory.
        offset: u64,
        /// What the device asks for.
        needs: vk::MemoryRequirements,
    },
    /// The embedded SPIR-V can't be read.
    #[error("Embedded shader is unreadable: {0}")]
    Shader(std::io::Error),
    /// An option, or a combination of options, can't be served.
    #[error("{0}")]
    Option(String),
    /// The JSON report can't be written.
    #[error("Could not write {path}: {source}")]
    Report {
        /// The file named on the command line.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    /// Exit code of the process: 2 for a lost device, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Vulkan {
                result: vk::Result::ERROR_DEVICE_LOST,
                ..
            } => 2,
            _ => 1,
        }
    }
}

/// Names the call in the error of a Vulkan result.
pub trait Named<T> {
    /// Turns a bare `vk::Result` into [`Error::Vulkan`].
    fn named(self, call: &'static str) -> Result<T, Error>;
}

impl<T> Named<T> for Result<T, vk::Result> {
    fn named(self, call: &'static str) -> Result<T, Error> {
        self.map_err(|result| Error::Vulkan { call, result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_of_a_lost_device_is_2() {
        let of = |result| Err::<(), _>(result).named("vkQueueSubmit").unwrap_err();

        assert_eq!(of(vk::Result::ERROR_DEVICE_LOST).exit_code(), 2);
        assert_eq!(of(vk::Result::ERROR_OUT_OF_HOST_MEMORY).exit_code(), 1);
    }
}
