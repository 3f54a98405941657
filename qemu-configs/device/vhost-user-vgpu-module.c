/*
 * The vhost-user vGPU for a QEMU that was built without it: a shared object
 * for LD_PRELOAD, which registers the device with the emulator it finds itself
 * in. That emulator exports its symbols for modules of its own.
 *
 * Structures are the emulator's, so it must be the very build whose stamp was
 * given when this was compiled (VGPU_STAMP: a name that QEMU makes of its
 * version, its package's version and its configure script, to know its modules
 * by).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <link.h>
#include "qapi/error.h"
#include "qemu/module.h"

/* Registered below, once the parents' modules are there. */
#undef type_init
#define type_init(function)                             \
    static void (*const vgpu_register)(void) = function;

#include "vhost-user-vgpu.c"
#include "vhost-user-vgpu-migration.c"
#include "vhost-user-vgpu-window.c"

static void vgpu_module_load(void)
{
    static const char *const parents[] = {
        TYPE_VHOST_USER_GPU, TYPE_VIRTIO_GPU_PCI_BASE,
    };
    Error *err = NULL;
    size_t i;

    /* By hand: it is too early for error_report(), which wants a monitor. */
    for (i = 0; i < ARRAY_SIZE(parents); i++) {
        if (module_load_qom(parents[i], &err) < 0) {
            fprintf(stderr, "vhost-user-vgpu: %s\n", error_get_pretty(err));
            exit(EXIT_FAILURE);
        }
        if (!object_class_by_name(parents[i])) {
            fprintf(stderr, "vhost-user-vgpu: this QEMU has no %s: is its "
                    "module (hw-display-virtio-gpu) installed, or "
                    "QEMU_MODULE_DIR to be set?\n", parents[i]);
            exit(EXIT_FAILURE);
        }
    }
    vgpu_register();
}

/* Looks for the stamp among the constants of the first object, the program. */
static int vgpu_find_stamp(struct dl_phdr_info *info, size_t size, void *found)
{
    int i;

    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD &&
            (header->p_flags & (PF_R | PF_W)) == PF_R &&
            memmem((const void *)(info->dlpi_addr + header->p_vaddr),
                   header->p_filesz, VGPU_STAMP, sizeof(VGPU_STAMP))) {
            *(bool *)found = true;
        }
    }
    return 1;
}

static void __attribute__((constructor)) vgpu_module_init(void)
{
    bool found = false;

    /* Programs that QEMU starts are none of our business. */
    unsetenv("LD_PRELOAD");
    dl_iterate_phdr(vgpu_find_stamp, &found);
    if (!found) {
        fprintf(stderr, "vhost-user-vgpu: this module is for QEMU %s and no "
                "other version or build\n", VGPU_VERSION);
        exit(EXIT_FAILURE);
    }
    /* After MODULE_INIT_QOM, which loads no modules, and before any device. */
    register_module_init(vgpu_module_load, MODULE_INIT_MIGRATION);
}
