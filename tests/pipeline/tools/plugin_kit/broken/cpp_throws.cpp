// A sampler of the C++ interface that throws something else than SampleError for a damaged record.
#include <stdexcept>

#include "pipeline/plugin.h"

using namespace flowtrain;

class Throws final : public Sampler {
 public:
  std::vector<Field> fields() const override { return {{"value", DType::u8, {}}}; }
  void sample(const Record& record, Stream&, Row row) const override {
    if (record.bytes.size() < 10) throw std::out_of_range("byte 9");
    *row[0] = record.bytes[9];
  }
};

static void add() {
  samplers().add(
      {"broken", "breaks a rule", {}, [](const Settings&, const SamplerInput&) { return std::make_unique<Throws>(); }});
}

FLOWTRAIN_PLUGIN(add)
