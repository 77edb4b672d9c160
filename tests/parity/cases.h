#pragma once
// The parity cases, and how results are compared with them.

#include <optional>
#include <string>
#include <vector>

#include "tests/parity/ops.h"
#include "tests/support/skip.h"

namespace flowtrain::parity {

/// A case: inputs and expected values under their short names, and its arguments.
struct Case {
  std::string name;
  NamedTensors tensors;
  json arguments = json::object();

  /// Those of `names`, which an operation gets.
  NamedTensors only(const std::vector<std::string>& names) const;
  /// Those whose names begin with `prefix`, without it.
  NamedTensors below(const std::string& prefix) const;
};

/// A folder of cases. The small set is in the tree, in tests/parity/cases (make_cases.py beside it writes it), or where
/// FLOWTRAIN_PARITY_CASES says; the
/// larger one is what the build has unpacked from ../shared/parity. Both have the same files.
struct CaseSet {
  std::string folder;
  bool larger = false;

  /// Each set has its own number of cases of a kind; fewer or more of them fail the test.
  void check_count(std::size_t count, std::size_t in_small, std::size_t in_larger) const;
};
CaseSet small_set();
/// Nothing where ../shared/parity was not there.
std::optional<CaseSet> larger_set();

inline constexpr const char* no_cases = "the larger set of parity cases (../shared/parity) is not there";

/// A file of cases: "losses" is losses.safetensors.
class CaseFile {
 public:
  CaseFile(const CaseSet& set, const std::string& name);

  /// The names' first words (as many as `words`, which dots separate) of all tensors below `prefix`, each once, sorted.
  std::vector<std::string> cases(const std::string& prefix = "", int words = 1) const;
  /// `<case>.` cut off the names, and `in.`, `out.` and `stage.` dropped; the metadata under the case's name, or empty.
  Case cut(const std::string& name) const;
  /// Metadata as they are stored.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const NamedTensors& tensors() const { return tensors_; }

 private:
  std::map<std::string, std::string> metadata_;  // before tensors_: filled while they are read
  NamedTensors tensors_;
};

/// How far two values may be apart: |a - b| ≤ absolute + relative · max(floor, largest |b| of the tensor).
struct Tolerance {
  double absolute = 0, relative = 0, floor = 0;
};
inline constexpr Tolerance exact{};

/// Empty where `got` agrees with `expected` in shape (a scalar may be [1]), dtype and values; else what is wrong.
/// Infinities must be equal; NaN never passes.
std::string difference(const at::Tensor& got, const at::Tensor& expected, const Tolerance& tolerance);

/// Where the cases compute: FLOWTRAIN_TEST_DEVICE ("cpu", "cuda:0"), the CPU unless that is set.
at::Device device_of_cases();

/// Calls an operation as the tool does, on that device: an argument that it does not read is an error. What comes out
/// is on the CPU.
NamedTensors call(const Ops& ops, const std::string& op, const NamedTensors& in, const json& arguments);

}  // namespace flowtrain::parity

/// Two test cases of one check(const CaseSet&): over the small set, and over the larger one where it is there.
#define PARITY_TEST(title, check)                                        \
  TEST_CASE("parity: " title) { check(flowtrain::parity::small_set()); } \
  LARGER_PARITY_TEST(title, check)

/// The second of them; `title` may be followed by doctest's decorators.
#define LARGER_PARITY_TEST(title, check)                     \
  TEST_CASE("parity, the larger set: " title) {              \
    const auto set = flowtrain::parity::larger_set();        \
    SKIP_UNLESS(set, "shared", flowtrain::parity::no_cases); \
    check(*set);                                             \
  }
