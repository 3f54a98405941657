/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu.h"

static bool failed;
static unsigned passes, failures;
static const char *case_name;

uint32_t request_fill(unsigned slot, uint32_t kind, uint32_t context, const uint32_t *words, unsigned count)
{
    struct request *request = &requests[QUEUE_CONTROL][slot];

    memset(request->words, 0, HEADER_LEN);
    request->words[0] = kind;
    request->words[4] = context;
    memcpy(request->words + HEADER_WORDS, words, 4 * count);
    return HEADER_LEN + 4 * count;
}

void request_fence(unsigned slot, uint64_t fence, uint8_t timeline)
{
    struct request *request = &requests[QUEUE_CONTROL][slot];

    request->words[1] = FLAG_FENCE | FLAG_RING_IDX;
    request->words[2] = (uint32_t)fence;
    request->words[3] = (uint32_t)(fence >> 32);
    request->words[5] = timeline;
}

uint32_t command(uint32_t kind, uint32_t context, const uint32_t *words, unsigned count)
{
    request_send(QUEUE_CONTROL, 0, request_fill(0, kind, context, words, count));
    if (!request_wait(QUEUE_CONTROL, 0))
        return 0;
    return requests[QUEUE_CONTROL][0].answer[0];
}

const uint32_t *answer(void)
{
    return requests[QUEUE_CONTROL][0].answer + HEADER_WORDS;
}

uint32_t context_create(uint32_t context)
{
    uint32_t words[2 + 16] = {4, CAPSET_VENUS, 0x65726162 /* "bare" */};

    return command(CTX_CREATE, context, words, sizeof(words) / 4);
}

uint32_t blob_create(uint32_t context, uint32_t resource, uint64_t len)
{
    return COMMAND(RESOURCE_CREATE_BLOB, context, resource, BLOB_HOST3D, BLOB_MAPPABLE, 0, LONG(0), LONG(len));
}

uint32_t blob_map(uint32_t resource, uint64_t offset)
{
    return COMMAND(RESOURCE_MAP_BLOB, 0, resource, 0, LONG(offset));
}

uint32_t blob_unmap(uint32_t resource)
{
    return COMMAND(RESOURCE_UNMAP_BLOB, 0, resource, 0);
}

uint32_t resource_unref(uint32_t resource)
{
    return COMMAND(RESOURCE_UNREF, 0, resource, 0);
}

volatile uint32_t *window(uint64_t offset)
{
    return (volatile uint32_t *)(device.window + offset);
}

uint32_t pattern(uint32_t seed, uint32_t i)
{
    return (i + 1) * 0x9e3779b1u ^ seed * 0x85ebca6bu;
}

void pattern_write(volatile uint32_t *to, uint32_t seed, uint64_t len)
{
    for (uint32_t i = 0; i < len / 4; i++)
        to[i] = pattern(seed, i);
}

bool pattern_is(const volatile uint32_t *from, uint32_t seed, uint64_t len)
{
    for (uint32_t i = 0; i < len / 4; i++)
        if (from[i] != pattern(seed, i))
            return false;
    return true;
}

void case_failed(const char *file, int line, const char *what, uint64_t got, uint64_t wanted)
{
    failed = true;
    say("FAIL %s: %s:%u: %s is 0x%lx, not 0x%lx\n", case_name, file, (unsigned)line, what, got, wanted);
}

void run_case(const char *name, void (*body)(void))
{
    case_name = name;
    failed = false;
    body();
    if (failed) {
        failures++;
    } else {
        passes++;
        say("PASS %s\n", name);
    }
}

bool ask_host(const char *what, uint64_t a, uint64_t b, void (*meanwhile)(void))
{
    char byte;

    say("ASK %s %lu %lu\n", what, a, b);
    while (!host_byte(&byte))
        if (meanwhile)
            meanwhile();
    return byte == 'y';
}

void tell_result(void)
{
    say("END %u %u\n", passes, failures);
}
