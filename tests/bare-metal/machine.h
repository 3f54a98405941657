/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The PC that the guest runs on: ports, serial lines, memory, time.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void outb(uint16_t port, uint8_t value)
{
    asm volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline void outl(uint16_t port, uint32_t value)
{
    asm volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t inb(uint16_t port)
{
    uint8_t value;
    asm volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline uint32_t inl(uint16_t port)
{
    uint32_t value;
    asm volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

/* What others write is read after this, what they read is written before: x86 keeps the order, the compiler may not. */
static inline void barrier(void)
{
    asm volatile("mfence" : : : "memory");
}

void *memset(void *to, int byte, size_t len);
void *memcpy(void *to, const void *from, size_t len);

/* Sets up exceptions: a fault prints where, and ends the guest. */
void machine_init(void);

/* Prints to the first serial port. Knows %s, %u, %x, %lu, %lx. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes a byte that the host has sent to the second serial port; false if there is none. */
bool host_byte(char *byte);

/* Makes device memory of any address usable at that address. */
void map_device(uint64_t address, uint64_t len);

/* The time-stamp counter: some 2 to 5 thousand million a second. */
uint64_t ticks(void);

/* A limit for waiting: `while (!there && !late(&deadline))`. 10 s or more, by the time-stamp counter; start from 0. */
bool late(uint64_t *deadline);

/* Stops for good. */
void halt(void) __attribute__((noreturn));

/* The same where the guest can't go on; tells why first. */
#define stop(...)            \
    do {                     \
        say("\nSTOP " __VA_ARGS__); \
        say("\n");           \
        halt();              \
    } while (0)

#endif
