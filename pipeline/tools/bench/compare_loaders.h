#pragma once
// Compares two loaders: `flowtrain bench CONFIG --vs KEY=VALUE`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/loader/data_loader.h"

namespace flowtrain {

/// Values of several turns.
struct Spread {
  double median = 0, least = 0, most = 0;
};

/// Rates of two loaders that ran in turn.
struct LoaderComparison {
  int turns = 0;  ///< measurements of each loader
  Spread a, b;    ///< samples/s
  Spread ratio;   ///< b / a, turn by turn
};

/// Two loaders A and B, both open at the same time. Their batches are those of [data.train], in its order, with the
/// rest of an epoch as a shorter batch; they are not copied to a device.
class LoaderPair {
 public:
  /// Opens the data of both. Throws UserError(usage or data), whose messages begin with "A: " or "B: ".
  explicit LoaderPair(const Config& a);
  /// Opens B. If forget_plugins() was called in between, it may name plugins with the same parts as those of A.
  void open_b(const Config& b);

  /// Compares `batches` batches byte by byte; by default those of an epoch. Returns the number of compared samples.
  /// Throws UserError(data) with the first sample and field that differ, the place in it, and both values.
  std::uint64_t compare_batches(std::optional<std::uint64_t> batches);
  /// Runs A and B in turn, for `seconds` each time.
  LoaderComparison compare_rates(double seconds);

 private:
  void compare_fields() const;
  void compare(const LoadedBatch& a, const LoadedBatch& b, std::uint64_t number) const;

  DataLoader a_;
  std::optional<DataLoader> b_;
};

/// Formats both rates and their ratio. `b` names the difference, such as "sampler.process=true".
std::string to_table(const LoaderComparison& comparison, const std::string& b);
std::string to_json(const LoaderComparison& comparison, const std::string& b);

}  // namespace flowtrain
