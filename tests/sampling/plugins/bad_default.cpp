// A plugin whose key has a default of another kind.
#include "sampling/plugin.hpp"

namespace {

class BadDefault : public flowtrain::plugin::Sampler {
 public:
  explicit BadDefault(const flowtrain::plugin::Create&) {}
  std::vector<ft_field> fields() const override { return {}; }
  void sample(const ft_record&, flowtrain::plugin::Random&, std::span<std::uint8_t* const>) const override {}
};

}  // namespace

FLOWTRAIN_SAMPLER_PLUGIN(BadDefault, "bad_default", "has a wrong default", {"count", FT_INTEGER, "many", "a number"})
