#include "sampling/io/file_stream.h"

#include <algorithm>
#include <system_error>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::size_t stream_block_bytes = 1 << 18;

}  // namespace

FileBuffer::FileBuffer(const Descriptor& file, std::uint64_t offset, std::uint64_t size_bytes, std::string name)
    : file_(file),
      next_(offset),
      end_(offset + size_bytes),
      name_(std::move(name)),
      block_(std::min<std::uint64_t>(stream_block_bytes, size_bytes)) {}

FileBuffer::int_type FileBuffer::underflow() {
  if (next_ == end_) return traits_type::eof();
  const std::span<char> block(block_.data(), std::min<std::uint64_t>(block_.size(), end_ - next_));
  std::size_t got = 0;
  try {
    got = file_.read_at(next_, std::as_writable_bytes(block));
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, name_ + ": " + error.what());
  }
  if (got < block.size()) throw UserError(ExitCode::data, name_ + ": ends early: was the file cut since?");
  next_ += got;
  setg(block.data(), block.data(), block.data() + got);
  return traits_type::to_int_type(block[0]);
}

}  // namespace flowtrain
