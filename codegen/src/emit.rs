//! The generated files, as text.
//!
//! Everything is written as invocations of the codec's macros: short to read, quick to compile, and left
//! alone by rustfmt.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Error;
use crate::names;
use crate::registry::{Command, Registry, Struct, Type, Var};
use crate::select::{Numbered, Selection};

/// The member that an encoder picks in a union that nothing selects, by the protocol's choice.
const DEFAULT_TAGS: [(&str, u32); 2] = [("VkClearColorValue", 2), ("VkClearValue", 0)];

/// Arrays that a driver ignores in some states and that a client then leaves out.
const IGNORABLE: [(&str, &str); 4] = [
    ("VkImageCreateInfo", "pQueueFamilyIndices"),
    ("VkBufferCreateInfo", "pQueueFamilyIndices"),
    (
        "VkPhysicalDeviceImageDrmFormatModifierInfoEXT",
        "pQueueFamilyIndices",
    ),
    ("VkFramebufferCreateInfo", "pAttachments"),
];

/// Structures that a client may chain and that mean nothing on the host, such as a file descriptor of the
/// guest: decoded, then left out of the chain, so that none reaches a driver.
const DROPPED: [&str; 1] = ["VkImportMemoryFdInfoKHR"];

const NOTICE: &str =
    "// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.\n\n";

pub struct Emitter<'a> {
    pub registry: &'a Registry,
    pub selection: &'a Selection,
    pub commands: &'a [Numbered],
}

impl Emitter<'_> {
    /// File names and contents.
    pub fn files(&self) -> Result<BTreeMap<&'static str, String>, Error> {
        let mut files = BTreeMap::new();
        files.insert("mod.rs", self.module());
        files.insert("mesa.rs", self.mesa());
        files.insert("args.rs", self.args()?);
        files.insert("command.rs", self.command_enum());
        files.insert("commands.rs", self.command_tables()?);
        files.insert("ids.rs", self.ids()?);
        files.insert("call.rs", self.calls()?);
        for (file, keep) in STRUCT_FILES {
            files.insert(file, self.struct_tables(keep)?);
        }
        Ok(files)
    }

    fn module(&self) -> String {
        let mut out = format!("//! The generated part of the codec.\n{NOTICE}");
        out.push_str("#![allow(\n    deprecated,\n    non_upper_case_globals,\n");
        out.push_str("    unused_imports,\n    clippy::enum_variant_names\n)]\n\n");
        for (name, public) in [
            ("args", true),
            ("call", false),
            ("command", false),
            ("commands", false),
            ("ids", false),
            ("mesa", true),
            ("structs_a", false),
            ("structs_d", false),
            ("structs_i", false),
            ("structs_p", false),
            ("structs_physical_device", false),
            ("structs_q", false),
            ("unions", false),
        ] {
            let visibility = if public { "pub" } else { "pub(crate)" };
            let _ = writeln!(out, "{visibility} mod {name};");
        }
        out
    }

    /// The decoded commands, with their Rust name.
    fn decoded(&self) -> impl Iterator<Item = (String, &Numbered, &Command)> {
        self.commands
            .iter()
            .filter(|command| command.decode)
            .filter_map(|numbered| {
                let canonical = self.registry.canonical(&numbered.name);
                let command = self.registry.commands.get(canonical)?;
                Some((rust_command(&numbered.name), numbered, command))
            })
    }

    fn mesa(&self) -> String {
        let mut out = String::from("//! The structures that the Venus protocol adds to Vulkan.\n");
        out.push_str(NOTICE);
        out.push_str("use std::ffi::c_void;\n\nuse ash::vk;\n\n");
        out.push_str("crate::macros::mesa! {\n");
        for name in self
            .selection
            .structs
            .iter()
            .filter(|name| name.ends_with("MESA"))
        {
            let Some(structure) = self.registry.structure(name) else {
                continue;
            };
            let _ = writeln!(out, "    {name} {{");
            for member in &structure.members {
                let ty = names::variable_type(self.registry, member);
                let _ = writeln!(out, "        {}: {ty},", names::field(&member.name));
            }
            out.push_str("    }\n");
        }
        out.push_str("}\n");
        out
    }

    fn args(&self) -> Result<String, Error> {
        let mut out = String::from("//! The arguments of every command, in their order.\n");
        out.push_str(NOTICE);
        out.push_str("use std::ffi::{c_char, c_void};\n\nuse ash::vk;\n\nuse super::mesa;\n\n");
        out.push_str("crate::macros::args! {\n");
        for (name, _, command) in self.decoded() {
            let _ = writeln!(out, "    {name} {{");
            for param in &command.params {
                let ty = names::variable_type(self.registry, param);
                let _ = writeln!(out, "        {}: {ty},", names::field(&param.name));
            }
            if command.ret == "void" {
                out.push_str("    };\n");
            } else {
                let ret = names::rust_type(self.registry, &command.ret);
                let _ = writeln!(out, "    }} -> {ret};");
            }
        }
        out.push_str("}\n");
        Ok(out)
    }

    fn command_enum(&self) -> String {
        let mut out = String::from("//! The command enum.\n");
        out.push_str(NOTICE);
        out.push_str("crate::macros::commands! {\n");
        for (name, numbered, _) in self.decoded() {
            let _ = writeln!(out, "    {name} = {},", numbered.id);
        }
        out.push_str("}\n");
        out
    }

    fn command_tables(&self) -> Result<String, Error> {
        let mut out = String::from("//! What each command looks like on the wire.\n");
        out.push_str(NOTICE);
        out.push_str(TABLE_USES);
        out.push_str("use super::args;\n\ncrate::macros::command_tables! {\n");
        for (name, numbered, command) in self.decoded() {
            let _ = writeln!(out, "    {name} = {} {{", numbered.id);
            let owner = format!("args::{name}");
            for param in &command.params {
                let out_param = param.pointers > 0 && !param.is_const;
                let is_len = is_length(&command.params, &param.name);
                let mut flags = self.flags(None, &command.params, param);
                if out_param {
                    flags.push("OUT");
                    if is_len {
                        flags.push("INOUT");
                    }
                }
                self.field(&mut out, &owner, &command.params, param, &flags)?;
            }
            if command.ret == "void" {
                out.push_str("    }\n");
            } else {
                let ty = self.element(&command.ret)?;
                let _ = writeln!(out, "    }} -> {ty};");
            }
        }
        let text = out.replace("    }\n", "    };\n");
        Ok(text + "}\n")
    }

    fn struct_tables(&self, keep: fn(&str) -> bool) -> Result<String, Error> {
        let unions = keep("union");
        let mut out = String::from(if unions {
            "//! What each union looks like on the wire.\n"
        } else {
            "//! What some of the structures look like on the wire.\n"
        });
        out.push_str(NOTICE);
        out.push_str(TABLE_USES);
        out.push_str("use super::mesa;\nuse crate::schema::Chained;\n\n");
        if unions {
            out.push_str("crate::macros::union_tables! {\n");
            for name in &self.selection.unions {
                self.union(&mut out, name)?;
            }
        } else {
            out.push_str("crate::macros::struct_tables! {\n");
            for name in self.selection.structs.iter().filter(|name| keep(name)) {
                self.structure(&mut out, name)?;
            }
        }
        out.push_str("}\n");
        Ok(out)
    }

    fn structure(&self, out: &mut String, name: &str) -> Result<(), Error> {
        let Some(structure) = self.registry.structure(name) else {
            return Err(Error::Missing(name.into()));
        };
        let rust = names::rust_type(self.registry, name);
        let stype = self.selection.stype(self.registry, name)?;
        let _ = write!(out, "    {name}: {rust} = ");
        let _ = match stype {
            Some(stype) => write!(out, "Some({stype})"),
            None => write!(out, "None"),
        };
        let flag = match name {
            _ if DROPPED.contains(&name) => "Chained::Dropped",
            _ if structure.allow_duplicate => "Chained::Many",
            _ => "Chained::Once",
        };
        let _ = write!(out, ", {flag}, [");
        for chained in self.selection.chain(name) {
            let module = struct_module(chained);
            let _ = write!(out, "\n        &super::{module}::{chained},");
        }
        let closing = if self.selection.chain(name).is_empty() {
            "] {\n"
        } else {
            "\n    ] {\n"
        };
        out.push_str(closing);
        let members = wire_members(structure);
        for member in members {
            let flags = self.flags(Some(name), &structure.members, member);
            self.field(out, &rust, &structure.members, member, &flags)?;
        }
        out.push_str("    }\n");
        Ok(())
    }

    fn union(&self, out: &mut String, name: &str) -> Result<(), Error> {
        let Some(Type::Union(union)) = self.registry.types.get(name) else {
            return Err(Error::Missing(name.into()));
        };
        let Some((_, tag)) = DEFAULT_TAGS.iter().find(|(known, _)| *known == name) else {
            return Err(Error::Unsupported(format!("union {name}")));
        };
        let rust = names::rust_type(self.registry, name);
        let _ = writeln!(out, "    {name}: {rust} = {tag} {{");
        for member in &union.members {
            self.field(out, &rust, &union.members, member, &[])?;
        }
        out.push_str("    }\n");
        Ok(())
    }

    fn flags(&self, owner: Option<&str>, siblings: &[Var], var: &Var) -> Vec<&'static str> {
        let mut flags = Vec::new();
        let ignorable = owner.is_some_and(|owner| IGNORABLE.contains(&(owner, var.name.as_str())));
        if var.pointers > 0 && (var.optional || var.no_validity || ignorable) {
            flags.push("OPT");
        }
        if is_length(siblings, &var.name) {
            flags.push("LEN");
        }
        flags
    }

    fn field(
        &self,
        out: &mut String,
        owner: &str,
        siblings: &[Var],
        var: &Var,
        flags: &[&str],
    ) -> Result<(), Error> {
        let serializable = self.selection.is_serializable(self.registry, var);
        let (ty, shape) = if !serializable {
            if var.pointers == 0 {
                return Err(Error::Unsupported(format!("{owner}.{}", var.name)));
            }
            ("Ty::Opaque".to_owned(), "Shape::Ptr".to_owned())
        } else {
            (self.element(&var.ty)?, self.shape(owner, siblings, var)?)
        };
        let flags = if flags.is_empty() {
            "0".to_owned()
        } else {
            flags.join(" | ")
        };
        let _ = writeln!(
            out,
            "        {}: {ty}, {shape}, {flags};",
            names::field(&var.name)
        );
        Ok(())
    }

    /// The schema's type of one element.
    fn element(&self, ty: &str) -> Result<String, Error> {
        Ok(match self.registry.types.get(ty) {
            Some(Type::Scalar { bytes } | Type::Enum { bytes }) => match bytes {
                1 => "Ty::U8".into(),
                2 => "Ty::U16".into(),
                4 => "Ty::U32".into(),
                _ => "Ty::U64".into(),
            },
            Some(Type::Handle { object_type }) => {
                let name = object_type.trim_start_matches("VK_OBJECT_TYPE_");
                format!("Ty::Handle(vk::ObjectType::{name})")
            }
            Some(Type::Struct(_)) => format!("Ty::Struct(&super::{}::{ty})", struct_module(ty)),
            Some(Type::Union(_)) => format!("Ty::Union(&super::unions::{ty})"),
            _ if ty == "void" => "Ty::U8".into(),
            _ => return Err(Error::Missing(ty.into())),
        })
    }

    fn shape(&self, owner: &str, siblings: &[Var], var: &Var) -> Result<String, Error> {
        if let Some(dim) = var.dim {
            return Ok(format!("Shape::Static({dim})"));
        }
        let lens: Vec<&str> = var.lens.iter().map(String::as_str).collect();
        Ok(match (var.pointers, lens.as_slice()) {
            (0, _) => "Shape::Value".into(),
            (1, []) => "Shape::Ptr".into(),
            (1, ["null-terminated"]) => "Shape::Str".into(),
            (1, [len]) => format!("Shape::Array({})", self.length(owner, siblings, len)?),
            (2, [len, "null-terminated"]) => {
                format!("Shape::Strs({})", self.length(owner, siblings, len)?)
            }
            _ => return Err(Error::Unsupported(format!("{owner}.{}", var.name))),
        })
    }

    fn length(&self, owner: &str, siblings: &[Var], len: &str) -> Result<String, Error> {
        let unsupported = || Error::Unsupported(format!("the length {len} in {owner}"));
        let find = |name: &str| {
            siblings
                .iter()
                .find(|sibling| sibling.name == name)
                .ok_or_else(unsupported)
        };
        let offset =
            |owner: &str, name: &str| format!("offset_of!({owner}, {})", names::field(name));
        let bytes = |ty: &str| match self.registry.types.get(ty) {
            Some(Type::Scalar { bytes } | Type::Enum { bytes }) => Ok(*bytes),
            _ => Err(unsupported()),
        };
        if let Some((holder, inner)) = len.split_once("->") {
            let holder = find(holder)?;
            let structure = self
                .registry
                .structure(&holder.ty)
                .ok_or_else(unsupported)?;
            let known = structure
                .members
                .iter()
                .find(|m| m.name == inner)
                .ok_or_else(unsupported)?;
            if holder.pointers != 1 || bytes(&known.ty)? != 4 {
                return Err(unsupported());
            }
            let rust = names::rust_type(self.registry, &holder.ty);
            return Ok(format!(
                "Len::InU32({}, {})",
                offset(owner, &holder.name),
                offset(&rust, inner)
            ));
        }
        if let Some(name) = len.strip_suffix(" / 4") {
            return match bytes(&find(name)?.ty)? {
                8 => Ok(format!("Len::DivU64({}, 4)", offset(owner, name))),
                _ => Err(unsupported()),
            };
        }
        if let Some(name) = len
            .strip_prefix('(')
            .and_then(|len| len.strip_suffix(" + 31) / 32"))
        {
            find(name)?;
            return Ok(format!("Len::DivU32({}, 32)", offset(owner, name)));
        }
        let count = find(len)?;
        let at = offset(owner, &count.name);
        match (count.pointers, bytes(&count.ty)?) {
            (0, 4) => Ok(format!("Len::U32({at})")),
            (0, 8) => Ok(format!("Len::U64({at})")),
            (1, 4) => Ok(format!("Len::PtrU32({at})")),
            (1, 8) => Ok(format!("Len::PtrU64({at})")),
            _ => Err(unsupported()),
        }
    }

    fn ids(&self) -> Result<String, Error> {
        let mut out = String::from("//! Command numbers, names and driver functions.\n");
        out.push_str(NOTICE);
        out.push_str(
            "use super::commands;\nuse crate::fns::Level;\nuse crate::schema::CommandDesc;\n\n",
        );
        out.push_str("crate::macros::ids! {\n    names {\n");
        let last = self
            .commands
            .iter()
            .map(|command| command.id)
            .max()
            .unwrap_or(0);
        for command in self.commands {
            let _ = writeln!(out, "        {} {:?}", command.id, command.name);
        }
        let _ = writeln!(out, "    }}\n    descs {} {{", last + 1);
        let by_id: BTreeMap<u32, String> = self
            .decoded()
            .map(|(name, numbered, _)| (numbered.id, name))
            .collect();
        for id in 0..=last {
            let _ = match by_id.get(&id) {
                Some(name) => writeln!(out, "        Some(&commands::{name}),"),
                None => writeln!(out, "        None,"),
            };
        }
        out.push_str("    }\n    fns {\n");
        for (_, numbered, command) in self.decoded() {
            let Some(level) = level(&numbered.name, command) else {
                continue;
            };
            let canonical = self.registry.canonical(&numbered.name);
            let mut all = vec![canonical];
            all.extend(self.registry.aliases_of(canonical));
            let list: Vec<String> = all.iter().map(|name| format!("c{name:?}")).collect();
            let _ = writeln!(out, "        {} {level} [{}]", numbered.id, list.join(", "));
        }
        out.push_str("    }\n}\n");
        Ok(out)
    }

    fn calls(&self) -> Result<String, Error> {
        let mut out = String::from("//! Calls of the driver with a command's arguments.\n");
        out.push_str(NOTICE);
        out.push_str("use ash::vk;\n\n");
        for (table, wanted) in [
            ("cmd", "Cmd"),
            ("device", "Device"),
            ("instance", "Instance"),
        ] {
            let _ = writeln!(out, "crate::macros::calls! {{ {table}, a {{");
            for (name, numbered, command) in self.decoded() {
                if level(&numbered.name, command) != Some(wanted) {
                    continue;
                }
                let args: Vec<String> = command
                    .params
                    .iter()
                    .map(|param| {
                        let field = names::field(&param.name);
                        if param.dim.is_some() {
                            format!("&raw const a.{field}")
                        } else {
                            format!("a.{field}")
                        }
                    })
                    .collect();
                let pfn = names::pfn(self.registry, &numbered.name);
                let ret = if command.ret == "void" { "" } else { "ret " };
                let _ = writeln!(out, "    {name} PFN_{pfn} {ret}({});", args.join(", "));
            }
            out.push_str("} }\n\n");
        }
        out.truncate(out.len() - 1);
        Ok(out)
    }
}

const TABLE_USES: &str = "use std::mem::offset_of;\n\nuse ash::vk;\n\n";

type Keep = fn(&str) -> bool;

fn initial(name: &str) -> char {
    name.chars().nth(2).unwrap_or('Z')
}

const STRUCT_FILES: [(&str, Keep); 7] = [
    ("structs_a.rs", |name| struct_module(name) == "structs_a"),
    ("structs_d.rs", |name| struct_module(name) == "structs_d"),
    ("structs_i.rs", |name| struct_module(name) == "structs_i"),
    ("structs_p.rs", |name| struct_module(name) == "structs_p"),
    ("structs_physical_device.rs", |name| {
        struct_module(name) == "structs_physical_device"
    }),
    ("structs_q.rs", |name| struct_module(name) == "structs_q"),
    ("unions.rs", |name| name == "union"),
];

fn struct_module(name: &str) -> &'static str {
    if name.starts_with("VkPhysicalDevice") {
        return "structs_physical_device";
    }
    match initial(name) {
        _ if name == "union" => "unions",
        'A'..='C' => "structs_a",
        'D'..='H' => "structs_d",
        'I'..='O' => "structs_i",
        'P' => "structs_p",
        _ => "structs_q",
    }
}

/// A structure's members as they are sent: sType and pNext go ahead by rule.
fn wire_members(structure: &Struct) -> impl Iterator<Item = &Var> {
    let has_chain = structure
        .members
        .first()
        .is_some_and(|member| member.name == "sType");
    structure.members.iter().skip(if has_chain { 2 } else { 0 })
}

/// True when another field's number of elements is this one, or comes from it.
fn is_length(siblings: &[Var], name: &str) -> bool {
    let first_word = |len: &str| {
        let word = len.trim_start_matches('(');
        word.split(|c: char| !c.is_alphanumeric()).next() == Some(name)
    };
    siblings
        .iter()
        .filter(|sibling| sibling.dim.is_none())
        .any(|sibling| sibling.lens.iter().any(|len| first_word(len)))
}

/// `vkCreateBuffer` as `VkCreateBuffer`.
fn rust_command(name: &str) -> String {
    format!("V{}", &name[1..])
}

/// Which table of driver functions a command belongs to; `None` for the protocol's own commands and those
/// that need more than a call.
fn level(name: &str, command: &Command) -> Option<&'static str> {
    if name.ends_with("MESA") {
        return None;
    }
    if name.starts_with("vkCmd") {
        return Some("Cmd");
    }
    match command.params.first()?.ty.as_str() {
        "VkInstance" | "VkPhysicalDevice" => Some("Instance"),
        "VkDevice" | "VkQueue" | "VkCommandBuffer" => Some("Device"),
        _ => None,
    }
}
