#include "sampling/samplers/decorators/stored_rows.h"

#include "sampling/core/registry.h"
#include "sampling/field_text.h"
#include "sampling/fingerprint.h"
#include "sampling/samplers/decorators/decorator.h"

namespace flowtrain {

Key rows_key() {
  return {.name = "rows",
          .kind = Kind::text,
          .fallback = "",
          .help = "folder of the recorded rows: a file for each data set, of training and of validation",
          .required = true,
          .is_path = true};
}

std::filesystem::path rows_file(const Settings& settings, const SamplerInput& input) {
  // Data sets may have the same names and sizes, and other records.
  std::uint64_t hash = input.dataset.fingerprint();
  ReadBuffer buffer;
  try {
    hash = fingerprint_of(fingerprint_of(input.dataset.read(0, buffer)), hash);
  } catch (const SampleError&) {  // a bad record tells nothing
  }
  return std::filesystem::path(settings.text("rows")) /
         concat(input.training ? "train-" : "val-", hash_hex(hash), ".rows");
}

std::string rows_description(const Settings& settings, const std::vector<Field>& fields) {
  const std::string sampler = decorated_sampler(settings);
  std::string text = "sampler " + sampler + "\n";
  for (auto& field : fields) text += "field " + describe_field(field) + "\n";
  for (auto& key : samplers().at(sampler).keys)
    text += "sampler." + key.name + " = " + to_toml(settings.value(key.name)) + "\n";
  return text;
}

}  // namespace flowtrain
