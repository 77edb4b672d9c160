// Preloaded into the program: its n-th call on a file below a folder fails, or kills it. Faults at call 1, 2, 3 … until
// a run ends without one reach every call there is, after the method of SQLite's test/ioerr.test.
//
//   FAULT_BELOW=/folder FAULT_AT=7 FAULT=KILL|EIO|ENOSPC|EDQUOT|EROFS|EINTR|SHORT
//
// "fault: <call> <path>" on standard error says that it happened.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>
#include <string>
#include <utility>

namespace {

std::atomic<int> calls = 0;

std::string text_of(const char* variable) {
  const char* text = ::getenv(variable);
  return text ? text : "";
}

bool is_below(const char* path) {
  static const std::string folder = text_of("FAULT_BELOW");
  if (folder.empty()) return false;
  if (path[0] == '/') return strncmp(path, folder.c_str(), folder.size()) == 0;
  char current[4096];
  if (!::getcwd(current, sizeof current)) return false;
  return (std::string(current) + "/" + path).compare(0, folder.size(), folder) == 0;
}

bool is_below(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return path[0] == '/' && is_below(path);
}

// The errno of the fault, 0 for a short write, -1 for no fault at this call.
int fault_at(const char* call) {
  static const int wanted = ::atoi(text_of("FAULT_AT").c_str());
  if (calls.fetch_add(1) + 1 != wanted) return -1;
  static const std::string kind = text_of("FAULT");
  ::dprintf(2, "fault: %s %s\n", call, kind.c_str());
  if (kind == "KILL") ::kill(::getpid(), SIGKILL);
  for (auto& [name, number] : {std::pair{"EIO", EIO},
                               {"ENOSPC", ENOSPC},
                               {"EDQUOT", EDQUOT},
                               {"EROFS", EROFS},
                               {"EINTR", EINTR},
                               {"SHORT", 0}})
    if (kind == name) return number;
  ::abort();
}

bool kills() {
  static const bool answer = text_of("FAULT") == "KILL";
  return answer;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool fails(const char* call) {
  const int error = fault_at(call);
  if (error <= 0) return false;
  errno = error;
  return true;
}

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0; }

}  // namespace

#define FLOWTRAIN_CALL(result, name, parameters, arguments, subject) \
  extern "C" result name parameters {                                \
    static auto* const real = next<result parameters>(#name);        \
    return is_below(subject) && fails(#name) ? -1 : real arguments;  \
  }

#define FLOWTRAIN_READ(result, name, parameters, arguments, subject)            \
  extern "C" result name parameters {                                           \
    static auto* const real = next<result parameters>(#name);                   \
    return !kills() && is_below(subject) && fails(#name) ? -1 : real arguments; \
  }

FLOWTRAIN_CALL(int, fsync, (int file), (file), file)
FLOWTRAIN_CALL(int, fdatasync, (int file), (file), file)
FLOWTRAIN_CALL(int, mkdir, (const char* path, mode_t mode), (path, mode), path)
FLOWTRAIN_CALL(int, rmdir, (const char* path), (path), path)
FLOWTRAIN_CALL(int, unlink, (const char* path), (path), path)
FLOWTRAIN_CALL(int, symlink, (const char* target, const char* path), (target, path), path)
FLOWTRAIN_CALL(int, rename, (const char* from, const char* to), (from, to), to)
FLOWTRAIN_CALL(int, renameat2, (int a, const char* from, int b, const char* to, unsigned flags),
               (a, from, b, to, flags), to)
FLOWTRAIN_CALL(int, ftruncate, (int file, off_t size), (file, size), file)

extern "C" ssize_t write(int file, const void* bytes, size_t count) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  if (!is_below(file)) return real(file, bytes, count);
  const int error = fault_at("write");
  if (error > 0) {
    errno = error;
    return -1;
  }
  return real(file, bytes, error == 0 && count > 1 ? count / 2 : count);
}

// Reads change nothing: a kill there is one at the call before.
FLOWTRAIN_READ(ssize_t, read, (int file, void* to, size_t count), (file, to, count), file)
FLOWTRAIN_READ(ssize_t, pread, (int file, void* to, size_t count, off_t at), (file, to, count, at), file)
FLOWTRAIN_READ(ssize_t, pread64, (int file, void* to, size_t count, off64_t at), (file, to, count, at), file)

extern "C" int open(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return writes(flags) && is_below(path) && fails("open") ? -1 : real(path, flags, mode);
}

extern "C" int open64(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open64");
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return writes(flags) && is_below(path) && fails("open64") ? -1 : real(path, flags, mode);
}
