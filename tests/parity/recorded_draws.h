#pragma once
// The draws of a sample as they were recorded from the reference, played back to a sampler.

#include <nlohmann/json.hpp>

#include <span>
#include <string>

#include "sampling/samplers/cornernet/draws.h"

namespace flowtrain::parity {

/// Draws from a list of [kind, arguments, named arguments, result]. Throws BadCall where another kind is asked for than
/// the list has next, or a result is none that could have been drawn.
class RecordedDraws final : public DrawSource {
 public:
  explicit RecordedDraws(nlohmann::json list);

  double choice(std::span<const double> scales) override;
  std::int64_t integer(std::int64_t low, std::int64_t high) override;
  double uniform() override;
  std::array<JitterStep, 3> shuffle() override;
  double jitter() override;
  std::array<double, 3> lighting() override;

  /// Throws BadCall if a draw is left over.
  void check_all_used() const;

 private:
  /// The result of the next draw, of the given kind.
  template <class T>
  T next(const std::string& kind);
  [[noreturn]] void refuse(const std::string& why) const;

  nlohmann::json list_;
  std::size_t used_ = 0;
};

}  // namespace flowtrain::parity
