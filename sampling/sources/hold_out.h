#pragma once
// Holds out samples of a data set for validation, by their names.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sampling/named_dataset.h"

namespace flowtrain {

/// The sides of samples in an earlier split: by name, true for validation.
using KnownSplit = std::map<std::string, bool>;

/// The record ids of both sides, in ascending order.
struct HoldOut {
  std::vector<std::uint64_t> training, validation;
};

/// Holds out `share` (0 … 1) of all samples to within one, and of each class to within half a sample, or to within one
/// if many small classes need that: the samples whose names have the smallest hashes (xxHash64). No function of names
/// alone both keeps that exact and never moves a sample when others are added, so samples in `known` stay on their
/// side, and only the others are distributed, to bring each class as near to its share as possible. Samples of one name
/// stay together, and have the class of the first. If even the smallest of them are more than the share, they are held
/// out nevertheless, so that there is something to validate on.
HoldOut hold_out(const Dataset& dataset, double share, const KnownSplit& known);

/// The file that keeps a split: lines "validation<TAB>name" and "training<TAB>name" under a heading, and a last line
/// with their number. Other programs may read it; lines may be changed by hand.
class SplitFile {
 public:
  explicit SplitFile(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  /// Returns the known samples; none if there is no file. Throws UserError(data) for a damaged one.
  KnownSplit read() const;
  /// Adds the samples of `dataset` to the `known` ones, and writes all if that is new. Returns false if it cannot be
  /// written.
  bool keep(const NamedDataset& dataset, const HoldOut& split, KnownSplit known) const;

 private:
  std::filesystem::path path_;
};

/// Some records of another data set, as a data set: record i is the one with the number `ids[i]` there.
class SubsetDataset : public Dataset {
 public:
  SubsetDataset(std::unique_ptr<Dataset> whole, std::vector<std::uint64_t> ids)
      : whole_(std::move(whole)), ids_(std::move(ids)) {}

  /// Returns the number of records of the other data set.
  std::uint64_t size_of_whole() const { return whole_->size(); }
  /// Returns the number there of a record.
  std::uint64_t id_in_whole(std::uint64_t id) const { return ids_[id]; }

  std::uint64_t size() const override { return ids_.size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override;
  std::vector<PartForm> parts() const override { return whole_->parts(); }
  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override;
  std::int64_t label(std::uint64_t id) const override { return whole_->label(ids_[id]); }
  std::vector<std::string> classes() const override { return whole_->classes(); }
  std::string missing_labels() const override { return whole_->missing_labels(); }
  bool has_boxes() const override { return whole_->has_boxes(); }
  std::shared_ptr<const BoxAnnotations> annotations() const override;
  std::string describe(std::uint64_t id) const override { return whole_->describe(ids_[id]); }
  bool resident() const override { return whole_->resident(); }
  std::uint64_t fingerprint() const override;
  std::uint64_t version() const override;
  bool takes_hints() const override { return whole_->takes_hints(); }
  void hint(std::uint64_t id) const override { whole_->hint(ids_[id]); }
  void prefetch(std::uint64_t id) const override { whole_->prefetch(ids_[id]); }
  void forget(std::uint64_t id) const override { whole_->forget(ids_[id]); }
  std::uint64_t retries() const override { return whole_->retries(); }

 private:
  std::unique_ptr<Dataset> whole_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace flowtrain
