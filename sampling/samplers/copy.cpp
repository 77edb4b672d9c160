// The sampler `copy`: the stored bytes as they are, to measure the line itself.
#include <cstring>

#include "sampling/samplers/entries.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {
namespace {

class CopySampler : public Sampler {
 public:
  explicit CopySampler(const SamplerInput& input) : form_(stored_form(input.dataset)) {
    if (form_.encoding == Encoding::image)
      throw UserError(Exit::usage, "sampler.name: 'copy' needs samples of one size, the data set holds image files",
                      "use sampler.name = \"classify\"");
  }

  std::vector<Field> fields() const override {
    Field picture{"image", DType::u8, {form_.height, form_.width, form_.channels}};
    Field bytes{"bytes", DType::u8, {static_cast<std::int64_t>(form_.bytes)}};
    return {form_.encoding == Encoding::pixels ? picture : bytes, {"label", DType::i64, {}}};
  }

  void sample(const Record& record, Stream&, Row row) const override {
    if (record.bytes.size() != form_.bytes)
      throw SampleError("it has " + std::to_string(record.bytes.size()) + " bytes, the first sample has " +
                        std::to_string(form_.bytes));
    std::memcpy(row[0], record.bytes.data(), form_.bytes);
    std::memcpy(row[1], &record.label, sizeof record.label);
  }

 private:
  StoredForm form_;
};

}  // namespace

SamplerEntry copy_entry() {
  return {"copy", "the stored bytes as they are: for measuring the data line",
          {},
          [](const Settings&, const SamplerInput& input) { return std::make_unique<CopySampler>(input); }};
}

}  // namespace flowtrain
