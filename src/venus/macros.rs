//! What the generated files are written with.

macro_rules! mesa {
    ($($name:ident { $($field:ident: $ty:ty,)* })*) => { $(
        #[doc = concat!("`", stringify!($name), "` of the Venus protocol.")]
        #[derive(Debug, Clone, Copy)]
        #[repr(C)]
        #[allow(missing_docs)]
        pub struct $name { $(pub $field: $ty,)* }
    )* };
}

macro_rules! args {
    ($($name:ident { $($field:ident: $ty:ty,)* } $(-> $ret:ty)?;)*) => { $(
        #[doc = concat!("The arguments of `", stringify!($name), "`.")]
        #[derive(Debug, Clone, Copy)]
        #[repr(C)]
        #[allow(missing_docs)]
        pub struct $name { $(pub $field: $ty,)* $(
            /// The return value, for the reply. Zero (success) when decoded.
            pub ret: $ret,
        )? }
    )* };
}

macro_rules! commands {
    ($($name:ident = $id:literal,)*) => {
        /// A command with its arguments.
        #[derive(Debug)]
        pub enum Command<'b> { $(
            #[allow(missing_docs)]
            $name($crate::command::Args<'b, super::args::$name>),
        )* }

        impl $crate::command::CommandType { $(
            #[allow(missing_docs)]
            pub const $name: Self = Self($id);
        )* }

        impl<'b> Command<'b> {
            pub fn command_type(&self) -> $crate::command::CommandType {
                $crate::command::CommandType(match self { $(Command::$name(_) => $id,)* })
            }

            /// # Safety
            /// `args` points at valid arguments of this command that nothing else refers to for `'b`,
            /// the codec's handle slots excepted.
            pub(crate) unsafe fn from_raw(
                id: $crate::command::CommandType,
                args: std::ptr::NonNull<u8>,
            ) -> Option<Self> {
                use $crate::command::Args;
                // SAFETY: by the contract of this function.
                Some(match id.0 { $($id => Command::$name(unsafe { Args::from_raw(args) }),)*
                    _ => return None,
                })
            }

            /// The description of the command and the address of its arguments.
            pub(crate) fn parts(
                &self,
            ) -> (&'static $crate::schema::CommandDesc, std::ptr::NonNull<u8>) {
                match self {
                    $(Command::$name(args) => (&super::commands::$name, args.raw()),)*
                }
            }
        }
    };
}

macro_rules! fields {
    ($owner:ty; $($field:ident: $ty:expr, $shape:expr, $flags:expr;)*) => {{
        #[allow(unused_imports)]
        use $crate::schema::{INOUT, LEN, Len, OPT, OUT, Shape, Ty};
        &[$($crate::schema::field!($owner, $field, $ty, $shape, $flags)),*]
    }};
}

macro_rules! struct_tables {
    ($($name:ident: $rust:ty = $stype:expr, $chained:expr, [$($chain:expr,)*] { $($fields:tt)* })*) => { $(
        pub(crate) static $name: $crate::schema::StructDesc = $crate::schema::StructDesc {
            name: stringify!($name),
            size: size_of::<$rust>(),
            align: align_of::<$rust>(),
            stype: $stype,
            chained: $chained,
            chain: &[$($chain),*],
            fields: $crate::macros::fields!($rust; $($fields)*),
        };
    )* };
}

macro_rules! union_tables {
    ($($name:ident: $rust:ty = $tag:literal { $($fields:tt)* })*) => { $(
        pub(crate) static $name: $crate::schema::UnionDesc = $crate::schema::UnionDesc {
            name: stringify!($name),
            size: size_of::<$rust>(),
            align: align_of::<$rust>(),
            members: $crate::macros::fields!($rust; $($fields)*),
            default_tag: $tag,
        };
    )* };
}

macro_rules! command_tables {
    ($($name:ident = $id:literal { $($fields:tt)* } $(-> $ret:expr)?;)*) => { $(
        pub(crate) static $name: $crate::schema::CommandDesc = $crate::schema::CommandDesc {
            id: $id,
            size: size_of::<args::$name>(),
            align: align_of::<args::$name>(),
            fields: $crate::macros::fields!(args::$name; $($fields)*),
            ret: $crate::macros::ret!($name $(, $ret)?),
        };
    )* };
}

macro_rules! ret {
    ($name:ident) => {
        None
    };
    ($name:ident, $ret:expr) => {{
        use $crate::schema::{Shape, Ty};
        Some($crate::schema::field!(
            args::$name,
            ret,
            $ret,
            Shape::Value,
            0
        ))
    }};
}

macro_rules! ids {
    (
        names { $($id:literal $name:literal)* }
        descs $count:literal { $($desc:expr,)* }
        fns { $($fn_id:literal $level:ident [$($fn_name:literal),*])* }
    ) => {
        /// Names by command number, sorted.
        pub(crate) static NAMES: &[(u32, &str)] = &[$(($id, $name)),*];
        /// Descriptions by command number.
        pub(crate) static DESCS: [Option<&CommandDesc>; $count] = [$($desc),*];
        /// Whether commands are recorded into a command buffer, by command number.
        pub(crate) static RECORDED: [bool; $count] =
            $crate::command::recorded(&[$(($id, $name)),*]);
        /// The driver functions behind commands: number, level, names to look up in this order.
        pub(crate) static FNS: &[(u32, Level, &[&std::ffi::CStr])] =
            &[$(($fn_id, Level::$level, &[$($fn_name),*])),*];
    };
}

macro_rules! calls {
    ($table:ident, $a:ident { $($name:ident $pfn:ident $($ret:ident)? ($($arg:expr),*);)* }) => {
        /// # Safety
        /// The functions are a driver's, and the arguments valid for them: every handle a live one.
        pub(crate) unsafe fn $table(
            fns: &$crate::fns::Table,
            command: &mut $crate::Command<'_>,
        ) -> Result<(), $crate::CallError> {
            use $crate::Command;
            let id = command.command_type();
            match command {
                $(Command::$name($a) => {
                    let f = fns.get(id)?;
                    // SAFETY: the table holds under this number the function of this name, whose type
                    // this is; the arguments are valid by the contract of this function.
                    let _ret = unsafe {
                        let f = std::mem::transmute::<unsafe extern "system" fn(), vk::$pfn>(f);
                        f($($arg),*)
                    };
                    $($a.$ret = _ret;)?
                })*
                #[allow(unreachable_patterns)]
                _ => return Err($crate::CallError::WrongTable(id)),
            }
            Ok(())
        }
    };
}

pub(crate) use {
    args, calls, command_tables, commands, fields, ids, mesa, ret, struct_tables, union_tables,
};
