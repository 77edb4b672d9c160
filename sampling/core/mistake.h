#pragma once
// A user's mistake, with a hint.

#include <stdexcept>
#include <string>
#include <utility>

#include "sampling/core/settings.h"

namespace flowtrain {

/// Net, loss and batch that do not fit each other; the hint says what would fit.
class Mistake : public std::invalid_argument {
 public:
  Mistake(const std::string& message, std::string hint) : std::invalid_argument(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

/// Calls `make`, and turns an std::invalid_argument, which does not know where the user wrote the value, into the
/// UserError(usage) of that key, with a Mistake's hint.
template <class Make>
auto rethrow_at_key(const Settings& settings, const std::string& key, Make make) {
  try {
    return make();
  } catch (const Mistake& error) {
    throw settings.error(key, error.what(), ExitCode::usage, error.hint());
  } catch (const std::invalid_argument& error) {
    throw settings.error(key, error.what());
  }
}

/// Makes the part of `registry` that `settings` names by `key`. Throws as rethrow_at_key().
template <class Registry, class Input>
auto make_named(Registry& registry, const Settings& settings, const Input& input, const std::string& key = "name") {
  return rethrow_at_key(settings, key, [&] { return registry.at(settings.text(key)).make(settings, input); });
}

}  // namespace flowtrain
