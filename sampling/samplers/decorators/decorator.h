#pragma once
// Decorators are samplers that make their rows by another sampler, and add something. Their table has both samplers'
// keys:
//     [sampler]
//     name = "check"
//     inner = "classify"          # or "slow, classify": a chain, outermost first
//     size = 224                  # a key of classify

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// Returns the key `inner`, which makes a sampler a decorator.
Key inner_key();

/// Returns the samplers that `settings` names, outermost first: `name` and, for a decorator, those of `inner`. Throws
/// UserError(usage) at the key for an unknown name, a name twice, a decorator with nothing after it, and another
/// sampler with something after it.
std::vector<std::string> sampler_chain(const Settings& settings);

/// Returns the keys of all samplers in `chain`. Throws UserError(usage) if two of them have different keys of one name.
std::vector<Key> keys_of_chain(const std::vector<std::string>& chain);

/// Makes the sampler after `decorator` in the chain of `settings`. Throws what that sampler's factory throws.
std::unique_ptr<Sampler> make_inner(const std::string& decorator, const Settings& settings, const SamplerInput& input);

/// Returns the last name of the chain: the sampler that all others decorate.
std::string decorated_sampler(const Settings& settings);

/// The base of decorators. Rows are made one by one, even if the inner sampler takes blocks.
class Decorator : public Sampler {
 public:
  explicit Decorator(std::unique_ptr<Sampler> inner) : inner_(std::move(inner)) {}
  std::vector<Field> fields() const override { return inner_->fields(); }
  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    inner_->measure(record, extents);
  }

 protected:
  const Sampler& inner() const { return *inner_; }

 private:
  std::unique_ptr<Sampler> inner_;
};

/// Returns a number in [0, 1) that is the same for this record at this place of the stream on every run, with any
/// number of workers. It takes nothing from `random`. `purpose` separates numbers for different uses.
double draw_for_row(Stream random, std::uint64_t record, std::uint64_t purpose);

}  // namespace flowtrain
