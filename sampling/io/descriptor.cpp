#include "sampling/io/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

/// The error of what is opened as a file, but has no places to read from.
class NoRegularFile final : public std::error_category {
 public:
  const char* name() const noexcept override { return "file"; }
  std::string message(int) const override { return "it is a pipe or a device, but a regular file is needed"; }
};
const NoRegularFile no_regular_file;

[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

struct stat status_of(int number) {
  struct stat status;
  if (fstat(number, &status) != 0) fail(errno);
  return status;
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto done = ::write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

Descriptor Descriptor::file(const char* name, const Descriptor* folder) {
  // O_NONBLOCK prevents an endless wait for a pipe without a writer. It does not affect regular files.
  Descriptor opened(openat(folder ? folder->number_ : AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (opened.number_ < 0) fail(errno);
  const auto mode = status_of(opened.number_).st_mode;
  if (S_ISDIR(mode)) fail(EISDIR);
  if (!S_ISREG(mode)) throw std::system_error(1, no_regular_file);
  return opened;
}

Descriptor Descriptor::folder(const char* path) {
  Descriptor opened(open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (opened.number_ < 0) fail(errno);
  return opened;
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

std::uint64_t Descriptor::size_bytes() const { return static_cast<std::uint64_t>(status_of(number_).st_size); }

std::int64_t Descriptor::modified_ns() const { return nanoseconds(status_of(number_).st_mtim); }

std::int64_t Descriptor::changed_ns() const { return nanoseconds(status_of(number_).st_ctim); }

std::size_t Descriptor::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const auto got = pread(number_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

FileBuffer::FileBuffer(const Descriptor& file, std::uint64_t offset, std::uint64_t size_bytes, std::string name)
    : file_(file),
      next_(offset),
      end_(offset + size_bytes),
      name_(std::move(name)),
      block_(std::min<std::uint64_t>(1 << 18, size_bytes)) {}

FileBuffer::int_type FileBuffer::underflow() {
  if (next_ == end_) return traits_type::eof();
  const std::span<char> block(block_.data(), std::min<std::uint64_t>(block_.size(), end_ - next_));
  std::size_t got = 0;
  try {
    got = file_.read_at(next_, std::as_writable_bytes(block));
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, name_ + ": " + error.what());
  }
  if (got < block.size()) throw UserError(ExitCode::data, name_ + ": the file ends early: was it cut since?");
  next_ += got;
  setg(block.data(), block.data(), block.data() + got);
  return traits_type::to_int_type(block[0]);
}

std::size_t ScanWindow::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset >= size_bytes_) return 0;
  into = into.first(std::min<std::uint64_t>(into.size(), size_bytes_ - offset));
  if (into.size() > most_bytes_) return source_.read_at(offset, into);
  const auto window_end = window_at_ + window_.size();
  if (offset < window_at_ || offset + into.size() > window_end) {
    const bool close = offset >= window_at_ && offset < window_end + least_bytes_;
    next_bytes_ = close ? std::clamp(2 * next_bytes_, least_bytes_, most_bytes_) : least_bytes_;
    window_.resize(std::min(std::max<std::uint64_t>(next_bytes_, into.size()), size_bytes_ - offset));
    window_at_ = size_bytes_;  // behind every offset: a read that fails leaves no window
    window_.resize(source_.read_at(offset, window_));
    window_at_ = offset;
  }
  const auto there = std::min(into.size(), window_.size());  // the window starts at or before the offset
  const auto part = std::min<std::size_t>(there, window_at_ + window_.size() - offset);
  std::memcpy(into.data(), window_.data() + (offset - window_at_), part);
  return part;
}

void read_exactly(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes,
                  std::vector<std::byte>& into) {
  if (size_bytes > max_sample_bytes)
    throw std::runtime_error(std::to_string(size_bytes) + " bytes are more than a sample may have (1 GiB)");
  into.resize(size_bytes);
  read_exactly(file, offset, std::span(into));
}

void read_exactly(const ByteSource& file, std::uint64_t offset, std::span<std::byte> into) {
  const auto got = file.read_at(offset, into);
  if (got < into.size())
    throw std::runtime_error("the file ends " + std::to_string(into.size() - got) + " bytes early: was it cut since?");
}

bool write_cache_file(const std::filesystem::path& path, std::string unfinished,
                      std::initializer_list<std::span<const std::byte>> parts,
                      const std::function<bool(int)>& may_write) {
  const int file = mkostemp(unfinished.append("XXXXXX").data(), O_CLOEXEC);
  if (file < 0) return false;
  const bool written = (!may_write || may_write(file)) &&
                       std::ranges::all_of(parts, [&](const auto& part) { return write_all(file, part); });
  const bool closed = close(file) == 0;
  if (written && closed && rename(unfinished.c_str(), path.c_str()) == 0) return true;
  unlink(unfinished.c_str());
  return false;
}

}  // namespace flowtrain
