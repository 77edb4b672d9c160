#pragma once
// Records the values that a sampler drew, for `flowtrain replay`.

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace flowtrain {

/// Records what samplers draw on this thread during its lifetime. Only one may exist at a time.
class DrawNotes {
 public:
  using Value = std::variant<std::vector<double>, std::string>;

  DrawNotes() { listening_ = this; }
  ~DrawNotes() { listening_ = nullptr; }
  DrawNotes(const DrawNotes&) = delete;
  DrawNotes& operator=(const DrawNotes&) = delete;

  /// Returns the notes in the order of drawing: "crop" and its numbers.
  const std::vector<std::pair<std::string, Value>>& all() const { return all_; }

  /// Adds a note. Calls `value` only if a DrawNotes exists on this thread; else it costs next to nothing.
  template <class MakeValue>
  static void add(const char* name, MakeValue value) {
    if (listening_) listening_->all_.emplace_back(name, value());
  }

 private:
  inline static thread_local DrawNotes* listening_ = nullptr;
  std::vector<std::pair<std::string, Value>> all_;
};

}  // namespace flowtrain
