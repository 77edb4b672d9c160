// The sampler `copy`: the stored bytes unchanged, or as f32, to measure the loader alone.
#include <cstring>

#include "sampling/core/text.h"
#include "sampling/images/finish_kernel.h"
#include "sampling/prefetch.h"
#include "sampling/samplers/entries.h"
#include "sampling/samplers/keys.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {
namespace {

class CopySampler : public Sampler {
 public:
  CopySampler(const Settings& settings, const SamplerInput& input)
      : form_(stored_form(input.dataset)),
        classes_(static_cast<std::int64_t>(input.dataset.classes().size())),
        type_(settings.text("dtype") == "f32" ? DType::f32 : DType::u8) {
    if (form_.encoding == Encoding::image)
      throw UserError(ExitCode::usage, "sampler.name: 'copy' needs samples of one size, but these are image files",
                      "use sampler.name = \"classify\"");
  }

  std::vector<Field> fields() const override {
    Field picture{"image", type_, {form_.height, form_.width, form_.channels}};
    Field bytes{"bytes", type_, {static_cast<std::int64_t>(form_.bytes)}};
    return {form_.encoding == Encoding::pixels ? picture : bytes, {"label", DType::i64, {}}};
  }

  void sample(const Record& record, Stream&, Row row) const override { copy(record, row[0], row[1]); }

  bool takes_blocks() const override { return true; }

  void sample_rows(std::span<const Record* const> records, Row first) const override {
    const std::size_t row_bytes = form_.bytes * size_of(type_);
    std::byte *picture = first[0], *label = first[1];
    for (std::size_t i = 0; i < records.size(); ++i, picture += row_bytes, label += sizeof(std::int64_t)) {
      if (i + rows_ahead < records.size()) prefetch(*records[i + rows_ahead]);
      copy(*records[i], picture, label);
    }
  }

 private:
  void copy(const Record& record, std::byte* picture, std::byte* label) const {
    if (classes_ > 0 && record.label >= 0) check_label(record.label, classes_);
    if (record.bytes.size() != form_.bytes)
      throw SampleError(concat("it has ", record.bytes.size(), " bytes, but the first sample has ", form_.bytes));
    if (type_ == DType::u8)
      std::memcpy(picture, record.bytes.data(), form_.bytes);
    else
      finishing::to_unit_floats(reinterpret_cast<const std::uint8_t*>(record.bytes.data()), form_.bytes,
                                reinterpret_cast<float*>(picture));
    std::memcpy(label, &record.label, sizeof record.label);
  }

  StoredForm form_;
  std::int64_t classes_;
  DType type_;
};

}  // namespace

SamplerEntry copy_entry() {
  return {.name = "copy",
          .help = "unchanged stored bytes, to measure the loader alone",
          .keys = {choice_key("dtype", "u8", "row type: u8, the bytes; f32, each byte times 1/255", {"u8", "f32"})},
          .make = [](const Settings& settings, const SamplerInput& input) {
            return std::make_unique<CopySampler>(settings, input);
          }};
}

}  // namespace flowtrain
