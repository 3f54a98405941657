/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Commands of virtio-gpu (virtio 1.3, section 5.7), and how a case is told. Lengths and offsets are bytes.
 */
#ifndef GPU_H
#define GPU_H

#include "virtio.h"

#define VIRTIO_GPU_ID 16
#define F_VIRGL (1ull << 0)
#define F_EDID (1ull << 1)
#define F_RESOURCE_BLOB (1ull << 3)
#define F_CONTEXT_INIT (1ull << 4)
#define FEATURES (F_VIRGL | F_EDID | F_RESOURCE_BLOB | F_CONTEXT_INIT | VIRTIO_F_VERSION_1)

enum {
    GET_DISPLAY_INFO = 0x100,
    RESOURCE_CREATE_2D,
    RESOURCE_UNREF,
    SET_SCANOUT,
    RESOURCE_FLUSH,
    TRANSFER_TO_HOST_2D,
    RESOURCE_ATTACH_BACKING,
    RESOURCE_DETACH_BACKING,
    GET_CAPSET_INFO,
    GET_CAPSET,
    GET_EDID,
    RESOURCE_CREATE_BLOB = 0x10c,
    SET_SCANOUT_BLOB,
    CTX_CREATE = 0x200,
    CTX_DESTROY,
    CTX_ATTACH_RESOURCE,
    CTX_DETACH_RESOURCE,
    SUBMIT_3D = 0x207,
    RESOURCE_MAP_BLOB,
    RESOURCE_UNMAP_BLOB,
    UPDATE_CURSOR = 0x300,
    MOVE_CURSOR,
};

enum {
    OK_NODATA = 0x1100,
    OK_DISPLAY_INFO,
    OK_CAPSET_INFO,
    OK_CAPSET,
    OK_EDID,
    OK_MAP_INFO = 0x1106,
    ERR_UNSPEC = 0x1200,
    ERR_OUT_OF_MEMORY,
    ERR_INVALID_SCANOUT_ID,
    ERR_INVALID_RESOURCE_ID,
    ERR_INVALID_CONTEXT_ID,
    ERR_INVALID_PARAMETER,
};

#define FLAG_FENCE 1u
#define FLAG_RING_IDX 2u
#define HEADER_WORDS 6
#define HEADER_LEN (4 * HEADER_WORDS)

#define CAPSET_VENUS 4
#define BLOB_HOST3D 2
#define BLOB_MAPPABLE 1
#define PAGE 4096ull

/* A 64-bit value as two words. */
#define LONG(value) (uint32_t)(uint64_t)(value), (uint32_t)((uint64_t)(value) >> 32)

/* Writes a request into a slot of the control queue; its length. */
uint32_t request_fill(unsigned slot, uint32_t kind, uint32_t context, const uint32_t *words, unsigned count);

/* Makes the slot's request ask for a fence on a timeline of its context. */
void request_fence(unsigned slot, uint64_t fence, uint8_t timeline);

/* Does a command of the control queue, in slot 0, and returns its answer's type: 0 if none came. */
uint32_t command(uint32_t kind, uint32_t context, const uint32_t *words, unsigned count);
#define COMMAND(kind, context, ...) \
    command(kind, context, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

/* The answer to the last of them, after its header. */
const uint32_t *answer(void);

uint32_t context_create(uint32_t context);
uint32_t blob_create(uint32_t context, uint32_t resource, uint64_t len);
uint32_t blob_map(uint32_t resource, uint64_t offset);
uint32_t blob_unmap(uint32_t resource);
uint32_t resource_unref(uint32_t resource);

/* What the guest sees of the window. */
volatile uint32_t *window(uint64_t offset);

/* Word i of the pattern of a seed; the host knows it, too. */
uint32_t pattern(uint32_t seed, uint32_t i);
void pattern_write(volatile uint32_t *to, uint32_t seed, uint64_t len);
bool pattern_is(const volatile uint32_t *from, uint32_t seed, uint64_t len);

/* A case ends at the first of these that does not hold. */
void case_failed(const char *file, int line, const char *what, uint64_t got, uint64_t wanted);
#define EXPECT(got, wanted)                                                            \
    do {                                                                               \
        uint64_t got_ = (got), wanted_ = (wanted);                                     \
        if (got_ != wanted_) {                                                         \
            case_failed(__FILE_NAME__, __LINE__, #got, got_, wanted_);                      \
            return;                                                                    \
        }                                                                              \
    } while (0)
#define CHECK(holds) EXPECT(!!(holds), true)

/* Runs a case and tells how it ended. */
void run_case(const char *name, void (*body)(void));

/* Tells the host that it has something to do (its name, then two numbers) and calls meanwhile, if there is one, until
 * the host has. There is no limit: a host that gives up ends the guest. False if the host says no. */
bool ask_host(const char *what, uint64_t a, uint64_t b, void (*meanwhile)(void));

/* Prints the last line. */
void tell_result(void);

void blob_cases(void);
void refusal_cases(void);
void display_cases(void);
void venus_cases(void);

#endif
