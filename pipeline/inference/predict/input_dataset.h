#pragma once
// Pictures, recordings and records to predict on, as a data set for a loader.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/engine/train/run_state.h"
#include "pipeline/inference/predict/given_records.h"
#include "pipeline/inference/predict/input.h"
#include "sampling/dataset.h"
#include "sampling/order.h"

namespace flowtrain {

/// Records 1, 2 … are the inputs, whose Record::id counts from 0, so that transforms draw for them as in validation;
/// each has label 0, as nobody knows its class. Record 0 is a blank input in the form of the training data. Samplers
/// look at it to find the form of their rows, and it takes the place of each input that is damaged. So rows are as in
/// training whatever the inputs are, and one damaged file is not replaced by another one.
class InputDataset final : public Dataset {
 public:
  /// `pixels`: RunInputs::pixels. `inputs`, `classes`, those that the net knows, and `parts` must outlive it.
  InputDataset(const std::vector<Input>& inputs, const std::vector<std::string>& classes,
               const std::optional<PixelForm>& pixels, const LearntParts& parts);

  std::uint64_t size() const override { return inputs_.size() + 1; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override;
  std::int64_t label(std::uint64_t) const override { return 0; }
  std::vector<std::string> classes() const override { return classes_; }
  std::string describe(std::uint64_t id) const override;
  std::vector<PartForm> parts() const override { return parts_.forms; }
  Range source_of(std::uint64_t) const override { return {0, 1}; }

 private:
  Record with_targets(Record record, ReadBuffer& buffer) const;

  const std::vector<Input>& inputs_;
  const std::vector<std::string>& classes_;
  const LearntParts& parts_;
  std::vector<GivenPart> blank_parts_;
  std::vector<Part> blank_views_;
  Record blank_;
  std::vector<std::byte> blank_bytes_;
};

/// The inputs of an InputDataset, one after the other.
class InputOrder final : public Order {
 public:
  /// `inputs` > 0.
  explicit InputOrder(std::uint64_t inputs) : inputs_(inputs) {}
  std::uint64_t size() const override { return inputs_; }
  std::uint64_t at(std::uint64_t, std::uint64_t index) const override { return 1 + index; }

 private:
  std::uint64_t inputs_;
};

}  // namespace flowtrain
