/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What the console shows: 2D images out of guest memory, and blobs out of the window.
 */
#include "gpu.h"

#define WIDTH 64u
#define HEIGHT 48u
#define CURSOR_SIZE 64u
#define FORMAT_B8G8R8A8 1
#define FORMAT_B8G8R8X8 2

static uint32_t pixels[CURSOR_SIZE * CURSOR_SIZE];

static void display_info(void)
{
    EXPECT(COMMAND(GET_DISPLAY_INFO, 0, 0), OK_DISPLAY_INFO);
    EXPECT(requests[QUEUE_CONTROL][0].answer_len, HEADER_LEN + 16 * 24);
    CHECK(answer()[2] && answer()[3]);
    EXPECT(answer()[4], 1); /* enabled */
}

static void edid(void)
{
    EXPECT(COMMAND(GET_EDID, 0, 0, 0), OK_EDID);
    CHECK(answer()[0] >= 128);
    EXPECT(answer()[2], 0xffffff00); /* after length and padding */
    EXPECT(answer()[3], 0x00ffffff);
    EXPECT(COMMAND(GET_EDID, 0, 16, 0), ERR_INVALID_SCANOUT_ID);
}

static void image_is_shown(void)
{
    /* Two pieces in the wrong order, so that the table is what counts. */
    uint32_t first = WIDTH * (HEIGHT / 2 + 1) + 5, rest = WIDTH * HEIGHT - first;

    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i < first ? rest + i : i - first] = pattern(30, i);
    EXPECT(COMMAND(RESOURCE_CREATE_2D, 0, 30, FORMAT_B8G8R8X8, WIDTH, HEIGHT), OK_NODATA);
    EXPECT(COMMAND(RESOURCE_ATTACH_BACKING, 0, 30, 2, LONG(pixels + rest), 4 * first, 0, LONG(pixels), 4 * rest, 0),
           OK_NODATA);
    EXPECT(COMMAND(TRANSFER_TO_HOST_2D, 0, 0, 0, WIDTH, HEIGHT, LONG(0), 30, 0), OK_NODATA);
    EXPECT(COMMAND(SET_SCANOUT, 0, 0, 0, WIDTH, HEIGHT, 0, 30), OK_NODATA);
    EXPECT(COMMAND(RESOURCE_FLUSH, 0, 0, 0, WIDTH, HEIGHT, 30, 0), OK_NODATA);
    CHECK(ask_host("picture", WIDTH, 30, NULL));
}

static void blob_is_shown(void)
{
    EXPECT(blob_create(1, 31, 4 * WIDTH * HEIGHT), OK_NODATA);
    EXPECT(blob_map(31, 3 * PAGE), OK_MAP_INFO);
    pattern_write(window(3 * PAGE), 31, 4 * WIDTH * HEIGHT);
    EXPECT(COMMAND(SET_SCANOUT_BLOB, 0, 0, 0, WIDTH, HEIGHT, 0, 31, WIDTH, HEIGHT, FORMAT_B8G8R8X8, 0, 4 * WIDTH, 0, 0,
                   0, 0, 0, 0, 0),
           OK_NODATA);
    EXPECT(COMMAND(RESOURCE_FLUSH, 0, 0, 0, WIDTH, HEIGHT, 31, 0), OK_NODATA);
    CHECK(ask_host("picture", WIDTH, 31, NULL));
    /* Only what is flushed must be shown. */
    pattern_write(window(3 * PAGE), 32, 4 * WIDTH * HEIGHT);
    EXPECT(COMMAND(RESOURCE_FLUSH, 0, 0, 0, WIDTH, HEIGHT, 31, 0), OK_NODATA);
    CHECK(ask_host("picture", WIDTH, 32, NULL));
    EXPECT(COMMAND(SET_SCANOUT, 0, 0, 0, 0, 0, 0, 0), OK_NODATA);
    EXPECT(resource_unref(30), OK_NODATA);
    EXPECT(resource_unref(31), OK_NODATA);
}

static uint32_t cursor(uint32_t kind, uint32_t scanout, uint32_t resource)
{
    struct request *request = &requests[QUEUE_CURSOR][0];
    /* Header, scanout, x, y, resource, hot spot. */
    uint32_t words[] = {kind, 0, 0, 0, 0, 0, scanout, 20, 10, 0, resource, 1, 1, 0};

    memcpy(request->words, words, sizeof(words));
    request_send(QUEUE_CURSOR, 0, sizeof(words));
    return request_wait(QUEUE_CURSOR, 0) ? request->answer[0] : 0;
}

static void cursor_queue(void)
{
    EXPECT(COMMAND(RESOURCE_CREATE_2D, 0, 32, FORMAT_B8G8R8A8, CURSOR_SIZE, CURSOR_SIZE), OK_NODATA);
    EXPECT(COMMAND(RESOURCE_ATTACH_BACKING, 0, 32, 1, LONG(pixels), sizeof(pixels), 0), OK_NODATA);
    EXPECT(COMMAND(TRANSFER_TO_HOST_2D, 0, 0, 0, CURSOR_SIZE, CURSOR_SIZE, LONG(0), 32, 0), OK_NODATA);
    EXPECT(cursor(UPDATE_CURSOR, 0, 32), OK_NODATA);
    EXPECT(cursor(MOVE_CURSOR, 0, 0), OK_NODATA);
    EXPECT(cursor(MOVE_CURSOR, 16, 0), ERR_INVALID_SCANOUT_ID);
    EXPECT(cursor(UPDATE_CURSOR, 0, 99), ERR_INVALID_RESOURCE_ID);
    EXPECT(cursor(GET_DISPLAY_INFO, 0, 0), ERR_UNSPEC);
    EXPECT(cursor(UPDATE_CURSOR, 0, 0), OK_NODATA);
    EXPECT(resource_unref(32), OK_NODATA);
}

void display_cases(void)
{
    run_case("the display tells its size", display_info);
    run_case("the display has an EDID", edid);
    run_case("a 2D image is shown", image_is_shown);
    run_case("a blob is shown", blob_is_shown);
    run_case("the cursor queue answers", cursor_queue);
}
