/*
 * vhost-user vGPU: the arena, the window that shows pieces of it to the guest,
 * and the channel by which the back end asks for that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <poll.h>
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/memfd.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "chardev/char-fe.h"
#include "chardev/char-socket.h"
#include "exec/memory.h"
#include "hw/virtio/virtio-gpu.h"
#include "migration/vmstate.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "system/tcg.h"
#include "vhost-user-vgpu.h"

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

void vgpu_unmap_all(VhostUserVGPU *v)
{
    VGPUMap *m, *next;

    memory_region_transaction_begin();
    QTAILQ_FOREACH_SAFE(m, &v->maps, next, next) {
        vgpu_unmap_one(v, m);
    }
    memory_region_transaction_commit();
}

int vgpu_map(VhostUserVGPU *v, uint64_t off, uint64_t win, uint64_t len)
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
void vgpu_send(VhostUserVGPU *v, uint32_t type, uint32_t status,
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

/*
 * TCG keeps the number of a memory section in its TLB, and looks it up in the
 * memory map of the moment: between a change of the map and the flush, which
 * is only queued for each CPU, an access to a device goes wherever the number
 * leads now (QEMU 10.0). A guest lost an EOI of its local APIC that way, and
 * with it all interrupts, for ever. So no CPU runs while the map changes.
 */
static bool vgpu_hold_cpus(void)
{
    /* A change that a CPU itself brings about is flushed before it goes on. */
    bool hold = tcg_enabled() && runstate_is_running() &&
                !qemu_in_vcpu_thread();

    if (hold) {
        /* Lets go of the BQL: look at the maps afterwards only. */
        pause_all_vcpus();
    }
    return hold;
}

static int vgpu_change(VhostUserVGPU *v, const VGPUWinMsg *msg)
{
    bool held;
    int err;

    v->changing = true;
    held = vgpu_hold_cpus();
    if (msg->type == VGPU_WIN_MAP) {
        err = vgpu_map(v, msg->a, msg->b, msg->c);
    } else {
        err = vgpu_unmap(v, msg->b, msg->c);
    }
    if (held) {
        resume_all_vcpus();
    }
    v->changing = false;
    return err;
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
    case VGPU_WIN_UNMAP:
        err = vgpu_change(v, &msg);
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
 * The main thread may have let go of the BQL in the middle of a change, which
 * the back end waits for: let it have the BQL again. Not from a CPU, which that
 * change waits for in its turn: there the back end's own deadline ends it.
 */
static void vgpu_finish_change(VhostUserVGPU *v)
{
    while (v->changing && !qemu_in_vcpu_thread()) {
        bql_unlock();
        g_usleep(50);
        bql_lock();
    }
}

/*
 * Let the back end finish everything that needs us. Stopping blocks in
 * GET_VRING_BASE until its queues are idle, and while we wait there no MAP is
 * answered: whoever waits for one would wait for ever. So serve the channel
 * here until the back end says that it is quiet, but no longer than the
 * deadline: a hung GPU must not hang the VM's stop, nor QMP with it.
 */
void vgpu_quiesce(VhostUserVGPU *v)
{
    Chardev *chr;
    int64_t now, deadline;

    if (!v->channel_up) {
        return;
    }
    vgpu_finish_change(v);
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

void vgpu_channel_fini(VhostUserVGPU *v)
{
    vgpu_dirty_tracking_fini(v);
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

bool vgpu_channel_init(VhostUserVGPU *v, Error **errp)
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

    vgpu_dirty_tracking_init(v);
    return true;
}
