/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "machine.h"

#include <stdarg.h>

#define COM1 0x3f8
#define COM2 0x2f8
/* Registers of a 16550, by offset. */
#define UART_LINE_STATUS 5
#define UART_DATA_READY 0x01
#define UART_SENT 0x20

/* No CPU of today counts less than this in 10 s. */
#define LIMIT_TICKS 40000000000ull

#define PAGE_PRESENT_WRITABLE 0x03ull
#define PAGE_2M 0x80ull
#define SIZE_2M 0x200000ull
#define TABLE_ADDRESS 0x000ffffffffff000ull

struct gate {
    uint16_t offset_low, selector;
    uint8_t stack, type;
    uint16_t offset_middle;
    uint32_t offset_high, reserved;
};

extern uint64_t pml4[512];
extern const uint8_t fault_stubs[];

static struct gate gates[32] __attribute__((aligned(16)));
static uint64_t tables[16][512] __attribute__((aligned(4096)));
static unsigned tables_used;

void *memset(void *to, int byte, size_t len)
{
    void *at = to;
    asm volatile("rep stosb" : "+D"(at), "+c"(len) : "a"(byte) : "memory");
    return to;
}

void *memcpy(void *to, const void *from, size_t len)
{
    void *at = to;
    asm volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(len) : : "memory");
    return to;
}

void halt(void)
{
    for (;;)
        asm volatile("cli; hlt");
}

static void say_byte(char byte)
{
    while (!(inb(COM1 + UART_LINE_STATUS) & UART_SENT))
        ;
    outb(COM1, (uint8_t)byte);
}

static void say_number(uint64_t value, unsigned base)
{
    char digits[20];
    unsigned count = 0;

    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (count)
        say_byte(digits[--count]);
}

void say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%') {
            say_byte(*format);
            continue;
        }
        bool wide = *++format == 'l';
        format += wide;
        if (*format == 's') {
            for (const char *text = va_arg(arguments, const char *); *text; text++)
                say_byte(*text);
        } else {
            uint64_t value = wide ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned);
            say_number(value, *format == 'x' ? 16 : 10);
        }
    }
    va_end(arguments);
}

bool host_byte(char *byte)
{
    if (!(inb(COM2 + UART_LINE_STATUS) & UART_DATA_READY))
        return false;
    *byte = (char)inb(COM2);
    return true;
}

/* Entered from the stubs: the vector, then what the CPU has pushed. */
void fault(const uint64_t *frame, uint64_t cr2) __attribute__((noreturn));
void fault(const uint64_t *frame, uint64_t cr2)
{
    stop("exception %lu, stack %lx %lx %lx, cr2 %lx", frame[0], frame[1], frame[2], frame[3], cr2);
}

void machine_init(void)
{
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) pointer = {sizeof(gates) - 1, (uint64_t)gates};

    for (unsigned vector = 0; vector < 32; vector++) {
        uint64_t stub = (uint64_t)fault_stubs + 16 * vector;
        gates[vector] = (struct gate){
            .offset_low = (uint16_t)stub,
            .selector = 8,
            .type = 0x8e, /* present, 64-bit interrupt gate */
            .offset_middle = (uint16_t)(stub >> 16),
            .offset_high = (uint32_t)(stub >> 32),
        };
    }
    asm volatile("lidt %0" : : "m"(pointer));
}

static uint64_t *table_below(uint64_t *entry)
{
    if (!(*entry & PAGE_PRESENT_WRITABLE)) {
        if (tables_used == sizeof(tables) / sizeof(tables[0]))
            stop("out of page tables");
        *entry = (uint64_t)tables[tables_used++] | PAGE_PRESENT_WRITABLE;
    }
    return (uint64_t *)(*entry & TABLE_ADDRESS);
}

void map_device(uint64_t address, uint64_t len)
{
    for (uint64_t page = address & ~(SIZE_2M - 1); page < address + len; page += SIZE_2M) {
        uint64_t *pdpt = table_below(&pml4[page >> 39 & 511]);
        uint64_t *directory = table_below(&pdpt[page >> 30 & 511]);
        directory[page >> 21 & 511] = page | PAGE_PRESENT_WRITABLE | PAGE_2M;
    }
}

uint64_t ticks(void)
{
    uint32_t low, high;

    asm volatile("pause; rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

bool late(uint64_t *deadline)
{
    uint64_t now = ticks();
    if (!*deadline)
        *deadline = now + LIMIT_TICKS;
    return now > *deadline;
}
