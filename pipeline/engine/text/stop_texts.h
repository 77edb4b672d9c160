#pragma once
// Texts at which a net's text ends.

#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// Passes a text on, piece by piece, up to the first of several texts in it, and holds back what may be its beginning.
class StopTexts {
 public:
  /// Empty texts are ignored.
  explicit StopTexts(std::vector<std::string> texts);
  /// Returns what can be passed on.
  std::string push(std::string_view piece);
  /// Returns what was held back. Nothing is, once a text was found.
  std::string finish();
  bool found() const { return found_; }

 private:
  const std::vector<std::string> texts_;
  std::string held_;
  bool found_ = false;
};

}  // namespace flowtrain
