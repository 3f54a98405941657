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
 * Arena, window and channel are in vhost-user-vgpu-window.c, dirty tracking and
 * migration in vhost-user-vgpu-migration.c, the device itself and reopen here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qapi/error.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "hw/virtio/vhost.h"
#include "hw/virtio/vhost-user.h"
#include "hw/virtio/virtio-gpu.h"
#include "hw/virtio/virtio-gpu-pci.h"
#include "migration/blocker.h"
#include "qom/object.h"
#include "ui/console.h"
#include "vhost-user-vgpu.h"

/* The virtqueues: control and cursor. */
#define VGPU_QUEUES 2

static VirtioDeviceClass *vgpu_parent_class(void)
{
    return VIRTIO_DEVICE_CLASS(object_class_by_name(TYPE_VHOST_USER_GPU));
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
void vgpu_try_connect(VhostUserVGPU *v)
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

/*
 * The parent says of every console that it needs a display with OpenGL, for
 * back ends that render there or send dmabufs. Ours sends pixels, so any
 * display will do: VNC, too.
 */
static void vgpu_console_init(VhostUserVGPU *v)
{
    static GraphicHwOps ops;    /* the consoles may outlive the device */
    VirtIOGPUBase *base = VIRTIO_GPU_BASE(v);
    int i;

    ops = *base->hw_ops;
    ops.get_flags = NULL;
    base->hw_ops = &ops;
    for (i = 0; i < base->conf.max_outputs; i++) {
        graphic_console_set_hwops(base->scanout[i].con, base->hw_ops, base);
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

    vgpu_console_init(v);
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
