#include "sampling/samplers/decorators/stored_rows.h"

#include <cstdio>

#include "sampling/core/registry.h"
#include "sampling/field_text.h"
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
  char fingerprint[17];
  std::snprintf(fingerprint, sizeof fingerprint, "%016llx",
                static_cast<unsigned long long>(input.dataset.fingerprint()));
  return std::filesystem::path(settings.text("rows")) /
         concat(input.training ? "train-" : "val-", fingerprint, ".rows");
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
