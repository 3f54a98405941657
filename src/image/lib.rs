//! The vGPU image: superblock, sections, journal, shadow.
