//! Which structures the codec needs: all that the commands reach.

use std::collections::{BTreeMap, BTreeSet};

use crate::Error;
use crate::registry::{Registry, Type, Var};

/// A command number of the protocol.
#[derive(Debug)]
pub struct Numbered {
    pub id: u32,
    pub name: String,
    /// The codec handles it; otherwise only its name is known.
    pub decode: bool,
}

#[derive(Debug, Default)]
pub struct Selection {
    pub structs: BTreeSet<String>,
    pub unions: BTreeSet<String>,
    /// Chained structures of each structure, sorted by sType.
    chains: BTreeMap<String, Vec<String>>,
}

impl Selection {
    /// Everything that `commands` reach, with the chained structures of the `supported` types.
    pub fn new(
        registry: &Registry,
        commands: &[Numbered],
        supported: &BTreeSet<String>,
    ) -> Result<Selection, Error> {
        let mut selection = Selection::default();
        let mut queue = Vec::new();
        for numbered in commands.iter().filter(|numbered| numbered.decode) {
            let canonical = registry.canonical(&numbered.name);
            let command = registry
                .commands
                .get(canonical)
                .ok_or_else(|| Error::Missing(numbered.name.clone()))?;
            queue.extend(command.params.iter().map(|param| param.ty.clone()));
        }
        let mut extending: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for name in supported {
            let Some(structure) = registry.structure(name) else {
                continue;
            };
            for parent in &structure.extends {
                extending
                    .entry(registry.canonical(parent))
                    .or_default()
                    .push(name);
            }
        }
        while let Some(name) = queue.pop() {
            match registry.types.get(&name) {
                Some(Type::Union(union)) if selection.unions.insert(name.clone()) => {
                    queue.extend(union.members.iter().map(|member| member.ty.clone()));
                }
                Some(Type::Struct(structure)) => {
                    if selection.structs.contains(&name) || !struct_serializable(registry, &name) {
                        continue;
                    }
                    selection.structs.insert(name.clone());
                    queue.extend(structure.members.iter().map(|member| member.ty.clone()));
                    let mut chain = Vec::new();
                    for chained in extending.get(name.as_str()).into_iter().flatten() {
                        if !struct_serializable(registry, chained) {
                            continue;
                        }
                        let stype = selection
                            .stype(registry, chained)?
                            .ok_or_else(|| Error::Missing(format!("the sType of {chained}")))?;
                        chain.push((stype, (*chained).to_owned()));
                        queue.push((*chained).to_owned());
                    }
                    chain.sort();
                    let chain = chain.into_iter().map(|(_, chained)| chained).collect();
                    selection.chains.insert(name, chain);
                }
                _ => {}
            }
        }
        Ok(selection)
    }

    pub fn chain(&self, name: &str) -> &[String] {
        self.chains.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn stype(&self, registry: &Registry, name: &str) -> Result<Option<i32>, Error> {
        let structure = registry
            .structure(name)
            .ok_or_else(|| Error::Missing(name.into()))?;
        match structure
            .members
            .first()
            .and_then(|member| member.stype.as_deref())
        {
            None => Ok(None),
            Some(stype) => {
                let value = registry.stypes.get(stype);
                Ok(Some(*value.ok_or_else(|| Error::Missing(stype.into()))?))
            }
        }
    }

    pub fn is_serializable(&self, registry: &Registry, var: &Var) -> bool {
        variable_serializable(registry, var)
    }
}

/// True for a value that has a wire form; a pointer without one can still be sent as null.
fn variable_serializable(registry: &Registry, var: &Var) -> bool {
    if var.ty == "void" {
        return var.pointers == 1 && !var.lens.is_empty();
    }
    match registry.types.get(&var.ty) {
        Some(Type::Scalar { .. } | Type::Enum { .. } | Type::Handle { .. }) => true,
        Some(Type::Union(_)) => !var.selector,
        Some(Type::Struct(_)) => struct_serializable(registry, &var.ty),
        _ => false,
    }
}

fn struct_serializable(registry: &Registry, name: &str) -> bool {
    let Some(structure) = registry.structure(name) else {
        return false;
    };
    if matches!(name, "VkBaseInStructure" | "VkBaseOutStructure") {
        return false;
    }
    structure.members.iter().all(|member| {
        member.name == "pNext"
            || (member.pointers > 0 && member.optional)
            || variable_serializable(registry, member)
    })
}
