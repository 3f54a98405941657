//! What both front ends share: worker processes, the arena and its allocator, resources.
