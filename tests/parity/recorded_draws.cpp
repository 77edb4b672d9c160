#include "tests/parity/recorded_draws.h"

#include <algorithm>

#include "tests/parity/ops.h"

namespace flowtrain::parity {

RecordedDraws::RecordedDraws(json list) : list_(std::move(list)) {
  if (!list_.is_array()) throw BadCall("\"draws\" is not a list");
  for (auto& draw : list_)
    if (!draw.is_array() || draw.size() != 4 || !draw[0].is_string())
      throw BadCall("\"draws\": expected [kind, arguments, named arguments, result], not " + draw.dump());
}

double RecordedDraws::choice(std::span<const double> scales) {
  const auto scale = next<double>("choice");
  if (std::find(scales.begin(), scales.end(), scale) == scales.end()) refuse("no such scale in the configuration");
  return scale;
}

std::int64_t RecordedDraws::integer(std::int64_t low, std::int64_t high) {
  const auto number = next<std::int64_t>("randint");
  if (number < low || number >= high) refuse("outside " + std::to_string(low) + ".." + std::to_string(high - 1));
  return number;
}

double RecordedDraws::uniform() { return next<double>("uniform"); }

std::array<JitterStep, 3> RecordedDraws::shuffle() {
  const auto names = next<std::vector<std::string>>("shuffle");
  const std::array<std::string, 3> known{"brightness", "contrast", "saturation"};
  if (names.size() != 3 || !std::is_permutation(names.begin(), names.end(), known.begin()))
    refuse("not the three steps");
  std::array<JitterStep, 3> steps;
  for (std::size_t i = 0; i < 3; ++i)
    steps[i] = static_cast<JitterStep>(std::find(known.begin(), known.end(), names[i]) - known.begin());
  return steps;
}

double RecordedDraws::jitter() { return next<double>("data.uniform"); }

std::array<double, 3> RecordedDraws::lighting() {
  const auto numbers = next<std::vector<double>>("data.normal");
  if (numbers.size() != 3) refuse("not three numbers");
  return {numbers[0], numbers[1], numbers[2]};
}

void RecordedDraws::check_all_used() const {
  if (used_ < list_.size())
    throw BadCall(std::to_string(list_.size() - used_) + " draws are left over, from " + list_[used_].dump() + " on");
}

template <class T>
T RecordedDraws::next(const std::string& kind) {
  if (used_ == list_.size()) throw BadCall("the draws end where a '" + kind + "' is needed");
  const json& draw = list_[used_++];
  if (draw[0] != kind) refuse("a '" + kind + "' is needed");
  try {
    return draw[3].get<T>();
  } catch (const json::exception&) {
    refuse("its result is of another type");
  }
}

void RecordedDraws::refuse(const std::string& why) const {
  throw BadCall("draw " + std::to_string(used_) + ", " + list_[used_ - 1].dump() + ": " + why);
}

}  // namespace flowtrain::parity
