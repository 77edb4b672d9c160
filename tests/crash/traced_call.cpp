#include "tests/crash/traced_call.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>
#include <system_error>

#include "pipeline/base/snapshot/file.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

constexpr int none = -1;

/// Where a call's arguments say which file. A path is relative to the descriptor in `folder`, or to the working folder
/// where there is none; without a path, `folder` is the descriptor of the file itself.
struct Known {
  long number;
  const char* name;
  Action action;
  int folder, path;
  int second_folder = none, second_path = none;
};

constexpr Known known_calls[] = {
    {SYS_openat, "openat", Action::open, 0, 1},
    {SYS_read, "read", Action::read, 0, none},
    {SYS_pread64, "pread64", Action::read, 0, none},
    {SYS_write, "write", Action::write, 0, none},
    {SYS_pwrite64, "pwrite64", Action::write, 0, none},
    {SYS_ftruncate, "ftruncate", Action::resize, 0, none},
    {SYS_fsync, "fsync", Action::sync, 0, none},
    {SYS_fdatasync, "fdatasync", Action::sync, 0, none},
    {SYS_close, "close", Action::close, 0, none},
    {SYS_renameat, "renameat", Action::rename, 0, 1, 2, 3},
    {SYS_renameat2, "renameat2", Action::rename, 0, 1, 2, 3},
    {SYS_linkat, "linkat", Action::link, 0, 1, 2, 3},
    {SYS_symlinkat, "symlinkat", Action::symlink, 1, 2},
    {SYS_unlinkat, "unlinkat", Action::unlink, 0, 1},
    {SYS_mkdirat, "mkdirat", Action::make_folder, 0, 1},
    {SYS_fstat, "fstat", Action::look, 0, none},
    {SYS_newfstatat, "newfstatat", Action::look, 0, 1},
    {SYS_statx, "statx", Action::look, 0, 1},
    {SYS_readlinkat, "readlinkat", Action::look, 0, 1},
    {SYS_getdents64, "getdents64", Action::look, 0, none},
    {SYS_writev, "writev", Action::unmodelled, 0, none},
    {SYS_pwritev, "pwritev", Action::unmodelled, 0, none},
    {SYS_pwritev2, "pwritev2", Action::unmodelled, 0, none},
    {SYS_fallocate, "fallocate", Action::unmodelled, 0, none},
    {SYS_sendfile, "sendfile", Action::unmodelled, 0, none},
    {SYS_copy_file_range, "copy_file_range", Action::unmodelled, 2, none},
    {SYS_truncate, "truncate", Action::unmodelled, none, 0},
#ifdef __x86_64__  // newer machines have only the calls above
    {SYS_open, "open", Action::open, none, 0},
    {SYS_creat, "creat", Action::unmodelled, none, 0},
    {SYS_rename, "rename", Action::rename, none, 0, none, 1},
    {SYS_link, "link", Action::link, none, 0, none, 1},
    {SYS_symlink, "symlink", Action::symlink, none, 1},
    {SYS_unlink, "unlink", Action::unlink, none, 0},
    {SYS_mkdir, "mkdir", Action::make_folder, none, 0},
    {SYS_rmdir, "rmdir", Action::remove_folder, none, 0},
    {SYS_stat, "stat", Action::look, none, 0},
    {SYS_lstat, "lstat", Action::look, none, 0},
    {SYS_readlink, "readlink", Action::look, none, 0},
    {SYS_access, "access", Action::look, none, 0},
#endif
};

std::vector<std::byte> memory_of(pid_t pid, std::uint64_t address, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  const iovec to{data.data(), bytes};
  const iovec from{reinterpret_cast<void*>(address), bytes};
  if (::process_vm_readv(pid, &to, 1, &from, 1, 0) != static_cast<ssize_t>(bytes))
    throw system_error("process " + std::to_string(pid), "process_vm_readv", errno);
  return data;
}

/// The text at `address`. Read page by page: the page after its end need not exist.
std::string text_of(pid_t pid, std::uint64_t address) {
  constexpr std::uint64_t page_bytes = 4096;
  std::string text;
  while (text.size() < PATH_MAX) {
    const auto piece = memory_of(pid, address, page_bytes - address % page_bytes);
    const auto end = std::ranges::find(piece, std::byte{0});
    text.append(reinterpret_cast<const char*>(piece.data()), static_cast<std::size_t>(end - piece.begin()));
    if (end != piece.end()) return text;
    address += piece.size();
  }
  return text;
}

fs::path process_folder(pid_t pid) { return "/proc/" + std::to_string(pid); }

/// The place of an open file; empty for a descriptor that is not open.
fs::path file_of(pid_t pid, int descriptor) {
  std::error_code error;
  if (descriptor == AT_FDCWD) return fs::read_symlink(process_folder(pid) / "cwd", error);
  return fs::read_symlink(process_folder(pid) / "fd" / std::to_string(descriptor), error);
}

/// Where an open file's next byte goes.
std::uint64_t position_of(pid_t pid, int descriptor) {
  std::ifstream info(process_folder(pid) / "fdinfo" / std::to_string(descriptor));
  std::string label;
  std::uint64_t position = 0;
  info >> label >> position;  // "pos:	1234"
  return position;
}

class Arguments {
 public:
  Arguments(pid_t pid, const RawCall& raw) : pid_(pid), raw_(raw) {}

  std::uint64_t number(int index) const { return raw_.arguments[static_cast<std::size_t>(index)]; }
  int descriptor(int index) const { return index == none ? AT_FDCWD : static_cast<int>(number(index)); }
  std::string text(int index) const { return number(index) ? text_of(pid_, number(index)) : std::string(); }
  fs::path file(int folder, int path) const {
    const fs::path name = path == none ? std::string() : text(path);
    if (name.is_absolute()) return name.lexically_normal();
    const auto base = file_of(pid_, descriptor(folder));
    return name.empty() ? base : (base / name).lexically_normal();
  }

 private:
  pid_t pid_;
  const RawCall& raw_;
};

}  // namespace

std::optional<TracedCall> decode_call(pid_t pid, const RawCall& raw) {
  const auto known = std::ranges::find(known_calls, raw.number, &Known::number);
  if (known == std::end(known_calls)) return {};
  const Arguments arguments(pid, raw);
  TracedCall call{known->name, known->action};
  call.path = arguments.file(known->folder, known->path);
  if (known->second_path != none) call.second = arguments.file(known->second_folder, known->second_path);
  switch (call.action) {
    case Action::open: call.flags = arguments.number(known->path + 1); break;
    case Action::rename:
      if (raw.number == SYS_renameat2) call.flags = arguments.number(4);
      break;
    case Action::write:
      call.offset = raw.number == SYS_pwrite64 ? arguments.number(3) : position_of(pid, arguments.descriptor(0));
      call.data = memory_of(pid, arguments.number(1), arguments.number(2));
      break;
    case Action::resize: call.offset = arguments.number(1); break;
    case Action::symlink: call.text = arguments.text(0); break;
    case Action::unlink:
      if (raw.number == SYS_unlinkat && (arguments.number(2) & AT_REMOVEDIR)) call.action = Action::remove_folder;
      break;
    default: break;
  }
  return call;
}

}  // namespace flowtrain
