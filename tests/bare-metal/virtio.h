/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A virtio 1.x device behind PCI, driven by polling. Sections are those of virtio 1.3.
 */
#ifndef VIRTIO_H
#define VIRTIO_H

#include "machine.h"

#define VIRTIO_F_VERSION_1 (1ull << 32)

/* Requests that may be under way at once in one queue. Each has two descriptors: what we say, and the answer. */
#define SLOTS 8
#define QUEUE_LEN (2 * SLOTS)
#define REQUEST_WORDS 1024

enum { QUEUE_CONTROL, QUEUE_CURSOR, QUEUES };

/* Set by a look at the capabilities (4.1.4). */
struct device {
    volatile uint8_t *common, *notify, *config;
    uint32_t notify_multiplier;
    /* Shared memory 1: the host-visible window. Length 0 if there is none. */
    uint64_t window, window_len;
    uint64_t features;
};

struct request {
    uint32_t words[REQUEST_WORDS];
    uint32_t answer[REQUEST_WORDS];
    /* Bytes written to the answer. */
    uint32_t answer_len;
    bool done;
};

extern struct device device;
extern struct request requests[QUEUES][SLOTS];

/* Finds the device of an id (5) on any bus and its parts. Returns what is missing, or null. */
const char *device_find(uint16_t device_id);

/* Resets the device and negotiates these features as far as they are offered (3.1). Returns what went wrong, or null. */
const char *device_start(uint64_t wanted);

/* Resets the device and nothing else. False if it does not come to rest. */
bool device_reset(void);

/* Reads a word of the device's own configuration. */
uint32_t device_config(uint32_t offset);

/* Sends the first len bytes of a slot's words. */
void request_send(unsigned queue, unsigned slot, uint32_t len);

/* Takes answers in; true once this slot has its own. */
bool request_done(unsigned queue, unsigned slot);

/* What [request_wait] does each time that it finds nothing, unless NULL. */
extern void (*while_waiting)(void);

/* Waits for that; false when it does not come. */
bool request_wait(unsigned queue, unsigned slot);

#endif
