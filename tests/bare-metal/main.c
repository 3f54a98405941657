/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A guest that is nothing but a test of the device: no firmware service, no interrupts, no kernel. Some hosts' KVM cannot
 * run a stock kernel, but runs this.
 *
 * It prints a line a case: "PASS name" or "FAIL name: why"; "ASK what a b" when the host has to do or to check something,
 * which it answers with a byte on the second serial port, y or n; "STOP why" when it can't go on, else at the end
 * "END passed failed".
 */
#include "gpu.h"

/* Offsets in the device's configuration (5.7.4). */
enum { CONFIG_SCANOUTS = 8, CONFIG_CAPSETS = 12 };

void guest_main(void);

static const char *start(void)
{
    const char *missing = device_find(VIRTIO_GPU_ID);

    if (!missing && !device.window_len)
        missing = "no host-visible window";
    return missing ? missing : device_start(FEATURES);
}

static void device_is_there(void)
{
    EXPECT(device.features, FEATURES);
    CHECK(device_config(CONFIG_SCANOUTS) >= 1);
    EXPECT(device_config(CONFIG_CAPSETS), 1);
}

static void capset(void)
{
    EXPECT(COMMAND(GET_CAPSET_INFO, 0, 0, 0), OK_CAPSET_INFO);
    EXPECT(answer()[0], CAPSET_VENUS);
    uint32_t len = answer()[2];
    CHECK(len >= 4 && len <= 1024);
    EXPECT(COMMAND(GET_CAPSET, 0, CAPSET_VENUS, 0), OK_CAPSET);
    EXPECT(requests[QUEUE_CONTROL][0].answer_len, HEADER_LEN + len);
    EXPECT(answer()[0], 1); /* the version of Venus' wire format */
}

static void contexts(void)
{
    EXPECT(context_create(1), OK_NODATA);
    EXPECT(context_create(2), OK_NODATA);
    EXPECT(context_create(2), ERR_INVALID_CONTEXT_ID);
    EXPECT(COMMAND(CTX_DESTROY, 2, 0), OK_NODATA);
    EXPECT(COMMAND(CTX_DESTROY, 2, 0), ERR_INVALID_CONTEXT_ID);
}

/* What was there before a reset is gone, and all works anew. */
static void reset(void)
{
    EXPECT(blob_create(1, 90, PAGE), OK_NODATA);
    EXPECT(blob_map(90, 0), OK_MAP_INFO);
    pattern_write(window(0), 90, PAGE);
    CHECK(device_reset());
    CHECK(!pattern_is(window(0), 90, PAGE));
    CHECK(!device_start(FEATURES));
    EXPECT(blob_map(90, 0), ERR_INVALID_RESOURCE_ID);
    EXPECT(blob_create(1, 90, PAGE), ERR_INVALID_CONTEXT_ID);
    EXPECT(context_create(1), OK_NODATA);
    EXPECT(blob_create(1, 90, PAGE), OK_NODATA);
    EXPECT(blob_map(90, PAGE), OK_MAP_INFO);
    CHECK(!pattern_is(window(PAGE), 90, PAGE));
    pattern_write(window(PAGE), 91, PAGE);
    CHECK(pattern_is(window(PAGE), 91, PAGE));
    EXPECT(resource_unref(90), OK_NODATA);
}

void guest_main(void)
{
    machine_init();
    say("UP\n");
    const char *missing = start();
    if (missing)
        stop("%s", missing);
    say("NOTE window at 0x%lx, 0x%lx bytes\n", device.window, device.window_len);
    run_case("the device has every feature and a capset", device_is_there);
    run_case("capset is Venus", capset);
    run_case("contexts come and go", contexts);
    blob_cases();
    refusal_cases();
    display_cases();
    venus_cases();
    run_case("reset drops everything, maps included", reset);
    tell_result();
    halt();
}
