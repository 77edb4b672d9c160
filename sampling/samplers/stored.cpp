#include "sampling/samplers/stored.h"

#include <algorithm>
#include <string>

#include "sampling/codecs/image.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t records_tried = 16;

StoredForm form_of(const Record& record) {
  StoredForm form{record.encoding, record.bytes.size()};
  const bool has_region = record.region.x1 > record.region.x0;
  const bool has_size = record.encoding == Encoding::pixels || record.encoding == Encoding::shapes;
  if (record.encoding == Encoding::image) form.channels = 3;
  if (!has_size) return form;
  Image scratch;
  const Picture picture = picture_of(record, scratch);
  form.channels = picture.channels;
  if (has_region) return form;
  form.height = picture.height;
  form.width = picture.width;
  return form;
}

}  // namespace

StoredForm stored_form(const Dataset& dataset) {
  if (dataset.size() == 0) throw UserError(ExitCode::data, "the data set is empty", "check data.path and the split");
  ReadBuffer buffer;
  std::string first_error;
  for (std::uint64_t id = 0; id < std::min(dataset.size(), records_tried); ++id) {
    try {
      return form_of(dataset.read(id, buffer));
    } catch (const SampleError& error) {
      if (id == 0) first_error = dataset.describe(id) + ": " + error.what();
    }
  }
  throw UserError(ExitCode::data, "none of the first records can be read: " + first_error,
                  "check that data.path holds intact files");
}

}  // namespace flowtrain
