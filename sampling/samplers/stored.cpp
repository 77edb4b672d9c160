#include "sampling/samplers/stored.h"

#include <algorithm>
#include <string>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/images/stored_picture.h"

namespace flowtrain {
namespace {

StoredForm form_of(const Record& record) {
  StoredForm form{record.encoding, record.bytes.size()};
  if (record.encoding == Encoding::image) form.channels = 3;
  if (record.encoding != Encoding::pixels && record.encoding != Encoding::shapes) return form;
  Image scratch;
  const Picture picture = picture_of(record, scratch);
  form.channels = picture.channels;
  if (const bool has_region = record.region.x1 > record.region.x0; has_region) return form;
  form.height = picture.height;
  form.width = picture.width;
  return form;
}

UserError without_classes(const Dataset& dataset, const Settings& settings) {
  const auto missing = dataset.missing_labels();
  const std::string what = named_part(settings) + " needs a data set with classes, but this one has none";
  if (missing.empty()) return UserError(ExitCode::usage, what, "choose another data.dataset or sampler");
  return UserError(ExitCode::data, what + ": " + missing,
                   "repair the data set, or choose another one or another sampler");
}

}  // namespace

std::string named_part(const Settings& settings) {
  const char* const key = settings.has("as") ? "as" : "name";
  std::string name = settings.text(key);
  if (settings.has("inner")) name = trimmed(settings.text("inner").substr(settings.text("inner").rfind(',') + 1));
  return concat(settings.table(), ".", key, ": '", name, "'");
}

std::int64_t class_count(const Dataset& dataset, const Settings& settings) {
  const auto count = static_cast<std::int64_t>(dataset.classes().size());
  if (count == 0) throw without_classes(dataset, settings);
  return count;
}

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
  throw UserError(ExitCode::data, "the first records cannot be read: " + first_error,
                  "check that data.path holds intact files");
}

std::int64_t classes_of_boxes(const std::string& name, const SamplerInput& input) {
  const auto classes = static_cast<std::int64_t>(input.dataset.classes().size());
  if (classes == 0)
    throw UserError(ExitCode::usage,
                    "sampler.name: '" + name + "' needs a data set with classes, but this one has none",
                    "choose a data set with boxes, for example voc");
  if (input.needs_targets && !input.dataset.has_boxes())
    throw UserError(ExitCode::data,
                    "sampler.name: '" + name + "' learns from boxes, but the " +
                        (input.training ? "training" : "validation") + " data have none",
                    "check data.dataset (coco, voc and shapes have boxes), data.split and the keys that leave boxes "
                    "out: crowd, difficult, class_names, mode = \"crops\"");
  return classes;
}

void check_label(std::int64_t label, std::int64_t classes) {
  if (label < 0 || label >= classes) throw SampleError(concat("label ", label, " is out of range 0..", classes - 1));
}

}  // namespace flowtrain
