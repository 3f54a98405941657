//! Driver functions by command, and calls with a command's arguments as they are.

use std::ffi::CStr;

use ash::vk;

use crate::command::{Command, CommandType};
use crate::error::CallError;
use crate::generated::{call, ids};

/// Which loader function finds a driver function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Instance,
    Device,
    Cmd,
}

/// Functions by command number.
#[derive(Clone)]
pub(crate) struct Table(Box<[vk::PFN_vkVoidFunction]>);

impl Table {
    fn load(level: Level, mut find: impl FnMut(&CStr) -> vk::PFN_vkVoidFunction) -> Self {
        let mut fns = vec![None; ids::DESCS.len()].into_boxed_slice();
        for (id, of, names) in ids::FNS {
            if *of == level {
                // A command number is less than the number of descriptions, both generated together.
                fns[*id as usize] = names.iter().find_map(|name| find(name));
            }
        }
        Table(fns)
    }

    pub(crate) fn get(&self, id: CommandType) -> Result<unsafe extern "system" fn(), CallError> {
        self.0
            .get(id.0 as usize)
            .copied()
            .flatten()
            .ok_or(CallError::Missing(id))
    }
}

/// The functions that record into a command buffer (`vkCmd*`).
#[derive(Clone)]
pub struct CmdFns(Table);

/// The functions of a device, its queues and command buffers but for `vkCmd*`.
#[derive(Clone)]
pub struct DeviceFns(Table);

/// The functions of an instance and its physical devices.
#[derive(Clone)]
pub struct InstanceFns(Table);

impl CmdFns {
    /// Looks every function up, by its core name and then its KHR and EXT names. `find` is
    /// vkGetDeviceProcAddr for the device.
    pub fn load(find: impl FnMut(&CStr) -> vk::PFN_vkVoidFunction) -> Self {
        CmdFns(Table::load(Level::Cmd, find))
    }
}

impl DeviceFns {
    /// As [`CmdFns::load`].
    pub fn load(find: impl FnMut(&CStr) -> vk::PFN_vkVoidFunction) -> Self {
        DeviceFns(Table::load(Level::Device, find))
    }
}

impl InstanceFns {
    /// As [`CmdFns::load`], but `find` is vkGetInstanceProcAddr for the instance.
    pub fn load(find: impl FnMut(&CStr) -> vk::PFN_vkVoidFunction) -> Self {
        InstanceFns(Table::load(Level::Instance, find))
    }
}

/// Records a `vkCmd*` command into the host's command buffer.
///
/// # Safety
/// `fns` was loaded from the device that the command's handles belong to; handles are mapped and live; the
/// command's arguments are valid for Vulkan.
///
/// # Errors
/// [`CallError`]: the driver lacks the function, or it is no `vkCmd*` command.
pub unsafe fn call_cmd(fns: &CmdFns, command: &mut Command<'_>) -> Result<(), CallError> {
    // SAFETY: by the contract of this function.
    unsafe { call::cmd(&fns.0, command) }
}

/// Calls a device's function with the arguments as decoded and stores what it returns in `ret`.
///
/// # Safety
/// As [`call_cmd`].
///
/// # Errors
/// [`CallError`]: the driver lacks the function, or it is no device command.
pub unsafe fn call_device(fns: &DeviceFns, command: &mut Command<'_>) -> Result<(), CallError> {
    // SAFETY: by the contract of this function.
    unsafe { call::device(&fns.0, command) }
}

/// Calls an instance's or physical device's function, as [`call_device`].
///
/// # Safety
/// As [`call_cmd`].
///
/// # Errors
/// [`CallError`]: the driver lacks the function, or it is no instance command.
pub unsafe fn call_instance(fns: &InstanceFns, command: &mut Command<'_>) -> Result<(), CallError> {
    // SAFETY: by the contract of this function.
    unsafe { call::instance(&fns.0, command) }
}
