#pragma once
// Helpers of the configuration's tests: files in a folder of their own, user errors as values, and a data set and an
// order that exist only here.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "sampling/core/registry.h"
#include "sampling/dataset.h"
#include "sampling/order.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::testing {

struct Failure {
  ExitCode code;
  std::string message, hint;
};

/// The UserError that `action` throws, or nothing.
template <class Action>
std::optional<Failure> failure_of(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return Failure{error.code(), error.what(), error.hint()};
  }
  return std::nullopt;
}

/// Adds data sets "letters" (key `alphabet`) and "digits" (key `base`), and the order "spiral" (key `turns`).
inline void add_entries() {
  static bool once = [] {
    datasets().add({"letters", "for tests", {{"alphabet", Kind::text, std::string("latin"), "which letters"}}, {}});
    datasets().add({"digits", "for tests", {{"base", Kind::integer, std::int64_t{10}, "of the numbers", 2, 36}}, {}});
    orders().add({"spiral", "for tests", {{"turns", Kind::integer, std::int64_t{3}, "how many", 1, 9}}, {}});
    return true;
  }();
  (void)once;
}

/// A data set, which every configuration needs: two lines.
inline const std::string letters = "[data]\ndataset = \"letters\"\n";

/// The configuration of a file called a.toml with `text`.
inline Config loaded(const std::string& text, const std::vector<Override>& overrides = {}) {
  add_entries();
  TempFolder temp;
  return load_config(temp.write("a.toml", text), overrides);
}

/// The error that a file called a.toml with `text` ends in, its folder's name cut off.
inline Failure refusal(const std::string& text, const std::vector<Override>& overrides = {}) {
  add_entries();
  TempFolder temp;
  auto file = temp.write("a.toml", text);
  auto failure = failure_of([&] { load_config(file, overrides); });
  REQUIRE(failure);
  auto folder = temp.path().string() + "/";
  for (std::size_t at; (at = failure->message.find(folder)) != std::string::npos;)
    failure->message.erase(at, folder.size());
  CHECK(failure->code == ExitCode::usage);
  return *failure;
}

}  // namespace flowtrain::testing
