//! The Venus wire codec: runtime and generated decoder.
