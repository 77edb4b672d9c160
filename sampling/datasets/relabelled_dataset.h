#pragma once
// A data set with the classes of another one.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain {

/// The records of another data set in the same order, with their labels translated to other classes.
class RelabelledDataset : public Dataset {
 public:
  /// Gives `dataset` the classes `classes`; its own class i becomes `labels[i]` (places_among finds them). A record
  /// whose label lies beyond `labels` is a bad sample.
  RelabelledDataset(std::unique_ptr<Dataset> dataset, std::vector<std::string> classes,
                    std::vector<std::int32_t> labels)
      : stored_(std::move(dataset)), classes_(std::move(classes)), labels_(std::move(labels)) {}

  std::uint64_t size() const override { return stored_->size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override;
  std::vector<PartForm> parts() const override { return stored_->parts(); }
  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override;
  std::int64_t label(std::uint64_t id) const override { return new_label(stored_->label(id)); }
  std::vector<std::string> classes() const override { return classes_; }
  bool has_boxes() const override { return stored_->has_boxes(); }
  std::shared_ptr<const BoxAnnotations> annotations() const override;
  std::string describe(std::uint64_t id) const override { return stored_->describe(id); }
  bool resident() const override { return stored_->resident(); }
  std::uint64_t fingerprint() const override { return stored_->fingerprint(); }
  std::uint64_t version() const override { return stored_->version(); }
  std::string missing_labels() const override { return stored_->missing_labels(); }
  std::span<const Source> sources() const override { return stored_->sources(); }
  Range source_of(std::uint64_t id) const override { return stored_->source_of(id); }
  bool takes_hints() const override { return stored_->takes_hints(); }
  void hint(std::uint64_t id) const override { stored_->hint(id); }
  void prefetch(std::uint64_t id) const override { stored_->prefetch(id); }
  void forget(std::uint64_t id) const override { stored_->forget(id); }
  std::uint64_t retries() const override { return stored_->retries(); }

 private:
  std::int32_t new_label(std::int64_t label) const;

  std::unique_ptr<Dataset> stored_;
  std::vector<std::string> classes_;
  std::vector<std::int32_t> labels_;
};

}  // namespace flowtrain
