/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Blobs and the window: each map is a slot of memory to the hypervisor.
 */
#include "gpu.h"

#define LEN (16 * PAGE)
/* Maps at once in the case of many. */
#define MANY 64u
#define MANY_FIRST 100u

static void map_holds_what_is_written(void)
{
    EXPECT(blob_create(1, 10, LEN), OK_NODATA);
    EXPECT(blob_map(10, 0), OK_MAP_INFO);
    EXPECT(answer()[0] & 15, 1); /* cached */
    for (uint32_t i = 0; i < LEN / 4; i++)
        EXPECT(window(0)[i], 0);
    pattern_write(window(0), 10, LEN);
    CHECK(pattern_is(window(0), 10, LEN));
}

/* The host looks for the pattern in the arena and puts another in its place. */
static void arena_is_shared_with_the_host(void)
{
    CHECK(ask_host("arena", 10, LEN, NULL));
    CHECK(pattern_is(window(0), ~10u, LEN));
    pattern_write(window(0), 10, LEN);
}

static void map_moves_with_its_content(void)
{
    EXPECT(blob_unmap(10), OK_NODATA);
    CHECK(!pattern_is(window(0), 10, LEN));
    /* What is written to nowhere goes nowhere. Not much of it: each word is an exit to the hypervisor. */
    pattern_write(window(0), 11, 64);
    CHECK(!pattern_is(window(0), 11, 64));
    EXPECT(blob_map(10, 5 * PAGE), OK_MAP_INFO);
    CHECK(pattern_is(window(5 * PAGE), 10, LEN));
    EXPECT(blob_unmap(10), OK_NODATA);
    uint64_t last = device.window_len - LEN;
    EXPECT(blob_map(10, last), OK_MAP_INFO);
    CHECK(pattern_is(window(last), 10, LEN));
}

static void neighbours_hold_their_own(void)
{
    EXPECT(blob_unmap(10), OK_NODATA);
    EXPECT(blob_create(1, 11, PAGE), OK_NODATA);
    /* In the window the later one comes first, so that neighbours there are none in the arena. */
    EXPECT(blob_map(11, 0), OK_MAP_INFO);
    EXPECT(blob_map(10, PAGE), OK_MAP_INFO);
    pattern_write(window(0), 11, PAGE);
    CHECK(pattern_is(window(PAGE), 10, LEN));
    pattern_write(window(PAGE), 12, LEN);
    CHECK(pattern_is(window(0), 11, PAGE));
    CHECK(pattern_is(window(PAGE), 12, LEN));
    EXPECT(blob_unmap(11), OK_NODATA);
    CHECK(pattern_is(window(PAGE), 12, LEN));
}

static void new_blobs_are_zero(void)
{
    EXPECT(resource_unref(10), OK_NODATA); /* it is still mapped */
    CHECK(!pattern_is(window(PAGE), 12, LEN));
    EXPECT(resource_unref(11), OK_NODATA);
    EXPECT(blob_create(1, 10, 2 * LEN), OK_NODATA);
    EXPECT(blob_map(10, 0), OK_MAP_INFO);
    for (uint32_t i = 0; i < 2 * LEN / 4; i++)
        EXPECT(window(0)[i], 0);
    EXPECT(resource_unref(10), OK_NODATA);
}

/* Two pages each, the second one a gap, from the window's end down. */
static volatile uint32_t *many_at(uint32_t i)
{
    return window(device.window_len - 2 * PAGE * (i + 1));
}

static void many_maps_at_once(void)
{
    for (uint32_t i = 0; i < MANY; i++) {
        EXPECT(blob_create(1, MANY_FIRST + i, PAGE), OK_NODATA);
        EXPECT(blob_map(MANY_FIRST + i, device.window_len - 2 * PAGE * (i + 1)), OK_MAP_INFO);
        pattern_write(many_at(i), MANY_FIRST + i, PAGE);
    }
    for (uint32_t i = 0; i < MANY; i++)
        CHECK(pattern_is(many_at(i), MANY_FIRST + i, PAGE));
    for (uint32_t i = 0; i < MANY; i += 2)
        EXPECT(blob_unmap(MANY_FIRST + i), OK_NODATA);
    for (uint32_t i = 0; i < MANY; i++)
        EXPECT(pattern_is(many_at(i), MANY_FIRST + i, PAGE), i % 2);
    for (uint32_t i = 0; i < MANY; i++)
        EXPECT(resource_unref(MANY_FIRST + i), OK_NODATA);
}

/* The local APIC's version, which never changes. */
#define APIC_VERSION ((volatile uint32_t *)0xfee00030)
/* Maps, and as many unmaps, while another device is looked at; fewer once so many ticks are over (KVM is slow here). */
#define CHANGES 4000u
#define CHANGES_TICKS 10000000000ull

static uint32_t apic_version, apic_looks, apic_wrong;

/* Not back to back: who waits for the hypervisor's lock sees nothing of a change that is made under it. */
static void look_at_the_apic(void)
{
    for (volatile uint32_t i = 0; i < 37 * apic_looks % 3001; i++)
        ;
    apic_looks++;
    apic_wrong += *APIC_VERSION != apic_version;
}

/* A change of the memory map must not lead an access to another device astray, not even for an instant. */
static void other_devices_are_where_they_were(void)
{
    apic_version = *APIC_VERSION;
    while_waiting = look_at_the_apic;
    EXPECT(blob_create(1, 10, PAGE), OK_NODATA);
    uint64_t end = ticks() + CHANGES_TICKS;
    for (uint32_t i = 0; i < CHANGES && ticks() < end; i++) {
        EXPECT(blob_map(10, i % 16 * PAGE), OK_MAP_INFO);
        EXPECT(blob_unmap(10), OK_NODATA);
    }
    EXPECT(resource_unref(10), OK_NODATA);
    while_waiting = NULL;
    CHECK(apic_looks > 0);
    EXPECT(apic_wrong, 0);
}

void blob_cases(void)
{
    run_case("a map holds what is written", map_holds_what_is_written);
    run_case("what is written arrives in the arena, and back", arena_is_shared_with_the_host);
    run_case("a blob moves with its content", map_moves_with_its_content);
    run_case("two blobs side by side hold their own", neighbours_hold_their_own);
    run_case("a new blob reads as zeros", new_blobs_are_zero);
    run_case("many maps at once hold their own", many_maps_at_once);
    run_case("other devices are where they were while maps come and go", other_devices_are_where_they_were);
}
