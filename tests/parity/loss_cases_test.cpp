#include <doctest/doctest.h>

#include "tests/parity/cases.h"

namespace flowtrain::loss_cases_test {

using namespace flowtrain::parity;

namespace {

/// Runs `op` on a case's inputs and compares all that the case expects.
void check_case(const Case& one, const std::string& op, const std::vector<std::string>& expected,
                const std::function<Tolerance(const std::string&)>& tolerance) {
  const NamedTensors got = call(loss_ops(), op, one.tensors, one.arguments);
  for (const std::string& name : expected) {
    INFO(one.name << " " << name);
    CHECK(difference(got.at(name), one.tensors.at(name), tolerance(name)) == "");
  }
}

/// The names of a case that an operation gives back: its results and every gradient.
std::vector<std::string> expected_of(const Case& one, const std::vector<std::string>& results) {
  std::vector<std::string> names = results;
  for (const auto& [name, tensor] : one.tensors)
    if (name.starts_with("grad.")) names.push_back(name);
  return names;
}

constexpr Tolerance usual{.relative = 1e-5, .floor = 1e-3};
const auto as_usual = [](const std::string&) { return usual; };

void focal_losses(const CaseSet& set) {
  const CaseFile file(set, "losses");
  const auto names = file.cases("focal.", 2), masked = file.cases("focal_mask.", 2);
  set.check_count(names.size(), 4, 4);
  set.check_count(masked.size(), 2, 2);
  for (const std::string& name : names) {
    const Case one = file.cut(name);
    const Tolerance tolerance{.relative = name == "focal.clamped" ? 1e-4 : 1e-5, .floor = 1e-3};
    check_case(one, "focal_loss", expected_of(one, {"loss"}), [&](auto&) { return tolerance; });
  }
  for (const std::string& name : masked) {
    const Case one = file.cut(name);
    check_case(one, "focal_loss_masked", expected_of(one, {"loss"}), as_usual);
  }
}

void tag_losses(const CaseSet& set) {
  const CaseFile file(set, "losses");
  const auto names = file.cases("ae.", 2);
  set.check_count(names.size(), 9, 9);
  for (const std::string& name : names) {
    const Case one = file.cut(name);
    // A lone object's push is a rounding error of float32 divided by 1e-4.
    const bool alone = one.tensors.at("mask").ne(0).sum(1).eq(1).any().item<bool>();
    const Tolerance push{.relative = alone ? 1e-3 : 1e-5, .floor = 1};
    check_case(one, "ae_loss", expected_of(one, {"pull", "push"}),
               [&](const std::string& each) { return each == "push" ? push : usual; });
  }
}

void offset_losses(const CaseSet& set) {
  const CaseFile file(set, "losses");
  const auto names = file.cases("off.", 2);
  set.check_count(names.size(), 4, 4);
  for (const std::string& name : names) {
    const Case one = file.cut(name);
    check_case(one, "offset_loss", expected_of(one, {"loss"}), as_usual);
  }
}

void whole_losses(const CaseSet& set) {
  const CaseFile file(set, "losses");
  const auto names = file.cases("total.", 2);
  set.check_count(names.size(), 3, 3);
  for (const std::string& name : names) {
    Case one = file.cut(name);
    one.arguments["net"] = name == "total.saccade" ? "CornerNet_Saccade" : "CornerNet";
    check_case(one, "total_loss", expected_of(one, {"loss"}), as_usual);
  }
}

}  // namespace

PARITY_TEST("focal losses", focal_losses)
PARITY_TEST("tag losses", tag_losses)
PARITY_TEST("offset losses", offset_losses)
PARITY_TEST("whole losses", whole_losses)

}  // namespace flowtrain::loss_cases_test
