//! virtio-gpu over vhost-user.
