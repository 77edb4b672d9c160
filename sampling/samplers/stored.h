#pragma once
// Finds the form of a data set's records by reading one, and its classes. Samplers derive their fields from them.

#include <string>

#include "sampling/core/settings.h"
#include "sampling/dataset.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The form of the stored samples.
struct StoredForm {
  Encoding encoding = Encoding::bytes;
  std::size_t bytes = 0;                    ///< size of the record that was read
  int height = 0, width = 0, channels = 0;  ///< size of its image; 0 if records differ (files, boxes) or hold none
};

/// The number of records that are tried before a data set counts as unreadable.
inline constexpr std::uint64_t records_tried = 16;

/// Reads the first readable record. Throws UserError(data) if the data set is empty or none of its first records can be
/// read.
StoredForm stored_form(const Dataset& dataset);

/// Returns the number of classes of a data set whose boxes the sampler `name` needs. Throws UserError (usage) for data
/// without classes, (data) for data without boxes if `input` needs targets.
std::int64_t classes_of_boxes(const std::string& name, const SamplerInput& input);

/// Returns the key that names the part of `settings`, and the name: "sampler.name: 'classify'", "field.0.as: 'image'".
std::string named_part(const Settings& settings);

/// Returns the number of classes of a data set. Throws UserError (usage) that begins with named_part() if it has none,
/// (data) if it lacks them for want of labels.
std::int64_t class_count(const Dataset& dataset, const Settings& settings);

/// Throws SampleError for a label that is not one of `classes`.
void check_label(std::int64_t label, std::int64_t classes);

}  // namespace flowtrain
