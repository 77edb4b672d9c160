#pragma once
// Files that are opened once and read at any place from any thread.

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <span>
#include <streambuf>
#include <string>
#include <vector>

namespace flowtrain {

/// Returns a time of the system in nanoseconds.
inline std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// A file of known size, on a disk (Descriptor) or on a server (sampling/remote/remote.h). Methods may be called from
/// any thread; they throw a std::runtime_error that says what went wrong, and the caller adds the file's name.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual std::uint64_t size_bytes() const = 0;
  /// Fills `into` from byte `offset` on; returns the number of bytes, which is smaller only at the file's end.
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

/// An open file or folder, closed on destruction. All methods throw std::system_error with the system's text; the
/// caller adds the file's name.
class Descriptor final : public ByteSource {
 public:
  /// Opens a regular file for reading; its name may be relative to an open folder.
  static Descriptor file(const char* name, const Descriptor* folder = nullptr);
  static Descriptor folder(const char* path);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() override;

  std::uint64_t size_bytes() const override;
  /// Returns when the file was last written: nanoseconds since 1970.
  std::int64_t modified_ns() const;
  /// Returns when the file, its times or its name last changed; programs can set modified_ns(), but not this.
  std::int64_t changed_ns() const;
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  explicit Descriptor(int number) : number_(number) {}
  int number_;
};

/// A part of a file as a standard stream, for files that are too large for memory: reads `size_bytes` bytes from
/// `offset` on, some at a time. A file that cannot be read or ends early is a UserError(data) that begins with `name`.
/// The descriptor must outlive it.
class FileBuffer : public std::streambuf {
 public:
  FileBuffer(const Descriptor& file, std::uint64_t offset, std::uint64_t size_bytes, std::string name);

 protected:
  int_type underflow() override;

 private:
  const Descriptor& file_;
  std::uint64_t next_, end_;
  std::string name_;
  std::vector<char> block_;
};

/// Combines many small reads from front to back, such as those of an archive's headers, into few large ones. It answers
/// reads from a window of `least_bytes`, which moves along and grows to `most_bytes` while they stay close together;
/// bytes between two distant reads are not fetched. One thread.
class ScanWindow final : public ByteSource {
 public:
  /// `source` must outlive this.
  explicit ScanWindow(const ByteSource& source, std::uint64_t least_bytes = 1 << 20, std::uint64_t most_bytes = 4 << 20)
      : source_(source), size_bytes_(source.size_bytes()), least_bytes_(least_bytes), most_bytes_(most_bytes) {}

  std::uint64_t size_bytes() const override { return size_bytes_; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  const ByteSource& source_;
  const std::uint64_t size_bytes_, least_bytes_, most_bytes_;
  mutable std::vector<std::byte> window_;
  mutable std::uint64_t window_at_ = 0, next_bytes_ = 0;
};

/// The size of the largest file that is read as one sample.
inline constexpr std::uint64_t max_sample_bytes = 1 << 30;

/// Replaces `into` by `size_bytes` bytes of the file; allocates only if the vector must grow. Throws std::runtime_error
/// (std::system_error is one) if a file is too large for a sample, ends early or cannot be read.
void read_exactly(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes, std::vector<std::byte>& into);
/// Fills `into` from byte `offset` on. Throws std::runtime_error if the file ends early or cannot be read.
void read_exactly(const ByteSource& file, std::uint64_t offset, std::span<std::byte> into);

/// Writes a file that appears at `path` whole or not at all: under the name `unfinished` with six letters more, then by
/// a rename. Failures leave no file and are no error, but return false. `may_write` (may be null) is asked once the new
/// file, whose descriptor it gets, is open. The file is not synchronised: the reader must detect the results of a power
/// cut.
bool write_cache_file(const std::filesystem::path& path, std::string unfinished,
                      std::initializer_list<std::span<const std::byte>> parts,
                      const std::function<bool(int)>& may_write = nullptr);

}  // namespace flowtrain
