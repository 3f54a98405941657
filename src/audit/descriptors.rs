//! Descriptor sets as far as writes go through them.

use std::sync::Arc;

use ash::vk;

use crate::error::AuditError;

/// Most descriptors of one set. Room is taken only as far as descriptors are written.
pub const SET_DESCRIPTORS_MAX: u64 = 1 << 22;
/// Most bindings of one set layout.
pub const LAYOUT_BINDINGS_MAX: usize = 1 << 16;

/// One binding of a set layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutBinding {
    /// Binding number.
    pub binding: u32,
    /// Descriptor type; a dynamic one takes an offset at each bind.
    pub descriptor_type: vk::DescriptorType,
    /// Number of descriptors (of bytes, for an inline uniform block).
    pub count: u32,
}

impl LayoutBinding {
    pub(crate) fn is_dynamic(&self) -> bool {
        matches!(
            self.descriptor_type,
            vk::DescriptorType::STORAGE_BUFFER_DYNAMIC | vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC
        )
    }

    /// Descriptors that can be followed: the bytes of an inline block are none.
    fn slots(&self) -> u32 {
        match self.descriptor_type {
            vk::DescriptorType::INLINE_UNIFORM_BLOCK => 0,
            _ => self.count,
        }
    }
}

/// A set layout, in order of binding numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetLayout {
    bindings: Box<[LayoutBinding]>,
    /// By position: index of the binding's first dynamic offset, counted over the set.
    dynamic: Box<[Option<u64>]>,
    dynamic_count: u64,
}

impl SetLayout {
    /// A layout of `bindings` in any order.
    ///
    /// # Errors
    /// Too many of them, or one number twice.
    pub fn new(mut bindings: Vec<LayoutBinding>) -> Result<Self, AuditError> {
        if bindings.len() > LAYOUT_BINDINGS_MAX {
            return Err(AuditError::TooMany {
                what: "bindings in a set layout",
                limit: LAYOUT_BINDINGS_MAX as u64,
            });
        }
        bindings.sort_by_key(|binding| binding.binding);
        if bindings
            .windows(2)
            .any(|pair| pair[0].binding == pair[1].binding)
        {
            return Err(AuditError::BadArguments {
                command: "vkCreateDescriptorSetLayout",
            });
        }
        let mut dynamic_count = 0;
        let dynamic = bindings.iter().map(|binding| {
            let first = dynamic_count;
            dynamic_count += if binding.is_dynamic() {
                u64::from(binding.count)
            } else {
                0
            };
            binding.is_dynamic().then_some(first)
        });
        Ok(Self {
            dynamic: dynamic.collect(),
            dynamic_count,
            bindings: bindings.into(),
        })
    }

    /// Bindings in order of their numbers.
    pub fn bindings(&self) -> &[LayoutBinding] {
        &self.bindings
    }

    fn position(&self, binding: u32) -> Option<usize> {
        self.bindings
            .binary_search_by_key(&binding, |b| b.binding)
            .ok()
    }

    /// Number of dynamic offsets that a bind of a set of this layout takes.
    pub(crate) fn dynamic_count(&self) -> u64 {
        self.dynamic_count
    }
}

/// What one descriptor names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Descriptor {
    /// Nothing yet, or nothing that can be written.
    #[default]
    Empty,
    /// A range of a buffer; `range` may be `VK_WHOLE_SIZE`.
    Buffer {
        buffer: u64,
        offset: u64,
        range: u64,
    },
    /// A texel buffer through its view.
    TexelView { view: u64 },
    /// An image through its view.
    Image { view: u64 },
}

/// The descriptors of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DescriptorSet {
    layout: Arc<SetLayout>,
    /// Count of the last binding where it is variable.
    variable_count: Option<u32>,
    /// By position in the layout; grown as far as was written.
    slots: Box<[Vec<Descriptor>]>,
}

impl DescriptorSet {
    pub fn new(layout: Arc<SetLayout>, variable_count: Option<u32>) -> Result<Self, AuditError> {
        let set = Self {
            slots: vec![Vec::new(); layout.bindings.len()].into(),
            layout,
            variable_count,
        };
        let count: u64 = (0..set.slots.len())
            .map(|at| u64::from(set.count(at)))
            .sum();
        if count > SET_DESCRIPTORS_MAX {
            return Err(AuditError::TooMany {
                what: "descriptors in a set",
                limit: SET_DESCRIPTORS_MAX,
            });
        }
        Ok(set)
    }

    pub fn layout(&self) -> &SetLayout {
        &self.layout
    }

    fn count(&self, position: usize) -> u32 {
        let declared = self.layout.bindings[position].slots();
        match self.variable_count {
            Some(count) if position + 1 == self.slots.len() => count.min(declared),
            _ => declared,
        }
    }

    /// Where the consecutive descriptors from (`binding`, `element`) lie: what goes beyond one binding goes on in the next
    /// that has any (Vulkan, "consecutive binding updates").
    fn locate(&self, binding: u32, element: u32) -> Option<(usize, u32)> {
        let mut position = self.layout.position(binding)?;
        let mut element = element;
        loop {
            let count = self.count(position);
            if element < count {
                return Some((position, element));
            }
            element -= count;
            position += 1;
            if position == self.slots.len() {
                return None;
            }
        }
    }

    fn advance(&self, (position, element): (usize, u32)) -> Option<(usize, u32)> {
        if element + 1 < self.count(position) {
            return Some((position, element + 1));
        }
        let next = (position + 1..self.slots.len()).find(|next| self.count(*next) > 0)?;
        Some((next, 0))
    }

    /// Puts `descriptors` at (`binding`, `element`) and on.
    pub fn write(
        &mut self,
        id: u64,
        binding: u32,
        element: u32,
        descriptors: impl IntoIterator<Item = Descriptor>,
    ) -> Result<(), AuditError> {
        let out_of_range = AuditError::DescriptorOutOfRange {
            set: id,
            binding,
            element,
        };
        let mut at = self.locate(binding, element);
        for descriptor in descriptors {
            let (position, element) = at.ok_or(out_of_range.clone())?;
            let slots = &mut self.slots[position];
            if slots.len() <= element as usize {
                slots.resize(element as usize + 1, Descriptor::Empty);
            }
            slots[element as usize] = descriptor;
            at = self.advance((position, element));
        }
        Ok(())
    }

    /// Reads `count` descriptors from (`binding`, `element`) and on into `out`.
    pub fn read(
        &self,
        id: u64,
        binding: u32,
        element: u32,
        count: u32,
        out: &mut Vec<Descriptor>,
    ) -> Result<(), AuditError> {
        let out_of_range = AuditError::DescriptorOutOfRange {
            set: id,
            binding,
            element,
        };
        let mut at = self.locate(binding, element);
        for _ in 0..count {
            let (position, element) = at.ok_or(out_of_range.clone())?;
            let descriptor = self.slots[position].get(element as usize);
            out.push(descriptor.copied().unwrap_or_default());
            at = self.advance((position, element));
        }
        Ok(())
    }

    /// The descriptors of `binding` that were written, and the index of the first one's dynamic offset if it takes one.
    /// None when the layout has no such binding.
    pub fn binding(&self, binding: u32) -> Option<(&[Descriptor], Option<u64>)> {
        let position = self.layout.position(binding)?;
        Some(self.at(position))
    }

    /// As [`Self::binding`], for every binding.
    pub fn all(&self) -> impl Iterator<Item = (&[Descriptor], Option<u64>)> {
        (0..self.slots.len()).map(|position| self.at(position))
    }

    fn at(&self, position: usize) -> (&[Descriptor], Option<u64>) {
        (&self.slots[position], self.layout.dynamic[position])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bindings: &[(u32, vk::DescriptorType, u32)]) -> Arc<SetLayout> {
        let bindings = bindings
            .iter()
            .map(|(binding, descriptor_type, count)| LayoutBinding {
                binding: *binding,
                descriptor_type: *descriptor_type,
                count: *count,
            });
        Arc::new(SetLayout::new(bindings.collect()).unwrap())
    }

    fn buffer(id: u64) -> Descriptor {
        Descriptor::Buffer {
            buffer: id,
            offset: 0,
            range: 16,
        }
    }

    const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
    const DYNAMIC: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER_DYNAMIC;

    #[test]
    fn write_beyond_one_binding_goes_on_in_the_next_with_descriptors() {
        let layout = layout(&[(7, STORAGE, 2), (2, STORAGE, 2), (5, STORAGE, 0)]);
        let mut set = DescriptorSet::new(layout, None).unwrap();

        set.write(1, 2, 1, [buffer(10), buffer(11), buffer(12)])
            .unwrap();

        assert_eq!(set.binding(2).unwrap().0, [Descriptor::Empty, buffer(10)]);
        assert_eq!(set.binding(7).unwrap().0, [buffer(11), buffer(12)]);
        assert_eq!(set.binding(3), None);
        let mut copied = Vec::new();
        set.read(1, 2, 0, 4, &mut copied).unwrap();
        assert_eq!(
            copied,
            [Descriptor::Empty, buffer(10), buffer(11), buffer(12)]
        );
    }

    #[test]
    fn write_beyond_the_set_is_an_error() {
        let mut set = DescriptorSet::new(layout(&[(0, STORAGE, 2)]), None).unwrap();

        let too_many = set.write(1, 0, 1, [buffer(1), buffer(2)]);
        let no_binding = set.write(1, 1, 0, [buffer(1)]);
        let beyond = set.read(1, 0, u32::MAX, 1, &mut Vec::new());

        for result in [too_many, no_binding, beyond] {
            assert!(matches!(
                result,
                Err(AuditError::DescriptorOutOfRange { .. })
            ));
        }
    }

    #[test]
    fn new_variable_count_limits_the_last_binding() {
        let layout = layout(&[(0, STORAGE, 1), (1, STORAGE, 1 << 19)]);
        let mut set = DescriptorSet::new(layout.clone(), Some(2)).unwrap();

        assert!(set.write(1, 1, 1, [buffer(1)]).is_ok());
        assert!(set.write(1, 1, 2, [buffer(1)]).is_err());
        assert!(DescriptorSet::new(layout, None).is_ok());
    }

    #[test]
    fn new_with_too_many_descriptors_is_an_error() {
        let layout = layout(&[(0, STORAGE, u32::MAX), (1, STORAGE, u32::MAX)]);

        assert!(matches!(
            DescriptorSet::new(layout, None),
            Err(AuditError::TooMany { .. })
        ));
    }

    #[test]
    fn binding_dynamic_offsets_count_in_order_of_binding_numbers() {
        let layout = layout(&[(9, DYNAMIC, 1), (1, DYNAMIC, 3), (4, STORAGE, 5)]);
        let mut set = DescriptorSet::new(layout.clone(), None).unwrap();
        set.write(1, 9, 0, [buffer(1)]).unwrap();

        assert_eq!(layout.dynamic_count(), 4);
        assert_eq!(set.binding(9).unwrap().1, Some(3));
        assert_eq!(set.binding(1).unwrap().1, Some(0));
        assert_eq!(set.binding(4).unwrap().1, None);
        assert_eq!(set.all().count(), 3);
    }

    #[test]
    fn layout_with_a_number_twice_is_an_error() {
        let twice = LayoutBinding {
            binding: 3,
            descriptor_type: STORAGE,
            count: 1,
        };

        assert!(SetLayout::new(vec![twice, twice]).is_err());
    }
}
