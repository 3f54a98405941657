//! The Vulkan registry, reduced to what a wire codec asks of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use roxmltree::Node;

use crate::Error;

/// A struct member, a union member or a command parameter.
#[derive(Debug, Clone)]
pub struct Var {
    pub name: String,
    /// Type name without pointers, aliases resolved.
    pub ty: String,
    pub is_const: bool,
    /// Levels of pointer.
    pub pointers: usize,
    /// Elements of a fixed array.
    pub dim: Option<u64>,
    /// One length expression a pointer level, as the registry writes it.
    pub lens: Vec<String>,
    pub optional: bool,
    pub no_validity: bool,
    pub stype: Option<String>,
    pub selector: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Struct {
    pub members: Vec<Var>,
    pub extends: Vec<String>,
    pub allow_duplicate: bool,
}

#[derive(Debug, Clone)]
pub struct Command {
    pub ret: String,
    pub params: Vec<Var>,
}

#[derive(Debug, Clone)]
pub enum Type {
    Scalar { bytes: u8 },
    Enum { bytes: u8 },
    Handle { object_type: String },
    Struct(Struct),
    Union(Struct),
    Other,
}

#[derive(Debug, Default)]
pub struct Registry {
    pub types: BTreeMap<String, Type>,
    pub commands: BTreeMap<String, Command>,
    /// Alias to canonical name, types and commands.
    pub aliases: HashMap<String, String>,
    pub stypes: HashMap<String, i32>,
    /// VK_HEADER_VERSION: the patch version of the registry.
    pub header_version: String,
    constants: HashMap<String, u64>,
    /// The core versions and extensions that the codec knows.
    wanted: BTreeSet<String>,
    /// Types and commands that each of them, and core 1.4, requires: canonical names.
    required: HashMap<String, BTreeSet<String>>,
}

impl Registry {
    /// An empty registry that will tell what the `wanted` core versions and extensions require.
    pub fn new<'a>(wanted: impl Iterator<Item = &'a str>) -> Self {
        Registry {
            wanted: wanted.map(str::to_owned).collect(),
            ..Registry::default()
        }
    }

    /// True when one of the core versions and extensions wanted requires this type or command.
    pub fn is_supported(&self, name: &str) -> bool {
        self.required
            .iter()
            .any(|(group, set)| self.wanted.contains(group) && set.contains(name))
    }

    /// True when this core version requires this type or command.
    pub fn is_core(&self, version: &str, name: &str) -> bool {
        self.required
            .get(version)
            .is_some_and(|set| set.contains(name))
    }

    /// Adds one registry file. Types of an earlier file may be referred to.
    pub fn add(&mut self, text: &str) -> Result<(), Error> {
        let document = roxmltree::Document::parse(text)?;
        let root = document.root_element();
        self.collect_aliases(root);
        for enums in children(root, "enums") {
            match enums.attribute("name") {
                Some("API Constants") => self.add_constants(enums),
                Some("VkStructureType") => {
                    for item in children(enums, "enum") {
                        self.add_stype(item, None);
                    }
                }
                _ => {}
            }
        }
        for types in children(root, "types") {
            for node in children(types, "type").filter(|node| applies(*node)) {
                self.add_type(node)?;
            }
        }
        for enums in children(root, "enums") {
            if enums.attribute("bitwidth") == Some("64")
                && let Some(name) = enums.attribute("name")
            {
                self.types.insert(name.into(), Type::Enum { bytes: 8 });
            }
        }
        for commands in children(root, "commands") {
            for node in children(commands, "command").filter(|node| applies(*node)) {
                self.add_command(node)?;
            }
        }
        self.add_requirements(root);
        Ok(())
    }

    /// The canonical name of a type or command.
    pub fn canonical<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases
            .get(name)
            .map_or(name, |target| self.canonical(target))
    }

    /// Every alias of a canonical name, sorted.
    pub fn aliases_of(&self, name: &str) -> Vec<&str> {
        let mut found: Vec<&str> = self
            .aliases
            .keys()
            .map(String::as_str)
            .filter(|alias| self.canonical(alias) == name)
            .collect();
        found.sort_unstable();
        found
    }

    pub fn structure(&self, name: &str) -> Option<&Struct> {
        match self.types.get(name) {
            Some(Type::Struct(structure)) => Some(structure),
            _ => None,
        }
    }

    fn collect_aliases(&mut self, root: Node) {
        for (list, item) in [("types", "type"), ("commands", "command")] {
            for node in children(root, list).flat_map(|node| children(node, item)) {
                if let (Some(name), Some(alias)) = (node.attribute("name"), node.attribute("alias"))
                {
                    self.aliases.insert(name.into(), alias.into());
                }
            }
        }
    }

    fn add_constants(&mut self, enums: Node) {
        for item in children(enums, "enum") {
            if let (Some(name), Some(value)) = (item.attribute("name"), item.attribute("value"))
                && let Ok(value) = value.parse()
            {
                self.constants.insert(name.into(), value);
            }
        }
        for item in children(enums, "enum") {
            if let (Some(name), Some(alias)) = (item.attribute("name"), item.attribute("alias"))
                && let Some(value) = self.constants.get(alias)
            {
                self.constants.insert(name.into(), *value);
            }
        }
    }

    fn add_stype(&mut self, item: Node, extension_number: Option<i32>) {
        let Some(name) = item.attribute("name") else {
            return;
        };
        let value = if let Some(value) = item.attribute("value") {
            value.parse().ok()
        } else if let Some(offset) = item.attribute("offset") {
            let number = item
                .attribute("extnumber")
                .and_then(|number| number.parse().ok())
                .or(extension_number);
            match (offset.parse::<i32>(), number) {
                (Ok(offset), Some(number)) => Some(1_000_000_000 + (number - 1) * 1000 + offset),
                _ => None,
            }
        } else {
            None
        };
        if let Some(value) = value {
            self.stypes.insert(name.into(), value);
        }
    }

    fn add_type(&mut self, node: Node) -> Result<(), Error> {
        if node.attribute("alias").is_some() {
            return Ok(());
        }
        if child_text(node, "name") == Some("VK_HEADER_VERSION") {
            let value = node.last_child().and_then(|value| value.text());
            self.header_version = value.unwrap_or_default().trim().into();
        }
        let Some(name) = node
            .attribute("name")
            .or_else(|| child_text(node, "name"))
            .map(str::to_owned)
        else {
            return Ok(());
        };
        let ty = match node.attribute("category") {
            Some("basetype") => match child_text(node, "type") {
                Some(base) => match scalar_bytes(base) {
                    Some(bytes) => Type::Scalar { bytes },
                    None => Type::Other,
                },
                None => Type::Other,
            },
            Some("bitmask") => match child_text(node, "type") {
                Some("VkFlags64") => Type::Enum { bytes: 8 },
                _ => Type::Enum { bytes: 4 },
            },
            Some("enum") => Type::Enum { bytes: 4 },
            Some("handle") => Type::Handle {
                object_type: node.attribute("objtypeenum").unwrap_or_default().into(),
            },
            Some(category @ ("struct" | "union")) => {
                let members = children(node, "member")
                    .filter(|member| applies(*member))
                    .map(|member| self.variable(member))
                    .collect::<Result<_, _>>()?;
                let structure = Struct {
                    members,
                    extends: split(node.attribute("structextends")),
                    allow_duplicate: node.attribute("allowduplicate") == Some("true"),
                };
                if category == "struct" {
                    Type::Struct(structure)
                } else {
                    Type::Union(structure)
                }
            }
            None => match scalar_bytes(&name) {
                Some(bytes) => Type::Scalar { bytes },
                None => Type::Other,
            },
            _ => Type::Other,
        };
        self.types.insert(name, ty);
        Ok(())
    }

    fn add_command(&mut self, node: Node) -> Result<(), Error> {
        let Some(proto) = children(node, "proto").next() else {
            return Ok(());
        };
        let name = child_text(proto, "name").ok_or(Error::Registry("A command has no name"))?;
        let ret = child_text(proto, "type").ok_or(Error::Registry("A command has no type"))?;
        let params = children(node, "param")
            .filter(|param| applies(*param))
            .map(|param| self.variable(param))
            .collect::<Result<_, _>>()?;
        let ret = self.canonical(ret).to_owned();
        self.commands.insert(name.into(), Command { ret, params });
        Ok(())
    }

    fn variable(&self, node: Node) -> Result<Var, Error> {
        let name = child_text(node, "name").ok_or(Error::Registry("A member has no name"))?;
        let ty = child_text(node, "type").ok_or(Error::Registry("A member has no type"))?;
        let mut declaration = String::new();
        for child in node.children() {
            if !child.has_tag_name("comment") {
                declaration.push_str(child.text().unwrap_or_default());
            }
        }
        let dim = match declaration.split_once('[') {
            None => None,
            Some((_, rest)) => {
                let text = rest.split(']').next().unwrap_or_default().trim();
                let known = self.constants.get(text).copied();
                Some(
                    known
                        .or_else(|| text.parse().ok())
                        .ok_or(Error::Registry("Unknown size"))?,
                )
            }
        };
        Ok(Var {
            name: name.into(),
            ty: self.canonical(ty).into(),
            is_const: declaration.contains("const"),
            pointers: declaration.matches('*').count(),
            dim,
            lens: split(node.attribute("altlen").or(node.attribute("len"))),
            optional: node
                .attribute("optional")
                .is_some_and(|optional| optional.split(',').next() == Some("true")),
            no_validity: node.attribute("noautovalidity") == Some("true"),
            stype: node
                .attribute("values")
                .filter(|_| name == "sType")
                .map(str::to_owned),
            selector: node.attribute("selector").is_some() || node.attribute("selection").is_some(),
        })
    }

    fn add_requirements(&mut self, root: Node) {
        let extensions = children(root, "extensions").flat_map(|list| children(list, "extension"));
        for group in children(root, "feature").chain(extensions) {
            let Some(group_name) = group.attribute("name") else {
                continue;
            };
            let number = group
                .attribute("number")
                .and_then(|number| number.parse().ok());
            let mut names = BTreeSet::new();
            for require in children(group, "require") {
                let available = require
                    .attribute("depends")
                    .is_none_or(|depends| self.depends(depends));
                for item in require.children() {
                    match (item.tag_name().name(), item.attribute("name")) {
                        ("enum", Some(_))
                            if item.attribute("extends") == Some("VkStructureType") =>
                        {
                            self.add_stype(item, number);
                        }
                        ("type" | "command", Some(name)) if available => {
                            names.insert(self.canonical(name).to_owned());
                        }
                        _ => {}
                    }
                }
            }
            if self.wanted.contains(group_name) || group_name == "VK_VERSION_1_4" {
                self.required
                    .entry(group_name.into())
                    .or_default()
                    .extend(names);
            }
        }
    }

    /// Evaluates a dependency: `,` is or, `+` is and, with parentheses.
    fn depends(&self, expression: &str) -> bool {
        let any = split_outside(expression, ',');
        if any.len() > 1 {
            return any.iter().any(|part| self.depends(part));
        }
        let all = split_outside(expression, '+');
        if all.len() > 1 {
            return all.iter().all(|part| self.depends(part));
        }
        match expression
            .strip_prefix('(')
            .and_then(|inner| inner.strip_suffix(')'))
        {
            Some(inner) => self.depends(inner),
            None => self.wanted.contains(expression),
        }
    }
}

fn children<'a, 'i>(
    node: Node<'a, 'i>,
    tag: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    node.children().filter(move |child| child.has_tag_name(tag))
}

fn child_text<'a>(node: Node<'a, '_>, tag: &'static str) -> Option<&'a str> {
    children(node, tag).next().and_then(|child| child.text())
}

/// False for what belongs to Vulkan SC only.
fn applies(node: Node) -> bool {
    node.attribute("api")
        .is_none_or(|apis| apis.split(',').any(|api| api == "vulkan"))
}

fn split(list: Option<&str>) -> Vec<String> {
    list.map(|list| list.split(',').map(str::to_owned).collect())
        .unwrap_or_default()
}

fn scalar_bytes(name: &str) -> Option<u8> {
    Some(match name {
        "uint8_t" | "int8_t" | "char" => 1,
        "uint16_t" | "int16_t" => 2,
        "float" | "uint32_t" | "int32_t" | "int" => 4,
        "double" | "uint64_t" | "int64_t" | "size_t" => 8,
        _ => return None,
    })
}

/// Splits at a character that is in no parentheses.
fn split_outside(text: &str, at: char) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && c == at
    })
    .collect()
}
