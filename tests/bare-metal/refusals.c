/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What the device must refuse, with which answer (5.7.6.7), and that it serves on afterwards.
 */
#include "gpu.h"

static bool still_serves(void)
{
    bool serves = blob_create(1, 20, PAGE) == OK_NODATA && blob_map(20, PAGE) == OK_MAP_INFO;

    pattern_write(window(PAGE), 20, PAGE);
    serves = serves && pattern_is(window(PAGE), 20, PAGE);
    return resource_unref(20) == OK_NODATA && serves;
}

static void bad_maps(void)
{
    EXPECT(blob_create(1, 21, 4 * PAGE), OK_NODATA);
    EXPECT(blob_create(1, 22, 4 * PAGE), OK_NODATA);
    EXPECT(blob_map(21, 8 * PAGE), OK_MAP_INFO);
    pattern_write(window(8 * PAGE), 21, 4 * PAGE);
    EXPECT(blob_map(21, 16 * PAGE), ERR_INVALID_PARAMETER); /* mapped already */
    EXPECT(blob_map(22, 8 * PAGE), ERR_INVALID_PARAMETER);
    EXPECT(blob_map(22, 5 * PAGE), ERR_INVALID_PARAMETER);
    EXPECT(blob_map(22, 11 * PAGE), ERR_INVALID_PARAMETER);
    EXPECT(blob_map(22, 16 * PAGE + 4), ERR_INVALID_PARAMETER);
    EXPECT(blob_map(22, device.window_len - 3 * PAGE), ERR_INVALID_PARAMETER);
    EXPECT(blob_map(22, device.window_len), ERR_INVALID_PARAMETER);
    EXPECT(blob_map(22, ~0ull << 12), ERR_INVALID_PARAMETER);
    EXPECT(blob_map(99, 0), ERR_INVALID_RESOURCE_ID);
    EXPECT(blob_map(0, 0), ERR_INVALID_RESOURCE_ID);
    EXPECT(blob_unmap(22), ERR_INVALID_PARAMETER);
    EXPECT(blob_unmap(99), ERR_INVALID_RESOURCE_ID);
    CHECK(pattern_is(window(8 * PAGE), 21, 4 * PAGE));
    EXPECT(blob_map(22, 12 * PAGE), OK_MAP_INFO);
    EXPECT(resource_unref(21), OK_NODATA);
    EXPECT(resource_unref(22), OK_NODATA);
    CHECK(still_serves());
}

static void bad_blobs(void)
{
    EXPECT(blob_create(1, 23, 0), ERR_INVALID_PARAMETER);
    EXPECT(blob_create(1, 23, device.window_len + PAGE), ERR_OUT_OF_MEMORY);
    /* One page, to whoever looks at 32 bits only. */
    EXPECT(blob_create(1, 23, (device.window_len | 0xffffffffull) + 1 + PAGE), ERR_OUT_OF_MEMORY);
    EXPECT(blob_create(1, 23, ~0ull), ERR_OUT_OF_MEMORY);
    EXPECT(blob_create(9, 23, PAGE), ERR_INVALID_CONTEXT_ID);
    EXPECT(blob_create(1, 0, PAGE), ERR_INVALID_RESOURCE_ID);
    EXPECT(blob_create(1, 23, PAGE), OK_NODATA);
    EXPECT(blob_create(1, 23, PAGE), ERR_INVALID_RESOURCE_ID);
    EXPECT(resource_unref(23), OK_NODATA);
    EXPECT(resource_unref(23), ERR_INVALID_RESOURCE_ID);
    CHECK(still_serves());
}

static void bad_images(void)
{
    EXPECT(COMMAND(RESOURCE_CREATE_2D, 0, 24, 2, 0, 1), ERR_INVALID_PARAMETER);
    EXPECT(COMMAND(RESOURCE_CREATE_2D, 0, 24, 77, 1, 1), ERR_INVALID_PARAMETER);
    /* 4 · 0x8000 · 0x8001 bytes do not fit in 32 bits. */
    EXPECT(COMMAND(RESOURCE_CREATE_2D, 0, 24, 2, 0x8000, 0x8001), ERR_OUT_OF_MEMORY);
    EXPECT(COMMAND(RESOURCE_CREATE_2D, 0, 24, 2, ~0u, ~0u), ERR_OUT_OF_MEMORY);
    EXPECT(COMMAND(RESOURCE_CREATE_2D, 0, 24, 2, 16, 16), OK_NODATA);
    EXPECT(COMMAND(TRANSFER_TO_HOST_2D, 0, 0, 0, 16, 16, LONG(0), 24, 0), ERR_INVALID_PARAMETER); /* no backing */
    EXPECT(COMMAND(TRANSFER_TO_HOST_2D, 0, 1, 0, 16, 16, LONG(0), 24, 0), ERR_INVALID_PARAMETER);
    EXPECT(COMMAND(SET_SCANOUT, 0, 0, 0, 17, 16, 0, 24), ERR_INVALID_PARAMETER);
    EXPECT(COMMAND(SET_SCANOUT, 0, 0, 0, 16, 16, 16, 24), ERR_INVALID_SCANOUT_ID);
    EXPECT(COMMAND(SET_SCANOUT, 0, 0, 0, 16, 16, 0, 99), ERR_INVALID_RESOURCE_ID);
    EXPECT(COMMAND(RESOURCE_FLUSH, 0, 0, 0, 16, 16, 99, 0), ERR_INVALID_RESOURCE_ID);
    EXPECT(blob_map(24, 0), ERR_INVALID_PARAMETER);
    EXPECT(resource_unref(24), OK_NODATA);
    CHECK(still_serves());
}

static void bad_requests(void)
{
    EXPECT(COMMAND(0x1ff, 0, 0), ERR_UNSPEC);
    EXPECT(COMMAND(GET_CAPSET, 0, 5, 0), ERR_INVALID_PARAMETER);
    EXPECT(COMMAND(GET_CAPSET_INFO, 0, 1, 0), ERR_INVALID_PARAMETER);
    EXPECT(COMMAND(RESOURCE_MAP_BLOB, 0, 1), ERR_INVALID_PARAMETER); /* its offset is missing */
    EXPECT(COMMAND(RESOURCE_ATTACH_BACKING, 0, 1, 1000), ERR_INVALID_PARAMETER);
    EXPECT(COMMAND(SUBMIT_3D, 1, 1u << 19, 0), ERR_INVALID_PARAMETER);
    EXPECT(COMMAND(SUBMIT_3D, 9, 0, 0), ERR_INVALID_CONTEXT_ID);
    /* Not even a header. */
    request_send(QUEUE_CONTROL, 0, 8);
    CHECK(request_wait(QUEUE_CONTROL, 0));
    EXPECT(requests[QUEUE_CONTROL][0].answer[0], ERR_UNSPEC);
    CHECK(still_serves());
}

void refusal_cases(void)
{
    run_case("bad maps are refused", bad_maps);
    run_case("bad blobs are refused", bad_blobs);
    run_case("bad images and scanouts are refused", bad_images);
    run_case("bad requests are refused", bad_requests);
}
