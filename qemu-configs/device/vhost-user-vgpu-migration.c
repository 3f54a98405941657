/*
 * vhost-user vGPU: what is written to the arena while the VM migrates, and the
 * state that goes with it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "exec/cputlb.h"
#include "exec/memory.h"
#include "hw/core/cpu.h"
#include "hw/virtio/vhost.h"
#include "hw/virtio/virtio-gpu.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "system/replay.h"
#include "system/tcg.h"
#include "vhost-user-vgpu.h"

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

void vgpu_dirty_tracking_init(VhostUserVGPU *v)
{
    v->listener = (MemoryListener) {
        .name = TYPE_VHOST_USER_VGPU,
        .log_sync_global = vgpu_log_sync_global,
        .log_global_after_sync = vgpu_log_global_after_sync,
        .log_global_start = vgpu_log_global_start,
        .log_global_stop = vgpu_log_global_stop,
    };
    memory_listener_register(&v->listener, &address_space_memory);
}

/* Also where it was never begun. */
void vgpu_dirty_tracking_fini(VhostUserVGPU *v)
{
    if (v->listener.name) {
        memory_listener_unregister(&v->listener);
        v->listener.name = NULL;
    }
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

const VMStateDescription vgpu_vmstate = {
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
