#pragma once
// A user's mistake, and the way out of it.

#include <stdexcept>
#include <string>
#include <utility>

namespace flowtrain::nets {

/// Net, loss and batch do not go together; the hint says what would.
class Mistake : public std::invalid_argument {
 public:
  Mistake(const std::string& message, std::string hint) : std::invalid_argument(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

}  // namespace flowtrain::nets
