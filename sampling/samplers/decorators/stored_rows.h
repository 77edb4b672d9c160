#pragma once
// What `record` and `playback` agree on: where rows are stored, and what decided them.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/sampler.h"
#include "sampling/samplers/decorators/decorator.h"

namespace flowtrain {

/// The key `rows`: the folder of both decorators.
Key rows_key();

/// The file of a data set's rows, within the folder that `settings` names: "train-" or "val-" and the fingerprint of
/// the data set.
std::filesystem::path rows_file(const Settings& settings, const SamplerInput& input);

/// The fields, and the keys of the sampler that the chain decorates: a line each.
std::string rows_description(const Settings& settings, const std::vector<Field>& fields);

/// What `record` and `playback` have in common.
class RowsDecorator : public Decorator {
 public:
  RowsDecorator(std::unique_ptr<Sampler> made, const Settings& settings, const SamplerInput& input)
      : Decorator(std::move(made)),
        fields_(inner().fields()),
        file_(rows_file(settings, input)),
        description_(rows_description(settings, fields_)) {}

  std::vector<Field> fields() const override { return fields_; }

 protected:
  /// A RowsWriter or RowsReader of the file.
  template <class Rows>
  std::unique_ptr<Rows> open() const {
    return std::make_unique<Rows>(file_, fields_, description_);
  }

  const std::vector<Field> fields_;

 private:
  const std::filesystem::path file_;
  const std::string description_;
};

}  // namespace flowtrain
