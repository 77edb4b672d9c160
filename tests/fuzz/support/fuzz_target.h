#pragma once
// A reader that is fed with bytes nobody vouches for. One file per reader, <name>_fuzz.cpp; libFuzzer runs one of them
// (libfuzzer_main.cpp), the normal tests run all of them on the stored files (corpus_test.cpp).

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace flowtrain::fuzz {

using Bytes = std::span<const std::byte>;

struct Target {
  std::string name;
  void (*body)(Bytes);
};

/// All targets that are linked.
std::vector<Target>& targets();

/// Feeds a target. What it refuses (UserError, SampleError) must have a message; anything else it throws is a finding.
void feed(const Target& target, Bytes input);

/// Ends the process where something that must hold does not.
void require(bool holds, const char* what);

/// Writes the input to a file called `name`, in a folder of this process that goes away with it; for readers that take
/// paths.
std::filesystem::path as_file(Bytes input, const std::string& name);

/// FUZZ_TARGET(png) { … `input` … }
#define FUZZ_TARGET(name)                                                   \
  static void fuzz_##name(::flowtrain::fuzz::Bytes input);                  \
  [[maybe_unused]] static const bool added_##name =                         \
      (::flowtrain::fuzz::targets().push_back({#name, fuzz_##name}), true); \
  static void fuzz_##name(::flowtrain::fuzz::Bytes input)

}  // namespace flowtrain::fuzz
