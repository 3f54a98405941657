/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Fences, and a Venus ring whose memory the guest and a worker share through the window.
 */
#include "gpu.h"

#define RING_ID 7ull
#define RING 40u
#define REPLIES 41u
#define RING_AT (32 * PAGE)
#define REPLIES_AT (64 * PAGE)

/* The ring's parts, by offset in its blob. */
#define HEAD 0u
#define TAIL 64u
#define STATUS 128u
#define BUFFER 192u
#define BUFFER_LEN 4096u
#define RING_LEN 8192u

#define STATUS_IDLE 1u
#define STATUS_FATAL 2u

/* Commands of the wire format, and the type of VkRingCreateInfoMESA. */
enum {
    ENUMERATE_INSTANCE_VERSION = 137,
    SET_REPLY_STREAM = 178,
    CREATE_RING = 188,
    NOTIFY_RING = 190,
    WAIT_RING_SEQNO = 253,
};
#define RING_CREATE_INFO 1000384000u
#define WANTS_REPLY 1u

static uint32_t tail;

static volatile uint32_t *ring_word(uint32_t offset)
{
    return window(RING_AT) + offset / 4;
}

static uint32_t submit(uint32_t context, const uint32_t *words, unsigned count)
{
    uint32_t request[64] = {4 * count, 0};

    memcpy(request + 2, words, 4 * count);
    return command(SUBMIT_3D, context, request, 2 + count);
}
#define SUBMIT(context, ...) submit(context, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

static void ring_put(const uint32_t *words, unsigned count)
{
    for (unsigned i = 0; i < count; i++, tail += 4)
        *ring_word(BUFFER + tail % BUFFER_LEN) = words[i];
    barrier();
    *ring_word(TAIL) = tail;
    barrier();
    if (*ring_word(STATUS) & STATUS_IDLE)
        SUBMIT(1, NOTIFY_RING, 0, LONG(RING_ID), 0, 0);
}
#define RING_PUT(...) ring_put((uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

static bool ring_is_empty(void)
{
    uint64_t deadline = 0;

    while (*ring_word(HEAD) != tail)
        if (late(&deadline) || *ring_word(STATUS) & STATUS_FATAL)
            return false;
    return true;
}

static void fences_on_timelines(void)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        uint32_t nothing[2] = {0, 0};
        uint32_t len = request_fill(slot, SUBMIT_3D, 1, nothing, 2);
        request_fence(slot, 0x100000000ull + slot, (uint8_t)(1 + slot % 3));
        request_send(QUEUE_CONTROL, slot, len);
    }
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        const uint32_t *words = requests[QUEUE_CONTROL][slot].answer;
        CHECK(request_wait(QUEUE_CONTROL, slot));
        EXPECT(words[0], OK_NODATA);
        EXPECT(words[1], FLAG_FENCE | FLAG_RING_IDX);
        EXPECT(words[2], slot);
        EXPECT(words[3], 1);
        EXPECT(words[4], 1);
        EXPECT(words[5], 1 + slot % 3);
    }
}

static void ring_is_served(void)
{
    EXPECT(blob_create(1, RING, RING_LEN), OK_NODATA);
    EXPECT(blob_create(1, REPLIES, PAGE), OK_NODATA);
    EXPECT(COMMAND(CTX_ATTACH_RESOURCE, 1, RING, 0), OK_NODATA);
    EXPECT(COMMAND(CTX_ATTACH_RESOURCE, 1, REPLIES, 0), OK_NODATA);
    EXPECT(blob_map(RING, RING_AT), OK_MAP_INFO);
    EXPECT(blob_map(REPLIES, REPLIES_AT), OK_MAP_INFO);
    tail = 0;
    EXPECT(SUBMIT(1, CREATE_RING, 0, LONG(RING_ID), LONG(1), RING_CREATE_INFO, LONG(0), 0, RING, LONG(0),
                  LONG(RING_LEN), LONG(1000000000), LONG(HEAD), LONG(TAIL), LONG(STATUS), LONG(BUFFER),
                  LONG(BUFFER_LEN), LONG(BUFFER + BUFFER_LEN), LONG(64)),
           OK_NODATA);
    RING_PUT(SET_REPLY_STREAM, 0, LONG(1), REPLIES, LONG(0), LONG(PAGE));
    RING_PUT(ENUMERATE_INSTANCE_VERSION, WANTS_REPLY, LONG(1));
    CHECK(ring_is_empty());
    const volatile uint32_t *reply = window(REPLIES_AT);
    EXPECT(reply[0], ENUMERATE_INSTANCE_VERSION);
    EXPECT(reply[1], 0); /* VK_SUCCESS */
    EXPECT(reply[2], 1);
    EXPECT(reply[3], 0);
    EXPECT(reply[4] >> 22, 1); /* Vulkan 1.x */
}

static void ring_wraps(void)
{
    uint32_t replies = PAGE / 20;

    for (uint32_t count = 0; count < 20 * replies; count++) {
        if (count % replies == 0)
            RING_PUT(SET_REPLY_STREAM, 0, LONG(1), REPLIES, LONG(0), LONG(PAGE));
        RING_PUT(ENUMERATE_INSTANCE_VERSION, WANTS_REPLY, LONG(1));
        if (count % 64 == 0)
            CHECK(ring_is_empty());
    }
    CHECK(ring_is_empty());
    CHECK(tail > 4 * BUFFER_LEN);
    for (uint32_t i = 0; i < replies; i++)
        EXPECT(window(REPLIES_AT)[5 * i], ENUMERATE_INSTANCE_VERSION);
}

/* A fence behind work that waits for the ring comes when the ring gets there, not before. */
static void fence_waits_for_the_ring(void)
{
    uint32_t wait[] = {4 * 6, 0, WAIT_RING_SEQNO, 0, LONG(RING_ID), LONG(tail + 16)};
    uint32_t len = request_fill(1, SUBMIT_3D, 1, wait, sizeof(wait) / 4);

    request_fence(1, 5, 1);
    request_send(QUEUE_CONTROL, 1, len);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT(COMMAND(GET_DISPLAY_INFO, 0, 0), OK_DISPLAY_INFO);
        CHECK(!request_done(QUEUE_CONTROL, 1));
    }
    RING_PUT(ENUMERATE_INSTANCE_VERSION, 0, LONG(1));
    CHECK(request_wait(QUEUE_CONTROL, 1));
    EXPECT(requests[QUEUE_CONTROL][1].answer[0], OK_NODATA);
    EXPECT(requests[QUEUE_CONTROL][1].answer[2], 5);
    CHECK(ring_is_empty());
}

/* Words written while the VM moves, and what they should be. */
#define MOVED 43u
#define MOVED_AT (128 * PAGE)
#define MOVED_LEN (64 * PAGE)
static uint32_t moved[MOVED_LEN / 4], moved_count;

static void write_some(void)
{
    for (unsigned i = 0; i < 16; i++) {
        uint32_t at = ++moved_count * 0x9e3779b1u >> 16;
        moved[at] = moved_count;
        window(MOVED_AT)[at] = moved_count;
    }
}

static void migration_carries_what_is_written(void)
{
    EXPECT(blob_create(1, MOVED, MOVED_LEN), OK_NODATA);
    EXPECT(blob_map(MOVED, MOVED_AT), OK_MAP_INFO);
    CHECK(ask_host("migrate", 0, 0, write_some));
    say("NOTE %u writes meanwhile\n", moved_count);
    for (uint32_t i = 0; i < MOVED_LEN / 4; i++)
        EXPECT(window(MOVED_AT)[i], moved[i]);
    RING_PUT(SET_REPLY_STREAM, 0, LONG(1), REPLIES, LONG(0), LONG(PAGE));
    window(REPLIES_AT)[0] = 0;
    RING_PUT(ENUMERATE_INSTANCE_VERSION, WANTS_REPLY, LONG(1));
    CHECK(ring_is_empty());
    EXPECT(window(REPLIES_AT)[0], ENUMERATE_INSTANCE_VERSION);
    /* Maps come and go there, too. */
    EXPECT(resource_unref(MOVED), OK_NODATA);
    EXPECT(blob_create(1, MOVED, PAGE), OK_NODATA);
    EXPECT(blob_map(MOVED, MOVED_AT), OK_MAP_INFO);
    pattern_write(window(MOVED_AT), MOVED, PAGE);
    CHECK(pattern_is(window(MOVED_AT), MOVED, PAGE));
    EXPECT(resource_unref(MOVED), OK_NODATA);
}

static void hostile_ring_costs_its_context_only(void)
{
    uint64_t deadline = 0;

    EXPECT(context_create(2), OK_NODATA);
    *ring_word(TAIL) = tail + 2 * BUFFER_LEN;
    SUBMIT(1, NOTIFY_RING, 0, LONG(RING_ID), 0, 0);
    while (!(*ring_word(STATUS) & STATUS_FATAL))
        CHECK(!late(&deadline));
    EXPECT(blob_create(2, 42, PAGE), OK_NODATA);
    EXPECT(blob_map(42, 0), OK_MAP_INFO);
    pattern_write(window(0), 42, PAGE);
    CHECK(pattern_is(window(0), 42, PAGE));
    EXPECT(resource_unref(42), OK_NODATA);
    EXPECT(COMMAND(CTX_DESTROY, 1, 0), OK_NODATA);
    EXPECT(resource_unref(RING), OK_NODATA);
    EXPECT(resource_unref(REPLIES), OK_NODATA);
    EXPECT(COMMAND(CTX_DESTROY, 2, 0), OK_NODATA);
    EXPECT(context_create(1), OK_NODATA);
}

void venus_cases(void)
{
    run_case("fences come back on their timelines", fences_on_timelines);
    run_case("a Venus ring is served through the window", ring_is_served);
    run_case("the ring wraps", ring_wraps);
    run_case("a fence waits for the ring", fence_waits_for_the_ring);
    run_case("a migration carries what is written meanwhile", migration_carries_what_is_written);
    run_case("a hostile ring costs its context only", hostile_ring_costs_its_context_only);
}
