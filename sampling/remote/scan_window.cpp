#include "sampling/remote/scan_window.h"

#include <algorithm>
#include <cstring>

namespace flowtrain {
namespace {

constexpr std::uint64_t least_bytes = 1 << 20, most_bytes = 4 << 20;

}  // namespace

std::size_t ScanWindow::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset >= size_bytes()) return 0;
  into = into.first(std::min<std::uint64_t>(into.size(), size_bytes() - offset));
  if (into.size() > most_bytes) return source_.read_at(offset, into);
  const auto window_end = window_at_ + window_.size();
  if (offset < window_at_ || offset + into.size() > window_end) {
    const bool close = offset >= window_at_ && offset < window_end + least_bytes;
    next_bytes_ = close ? std::clamp(2 * next_bytes_, least_bytes, most_bytes) : least_bytes;
    window_.resize(std::min(std::max<std::uint64_t>(next_bytes_, into.size()), size_bytes() - offset));
    window_at_ = offset;
    window_.resize(source_.read_at(offset, window_));
  }
  const auto there = std::min(into.size(), window_.size());  // the window starts at or before the offset
  const auto part = std::min<std::size_t>(there, window_at_ + window_.size() - offset);
  std::memcpy(into.data(), window_.data() + (offset - window_at_), part);
  return part;
}

}  // namespace flowtrain
