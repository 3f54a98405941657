/*
 * vhost-user vGPU: what the device's own files share. See vhost-user-vgpu.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_DISPLAY_VHOST_USER_VGPU_H
#define HW_DISPLAY_VHOST_USER_VGPU_H

#include "chardev/char-fe.h"
#include "exec/memory.h"
#include "hw/virtio/vhost.h"
#include "hw/virtio/virtio-gpu.h"
#include "migration/vmstate.h"
#include "qom/object.h"

#define TYPE_VHOST_USER_VGPU "vhost-user-vgpu"
OBJECT_DECLARE_SIMPLE_TYPE(VhostUserVGPU, VHOST_USER_VGPU)

/* Unit of the arena, of its maps and of its dirty bitmap, in bytes. */
#define VGPU_PAGE_SIZE 4096ull

/* Each map may cost a KVM memory slot: a guest must not have them all. */
#define VGPU_MAPS_MAX 8192u

/*
 * The window channel. Messages are 32 bytes, little-endian. QEMU is Q, the
 * back end B; a reply carries the request's type with VGPU_WIN_REPLY and an
 * errno (0: done) in status.
 */
typedef enum VGPUWinType {
    VGPU_WIN_HELLO = 1,   /* Q->B a = arena size, b = window size (bytes),
                             c = 1: the arena holds what a back end left that
                             is gone, and the guest still counts on it; 0: not;
                             two fds: arena, dirty bitmap */
    VGPU_WIN_MAP = 2,     /* B->Q a = arena offset, b = window offset,
                             c = length (bytes); replied */
    VGPU_WIN_UNMAP = 3,   /* B->Q b = window offset, c = length; replied */
    VGPU_WIN_QUIESCE = 5, /* Q->B the device is about to stop; replied once
                             nothing needs us (0) or the GPU hangs (else) */
    VGPU_WIN_RESET = 6,   /* Q->B the guest's device was reset: forget all */
    VGPU_WIN_LOG = 7,     /* Q->B a = 1: mark writes in the bitmap; 0: stop */
    VGPU_WIN_REPLY = 0x80000000u,
} VGPUWinType;

typedef struct VGPUWinMsg {
    uint32_t type;
    uint32_t status;
    uint64_t a;
    uint64_t b;
    uint64_t c;
} QEMU_PACKED VGPUWinMsg;

QEMU_BUILD_BUG_ON(sizeof(VGPUWinMsg) != 32);

typedef struct VGPUMap {
    uint64_t win;
    uint64_t off;
    uint64_t len;
    MemoryRegion mr;
    QTAILQ_ENTRY(VGPUMap) next;
} VGPUMap;

struct VhostUserVGPU {
    VhostUserGPU parent_obj;

    /* properties */
    CharBackend win_chr;
    uint64_t arena_size;
    char *arena_path;
    uint32_t quiesce_timeout_ms;

    MemoryRegion arena;
    void *arena_ptr;
    int arena_fd;
    uint64_t *dirty;            /* a bit per page, little-endian words */
    size_t dirty_size;
    int dirty_fd;

    QTAILQ_HEAD(, VGPUMap) maps;
    uint32_t n_maps;

    MemoryListener listener;
    bool logging;

    uint8_t rx[sizeof(VGPUWinMsg)];
    size_t rx_len;
    bool channel_up;
    bool bad_message_reported;
    uint32_t quiesces_pending;

    /* The guest counts on what a back end has left in the arena. */
    bool changing;              /* the main thread is at a map or unmap */
    bool in_use;

    /* What every back end that comes back has to offer. */
    bool connected;             /* the vhost device is set up */
    uint64_t backend_features;
    uint32_t num_capsets;
    struct vhost_virtqueue *vqs;
};

static inline struct vhost_dev *vgpu_vhost(VhostUserVGPU *v)
{
    return &VHOST_USER_GPU(v)->vhost->dev;
}

static inline uint64_t vgpu_window_size(VhostUserVGPU *v)
{
    return VIRTIO_GPU_BASE(v)->conf.hostmem;
}

static inline bool vgpu_has_channel(VhostUserVGPU *v)
{
    return qemu_chr_fe_backend_connected(&v->win_chr);
}

/* vhost-user-vgpu.c: the device */

/* Sets the vhost device up again, if all it takes is there. */
void vgpu_try_connect(VhostUserVGPU *v);

/* vhost-user-vgpu-window.c: the arena, the window and its channel */

/* Opens the arena and greets the back end; a failure is cleaned by _fini. */
bool vgpu_channel_init(VhostUserVGPU *v, Error **errp);
void vgpu_channel_fini(VhostUserVGPU *v);
/* 0, also for the very map that is there; or -EINVAL, -EEXIST, -ENOSPC. */
int vgpu_map(VhostUserVGPU *v, uint64_t off, uint64_t win, uint64_t len);
void vgpu_unmap_all(VhostUserVGPU *v);
void vgpu_send(VhostUserVGPU *v, uint32_t type, uint32_t status,
               uint64_t a, uint64_t b, uint64_t c);
void vgpu_quiesce(VhostUserVGPU *v);

/* vhost-user-vgpu-migration.c: dirty tracking and the state */

extern const VMStateDescription vgpu_vmstate;

void vgpu_dirty_tracking_init(VhostUserVGPU *v);
void vgpu_dirty_tracking_fini(VhostUserVGPU *v);

#endif
