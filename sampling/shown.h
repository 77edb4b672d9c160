#pragma once
// Shows values to people: the one way for replays, reports, predictions and plans.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// A value as people see and hear it: a line of text, a picture, a sound.
struct Shown {
  std::string text = {};              ///< text of shown_text(); empty where the picture tells all
  Image picture = {};                 ///< 1 channel (grey) or 3 (RGB); no pixels: none
  std::vector<std::byte> sound = {};  ///< a WAV file; empty: none
};

/// Shows one value of a field as the batch has it (stored_shape). Without Field::show, u8 (H, W, 1|3) is a picture and
/// so is f32, spread over all levels; u8 (N) that is UTF-8 is a text; other rows and few numbers are a list; a matrix
/// from 8 by 8 on is a heat_map() with its range; of all else the form and the range are told.
Shown show(const Field& field, std::span<const std::byte> value);

/// Returns a text as one line of UTF-8 for terminals and pages: without control characters and marks that turn the
/// direction of writing, cut to 200 characters.
std::string shown_text(std::string_view text);
std::string shown_text(std::span<const std::byte> text);

/// Colours a matrix from its least value, dark blue, to its greatest, yellow; NaN is grey. A matrix with a side beyond
/// 1024 is thinned.
Image heat_map(std::span<const float> values, std::int64_t height, std::int64_t width);

/// Returns the view of a field of a class index: the class's name, or the number if it has none.
ShowValue show_class(std::vector<std::string> names);

/// The value of a named field, shown.
struct ShownField {
  std::string name;
  Shown shown;
};

/// Shows the fields of one row, without padding where a field NAME_length tells how long NAME is; that field is left
/// out, and so are fields without bytes. `extents` are those of the free axes of all fields; a value that is shorter
/// than its field is a part of a packed row.
std::vector<ShownField> show_row(std::span<const Field> fields, std::span<const std::int64_t> extents,
                                 std::span<const std::span<const std::byte>> values);

/// Makes the row of a record as validation does, without random draws, and shows it. Throws SampleError.
std::vector<ShownField> show_record(const Sampler& sampler, const Record& record);

/// Returns the fields of a record and, if they give nothing to hear, as features do not, the first minute of each of
/// its recordings as it is stored, named after its part. A damaged recording is left out.
std::vector<ShownField> with_recordings(const Record& record, std::vector<ShownField> fields);

}  // namespace flowtrain
