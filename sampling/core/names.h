#pragma once
// Stores many strings in one block of memory, for the names of millions of files.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// A list of names that only grows; each takes its characters and 9 more bytes.
class Names {
 public:
  void add(std::string_view name) {
    starts_.push_back(text_.size());
    text_.append(name).push_back('\0');
  }
  std::size_t size() const { return starts_.size(); }
  /// Returns a view that is followed by a zero byte (its data() is a C string), and lasts until the next add().
  std::string_view operator[](std::size_t index) const {
    const auto end = index + 1 < starts_.size() ? starts_[index + 1] : text_.size();
    return std::string_view(text_).substr(starts_[index], end - starts_[index] - 1);
  }
  void shrink_to_fit() {
    text_.shrink_to_fit();
    starts_.shrink_to_fit();
  }

 private:
  std::string text_;
  std::vector<std::uint64_t> starts_;
};

}  // namespace flowtrain
