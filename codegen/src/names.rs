//! Names and types of `ash` for the registry's names.

use crate::registry::{Registry, Type, Var};

/// `pQueueFamilyIndices` as `p_queue_family_indices`, the way `ash` writes a field.
pub fn field(name: &str) -> String {
    match name {
        "type" => return "ty".into(),
        "module" => return "module".into(),
        _ => {}
    }
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    // A digit belongs to the word before it and keeps that word's case.
    let mut lower = false;
    for (at, &c) in chars.iter().enumerate() {
        if c.is_uppercase() {
            let next_is_lower = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
            let previous_is_upper = at > 0 && !lower;
            if at > 0 && (lower || (previous_is_upper && next_is_lower)) {
                out.push('_');
            }
            lower = false;
        } else if c.is_lowercase() {
            lower = true;
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The name of a type in `ash`, whose registry is 1.3.281: what 1.4 made core has its KHR or EXT name there.
fn ash_name<'a>(registry: &'a Registry, name: &'a str) -> &'a str {
    let before = [
        "VK_VERSION_1_0",
        "VK_VERSION_1_1",
        "VK_VERSION_1_2",
        "VK_VERSION_1_3",
    ];
    if !registry.is_core("VK_VERSION_1_4", name)
        || before.iter().any(|version| registry.is_core(version, name))
    {
        return name;
    }
    let aliases = registry.aliases_of(name);
    let with = |suffix: &str| {
        aliases
            .iter()
            .find(|alias| alias.ends_with(suffix))
            .copied()
    };
    with("KHR").or_else(|| with("EXT")).unwrap_or(name)
}

/// The name of a command's function pointer type in `ash`.
pub fn pfn<'a>(registry: &'a Registry, name: &'a str) -> &'a str {
    ash_name(registry, registry.canonical(name))
}

pub fn has_lifetime(registry: &Registry, ty: &str) -> bool {
    match registry.types.get(ty) {
        Some(Type::Struct(structure) | Type::Union(structure)) => structure
            .members
            .iter()
            .any(|member| member.pointers > 0 || has_lifetime(registry, &member.ty)),
        _ => false,
    }
}

/// A type's Rust path, with the lifetime that a struct holding pointers needs.
pub fn rust_type(registry: &Registry, ty: &str) -> String {
    match ty {
        "void" => return "c_void".into(),
        "char" => return "c_char".into(),
        "uint8_t" => return "u8".into(),
        "uint16_t" => return "u16".into(),
        "uint32_t" => return "u32".into(),
        "uint64_t" => return "u64".into(),
        "int32_t" | "int" => return "i32".into(),
        "int64_t" => return "i64".into(),
        "size_t" => return "usize".into(),
        "float" => return "f32".into(),
        "double" => return "f64".into(),
        _ => {}
    }
    if ty.ends_with("MESA") {
        return match registry.types.get(ty) {
            Some(Type::Struct(_)) => format!("mesa::{ty}"),
            _ => "u32".into(),
        };
    }
    let name = ash_name(registry, ty)
        .trim_start_matches("Vk")
        .replace("FlagBits", "Flags");
    if has_lifetime(registry, ty) {
        format!("vk::{name}<'static>")
    } else {
        format!("vk::{name}")
    }
}

/// The Rust type of a member or parameter as the codec stores it.
pub fn variable_type(registry: &Registry, var: &Var) -> String {
    let base = rust_type(registry, &var.ty);
    if let Some(dim) = var.dim {
        return format!("[{base}; {dim}]");
    }
    let pointer = if var.is_const { "*const " } else { "*mut " };
    format!("{}{base}", pointer.repeat(var.pointers))
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn field_hungarian_and_digits_match_ash() {
        assert_eq!(field("pNext"), "p_next");
        assert_eq!(
            field("storageBuffer8BitAccess"),
            "storage_buffer8_bit_access"
        );
        assert_eq!(
            field("maxPerStageDescriptorUpdateAfterBindSamplers"),
            "max_per_stage_descriptor_update_after_bind_samplers"
        );
        assert_eq!(
            field("textureCompressionASTC_LDR"),
            "texture_compression_astc_ldr"
        );
        assert_eq!(field("deviceLUID"), "device_luid");
        assert_eq!(field("type"), "ty");
    }
}
