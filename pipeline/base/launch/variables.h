#pragma once
// Environment variables, read with their names in the error messages.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>

namespace flowtrain {

/// Environment variables by name, so that tests bring their own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

/// Reads variables that a launcher must have set. An empty one counts as not set.
class Variables {
 public:
  /// `reader` and `hint` are for the messages: the program that needs the variables, and the way out for the user.
  Variables(const Environment& environment, std::string reader, std::string hint)
      : environment_(environment), reader_(std::move(reader)), hint_(std::move(hint)) {}

  bool has(const std::string& name) const { return find(name).has_value(); }
  std::optional<std::string> find(const std::string& name) const;
  /// Returns the first of `names` that is set; the error names the first. Throws UserError(distributed).
  std::string text(std::initializer_list<const char*> names) const;
  /// Returns a whole number in [least, most]. Throws UserError(distributed) if it is not set or something else.
  template <class Number = int>
  Number number(std::initializer_list<const char*> names, Number least = 0,
                Number most = std::numeric_limits<Number>::max()) const {
    return static_cast<Number>(checked_number(names, least, most));
  }
  /// Returns number(), or `otherwise` if none of `names` is set.
  template <class Number = int>
  Number number_or(std::initializer_list<const char*> names, Number otherwise) const {
    for (auto name : names)
      if (has(name)) return number<Number>({name});
    return otherwise;
  }

 private:
  std::int64_t checked_number(std::initializer_list<const char*> names, std::int64_t least, std::int64_t most) const;

  const Environment& environment_;
  std::string reader_;
  std::string hint_;
};

}  // namespace flowtrain
