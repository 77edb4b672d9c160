#pragma once
// Memory for large tables that are read at random.

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace flowtrain {

/// An allocator that asks Linux for pages of 2 MiB where a table fills one. A table of many megabytes that is read at
/// random needs more pages of 4 KiB than the processor knows the places of, and then waits for each look-up twice. The
/// system may decline: the memory is the same then.
template <class Value>
struct HugePages {
  using value_type = Value;
  static constexpr std::size_t page = std::size_t{2} << 20;

  HugePages() = default;
  template <class Other>
  explicit(false) HugePages(const HugePages<Other>&) noexcept {}

  Value* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(Value);
    void* const memory = ::operator new(bytes, alignment(bytes));
    if (bytes >= page) ::madvise(memory, bytes / page * page, MADV_HUGEPAGE);
    return static_cast<Value*>(memory);
  }
  void deallocate(Value* memory, std::size_t count) noexcept {
    ::operator delete(memory, alignment(count * sizeof(Value)));
  }
  template <class Other>
  bool operator==(const HugePages<Other>&) const {
    return true;
  }

 private:
  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t{bytes >= page ? page : alignof(Value)};
  }
};

/// A vector on huge pages.
template <class Value>
using HugeVector = std::vector<Value, HugePages<Value>>;

}  // namespace flowtrain
