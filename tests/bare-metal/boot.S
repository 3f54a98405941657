/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The way into 64-bit code. The loader enters by PVH (Xen's "x86/HVM direct boot ABI"): 32-bit protected mode, flat
 * segments, no paging, interrupts off.
 */

    .section .note.pvh, "a", @note
    .balign 4
    .long 4, 8, 18                  /* name's and value's length, XEN_ELFNOTE_PHYS32_ENTRY */
    .asciz "Xen"
    .quad start

    .text
    .code32
    .globl start
start:
    cli
    cld
    mov $stack_end, %esp

    /* An identity map of the first 4 GiB, in pages of 2 MiB. The tables lie in .bss, which is zero. */
    mov $page_directories, %edi
    mov $0x83, %eax                 /* present, writable, 2 MiB */
    mov $2048, %ecx
1:  mov %eax, (%edi)
    add $0x200000, %eax
    add $8, %edi
    loop 1b
    mov $page_directories + 3, %eax
    mov $pdpt, %edi
    mov $4, %ecx
2:  mov %eax, (%edi)
    add $4096, %eax
    add $8, %edi
    loop 2b
    movl $pdpt + 3, pml4

    mov %cr4, %eax
    or $0x20, %eax                  /* PAE */
    mov %eax, %cr4
    mov $pml4, %eax
    mov %eax, %cr3
    mov $0xc0000080, %ecx           /* EFER */
    rdmsr
    or $0x100, %eax                 /* LME */
    wrmsr
    mov %cr0, %eax
    or $0x80000001, %eax            /* paging, protection */
    mov %eax, %cr0
    lgdt gdt_pointer
    ljmp $8, $start64

    .code64
start64:
    mov $16, %eax
    mov %eax, %ds
    mov %eax, %es
    mov %eax, %ss
    call guest_main
3:  hlt
    jmp 3b

/* A stub of 16 bytes for each exception; see fault(). */
    .balign 16
    .globl fault_stubs
fault_stubs:
vector = 0
    .rept 32
    .balign 16
    push $vector
    jmp fault_common
vector = vector + 1
    .endr
fault_common:
    mov %rsp, %rdi
    mov %cr2, %rsi
    and $-16, %rsp
    call fault

    .section .rodata
    .balign 8
gdt:
    .quad 0
    .quad 0x00af9b000000ffff        /* 8: 64-bit code */
    .quad 0x00cf93000000ffff        /* 16: data */
gdt_pointer:
    .word . - gdt - 1
    .long gdt

    .bss
    .balign 4096
    .globl pml4
pml4:
    .skip 4096
pdpt:
    .skip 4096
page_directories:
    .skip 4 * 4096
    .skip 16384
stack_end:

    .section .note.GNU-stack, "", @progbits
