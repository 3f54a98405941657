//! The process of one Venus context.
