/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "virtio.h"

#define PCI_ADDRESS 0xcf8
#define PCI_DATA 0xcfc
#define PCI_COMMAND 0x04
#define PCI_COMMAND_MEMORY_MASTER 0x06
#define PCI_HEADER_TYPE 0x0c
#define PCI_BAR 0x10
#define PCI_BUSES 0x18
#define PCI_CAPABILITIES 0x34
#define PCI_CAPABILITY_VENDOR 0x09

/* A modern device: vendor, and 0x1040 + its id (4.1.2). */
#define VIRTIO_VENDOR 0x1af4u
#define VIRTIO_MODERN 0x1040u

/* Kinds of capability (4.1.4). */
enum { CAP_COMMON = 1, CAP_NOTIFY = 2, CAP_DEVICE = 4, CAP_SHARED_MEMORY = 8 };
#define WINDOW_ID 1

/* Offsets in the common configuration (4.1.4.3). */
enum {
    DEVICE_FEATURE_SELECT = 0,
    DEVICE_FEATURE = 4,
    DRIVER_FEATURE_SELECT = 8,
    DRIVER_FEATURE = 12,
    NUM_QUEUES = 18,
    DEVICE_STATUS = 20,
    QUEUE_SELECT = 22,
    QUEUE_SIZE = 24,
    QUEUE_ENABLE = 28,
    QUEUE_NOTIFY_OFF = 30,
    QUEUE_DESC = 32,
    QUEUE_DRIVER = 40,
    QUEUE_DEVICE = 48,
};

enum { STATUS_ACKNOWLEDGE = 1, STATUS_DRIVER = 2, STATUS_DRIVER_OK = 4, STATUS_FEATURES_OK = 8 };

/* Split virtqueues (2.7). */
enum { DESC_NEXT = 1, DESC_WRITE = 2, AVAIL_NO_INTERRUPT = 1 };

struct queue {
    struct {
        uint64_t address;
        uint32_t len;
        uint16_t flags, next;
    } desc[QUEUE_LEN] __attribute__((aligned(16)));
    struct {
        uint16_t flags, index, ring[QUEUE_LEN];
    } avail;
    struct {
        uint16_t flags, index;
        struct {
            uint32_t id, len;
        } ring[QUEUE_LEN];
    } used __attribute__((aligned(4)));
    uint16_t used_seen;
    volatile uint16_t *doorbell;
};

struct device device;
struct request requests[QUEUES][SLOTS];
static volatile struct queue queues[QUEUES];

static uint8_t get8(volatile uint8_t *at)
{
    return *at;
}

static uint16_t get16(volatile uint8_t *at)
{
    return *(volatile uint16_t *)at;
}

static uint32_t get32(volatile uint8_t *at)
{
    return *(volatile uint32_t *)at;
}

static void put16(volatile uint8_t *at, uint16_t value)
{
    *(volatile uint16_t *)at = value;
}

static void put32(volatile uint8_t *at, uint32_t value)
{
    *(volatile uint32_t *)at = value;
}

static void put64(volatile uint8_t *at, const volatile void *address)
{
    put32(at, (uint32_t)(uint64_t)address);
    put32(at + 4, (uint32_t)((uint64_t)address >> 32));
}

static uint32_t pci_read(uint32_t function, uint32_t offset)
{
    outl(PCI_ADDRESS, 0x80000000u | function << 8 | (offset & 0xfc));
    return inl(PCI_DATA);
}

static void pci_write(uint32_t function, uint32_t offset, uint32_t value)
{
    outl(PCI_ADDRESS, 0x80000000u | function << 8 | offset);
    outl(PCI_DATA, value);
}

static uint8_t pci_read8(uint32_t function, uint32_t offset)
{
    return (uint8_t)(pci_read(function, offset) >> (offset & 3) * 8);
}

/* Looks for vendor and device (as in register 0) on a bus and on those behind it; 0 for none: there is the host bridge. */
static uint32_t pci_find(uint32_t bus, uint32_t wanted)
{
    for (uint32_t at = 0; at < 256; at++) {
        uint32_t function = bus << 8 | at;
        uint32_t id = pci_read(function, 0);
        if (id == wanted)
            return function;
        if (id == 0xffffffff) {
            at |= at & 7 ? 0 : 7; /* there are no others of this slot */
            continue;
        }
        uint32_t header = pci_read(function, PCI_HEADER_TYPE) >> 16 & 0xff;
        uint32_t behind = pci_read(function, PCI_BUSES) >> 8 & 0xff;
        if ((header & 0x7f) == 1 && behind > bus) {
            uint32_t found = pci_find(behind, wanted);
            if (found)
                return found;
        }
        if (!(at & 7) && !(header & 0x80))
            at |= 7;
    }
    return 0;
}

static uint64_t pci_bar(uint32_t function, unsigned bar)
{
    uint32_t low = pci_read(function, PCI_BAR + 4 * bar);
    uint64_t high = (low & 6) == 4 ? pci_read(function, PCI_BAR + 4 * bar + 4) : 0;
    return high << 32 | (low & ~15u);
}

const char *device_find(uint16_t device_id)
{
    uint32_t function = pci_find(0, VIRTIO_VENDOR | (VIRTIO_MODERN + device_id) << 16);
    if (!function)
        return "no such device";
    pci_write(function, PCI_COMMAND, pci_read(function, PCI_COMMAND) | PCI_COMMAND_MEMORY_MASTER);
    uint8_t at = pci_read8(function, PCI_CAPABILITIES);
    for (unsigned count = 0; at && count < 48; count++, at = pci_read8(function, at + 1)) {
        if (pci_read8(function, at) != PCI_CAPABILITY_VENDOR)
            continue;
        uint8_t kind = pci_read8(function, at + 3);
        uint8_t bar = pci_read8(function, at + 4);
        if (bar > 5)
            continue;
        uint64_t offset = pci_read(function, at + 8);
        uint64_t len = pci_read(function, at + 12);
        if (kind == CAP_SHARED_MEMORY) {
            offset |= (uint64_t)pci_read(function, at + 16) << 32;
            len |= (uint64_t)pci_read(function, at + 20) << 32;
        }
        uint64_t address = pci_bar(function, bar) + offset;
        if (kind == CAP_SHARED_MEMORY && pci_read8(function, at + 5) == WINDOW_ID) {
            device.window = address;
            device.window_len = len;
        } else if (kind == CAP_COMMON) {
            device.common = (volatile uint8_t *)address;
        } else if (kind == CAP_NOTIFY) {
            device.notify = (volatile uint8_t *)address;
            device.notify_multiplier = pci_read(function, at + 16);
        } else if (kind == CAP_DEVICE) {
            device.config = (volatile uint8_t *)address;
        } else {
            continue;
        }
        map_device(address, len);
    }
    return device.common && device.notify && device.config ? NULL : "a capability is missing";
}

bool device_reset(void)
{
    uint64_t deadline = 0;

    device.common[DEVICE_STATUS] = 0;
    while (get8(device.common + DEVICE_STATUS))
        if (late(&deadline))
            return false;
    return true;
}

static bool queue_start(uint16_t index)
{
    volatile struct queue *queue = &queues[index];

    put16(device.common + QUEUE_SELECT, index);
    if (get16(device.common + QUEUE_SIZE) < QUEUE_LEN)
        return false;
    memset((void *)queue, 0, sizeof(*queue));
    queue->avail.flags = AVAIL_NO_INTERRUPT;
    put16(device.common + QUEUE_SIZE, QUEUE_LEN);
    put64(device.common + QUEUE_DESC, &queue->desc);
    put64(device.common + QUEUE_DRIVER, &queue->avail);
    put64(device.common + QUEUE_DEVICE, &queue->used);
    uint32_t doorbell = get16(device.common + QUEUE_NOTIFY_OFF) * device.notify_multiplier;
    queue->doorbell = (volatile uint16_t *)(device.notify + doorbell);
    put16(device.common + QUEUE_ENABLE, 1);
    return true;
}

const char *device_start(uint64_t wanted)
{
    uint8_t status = STATUS_ACKNOWLEDGE | STATUS_DRIVER;

    if (!device_reset())
        return "the reset does not end";
    device.common[DEVICE_STATUS] = status;
    device.features = 0;
    for (uint32_t half = 0; half < 2; half++) {
        put32(device.common + DEVICE_FEATURE_SELECT, half);
        uint64_t offered = (uint64_t)get32(device.common + DEVICE_FEATURE) << 32 * half;
        device.features |= offered & wanted;
        put32(device.common + DRIVER_FEATURE_SELECT, half);
        put32(device.common + DRIVER_FEATURE, (uint32_t)(device.features >> 32 * half));
    }
    status |= STATUS_FEATURES_OK;
    device.common[DEVICE_STATUS] = status;
    if (!(get8(device.common + DEVICE_STATUS) & STATUS_FEATURES_OK))
        return "the features are refused";
    if (get16(device.common + NUM_QUEUES) < QUEUES)
        return "a queue is missing";
    for (uint16_t index = 0; index < QUEUES; index++)
        if (!queue_start(index))
            return "a queue is too short";
    device.common[DEVICE_STATUS] = status | STATUS_DRIVER_OK;
    return NULL;
}

uint32_t device_config(uint32_t offset)
{
    return get32(device.config + offset);
}

void request_send(unsigned index, unsigned slot, uint32_t len)
{
    volatile struct queue *queue = &queues[index];
    struct request *request = &requests[index][slot];
    uint16_t head = (uint16_t)(2 * slot);

    request->done = false;
    memset(request->answer, 0, sizeof(request->answer));
    queue->desc[head].address = (uint64_t)request->words;
    queue->desc[head].len = len;
    queue->desc[head].flags = DESC_NEXT;
    queue->desc[head].next = head + 1;
    queue->desc[head + 1].address = (uint64_t)request->answer;
    queue->desc[head + 1].len = sizeof(request->answer);
    queue->desc[head + 1].flags = DESC_WRITE;
    queue->avail.ring[queue->avail.index % QUEUE_LEN] = head;
    barrier();
    queue->avail.index++;
    barrier();
    *queue->doorbell = (uint16_t)index;
}

bool request_done(unsigned index, unsigned slot)
{
    volatile struct queue *queue = &queues[index];

    while (queue->used_seen != queue->used.index) {
        barrier();
        uint32_t at = queue->used_seen++ % QUEUE_LEN;
        uint32_t head = queue->used.ring[at].id;
        if (head % 2 || head >= QUEUE_LEN)
            stop("queue %u uses %u, which is no head", index, head);
        struct request *request = &requests[index][head / 2];
        request->answer_len = queue->used.ring[at].len;
        request->done = true;
    }
    return requests[index][slot].done;
}

void (*while_waiting)(void);

bool request_wait(unsigned index, unsigned slot)
{
    uint64_t deadline = 0;

    while (!request_done(index, slot)) {
        if (while_waiting)
            while_waiting();
        if (late(&deadline))
            return false;
    }
    return true;
}
