#include "tests/parity/cases.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "tests/parity/tensor_files.h"
#include "tests/support/paths.h"

namespace flowtrain::parity {

namespace fs = std::filesystem;

NamedTensors Case::only(const std::vector<std::string>& names) const {
  NamedTensors some;
  for (auto& name : names) some.set(name, tensors.at(name));
  return some;
}

NamedTensors Case::below(const std::string& prefix) const {
  NamedTensors some;
  for (auto& [name, tensor] : tensors)
    if (name.starts_with(prefix)) some.set(name.substr(prefix.size()), tensor);
  return some;
}

void CaseSet::check_count(std::size_t count, std::size_t in_small, std::size_t in_larger) const {
  CHECK(count == (larger ? in_larger : in_small));
}

CaseSet small_set() {
  const char* elsewhere = std::getenv("FLOWTRAIN_PARITY_CASES");
  return {elsewhere ? elsewhere : test::source_path("tests/parity/cases"), /*larger=*/false};
}

std::optional<CaseSet> larger_set() {
  const std::string folder = test::build_path("parity");
  if (!fs::exists(folder + "/losses.safetensors")) return std::nullopt;
  return CaseSet{folder, /*larger=*/true};
}

CaseFile::CaseFile(const CaseSet& set, const std::string& name)
    : tensors_(read_tensors(set.folder + "/" + name + ".safetensors", &metadata_)) {}

std::vector<std::string> CaseFile::cases(const std::string& prefix, int words) const {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors_) {
    if (!name.starts_with(prefix)) continue;
    std::size_t end = name.find('.');
    for (int word = 1; word < words; ++word) end = name.find('.', end + 1);
    names.insert(name.substr(0, end));
  }
  return {names.begin(), names.end()};
}

Case CaseFile::cut(const std::string& name) const {
  Case one{name, {}};
  for (auto& [full, tensor] : tensors_) {
    if (!full.starts_with(name + ".")) continue;
    std::string rest = full.substr(name.size() + 1);
    for (const char* word : {"in.", "out.", "stage."})
      if (rest.starts_with(word)) {
        rest.erase(0, std::string(word).size());
        break;
      }
    one.tensors.set(rest, tensor);
  }
  REQUIRE_MESSAGE(!one.tensors.empty(), "no case " << name);
  if (const auto found = metadata_.find(name); found != metadata_.end()) {
    const json stored = json::parse(found->second);
    for (auto& [key, value] : stored.items())
      if (!value.is_null()) one.arguments[key] = value;
  }
  return one;
}

std::string difference(const at::Tensor& got, const at::Tensor& expected, const Tolerance& tolerance) {
  const auto text = [](const at::Tensor& tensor) {
    return std::string(at::toString(tensor.scalar_type())) + " " + c10::str(tensor.sizes());
  };
  const bool scalars = got.numel() == 1 && expected.numel() == 1 && got.dim() <= 1 && expected.dim() <= 1;
  if (got.scalar_type() != expected.scalar_type() || (!scalars && got.sizes() != expected.sizes()))
    return text(got) + ", expected " + text(expected);
  if (expected.numel() == 0) return {};
  const auto a = got.detach().to(at::kCPU).to(at::kDouble).reshape(-1), b = expected.to(at::kDouble).reshape(-1);
  if (a.isnan().any().item<bool>()) return "NaN";
  const auto finite = b.isfinite();
  const auto equal = a.eq(b);
  if (!equal.logical_or(finite).all().item<bool>()) return "an infinity is missing";
  const auto apart = at::where(equal, at::zeros_like(b), (a - b).abs());
  const double largest = at::where(finite, b.abs(), at::zeros_like(b)).max().item<double>();
  const double bound = tolerance.absolute + tolerance.relative * std::max(tolerance.floor, largest);
  const auto worst = apart.argmax().item<std::int64_t>();
  if (apart[worst].item<double>() <= bound) return {};
  return c10::str("element ", worst, " is ", a[worst].item<double>(), ", expected ", b[worst].item<double>(),
                  " within ", bound, "; ", apart.gt(bound).sum().item<std::int64_t>(), " of ", b.numel(), " differ");
}

at::Device device_of_cases() {
  const char* named = std::getenv("FLOWTRAIN_TEST_DEVICE");
  static const at::Device device = device_named(named ? named : "cpu");
  return device;
}

NamedTensors call(const Ops& ops, const std::string& op, const NamedTensors& in, const json& arguments) {
  const Arguments set(arguments);
  const NamedTensors there = on_device(in, device_of_cases());
  const NamedTensors out = ops.at(op)({there, set, device_of_cases()});
  set.check_all_read();
  return on_device(out, at::kCPU);
}

}  // namespace flowtrain::parity
