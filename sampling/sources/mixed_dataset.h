#pragma once
// A data set that combines several others.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain {

/// Returns the index of the source of record `id` of the whole.
std::size_t source_index(std::span<const Dataset::Source> sources, std::uint64_t id);

/// The relation of the sources of a MixedDataset.
enum class Sources : std::uint8_t {
  alike,  ///< rows are made of them in one way: they agree in their classes (agreed_classes), and share parts
  groups  ///< each has rows of its own, and so its own classes and parts
};

/// The sources' records one after the other. All reading is left to the sources.
class MixedDataset : public Dataset {
 public:
  /// Combines at least one source, with first_id filled in. Throws std::invalid_argument if the classes of sources that
  /// are alike do not agree.
  explicit MixedDataset(std::vector<Source> sources, Sources relation = Sources::alike);

  std::uint64_t size() const override { return size_; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override;
  /// Returns the parts that all sources have in one form, except that the extents of arrays may differ; none of groups,
  /// whose records have the parts of their source.
  std::vector<PartForm> parts() const override { return forms_; }
  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override;
  std::int64_t label(std::uint64_t id) const override;
  /// Returns the classes of all sources; of groups those of the first one that has any.
  std::vector<std::string> classes() const override { return classes_; }
  bool has_boxes() const override;
  /// Returns "digits: images.gz #17".
  std::string describe(std::uint64_t id) const override;
  bool resident() const override;
  std::uint64_t fingerprint() const override;
  std::uint64_t version() const override;
  std::span<const Source> sources() const override { return sources_; }
  Range source_of(std::uint64_t id) const override;
  bool takes_hints() const override;
  void hint(std::uint64_t id) const override;
  void prefetch(std::uint64_t id) const override;
  void forget(std::uint64_t id) const override;
  std::uint64_t retries() const override;

 private:
  const Source& source(std::uint64_t id) const { return sources_[source_index(sources_, id)]; }
  void choose_parts(Record& record, ReadBuffer& buffer) const;

  std::vector<Source> sources_;
  Sources relation_;
  std::uint64_t size_ = 0;
  std::vector<std::string> classes_;
  std::vector<PartForm> forms_;
};

/// Returns the classes of two data sets, if they are equal. If one of them has only numbers for names, the other's
/// names are used if none of them is a number. Throws std::invalid_argument that says what differs: "class 3 is 'cat',
/// not 'dog'".
std::vector<std::string> agreed_classes(const std::vector<std::string>& first, const std::vector<std::string>& second);

}  // namespace flowtrain
