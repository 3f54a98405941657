/*
 * vhost-user vGPU: a virtio-gpu with a host-visible window, whose back end is
 * another process and which can be migrated.
 *
 * It is a vhost-user-gpu (same virtqueues, console and display) and adds:
 *
 * - the arena: one shared memory file. Its first hostmem bytes' worth of
 *   offsets may be mapped into the guest's window; the rest is the back end's
 *   own and is never guest-visible. The whole arena is a RAM block, so QEMU
 *   tracks what vCPUs write there and migrates it with the guest's memory;
 * - the window channel (window-chardev): the back end maps pieces of the arena
 *   into the window, and is told when to quiesce, to forget and to log;
 * - a dirty bitmap shared with the back end, for what the GPU writes;
 * - migration: the window's maps, then the back end's own state;
 * - reopen: a back end that dies and comes back finds the arena as it was, and
 *   goes on with the guest's queues and display.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <poll.h>
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "qemu/memfd.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "chardev/char-fe.h"
#include "chardev/char-socket.h"
#include "exec/cputlb.h"
#include "exec/memory.h"
#include "hw/core/cpu.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "hw/virtio/vhost.h"
#include "hw/virtio/vhost-user.h"
#include "hw/virtio/virtio-gpu.h"
#include "hw/virtio/virtio-gpu-pci.h"
#include "migration/blocker.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "qom/object.h"
#include "system/replay.h"
#include "system/tcg.h"

#define TYPE_VHOST_USER_VGPU "vhost-user-vgpu"
OBJECT_DECLARE_SIMPLE_TYPE(VhostUserVGPU, VHOST_USER_VGPU)

/* Unit of the arena, of its maps and of its dirty bitmap, in bytes. */
#define VGPU_PAGE_SIZE 4096ull

/* The virtqueues: control and cursor. */
#define VGPU_QUEUES 2

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
    bool in_use;

    /* What every back end that comes back has to offer. */
    bool connected;             /* the vhost device is set up */
    uint64_t backend_features;
    uint32_t num_capsets;
    struct vhost_virtqueue *vqs;
};

static void vgpu_try_connect(VhostUserVGPU *v);

static VirtioDeviceClass *vgpu_parent_class(void)
{
    return VIRTIO_DEVICE_CLASS(object_class_by_name(TYPE_VHOST_USER_GPU));
}

static struct vhost_dev *vgpu_vhost(VhostUserVGPU *v)
{
    return &VHOST_USER_GPU(v)->vhost->dev;
}

static uint64_t vgpu_window_size(VhostUserVGPU *v)
{
    return VIRTIO_GPU_BASE(v)->conf.hostmem;
}

static bool vgpu_has_channel(VhostUserVGPU *v)
{
    return qemu_chr_fe_backend_connected(&v->win_chr);
}

/* ---- the window ---------------------------------------------------------- */

static void vgpu_unmap_one(VhostUserVGPU *v, VGPUMap *m)
{
    memory_region_del_subregion(&VIRTIO_GPU_BASE(v)->hostmem, &m->mr);
    QTAILQ_REMOVE(&v->maps, m, next);
    v->n_maps--;
    /* An alias may go at any time: flat views refer to the arena itself. */
    object_unparent(OBJECT(&m->mr));
    g_free(m);
}

static void vgpu_unmap_all(VhostUserVGPU *v)
{
    VGPUMap *m, *next;

    memory_region_transaction_begin();
    QTAILQ_FOREACH_SAFE(m, &v->maps, next, next) {
        vgpu_unmap_one(v, m);
    }
    memory_region_transaction_commit();
}

static int vgpu_map(VhostUserVGPU *v, uint64_t off, uint64_t win, uint64_t len)
{
    uint64_t win_size = vgpu_window_size(v);
    g_autofree char *name = NULL;
    VGPUMap *m;

    if (!len || (off | win | len) % VGPU_PAGE_SIZE ||
        off > v->arena_size || len > v->arena_size - off ||
        win > win_size || len > win_size - win) {
        return -EINVAL;
    }
    QTAILQ_FOREACH(m, &v->maps, next) {
        if (m->win == win && m->off == off && m->len == len) {
            /* After a migration both sides know the map: B may send it again */
            return 0;
        }
        if (win < m->win + m->len && m->win < win + len) {
            return -EEXIST;
        }
    }
    if (v->n_maps == VGPU_MAPS_MAX) {
        return -ENOSPC;
    }

    m = g_new0(VGPUMap, 1);
    m->win = win;
    m->off = off;
    m->len = len;
    name = g_strdup_printf("vgpu-map-%" PRIx64, win);
    memory_region_init_alias(&m->mr, OBJECT(v), name, &v->arena, off, len);
    memory_region_add_subregion(&VIRTIO_GPU_BASE(v)->hostmem, win, &m->mr);
    QTAILQ_INSERT_TAIL(&v->maps, m, next);
    v->n_maps++;
    return 0;
}

static int vgpu_unmap(VhostUserVGPU *v, uint64_t win, uint64_t len)
{
    VGPUMap *m;

    QTAILQ_FOREACH(m, &v->maps, next) {
        if (m->win == win && m->len == len) {
            vgpu_unmap_one(v, m);
            return 0;
        }
    }
    return -ENOENT;
}

/* ---- the window channel -------------------------------------------------- */

/*
 * Never waits: a back end that stopped reading must not stop QEMU's main loop.
 * Its socket holds thousands of messages, so a full one means just that.
 */
static void vgpu_send(VhostUserVGPU *v, uint32_t type, uint32_t status,
                      uint64_t a, uint64_t b, uint64_t c)
{
    VGPUWinMsg msg = {
        .type = cpu_to_le32(type),
        .status = cpu_to_le32(status),
        .a = cpu_to_le64(a),
        .b = cpu_to_le64(b),
        .c = cpu_to_le64(c),
    };
    int n;

    if (!v->channel_up) {
        return;
    }
    n = qemu_chr_fe_write(&v->win_chr, (uint8_t *)&msg, sizeof(msg));
    if (n != sizeof(msg) && v->channel_up) {    /* else CLOSED has said so */
        v->channel_up = false;
        error_report("vhost-user-vgpu: the back end takes no more window "
                     "messages, its channel is given up");
    }
}

static void vgpu_bad_message(VhostUserVGPU *v, const VGPUWinMsg *msg, int err)
{
    if (!v->bad_message_reported) {
        v->bad_message_reported = true;
        error_report("vhost-user-vgpu: bad window message 0x%" PRIx32
                     " (0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 "): %s; "
                     "further ones are not reported",
                     msg->type, msg->a, msg->b, msg->c, strerror(-err));
    }
}

static void vgpu_dispatch(VhostUserVGPU *v)
{
    VGPUWinMsg msg;
    int err;

    memcpy(&msg, v->rx, sizeof(msg));
    v->rx_len = 0;
    msg.type = le32_to_cpu(msg.type);
    msg.status = le32_to_cpu(msg.status);
    msg.a = le64_to_cpu(msg.a);
    msg.b = le64_to_cpu(msg.b);
    msg.c = le64_to_cpu(msg.c);

    switch (msg.type) {
    case VGPU_WIN_MAP:
        err = vgpu_map(v, msg.a, msg.b, msg.c);
        break;
    case VGPU_WIN_UNMAP:
        err = vgpu_unmap(v, msg.b, msg.c);
        break;
    case VGPU_WIN_QUIESCE | VGPU_WIN_REPLY:
        if (!v->quiesces_pending) {
            vgpu_bad_message(v, &msg, -EPROTO);
            return;
        }
        v->quiesces_pending--;
        if (msg.status) {
            error_report("vhost-user-vgpu: the back end cannot quiesce, its "
                         "GPU hangs (status %" PRIu32 "); stopping it anyway",
                         msg.status);
        }
        return;
    default:
        vgpu_bad_message(v, &msg, -ENOTSUP);
        if (msg.type & VGPU_WIN_REPLY) {
            return;             /* a reply to a reply could go on for ever */
        }
        err = -ENOTSUP;
    }
    if (err) {
        vgpu_bad_message(v, &msg, err);
    }
    vgpu_send(v, msg.type | VGPU_WIN_REPLY, -err, msg.a, msg.b, msg.c);
}

static void vgpu_receive(VhostUserVGPU *v, const uint8_t *buf, size_t size)
{
    while (size) {
        size_t n = MIN(size, sizeof(v->rx) - v->rx_len);

        memcpy(v->rx + v->rx_len, buf, n);
        v->rx_len += n;
        buf += n;
        size -= n;
        if (v->rx_len == sizeof(v->rx)) {
            vgpu_dispatch(v);
        }
    }
}

static int vgpu_chr_can_read(void *opaque)
{
    VhostUserVGPU *v = opaque;

    return sizeof(v->rx) - v->rx_len;
}

static void vgpu_chr_read(void *opaque, const uint8_t *buf, int size)
{
    vgpu_receive(opaque, buf, size);
}

static bool vgpu_hello(VhostUserVGPU *v, Error **errp)
{
    int fds[2] = { v->arena_fd, v->dirty_fd };

    if (qemu_chr_fe_set_msgfds(&v->win_chr, fds, ARRAY_SIZE(fds)) < 0) {
        error_setg(errp, "window-chardev must be a connected unix socket");
        return false;
    }
    v->channel_up = true;
    v->rx_len = 0;
    v->quiesces_pending = 0;
    v->bad_message_reported = false;
    vgpu_send(v, VGPU_WIN_HELLO, 0, v->arena_size, vgpu_window_size(v),
              v->in_use);
    v->in_use = true;
    if (v->logging) {
        vgpu_send(v, VGPU_WIN_LOG, 0, 1, 0, 0);
    }
    return true;
}

static void vgpu_chr_event(void *opaque, QEMUChrEvent event)
{
    VhostUserVGPU *v = opaque;
    Error *err = NULL;

    switch (event) {
    case CHR_EVENT_OPENED:      /* only a chardev with reconnect gets here */
        if (v->channel_up) {
            break;
        }
        if (!vgpu_hello(v, &err)) {
            error_report_err(err);
            break;
        }
        vgpu_try_connect(v);
        break;
    case CHR_EVENT_CLOSED:
        if (v->channel_up) {
            v->channel_up = false;
            error_report("vhost-user-vgpu: the back end closed the window "
                         "channel");
        }
        break;
    default:
        break;
    }
}

/*
 * Let the back end finish everything that needs us. Stopping blocks in
 * GET_VRING_BASE until its queues are idle, and while we wait there no MAP is
 * answered: whoever waits for one would wait for ever. So serve the channel
 * here until the back end says that it is quiet, but no longer than the
 * deadline: a hung GPU must not hang the VM's stop, nor QMP with it.
 */
static void vgpu_quiesce(VhostUserVGPU *v)
{
    Chardev *chr;
    int64_t now, deadline;

    if (!v->channel_up) {
        return;
    }
    chr = qemu_chr_fe_get_driver(&v->win_chr);
    now = qemu_clock_get_ms(QEMU_CLOCK_REALTIME);
    deadline = now + v->quiesce_timeout_ms;

    /* An answer that missed its own deadline is not taken for this one. */
    v->quiesces_pending++;
    vgpu_send(v, VGPU_WIN_QUIESCE, 0, 0, 0, 0);

    while (v->channel_up && v->quiesces_pending) {
        struct pollfd pfd = {
            .fd = SOCKET_CHARDEV(chr)->sioc->fd,
            .events = POLLIN,
        };
        uint8_t buf[sizeof(VGPUWinMsg)];
        int n;

        n = poll(&pfd, 1, MAX(deadline - now, 0));
        if (n > 0) {
            /* Readable, so it returns what is there instead of waiting. */
            n = CHARDEV_GET_CLASS(chr)->chr_sync_read(chr, buf,
                                                      sizeof(buf) - v->rx_len);
            if (n > 0) {
                vgpu_receive(v, buf, n);
            } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
                v->channel_up = false;
                error_report("vhost-user-vgpu: window channel lost while "
                             "quiescing; stopping anyway");
                return;
            }
        } else if (n < 0 && errno != EINTR) {
            error_report("vhost-user-vgpu: cannot wait for the back end: %s",
                         strerror(errno));
            return;
        }
        now = qemu_clock_get_ms(QEMU_CLOCK_REALTIME);
        if (v->channel_up && v->quiesces_pending && now >= deadline) {
            error_report("vhost-user-vgpu: the back end did not quiesce "
                         "within %" PRIu32 " ms; stopping anyway",
                         v->quiesce_timeout_ms);
            return;
        }
    }
}

/* ---- a back end that goes and comes back --------------------------------- */

static int vgpu_config_change(struct vhost_dev *dev)
{
    error_report("vhost-user-vgpu: unhandled config change of the back end");
    return -1;
}

/* vhost asks for these before it uses VHOST_USER_PROTOCOL_F_CONFIG. */
static const VhostDevConfigOps vgpu_config_ops = {
    .vhost_dev_config_notifier = vgpu_config_change,
};

/* What the guest has seen of one back end must be true of the next. */
static bool vgpu_check_backend(VhostUserVGPU *v, Error **errp)
{
    struct vhost_dev *dev = vgpu_vhost(v);
    struct virtio_gpu_config config = {};
    uint64_t missing = v->backend_features & ~dev->features;

    if (missing) {
        error_setg(errp, "the back end that came back lacks the features 0x%"
                   PRIx64, missing);
        return false;
    }
    if (vhost_dev_get_config(dev, (uint8_t *)&config, sizeof(config),
                             errp) < 0) {
        return false;
    }
    if (le32_to_cpu(config.num_capsets) != v->num_capsets) {
        error_setg(errp, "the back end that came back has %" PRIu32
                   " capsets instead of %" PRIu32,
                   le32_to_cpu(config.num_capsets), v->num_capsets);
        return false;
    }
    return true;
}

static bool vgpu_connect(VhostUserVGPU *v, Error **errp)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(v);
    VhostUserBackend *b = VHOST_USER_GPU(v)->vhost;

    /* vhost_dev_cleanup() has cleared all of it. */
    b->dev.nvqs = VGPU_QUEUES;
    b->dev.vqs = v->vqs;
    vhost_dev_set_config_notifier(&b->dev, &vgpu_config_ops);
    if (vhost_dev_init(&b->dev, &b->vhost_user, VHOST_BACKEND_TYPE_USER, 0,
                       errp) < 0) {
        return false;
    }
    /* From here on a failure is undone when the closed socket is noticed. */
    v->connected = true;
    if (!vgpu_check_backend(v, errp)) {
        return false;
    }
    if (vdev->vm_running && virtio_device_started(vdev, vdev->status)) {
        vgpu_parent_class()->set_status(vdev, vdev->status);
        if (!b->started) {
            error_setg(errp, "the back end that came back does not start");
            return false;
        }
    }
    return true;
}

/*
 * The window channel first: its HELLO tells the back end what the queues that
 * it is about to run refer to.
 */
static void vgpu_try_connect(VhostUserVGPU *v)
{
    VhostUserBackend *b = VHOST_USER_GPU(v)->vhost;
    Error *err = NULL;

    if (v->connected || !v->vqs || !qemu_chr_fe_backend_open(&b->chr) ||
        (vgpu_has_channel(v) && !v->channel_up)) {
        return;
    }
    if (vgpu_connect(v, &err)) {
        info_report("vhost-user-vgpu: the back end is back");
    } else {
        error_report_err(err);
        qemu_chr_fe_disconnect(&b->chr);
    }
}

static void vgpu_backend_event(void *opaque, QEMUChrEvent event);

static void vgpu_disconnect(DeviceState *dev)
{
    VhostUserVGPU *v = VHOST_USER_VGPU(dev);
    VhostUserBackend *b = VHOST_USER_GPU(v)->vhost;

    if (v->connected) {
        v->connected = false;
        error_report("vhost-user-vgpu: the back end is gone");
        /*
         * Stops queues and display socket; the guest's device stays as it is,
         * and so do the maps: the guest may touch them at any time.
         */
        vgpu_parent_class()->set_status(VIRTIO_DEVICE(v), 0);
        vhost_dev_cleanup(&b->dev);
    }
    qemu_chr_fe_set_handlers(&b->chr, NULL, NULL, vgpu_backend_event, NULL, v,
                             NULL, true);
}

static void vgpu_backend_event(void *opaque, QEMUChrEvent event)
{
    VhostUserVGPU *v = opaque;

    switch (event) {
    case CHR_EVENT_OPENED:      /* only a chardev with reconnect gets here */
        vgpu_try_connect(v);
        break;
    case CHR_EVENT_CLOSED:
        /* It may come in the middle of a request: not now. */
        vhost_user_async_close(DEVICE(v), &VHOST_USER_GPU(v)->vhost->chr,
                               vgpu_vhost(v), vgpu_disconnect);
        break;
    default:
        break;
    }
}

/* ---- dirty tracking ------------------------------------------------------ */

static void vgpu_log_sync_global(MemoryListener *l, bool last_stage)
{
    VhostUserVGPU *v = container_of(l, VhostUserVGPU, listener);
    size_t i, n_words = v->dirty_size / sizeof(uint64_t);

    if (!v->logging) {
        return;
    }
    for (i = 0; i < n_words; i++) {
        uint64_t word, page;

        if (!qatomic_read(&v->dirty[i])) {
            continue;
        }
        /* The back end writes first and marks then: what we take is there. */
        word = le64_to_cpu(qatomic_xchg(&v->dirty[i], 0));
        while (word) {
            int first = ctz64(word);
            int n = cto64(word >> first);

            word &= n == 64 ? 0 : ~(((1ull << n) - 1) << first);
            page = i * 64 + first;
            /* A bit past the end of the arena is the back end's mistake. */
            if (page < v->arena_size / VGPU_PAGE_SIZE) {
                uint64_t off = page * VGPU_PAGE_SIZE;

                memory_region_set_dirty(&v->arena, off,
                                        MIN(n * VGPU_PAGE_SIZE,
                                            v->arena_size - off));
            }
        }
    }
}

static void vgpu_vcpu_barrier(CPUState *cpu, run_on_cpu_data data)
{
}

/*
 * TCG only. The sync that has just happened took the block's dirty bits, but
 * makes vCPUs notice their next writes again only if some page was new to the
 * migration bitmap: rare to fail for guest memory, common for a small block
 * like ours, and what they write then is lost. So arm them again, always; and
 * wait for each to end its translation block, because one may be between its
 * TLB check and its write.
 */
static void vgpu_log_global_after_sync(MemoryListener *l)
{
    VhostUserVGPU *v = container_of(l, VhostUserVGPU, listener);
    bool locked;
    CPUState *cpu;

    if (!v->logging || !tcg_enabled()) {
        return;
    }
    tlb_reset_dirty_range_all(memory_region_get_ram_addr(&v->arena),
                              v->arena_size);
    if (replay_mode != REPLAY_MODE_NONE) {
        return;                 /* waiting for a vCPU deadlocks there */
    }
    locked = bql_locked();      /* COLO comes here without it */
    if (!locked) {
        bql_lock();
    }
    CPU_FOREACH(cpu) {
        run_on_cpu(cpu, vgpu_vcpu_barrier, RUN_ON_CPU_NULL);
    }
    if (!locked) {
        bql_unlock();
    }
}

/*
 * The only reliable sign that a migration starts: a VM that is stopped gets no
 * SET_LOG_BASE.
 */
static bool vgpu_log_global_start(MemoryListener *l, Error **errp)
{
    VhostUserVGPU *v = container_of(l, VhostUserVGPU, listener);

    v->logging = true;
    vgpu_send(v, VGPU_WIN_LOG, 0, 1, 0, 0);
    return true;
}

static void vgpu_log_global_stop(MemoryListener *l)
{
    VhostUserVGPU *v = container_of(l, VhostUserVGPU, listener);

    v->logging = false;
    vgpu_send(v, VGPU_WIN_LOG, 0, 0, 0, 0);
}

/* ---- the arena ----------------------------------------------------------- */

static bool vgpu_arena_open(VhostUserVGPU *v, Error **errp)
{
    struct stat st;

    if (!v->arena_path) {
        v->arena_ptr = qemu_memfd_alloc("vgpu-arena", v->arena_size,
                                        F_SEAL_GROW | F_SEAL_SHRINK |
                                        F_SEAL_SEAL, &v->arena_fd, errp);
        return v->arena_ptr != NULL;
    }

    v->arena_fd = qemu_open_old(v->arena_path, O_RDWR | O_CREAT, 0600);
    if (v->arena_fd < 0) {
        error_setg_errno(errp, errno, "cannot open arena-path %s",
                         v->arena_path);
        return false;
    }
    if (fstat(v->arena_fd, &st) < 0) {
        error_setg_errno(errp, errno, "cannot examine arena-path %s",
                         v->arena_path);
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        error_setg(errp, "arena-path %s is not a regular file", v->arena_path);
        return false;
    }
    if (st.st_size < v->arena_size &&
        ftruncate(v->arena_fd, v->arena_size) < 0) {
        error_setg_errno(errp, errno, "cannot size arena-path %s",
                         v->arena_path);
        return false;
    }
    v->arena_ptr = mmap(NULL, v->arena_size, PROT_READ | PROT_WRITE,
                        MAP_SHARED, v->arena_fd, 0);
    if (v->arena_ptr == MAP_FAILED) {
        v->arena_ptr = NULL;
        error_setg_errno(errp, errno, "cannot map arena-path %s",
                         v->arena_path);
        return false;
    }
    return true;
}

static void vgpu_channel_fini(VhostUserVGPU *v)
{
    if (v->listener.name) {
        memory_listener_unregister(&v->listener);
        v->listener.name = NULL;
    }
    v->channel_up = false;
    qemu_chr_fe_set_handlers(&v->win_chr, NULL, NULL, NULL, NULL, NULL, NULL,
                             false);
    if (memory_region_is_ram(&v->arena)) {
        vgpu_unmap_all(v);
        vmstate_unregister_ram(&v->arena, DEVICE(v));
        object_unparent(OBJECT(&v->arena));
    }
    /* The memory behind the block stays: flat views die by RCU, later. */
    if (v->arena_fd >= 0) {
        close(v->arena_fd);
        v->arena_fd = -1;
    }
    qemu_memfd_free(v->dirty, v->dirty_size, v->dirty_fd);
    v->dirty = NULL;
    v->dirty_fd = -1;
}

static bool vgpu_channel_init(VhostUserVGPU *v, Error **errp)
{
    if (!object_dynamic_cast(OBJECT(qemu_chr_fe_get_driver(&v->win_chr)),
                             TYPE_CHARDEV_SOCKET)) {
        error_setg(errp, "window-chardev must be a socket");
        return false;
    }
    if (!vgpu_arena_open(v, errp)) {
        return false;
    }
    v->dirty_size = ROUND_UP(DIV_ROUND_UP(v->arena_size / VGPU_PAGE_SIZE, 8),
                             VGPU_PAGE_SIZE);
    v->dirty = qemu_memfd_alloc("vgpu-dirty", v->dirty_size,
                                F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL,
                                &v->dirty_fd, errp);
    if (!v->dirty) {
        return false;
    }
    /*
     * By pointer, not by fd: vhost shares every RAM block that has an fd with
     * the back end, so each map would resend the whole memory table.
     */
    memory_region_init_ram_ptr(&v->arena, OBJECT(v), "vgpu-arena",
                               v->arena_size, v->arena_ptr);
    vmstate_register_ram(&v->arena, DEVICE(v));

    /* With reconnect, the first connection is made in the background, too. */
    if (qemu_chr_fe_wait_connected(&v->win_chr, errp) < 0 ||
        !vgpu_hello(v, errp)) {
        return false;
    }
    qemu_chr_fe_set_handlers(&v->win_chr, vgpu_chr_can_read, vgpu_chr_read,
                             vgpu_chr_event, NULL, v, NULL, true);

    v->listener = (MemoryListener) {
        .name = TYPE_VHOST_USER_VGPU,
        .log_sync_global = vgpu_log_sync_global,
        .log_global_after_sync = vgpu_log_global_after_sync,
        .log_global_start = vgpu_log_global_start,
        .log_global_stop = vgpu_log_global_stop,
    };
    memory_listener_register(&v->listener, &address_space_memory);
    return true;
}

/* ---- the virtio device --------------------------------------------------- */

/* Transport features that the back end decides about. */
static const int vgpu_feature_bits[] = {
    VIRTIO_F_VERSION_1,
    VIRTIO_F_NOTIFY_ON_EMPTY,
    VIRTIO_F_ANY_LAYOUT,
    VIRTIO_F_IOMMU_PLATFORM,
    VIRTIO_F_RING_PACKED,
    VIRTIO_F_IN_ORDER,
    VIRTIO_F_RING_RESET,
    VIRTIO_F_NOTIFICATION_DATA,
    VIRTIO_RING_F_INDIRECT_DESC,
    VIRTIO_RING_F_EVENT_IDX,
    VHOST_INVALID_FEATURE_BIT
};

static uint64_t vgpu_get_features(VirtIODevice *vdev, uint64_t features,
                                  Error **errp)
{
    features = vgpu_parent_class()->get_features(vdev, features, errp);
    return vhost_get_features(vgpu_vhost(VHOST_USER_VGPU(vdev)),
                              vgpu_feature_bits, features);
}

/* From what is kept here: the guest may read it while there is no back end. */
static void vgpu_get_config(VirtIODevice *vdev, uint8_t *data)
{
    VhostUserVGPU *v = VHOST_USER_VGPU(vdev);
    struct virtio_gpu_config config = VIRTIO_GPU_BASE(v)->virtio_config;

    config.num_capsets = cpu_to_le32(v->num_capsets);
    memcpy(data, &config, sizeof(config));
}

static void vgpu_set_config(VirtIODevice *vdev, const uint8_t *data)
{
    struct virtio_gpu_config config;

    memcpy(&config, data, sizeof(config));
    VIRTIO_GPU_BASE(vdev)->virtio_config.events_read &= ~config.events_clear;
}

static void vgpu_guest_notifier_mask(VirtIODevice *vdev, int idx, bool mask)
{
    if (VHOST_USER_VGPU(vdev)->connected) {
        vgpu_parent_class()->guest_notifier_mask(vdev, idx, mask);
    }
}

static bool vgpu_guest_notifier_pending(VirtIODevice *vdev, int idx)
{
    return VHOST_USER_VGPU(vdev)->connected &&
           vgpu_parent_class()->guest_notifier_pending(vdev, idx);
}

static void vgpu_set_status(VirtIODevice *vdev, uint8_t val)
{
    VhostUserVGPU *v = VHOST_USER_VGPU(vdev);
    bool runs = (val & VIRTIO_CONFIG_S_DRIVER_OK) && vdev->vm_running;

    if (!v->connected) {
        return;                 /* whoever comes back is started then */
    }
    if (!runs && VHOST_USER_GPU(v)->vhost->started) {
        vgpu_quiesce(v);
    }
    vgpu_parent_class()->set_status(vdev, val);
}

static void vgpu_reset(VirtIODevice *vdev)
{
    VhostUserVGPU *v = VHOST_USER_VGPU(vdev);

    vgpu_parent_class()->reset(vdev);
    if (vgpu_has_channel(v)) {
        vgpu_unmap_all(v);
        /* To the back end, a reset looks like any other stop. */
        vgpu_send(v, VGPU_WIN_RESET, 0, 0, 0, 0);
        if (!v->channel_up) {
            v->in_use = false;  /* the next one is told by HELLO */
        }
    }
}

static bool vgpu_check_properties(VhostUserVGPU *v, Error **errp)
{
    uint64_t window = vgpu_window_size(v);

    if (!vgpu_has_channel(v)) {
        if (window || v->arena_size || v->arena_path) {
            error_setg(errp, "hostmem, arena-size and arena-path need "
                       "window-chardev");
            return false;
        }
        return true;
    }
    if (!v->arena_size) {
        v->arena_size = window;
    }
    if (!v->arena_size || v->arena_size % VGPU_PAGE_SIZE ||
        v->arena_size > INT64_MAX) {
        error_setg(errp, "arena-size must be a multiple of 4 KiB, not 0");
        return false;
    }
    if (v->arena_size < window) {
        error_setg(errp, "arena-size must not be less than hostmem");
        return false;
    }
    if (v->quiesce_timeout_ms > 600 * 1000) {
        error_setg(errp, "quiesce-timeout-ms must not exceed 600000");
        return false;
    }
    return true;
}

static void vgpu_realize(DeviceState *dev, Error **errp)
{
    ERRP_GUARD();
    VhostUserVGPU *v = VHOST_USER_VGPU(dev);
    VirtIOGPUBase *base = VIRTIO_GPU_BASE(dev);
    VhostUserBackend *b = VHOST_USER_GPU(dev)->vhost;
    struct virtio_gpu_config config = {};
    uint64_t features;

    if (!vgpu_check_properties(v, errp)) {
        return;
    }
    if (vgpu_has_channel(v) && !vgpu_channel_init(v, errp)) {
        vgpu_channel_fini(v);
        return;
    }
    if (qemu_chr_fe_wait_connected(&b->chr, errp) >= 0) {
        vgpu_parent_class()->realize(dev, errp);
    }
    if (!*errp) {
        vhost_dev_get_config(&b->dev, (uint8_t *)&config, sizeof(config),
                             errp);
    }
    if (*errp) {
        if (vgpu_has_channel(v)) {
            vgpu_channel_fini(v);
        }
        return;
    }

    features = vgpu_vhost(v)->features;
    if (virtio_has_feature(features, VIRTIO_GPU_F_RESOURCE_BLOB)) {
        base->conf.flags |= 1 << VIRTIO_GPU_FLAG_BLOB_ENABLED;
    } else if (vgpu_window_size(v)) {
        warn_report("vhost-user-vgpu: hostmem is useless, the back end "
                    "offers no blobs");
    }
    if (virtio_has_feature(features, VIRTIO_GPU_F_CONTEXT_INIT)) {
        base->conf.flags |= 1 << VIRTIO_GPU_FLAG_CONTEXT_INIT_ENABLED;
    }
    if (vhost_supports_device_state(vgpu_vhost(v))) {
        /* The parent blocks migration of whatever does 3D: we can. */
        migrate_del_blocker(&base->migration_blocker);
    }

    v->backend_features = features;
    v->num_capsets = le32_to_cpu(config.num_capsets);
    v->vqs = b->dev.vqs;
    v->connected = true;
    qemu_chr_fe_set_handlers(&b->chr, NULL, NULL, vgpu_backend_event, NULL, v,
                             NULL, true);
}

static void vgpu_unrealize(DeviceState *dev)
{
    VhostUserVGPU *v = VHOST_USER_VGPU(dev);
    VhostUserBackend *b = VHOST_USER_GPU(v)->vhost;

    qemu_chr_fe_set_handlers(&b->chr, NULL, NULL, NULL, NULL, NULL, NULL,
                             false);
    if (!v->connected) {
        b->dev.vqs = v->vqs;    /* freed with the rest of b */
    }
    v->vqs = NULL;
    if (vgpu_has_channel(v)) {
        vgpu_channel_fini(v);
    }
    vgpu_parent_class()->unrealize(dev);
}

static void vgpu_instance_init(Object *obj)
{
    VhostUserVGPU *v = VHOST_USER_VGPU(obj);

    QTAILQ_INIT(&v->maps);
    v->arena_fd = -1;
    v->dirty_fd = -1;
}

/* ---- migration ----------------------------------------------------------- */

/* Maps as u64s {length, arena offset, window offset}; a length of 0 ends. */
static int vgpu_put_maps(QEMUFile *f, void *pv, size_t size,
                         const VMStateField *field, JSONWriter *vmdesc)
{
    VhostUserVGPU *v = pv;
    VGPUMap *m;

    QTAILQ_FOREACH(m, &v->maps, next) {
        qemu_put_be64(f, m->len);
        qemu_put_be64(f, m->off);
        qemu_put_be64(f, m->win);
    }
    qemu_put_be64(f, 0);
    return 0;
}

static int vgpu_get_maps(QEMUFile *f, void *pv, size_t size,
                         const VMStateField *field)
{
    VhostUserVGPU *v = pv;
    uint64_t len, off, win;
    uint32_t n = 0;
    int ret = 0;

    memory_region_transaction_begin();
    vgpu_unmap_all(v);
    while (!ret && (len = qemu_get_be64(f))) {
        off = qemu_get_be64(f);
        win = qemu_get_be64(f);
        /* A repeated map would not count in n_maps, so count here, too. */
        ret = n++ < VGPU_MAPS_MAX ? vgpu_map(v, off, win, len) : -EINVAL;
    }
    memory_region_transaction_commit();
    return ret;
}

static int vgpu_put_backend(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field, JSONWriter *vmdesc)
{
    Error *err = NULL;
    int ret = vhost_save_backend_state(vgpu_vhost(pv), f, &err);

    if (ret < 0) {
        error_report_err(err);
    }
    return ret;
}

static int vgpu_get_backend(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field)
{
    Error *err = NULL;
    int ret = vhost_load_backend_state(vgpu_vhost(pv), f, &err);

    if (ret < 0) {
        error_report_err(err);
    }
    return ret;
}

static bool vgpu_window_needed(void *opaque)
{
    return vgpu_has_channel(opaque);
}

static int vgpu_check_migratable(void *opaque)
{
    VhostUserVGPU *v = opaque;

    if (!v->connected) {
        error_report("vhost-user-vgpu: there is no back end");
        return -ENOTCONN;
    }
    if (!vhost_supports_device_state(vgpu_vhost(opaque))) {
        error_report("vhost-user-vgpu: the back end cannot save its state");
        return -ENOTSUP;
    }
    return 0;
}

static const VMStateDescription vgpu_vmstate_window = {
    .name = "vhost-user-vgpu/window",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = vgpu_window_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_EQUAL(arena_size, VhostUserVGPU,
                             "arena-size must be the same on both sides"),
        {
            .name = "maps",
            .info = &(const VMStateInfo) {
                .name = "vhost-user-vgpu maps",
                .get = vgpu_get_maps,
                .put = vgpu_put_maps,
            },
        },
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vgpu_vmstate_backend = {
    .name = "vhost-user-vgpu/backend",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        {
            .name = "backend",
            .info = &(const VMStateInfo) {
                .name = "vhost-user-vgpu back-end state",
                .get = vgpu_get_backend,
                .put = vgpu_put_backend,
            },
        },
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vgpu_vmstate = {
    .name = TYPE_VHOST_USER_VGPU,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = vgpu_check_migratable,
    .pre_load = vgpu_check_migratable,
    .fields = (const VMStateField[]) {
        VMSTATE_VIRTIO_DEVICE,
        VMSTATE_INT32(parent_obj.parent_obj.enable, VhostUserVGPU),
        VMSTATE_UINT32(parent_obj.parent_obj.virtio_config.events_read,
                       VhostUserVGPU),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vgpu_vmstate_window,
        /* Last: the back end restores against the window's maps and arena. */
        &vgpu_vmstate_backend,
        NULL
    },
};

static const Property vgpu_properties[] = {
    DEFINE_PROP_CHR("window-chardev", VhostUserVGPU, win_chr),
    DEFINE_PROP_SIZE("hostmem", VhostUserVGPU,
                     parent_obj.parent_obj.conf.hostmem, 0),
    DEFINE_PROP_SIZE("arena-size", VhostUserVGPU, arena_size, 0),
    DEFINE_PROP_STRING("arena-path", VhostUserVGPU, arena_path),
    DEFINE_PROP_UINT32("quiesce-timeout-ms", VhostUserVGPU,
                       quiesce_timeout_ms, 5000),
};

static void vgpu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    VirtioDeviceClass *vdc = VIRTIO_DEVICE_CLASS(klass);

    device_class_set_props(dc, vgpu_properties);
    dc->desc = "vGPU of a vhost-user back end, migratable";
    dc->vmsd = &vgpu_vmstate;
    vdc->realize = vgpu_realize;
    vdc->unrealize = vgpu_unrealize;
    vdc->reset = vgpu_reset;
    vdc->set_status = vgpu_set_status;
    vdc->get_features = vgpu_get_features;
    vdc->get_config = vgpu_get_config;
    vdc->set_config = vgpu_set_config;
    vdc->guest_notifier_mask = vgpu_guest_notifier_mask;
    vdc->guest_notifier_pending = vgpu_guest_notifier_pending;
}

static const TypeInfo vgpu_info = {
    .name = TYPE_VHOST_USER_VGPU,
    .parent = TYPE_VHOST_USER_GPU,
    .instance_size = sizeof(VhostUserVGPU),
    .instance_init = vgpu_instance_init,
    .class_init = vgpu_class_init,
};

/* ---- the PCI proxy ------------------------------------------------------- */

#define TYPE_VHOST_USER_VGPU_PCI "vhost-user-vgpu-pci"
OBJECT_DECLARE_SIMPLE_TYPE(VhostUserVGPUPCI, VHOST_USER_VGPU_PCI)

struct VhostUserVGPUPCI {
    VirtIOGPUPCIBase parent_obj;

    VhostUserVGPU vdev;
};

static void vgpu_pci_realize(VirtIOPCIProxy *proxy, Error **errp)
{
    uint64_t window = vgpu_window_size(&VHOST_USER_VGPU_PCI(proxy)->vdev);
    VirtioPCIClass *parent =
        VIRTIO_PCI_CLASS(object_class_by_name(TYPE_VIRTIO_GPU_PCI_BASE));

    if (window && (window < VGPU_PAGE_SIZE || !is_power_of_2(window))) {
        error_setg(errp, "hostmem must be a power of two (it is a PCI BAR)");
        return;
    }
    parent->realize(proxy, errp);
}

static void vgpu_pci_class_init(ObjectClass *klass, void *data)
{
    VIRTIO_PCI_CLASS(klass)->realize = vgpu_pci_realize;
}

static void vgpu_pci_instance_init(Object *obj)
{
    VhostUserVGPUPCI *dev = VHOST_USER_VGPU_PCI(obj);

    virtio_instance_init_common(obj, &dev->vdev, sizeof(dev->vdev),
                                TYPE_VHOST_USER_VGPU);
    VIRTIO_GPU_PCI_BASE(obj)->vgpu = VIRTIO_GPU_BASE(&dev->vdev);
    object_property_add_alias(obj, "chardev", OBJECT(&dev->vdev), "chardev");
}

static const VirtioPCIDeviceTypeInfo vgpu_pci_info = {
    .generic_name = TYPE_VHOST_USER_VGPU_PCI,
    .parent = TYPE_VIRTIO_GPU_PCI_BASE,
    .instance_size = sizeof(VhostUserVGPUPCI),
    .instance_init = vgpu_pci_instance_init,
    .class_init = vgpu_pci_class_init,
};

static void vgpu_register_types(void)
{
    type_register_static(&vgpu_info);
    virtio_pci_types_register(&vgpu_pci_info);
}

type_init(vgpu_register_types)
