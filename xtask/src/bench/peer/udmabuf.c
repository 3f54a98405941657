/*
 * Preloaded into the peer where a machine has no /dev/udmabuf: its driver asks that device for a dma-buf over a memory
 * file before it lets memory be mapped, and gets the memory file itself here. Nobody in a measurement needs more of a
 * dma-buf than that it can be mapped.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static int open_next(const char *name, const char *path, int flags, int mode)
{
    int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, name);

    if (path && !strcmp(path, "/dev/udmabuf"))
        return memfd_create("udmabuf", MFD_CLOEXEC);
    if (!next) {
        errno = ENOSYS;
        return -1;
    }
    return next(path, flags, mode);
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        int mode;                                                                                                      \
                                                                                                                       \
        va_start(list, flags);                                                                                         \
        mode = va_arg(list, int);                                                                                      \
        va_end(list);                                                                                                  \
        return open_next(#name, path, flags, mode);                                                                    \
    }
OPEN(open)
OPEN(open64)

int ioctl(int fd, unsigned long request, ...)
{
    int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
    va_list list;
    void *argument;

    va_start(list, request);
    argument = va_arg(list, void *);
    va_end(list);
    if ((uint32_t)request == (uint32_t)UDMABUF_CREATE) {
        const struct udmabuf_create *create = argument;

        if (create->offset) {
            errno = EINVAL;
            return -1;
        }
        return fcntl((int)create->memfd, F_DUPFD_CLOEXEC, 0);
    }
    if (!next) {
        errno = ENOSYS;
        return -1;
    }
    return next(fd, request, argument);
}
